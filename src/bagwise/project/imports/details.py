"""Details of recordings from a table: where and when, by file, by bag, or for all recordings of a site.

Nothing is learned from them: the model, its snapshots and all answers stay as they are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time
from pathlib import Path
from typing import TypeVar

import numpy as np

from bagwise import formats
from bagwise.core.errors import FileError
from bagwise.formats import Table
from bagwise.ingest.source_files import SourceFile
from bagwise.project.imports.bag_names import same_as_bags
from bagwise.project.storage import queries
from bagwise.project.storage.bag_files import NO_FILE, BagFiles
from bagwise.project.storage.database import Database

NAMES = ("file", "bag")
MOMENT = ("recorded_at", "date", "time")
LIMITS = {"latitude": 90.0, "longitude": 180.0}
COLUMNS = ("site", *MOMENT, *LIMITS, "device")
OF_SITES = (*LIMITS, "device")
"""What all recordings of a site may share."""

T = TypeVar("T")


@dataclass(frozen=True)
class Details:
    r"""A table of details that has been read, and validated but for its names.

    Parameters
    ----------
    path : Path
        The file, named in errors.
    of_sites : bool
        Whether its rows are about sites, else about files or bags.
    rows : dict of str to dict
        By file, bag or site: what is said of it, by the names of the fields of `Origin`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "details.csv"
    ...     _ = file.write_text("file,site,date,time\na.wav,north,2026-05-24,04:00\n")
    ...     details = Details.read(file)
    >>> details.rows
    {'a.wav': {'site': 'north', 'recorded_at': '2026-05-24T04:00:00'}}
    """

    path: Path
    of_sites: bool
    rows: Mapping[str, Mapping[str, str | float]]

    @classmethod
    def read(cls, path: Path) -> "Details":
        """Read a CSV or Parquet file; other columns are ignored, and empty cells say nothing.

        Parameters
        ----------
        path : Path
            The file.

        Returns
        -------
        Details

        Raises
        ------
        FileError
            If it cannot be read, names neither files nor bags nor sites, or has an invalid value; with its row and
            column.
        """
        table = formats.read_table(path)
        named = {name.strip().lower(): name for name in reversed(table.frame.columns)}
        key = next((name for name in (*NAMES, "site") if name in named), None)
        if key is None:
            raise FileError(path, "there is no column file, bag or site: it must say what its rows are about.")
        allowed = OF_SITES if key == "site" else COLUMNS
        columns = [name for name in allowed if name in named]
        if not columns:
            raise FileError(path, f"there is none of the columns {', '.join(allowed)}.")
        rows: dict[str, dict[str, str | float]] = {}
        for number, cells in enumerate(table.frame.iter_rows(named=True)):
            row = _Row(table, number, {name: (named[name], cells[named[name]].strip()) for name in (key, *columns)})
            name = row.text(key)
            if not name:
                raise row.fault(key, "is empty: it must say what the row is about.")
            if name in rows:
                raise row.fault(key, f"{name!r} is given twice.")
            rows[name] = row.details(columns)
        return cls(path, key == "site", rows)


@dataclass(frozen=True)
class _Row:
    """A row of the table: by the name of each column, how the file spells it and the cell."""

    table: Table
    number: int
    cells: Mapping[str, tuple[str, str]]

    def text(self, column: str) -> str:
        return self.cells.get(column, ("", ""))[1]

    def fault(self, column: str, what: str) -> FileError:
        return self.table.locator.fault(what, self.number, self.cells[column][0])

    def details(self, columns: Sequence[str]) -> dict[str, str | float]:
        found: dict[str, str | float] = {}
        for column in columns:
            text = self.text(column)
            if not text or column in MOMENT:
                continue
            found[column] = self._degrees(column, text) if column in LIMITS else text
        moment = self._moment()
        return found if moment is None else {**found, "recorded_at": moment.isoformat()}

    def _degrees(self, column: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        limit = LIMITS[column]
        if not -limit <= value <= limit:
            raise self.fault(column, f"{text!r} are no degrees between {-limit:g} and {limit:g}.")
        return value

    def _moment(self) -> datetime | None:
        together, day, hour = (self.text(column) for column in MOMENT)
        if together:
            return self._parsed(
                "recorded_at", datetime.fromisoformat, together, "a date and time as 2026-05-24T04:00:00"
            )
        if not day and not hour:
            return None
        if not day or not hour:
            given = "date" if day else "time"
            raise self.fault(given, f"{day or hour!r}: give date and time, or neither.")
        return datetime.combine(
            self._parsed("date", datetime.fromisoformat, day, "a date as 2026-05-24").date(),
            self._parsed("time", time.fromisoformat, hour, "a time as 04:00:00"),
        )

    def _parsed(self, column: str, parse: Callable[[str], T], text: str, what: str) -> T:
        try:
            return parse(text)
        except ValueError:
            raise self.fault(column, f"{text!r} is not {what}.") from None


@dataclass(frozen=True)
class DetailsMatching:
    """Which rows of a table of details were used.

    Parameters
    ----------
    files : int
        Number of recordings whose details were set.
    unknown : list of str
        Names of the table that the project does not have.
    """

    files: int
    unknown: list[str]


def import_details(database: Database, details: Details) -> DetailsMatching:
    """Set the details of the recordings of a project; a bag without a recording gets one of its name.

    Parameters
    ----------
    database : Database
        Of the project.
    details : Details
        The table.

    Returns
    -------
    DetailsMatching

    Raises
    ------
    FileError
        If no name of the table is in the project, or it names clips or one recording twice; nothing is changed then.
    """
    with database.writing() as connection:
        contents = queries.contents(connection)
        found = _Merging(contents, details)
        if not found.changed:
            what = "site" if details.of_sites else "file or bag"
            raise FileError(
                details.path, f"no {what} of it is in the project; the first is {next(iter(details.rows), '')!r}."
            )
        queries.set_files(connection, found.files, sorted(found.changed), found.attached)
    return DetailsMatching(len(found.changed), found.unknown)


class _Merging:
    """The files of a project with the details of a table."""

    def __init__(self, contents: queries.Contents, details: Details) -> None:
        self._details, self._ids = details, contents.ids.tolist()
        self._before, self._files = contents.bag_files, list(contents.bag_files.files)
        self.file_of = contents.bag_files.file_of.copy()
        self.changed: dict[int, str] = {}
        self.attached: dict[int, int] = {}
        self.unknown: list[str] = []
        (self._merge_sites if details.of_sites else self._merge_files)()

    @property
    def files(self) -> BagFiles:
        """All files, old and new."""
        return BagFiles(self._files, self.file_of, self._before.clips)

    def _merge_sites(self) -> None:
        for site, said in self._details.rows.items():
            of_site = [place for place, file in enumerate(self._files) if file.origin.site == site]
            for place in of_site:
                self._set(place, site, said)
            if not of_site:
                self.unknown.append(site)

    def _merge_files(self) -> None:
        places = {file.name: place for place, file in enumerate(self._files)}
        without = {self._ids[bag]: bag for bag in np.flatnonzero(self.file_of == NO_FILE).tolist()}
        clips = {self._ids[bag] for bag in np.flatnonzero(~np.isnan(self._before.clips[:, 0])).tolist()}
        meant = same_as_bags(list(self._details.rows), {**without, **places})
        for name, said in self._details.rows.items():
            known = meant[name]
            if known in places:
                self._set(places[known], name, said)
            elif known in without:
                bag = without[known]
                self.attached[bag] = self.file_of[bag] = len(self._files)
                self._files.append(SourceFile(known))
                self._set(len(self._files) - 1, name, said)
            elif name in clips:
                raise FileError(self._details.path, f"{name} is a clip: name the recording that it is of.")
            else:
                self.unknown.append(name)

    def _set(self, place: int, name: str, said: Mapping[str, str | float]) -> None:
        if place in self.changed:
            raise FileError(
                self._details.path, f"{self.changed[place]} and {name} are the same recording: give it once."
            )
        self.changed[place] = name
        file = self._files[place]
        self._files[place] = replace(file, origin=replace(file.origin, **said))  # type: ignore[arg-type]
