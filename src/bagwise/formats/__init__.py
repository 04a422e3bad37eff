"""File formats: ONE FILE = ONE FORMAT, found by its name.

A format is a module (or any object) with `DESCRIPTION`, `SUFFIXES` and `recognises(path) -> bool`, which looks into the
file and not only at its name, and any of

    read(path, bag_column) -> Source                instances in bags, with labels where the file has them
    read_labels(path, bag_column) -> LabelTable     labels by name, of bags and of places in them
    write_labels(table, path)
    write_predictions(table, path)
    write_detections(table, path)                   detections with their places in the files
    read_table(path) -> Table                       any rows and columns, all of them as text

A format that is a folder with several files has `recognises_folder(path)` and `read_folder(path) -> Source` instead. A
format of a general container, as CSV or Parquet, has `GENERIC = True`: a format that recognises what is in it is used
before it. A format whose labels name bags as Bagwise calls them has `NAMES_BAGS = True`; others get labels by file,
with those of clips as places in their recordings.

Another package adds a format with an entry point of the group `bagwise.formats`; see docs/extending-data.md.
"""

from pathlib import Path
from typing import Any

from bagwise.core.errors import BagwiseError, FileError
from bagwise.core.extras import require
from bagwise.core.plugins import choose, discover
from bagwise.formats._detections import OF_BAG, OF_INSTANCE, BagSpan, DetectionTable
from bagwise.formats._label_table import LabelTable, PlacedLabel, as_labels
from bagwise.formats._scores import Matching, ScoreTable, scores_from
from bagwise.formats._spreadsheet import marked, marked_frame
from bagwise.formats._text import looks_like_text
from bagwise.formats._types import PredictionTable, RowLocator, Source, Table
from bagwise.formats._values import NOT_IN_NAMES, Place

__all__ = [
    "NOT_IN_NAMES",
    "OF_BAG",
    "OF_INSTANCE",
    "BagSpan",
    "DetectionTable",
    "LabelTable",
    "Matching",
    "Place",
    "PlacedLabel",
    "PredictionTable",
    "RowLocator",
    "ScoreTable",
    "Source",
    "Table",
    "able_to",
    "as_labels",
    "available",
    "folder_format",
    "marked",
    "marked_frame",
    "read",
    "read_labels",
    "read_scores",
    "read_table",
    "recognise",
    "writer",
]
CONTENT = {"read": "instances", "read_labels": "labels", "read_table": "a table"}


def available() -> dict[str, Any]:
    """Return every format by name: the modules of this package and the entry points of `bagwise.formats`.

    Returns
    -------
    dict of str to module or object
        Members as described in `bagwise.formats`.

    Examples
    --------
    >>> available()["csv"].SUFFIXES
    ('.csv', '.tsv')
    """
    require("tables", "Files of instances and labels")
    return discover(__name__, "bagwise.formats")


def able_to(verb: str) -> dict[str, Any]:
    """Return the formats with a function called `verb`, as `read`, `read_labels` or `write_predictions`.

    Parameters
    ----------
    verb : str
        The name of the function.

    Returns
    -------
    dict of str to module or object
        Formats by name.

    Examples
    --------
    >>> "npz" in able_to("read"), "raven" in able_to("read")
    (True, False)
    """
    return {name: member for name, member in available().items() if hasattr(member, verb)}


def recognise(path: Path, verb: str) -> Any:
    r"""Return the format of a file, by its content.

    Parameters
    ----------
    path : Path
        The file.
    verb : {"read", "read_labels", "read_table"}
        What the format must be able to do.

    Returns
    -------
    module or object
        A member of `available()`.

    Raises
    ------
    FileError
        If the file does not exist or is empty, or if no format recognises it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "bags.csv"
    ...     _ = file.write_text("bag,weight\nwren,1.5\n")
    ...     recognise(file, "read") is available()["csv"]
    True
    """
    if path.is_dir():
        raise FileError(path, "is a folder: give one file.")
    try:
        size = path.stat().st_size
    except FileNotFoundError as error:
        raise FileError(path, "there is no such file.") from error
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror}.") from error
    if size == 0:
        raise FileError(path, "is empty.")
    able = able_to(verb)
    specific_first = sorted(able_to("recognises").values(), key=lambda member: getattr(member, "GENERIC", False))
    found = next((member for member in specific_first if member.recognises(path)), None)
    if found is None or found not in able.values():
        known = "; ".join(member.DESCRIPTION for member in able.values())
        raise FileError(path, f"is in no format that {CONTENT[verb]} can be read from. Known: {known}.")
    return found


def read(path: str | Path, bag_column: str | None = None) -> Source:
    r"""Read the instances of a file.

    Parameters
    ----------
    path : str or Path
        The file, or a folder in a format that is a folder.
    bag_column : str, optional
        The column of a table with the bag's id (default: `bag`).

    Returns
    -------
    Source
        Ids and labels; features are read when they are needed.

    Raises
    ------
    FileError
        If the file cannot be read, or is in no known format.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "bags.csv"
    ...     _ = file.write_text("bag,weight\na,1.5\na,2.5\nb,3.5\n")
    ...     read(file).to_bags()
    Bags(2 bags, 3 instances, 1 features)
    """
    file = Path(path)
    of_folder = folder_format(file) if file.is_dir() else None
    source: Source = (
        recognise(file, "read").read(file, bag_column) if of_folder is None else of_folder.read_folder(file)
    )
    return source


def folder_format(folder: Path) -> Any | None:
    """Return the format of a folder as a whole, or None if it is in none.

    Parameters
    ----------
    folder : Path
        The folder.

    Returns
    -------
    module, object or None
        A member of `available()`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     folder_format(Path(folder)) is None
    True
    """
    return next((member for member in able_to("read_folder").values() if member.recognises_folder(folder)), None)


def read_labels(path: str | Path, bag_column: str | None = None) -> LabelTable:
    r"""Read the labels of a file.

    Parameters
    ----------
    path : str or Path
        The file.
    bag_column : str, optional
        The column of a table with the bag's id (default: `bag`).

    Returns
    -------
    LabelTable

    Raises
    ------
    FileError
        If the file cannot be read, is in no known format, or has a value that is not a label.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "labels.csv"
    ...     _ = file.write_text("bag,class,label\na,wren,1\nb,wren,0\n")
    ...     list(read_labels(file).triples())
    [('a', 'wren', 'present'), ('b', 'wren', 'absent')]
    """
    file = Path(path)
    table: LabelTable = recognise(file, "read_labels").read_labels(file, bag_column)
    return table


def read_table(path: str | Path) -> Table:
    r"""Read the rows of a file that is neither instances nor labels, all columns as text.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Table

    Raises
    ------
    FileError
        If the file cannot be read, or is in no known format.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "places.csv"
    ...     _ = file.write_text("bag,instance,start\na,0,1.5\n")
    ...     read_table(file).frame.rows()
    [('a', '0', '1.5')]
    """
    file = Path(path)
    table: Table = recognise(file, "read_table").read_table(file)
    return table


def read_scores(path: str | Path, source: str = "") -> ScoreTable:
    r"""Read the scores that a classifier gave bags, instances or windows.

    Parameters
    ----------
    path : str or Path
        A table of BirdNET-Analyzer (CSV or Raven), Kaleidoscope or perch-hoplite, detections of Bagwise, or any long or
        wide CSV or Parquet.
    source : str
        The name of the classifier, shown to people (default: BirdNET, or the name of the file).

    Returns
    -------
    ScoreTable

    Raises
    ------
    FileError
        If the file cannot be read, or a score is not a number between 0 and 1.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "scores.csv"
    ...     _ = file.write_text("bag,class,score\na,wren,0.9\nb,wren,0.2\n")
    ...     read_scores(file).probability
    array([0.9, 0.2])
    """
    file = Path(path)
    if file.is_file() and looks_like_text(file):
        # A text of another format, as a selection table of Raven, has columns that are known by their names too.
        specific_first = sorted(able_to("read_table").values(), key=lambda member: getattr(member, "GENERIC", False))
        member = next((one for one in specific_first if one.recognises(file)), available()["csv"])
        table: Table = member.read_table(file)
    else:
        table = read_table(file)
    return scores_from(table, source)


def writer(path: str | Path, what: str, name: str | Any | None = None) -> Any:
    """Return the format to write a file in.

    Parameters
    ----------
    path : str or Path
        The file to be written.
    what : {"labels", "predictions", "detections"}
        What is written.
    name : str or module, optional
        The name of the format, or the format itself; the default is the one of the file's suffix.

    Returns
    -------
    module or object
        With a function `write_labels`, `write_predictions` or `write_detections`.

    Raises
    ------
    BagwiseError
        If there is no such format, or none has the file's suffix.

    Examples
    --------
    >>> writer("labels.csv", "labels") is available()["csv"]
    True
    """
    verb = f"write_{what}"
    if name is not None:
        return choose("format for " + what, name, able_to(verb)) if isinstance(name, str) else name
    by_suffix = {suffix: member for member in able_to(verb).values() for suffix in member.SUFFIXES}
    for suffix in sorted(by_suffix, key=len, reverse=True):
        if Path(path).name.lower().endswith(suffix):
            return by_suffix[suffix]
    raise BagwiseError(
        f"{path}: no format for {what} has this suffix. Say which with --format: {', '.join(able_to(verb))}."
    )
