"""File formats: ONE FILE = ONE FORMAT, found by its name.

A module has `DESCRIPTION`, `SUFFIXES` and `recognises(path) -> bool`, which looks into the file and not only at its
name, and any of

    read(path, bag_column) -> Source        instances in bags, with labels where the file has them
    read_labels(path, bag_column) -> LabelTable     labels by name
    write_labels(table, path)               the same back again
    write_predictions(table, path)
    read_table(path) -> Table               any rows and columns, all of them as text

What is a folder with several files has `recognises_folder(path)` and `read_folder(path) -> Source` instead.
"""

from functools import cache
from pathlib import Path
from types import ModuleType

from bagwise.core.errors import BagwiseError, FileError
from bagwise.core.extras import require
from bagwise.core.plugins import choose, discover
from bagwise.formats._spreadsheet import marked, marked_frame
from bagwise.formats._types import NOT_IN_NAMES, LabelTable, PredictionTable, Source, Table, as_labels

__all__ = [
    "NOT_IN_NAMES",
    "LabelTable",
    "PredictionTable",
    "Source",
    "Table",
    "as_labels",
    "available",
    "folder_format",
    "marked",
    "marked_frame",
    "read",
    "read_labels",
    "read_table",
    "writer",
]
READ = {"read": "instances", "read_labels": "labels", "read_table": "a table"}


@cache
def available() -> dict[str, ModuleType]:
    """Every format by name."""
    require("tables", "Files of instances and labels")
    return discover(__name__, "bagwise.formats")


def able_to(verb: str) -> dict[str, ModuleType]:
    """The formats that can `read`, `read_labels`, `write_labels` or `write_predictions`."""
    return {name: module for name, module in available().items() if hasattr(module, verb)}


def recognise(path: Path, verb: str) -> ModuleType:
    """The one format that the file is in, by what is in it."""
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
    found = [module for module in able_to(verb).values() if module.recognises(path)]
    if not found:
        known = "; ".join(module.DESCRIPTION for module in able_to(verb).values())
        raise FileError(path, f"is in no format that {READ[verb]} can be read from. Known: {known}.")
    return found[0]


def read(path: str | Path, bag_column: str | None = None) -> Source:
    """The instances of a file; `bag_column` names the column with the bag's id where a table calls it otherwise."""
    file = Path(path)
    whole = folder_format(file) if file.is_dir() else None
    source: Source = recognise(file, "read").read(file, bag_column) if whole is None else whole.read_folder(file)
    return source


def folder_format(folder: Path) -> ModuleType | None:
    """The format that a folder as a whole is in, if it is in one."""
    return next((module for module in able_to("read_folder").values() if module.recognises_folder(folder)), None)


def read_labels(path: str | Path, bag_column: str | None = None) -> LabelTable:
    """The labels of a file; `bag_column` as for `read`."""
    file = Path(path)
    table: LabelTable = recognise(file, "read_labels").read_labels(file, bag_column)
    return table


def read_table(path: str | Path) -> Table:
    """The rows of a file that is neither instances nor labels."""
    file = Path(path)
    table: Table = recognise(file, "read_table").read_table(file)
    return table


def writer(path: str | Path, what: str, name: str | None = None) -> ModuleType:
    """The format to write `labels` or `predictions` in: the one called `name`, or that of the file's suffix."""
    verb = f"write_{what}"
    if name is not None:
        return choose("format for " + what, name, able_to(verb))
    endings = {suffix: module for module in able_to(verb).values() for suffix in module.SUFFIXES}
    for suffix in sorted(endings, key=len, reverse=True):
        if Path(path).name.lower().endswith(suffix):
            return endings[suffix]
    raise BagwiseError(
        f"{path}: no format for {what} has this suffix. Say which with --format: {', '.join(able_to(verb))}."
    )
