"""Class files: one name per line, or a table (CSV, TSV) whose first line names its columns.

The columns are `name`, `scientific_name`, `common_name` and `description`; of a table without `name` the common name is
the name, or else the scientific one. Lists as BirdNET has them, `Parus major_Great Tit`, are read as such a table.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

from bagwise.core.errors import FileError

COLUMNS = ("name", "scientific_name", "common_name", "description")
JOINED = "_"


@dataclass(frozen=True)
class ClassEntry:
    """A class as a person lists it.

    Parameters
    ----------
    name : str
        The name that people see.
    scientific_name, common_name, description : str
        What else is known of it; empty where nothing is.

    Examples
    --------
    >>> ClassEntry("wren", "Troglodytes troglodytes").details["scientific_name"]
    'Troglodytes troglodytes'
    """

    name: str
    scientific_name: str = ""
    common_name: str = ""
    description: str = ""

    @property
    def details(self) -> dict[str, str]:
        """Everything but the name, by name."""
        return {key: getattr(self, key) for key in COLUMNS[1:]}


def read_class_file(file: Path) -> list[ClassEntry]:
    r"""Return the classes of a file.

    Parameters
    ----------
    file : Path
        UTF-8 text: one class per line, or a table.

    Returns
    -------
    list of ClassEntry

    Raises
    ------
    FileError
        Where it cannot be read, or names a class twice.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "birds.csv").write_text("scientific_name,common_name\nParus major,Great Tit\n")
    ...     [(one.name, one.scientific_name) for one in read_class_file(Path(folder) / "birds.csv")]
    [('Great Tit', 'Parus major')]
    """
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise FileError(file, "is not UTF-8 text: save it as UTF-8.") from error
    except OSError as error:
        raise FileError(file, f"cannot be read: {error.strerror}.") from error
    entries = _table(file, lines) if lines and _is_header(lines[0]) else _list(lines)
    seen: dict[str, int] = {}
    for number, entry in entries:
        if entry.name in seen:
            raise FileError(file, f"class {entry.name} is given twice.", number)
        seen[entry.name] = number
    return [entry for _, entry in entries]


def _separator(line: str) -> str:
    return next((one for one in ("\t", ";", ",") if one in line), ",")


def _is_header(line: str) -> bool:
    names = {name.strip().lower() for name in line.split(_separator(line))}
    return bool(names & set(COLUMNS[:3])) and (len(names) > 1 or names == {"name"})


def _table(file: Path, lines: list[str]) -> list[tuple[int, ClassEntry]]:
    reader = csv.DictReader(lines, delimiter=_separator(lines[0]))
    reader.fieldnames = [name.strip().lower() for name in reader.fieldnames or ()]
    found = []
    for row in reader:
        given = {key: (row.get(key) or "").strip() for key in COLUMNS}
        name = given.pop("name") or given["common_name"] or given["scientific_name"]
        if not name and any(given.values()):
            raise FileError(file, "the class has no name.", reader.line_num)
        if name:
            found.append((reader.line_num, ClassEntry(name, **given)))
    return found


def _list(lines: list[str]) -> list[tuple[int, ClassEntry]]:
    names = [(number, line.strip()) for number, line in enumerate(lines, start=1) if line.strip()]
    if names and all(_is_joined(name) for _, name in names):
        parts = [(number, name.partition(JOINED)) for number, name in names]
        return [(number, ClassEntry(common, scientific, common)) for number, (scientific, _, common) in parts]
    return [(number, ClassEntry(name)) for number, name in names]


def _is_joined(name: str) -> bool:
    """Whether it is a scientific name of two words or more and a common name, as in `Parus major_Great Tit`."""
    scientific, _, common = name.partition(JOINED)
    return name.count(JOINED) == 1 and bool(common) and " " in scientific and scientific[:1].isupper()
