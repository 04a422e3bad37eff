"""A database of perch-hoplite (1.x, or 0.1, as BirdNET-Analyzer 2 makes it): hoplite.sqlite beside usearch.index.

The folder with both is instances: the windows of one recording are one bag, called by the recording's file; where two
deployments have files of the same name, by deployment and file; where all files are named by a whole path, by what is
below the folder that all of them are in. Embeddings are in the index, which the library usearch reads.

hoplite.sqlite alone is labels: annotations of spans of time, positive, negative or uncertain (which says nothing). In
perch-hoplite an annotation is about every window that it meets. So what is present in a recording, at an unknown place,
is written as an annotation from 0 to 0, which meets none, and what is absent from a recording as one of its whole
length. Both have the provenance RECORDING, by which they are known when they are read.

Detections are positive annotations with further columns, as perch-hoplite allows: `low`, `high`, `probability` and
`threshold`. Those of the provenance PREDICTED are scores and not labels; of CONFIRMED, people said that it is this one.
"""

import contextlib
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bagwise.core.errors import BagwiseError, FileError
from bagwise.formats._detections import OF_INSTANCE, DetectionTable
from bagwise.formats._label_table import LabelTable, PlacedLabel
from bagwise.formats._types import RowLocator, Source, Table
from bagwise.formats._values import NOT_IN_NAMES, names_of_files, validated_place
from bagwise.formats.perch import windows_of
from bagwise.kernels import Array

DESCRIPTION = "a database of perch-hoplite, a folder with hoplite.sqlite and usearch.index"
SUFFIXES = (".hoplite.sqlite", "hoplite.sqlite")
DATABASE, INDEX = "hoplite.sqlite", "usearch.index"
BATCH_SIZE = 1 << 14
NEGATIVE, POSITIVE, UNCERTAIN = 0, 1, 2
TYPES = {"absent": NEGATIVE, "present": POSITIVE, "unsure": UNCERTAIN}
WINDOW, RECORDING = "bagwise", "bagwise:recording"
"""The provenance of annotations that Bagwise writes, of windows and of whole recordings."""
PREDICTED, CONFIRMED = "bagwise:predicted", "bagwise:confirmed"
"""The provenance of detections."""
DETECTION_COLUMNS = ("low", "high", "probability", "threshold")
ANY_PREDICTED = "SELECT 1 FROM annotations WHERE provenance = ? LIMIT 1"
SQLITE = b"SQLite format 3\0"

SCHEMA = """
    CREATE TABLE hoplite_metadata (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE deployments (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, project TEXT NOT NULL, latitude REAL, longitude REAL,
        UNIQUE (name, project));
    CREATE TABLE recordings (
        id INTEGER PRIMARY KEY AUTOINCREMENT, filename TEXT NOT NULL, datetime TEXT,
        deployment_id INTEGER REFERENCES deployments(id) ON DELETE CASCADE,
        UNIQUE (id, deployment_id), UNIQUE (filename, deployment_id));
    CREATE TABLE windows (
        id INTEGER PRIMARY KEY AUTOINCREMENT, recording_id INTEGER NOT NULL REFERENCES recordings(id) ON DELETE CASCADE,
        offsets FLOAT_LIST NOT NULL, UNIQUE (id, recording_id, offsets));
    CREATE TABLE annotations (
        id INTEGER PRIMARY KEY AUTOINCREMENT, recording_id INTEGER NOT NULL REFERENCES recordings(id) ON DELETE CASCADE,
        offsets FLOAT_LIST NOT NULL, label TEXT NOT NULL, label_type INTEGER NOT NULL, provenance TEXT NOT NULL,
        UNIQUE (id, recording_id, offsets));
    CREATE INDEX idx_annotations ON annotations(recording_id, offsets, label, label_type, provenance);
    CREATE INDEX idx_labels ON annotations(label, label_type, provenance);
    CREATE INDEX idx_recordings_deployment_id ON recordings(deployment_id);
    CREATE INDEX idx_windows_recording_id ON windows(recording_id);
"""
INSERT = "INSERT INTO annotations (recording_id, offsets, label, label_type, provenance) VALUES (?, ?, ?, ?, ?)"
INSERT_DETECTION = (
    "INSERT INTO annotations (recording_id, offsets, label, label_type, provenance, low, high, probability, threshold) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
DETECTIONS = (
    "SELECT recording_id, offsets, label, probability FROM annotations WHERE provenance IN (?, ?) "
    "AND probability IS NOT NULL ORDER BY id"
)


@dataclass(frozen=True)
class _Version:
    """What to ask a database for: recordings (id, file, deployment), windows and annotations by recording."""

    windows_table: str
    annotations_table: str
    recordings: str
    windows: str
    annotations: str
    span: Callable[[Path, bytes, float | None], tuple[float, float]]


def _span(path: Path, raw: bytes, length: float | None = None) -> tuple[float, float]:
    offsets = np.frombuffer(raw, "<f8") if len(raw) % 8 == 0 else np.empty(0)
    if len(offsets) != 2:
        raise FileError(path, "a window has no start and end.")
    return float(offsets[0]), float(offsets[1])


def _span_before_1(path: Path, raw: bytes, length: float | None) -> tuple[float, float]:
    """BirdNET has start and end; Perch has starts alone, with the length in the settings of its model."""
    offsets = np.frombuffer(raw, "<f2" if len(raw) == 2 else "<f4") if len(raw) in (2, 4, 8) else np.empty(0)
    if len(offsets) == 1 and length is not None:
        offsets = np.array([offsets[0], offsets[0] + length])
    if len(offsets) != 2:
        raise FileError(path, "a window has no start and end.")
    return float(offsets[0]), float(offsets[1])


CURRENT = _Version(
    "windows",
    "annotations",
    "SELECT recordings.id, filename, name FROM recordings LEFT JOIN deployments ON deployments.id = deployment_id",
    "SELECT id, offsets, recording_id FROM windows ORDER BY id",
    "SELECT recording_id, offsets, label, label_type, provenance FROM annotations ORDER BY id",
    _span,
)
BEFORE_1 = _Version(
    "hoplite_embeddings",
    "hoplite_labels",
    "SELECT id, source, dataset FROM hoplite_sources",
    "SELECT id, offsets, source_idx FROM hoplite_embeddings ORDER BY id",
    "SELECT source_idx, offsets, label, type, provenance FROM hoplite_labels JOIN hoplite_embeddings "
    "ON hoplite_embeddings.id = embedding_id ORDER BY hoplite_labels.id",
    _span_before_1,
)
SETTINGS_BEFORE_1 = "SELECT data FROM hoplite_metadata WHERE key = 'model_config'"


def recognises_folder(folder: Path) -> bool:
    """Return whether both files are in it."""
    return (folder / DATABASE).is_file() and (folder / INDEX).is_file()


def recognises(path: Path) -> bool:
    """Return whether it is a SQLite database."""
    with path.open("rb") as file:
        return file.read(len(SQLITE)) == SQLITE


def read_folder(folder: Path) -> Source:
    """Read the windows and annotations now, the embeddings when they are needed."""
    path = folder / DATABASE
    database = _Database.open(path)
    rows = database.rows(database.version.windows)
    if not rows:
        raise FileError(path, "contains no windows.")
    keys = np.array([row[0] for row in rows], np.uint64)
    spans = np.array([database.span(row[1]) for row in rows])
    recordings, codes = np.unique([row[2] for row in rows], return_inverse=True)
    missing = [number for number in recordings.tolist() if number not in database.bags]
    if missing:
        raise FileError(path, f"a window belongs to recording {missing[0]}, which does not exist.")
    bags = {number: database.bags[number] for number in recordings.tolist()}
    order = np.argsort(codes, kind="stable")
    blocks = lambda: _embeddings(folder, keys[order])  # noqa: E731
    labels = database.labels(bags)
    return Source(
        folder,
        list(bags.values()),
        codes[order],
        _index(folder).ndim,
        np.dtype(np.float32),
        blocks,
        labels,
        spans=spans[order],
    )


def read_labels(path: Path, bag_column: str | None = None) -> LabelTable:
    """Read the annotations; a recording without any is not among the bags."""
    database = _Database.open(path)
    table = database.labels(database.bags)
    if table is None and database.version is CURRENT and database.rows(ANY_PREDICTED, (PREDICTED,)):
        raise FileError(path, "has predicted detections, which are scores and not labels: import it with --scores.")
    if table is None:
        raise FileError(path, "contains no positive or negative annotations.")
    named = {one.bag for one in table.placed} | {bag for bag, _, _ in table.triples()}
    kept = [row for row, name in enumerate(table.ids) if name in named]
    return replace(table, ids=[table.ids[row] for row in kept], values=table.values[kept], of_files=True)


def read_table(path: Path) -> Table:
    """Read the detections that Bagwise wrote, with file, class, probability, start and end."""
    database = _Database.open(path)
    columns = {name for _, name, *_ in database.rows("PRAGMA table_info(annotations)")}
    if not columns.issuperset(DETECTION_COLUMNS):
        raise FileError(path, "contains no detections of Bagwise; its annotations are labels.")
    rows = []
    for recording, offsets, label, probability in database.rows(DETECTIONS, (PREDICTED, CONFIRMED)):
        start, end = database.span(offsets)
        times = (repr(start), repr(end)) if end > 0 else ("", "")
        rows.append((database.bags.get(recording, ""), str(label), repr(probability), *times))
    named = dict.fromkeys(("file", "class", "probability", "start", "end"), pl.String)
    return Table(pl.DataFrame(rows, named, orient="row"), RowLocator(path))


def write_labels(table: LabelTable, path: Path) -> None:
    """Add annotations to a database of perch-hoplite 1.x, or make one; those of an earlier export are replaced."""
    ends = {bag: float(place["end"]) for bag, place in table.extents.items() if "end" in place}
    before = _existing(path)
    bags = _numbers(before, table.ids)
    if before is not None:
        for _, offsets, recording in before.rows(CURRENT.windows):
            bag = before.bags.get(recording, "")
            ends[bag] = max(ends.get(bag, 0.0), before.span(offsets)[1])
    rows = list(_annotations(table, ends))
    _validate_recordings(path, bags, [bag for bag, *_ in rows])
    with _faults(path), contextlib.closing(sqlite3.connect(path)) as database, database:
        if before is None:
            database.executescript(SCHEMA)
            recordings = [(number, name) for name, number in bags.items()]
            database.executemany("INSERT INTO recordings (id, filename) VALUES (?, ?)", recordings)
        database.execute("DELETE FROM annotations WHERE provenance IN (?, ?)", (WINDOW, RECORDING))
        others = "SELECT recording_id, offsets, label, label_type FROM annotations WHERE provenance NOT IN (?, ?)"
        already = set(database.execute(others, (PREDICTED, CONFIRMED)))
        numbered = [(bags[bag], _offsets(*span), *rest) for bag, span, *rest in rows]
        database.executemany(INSERT, [row for row in dict.fromkeys(numbered) if row[:4] not in already])


def write_detections(table: DetectionTable, path: Path) -> None:
    """Add detections to a database of perch-hoplite 1.x, or make one; those of an earlier export are replaced."""
    files = list(table.files.iter_rows(named=True))
    before = _existing(path)
    bags = _numbers(before, [row["file"] for row in files])
    rows = [(file, place, row) for file, place, row in table.placed()]
    _validate_recordings(path, bags, [file for file, _, _ in rows])
    with _faults(path), contextlib.closing(sqlite3.connect(path)) as database, database:
        if before is None:
            database.executescript(SCHEMA)
            _insert_recordings(database, files, bags)
        columns = {name for _, name, *_ in database.execute("PRAGMA table_info(annotations)")}
        for name in DETECTION_COLUMNS:
            if name not in columns:
                database.execute(f"ALTER TABLE annotations ADD COLUMN {name} REAL")
        database.execute("DELETE FROM annotations WHERE provenance IN (?, ?)", (PREDICTED, CONFIRMED))
        database.executemany(INSERT_DETECTION, [_detection(bags[file], place, row) for file, place, row in rows])


def _detection(recording: int, place: Mapping[str, float], row: Mapping[str, Any]) -> tuple[Any, ...]:
    """A detection as a row; where no time is known, from 0 to 0, which is about no window."""
    offsets = _offsets(place.get("start", 0.0), place.get("end", 0.0))
    provenance = CONFIRMED if row["confirmed"] == OF_INSTANCE else PREDICTED
    numbers = (place.get("low"), place.get("high"), row["probability"], row["threshold"])
    return (recording, offsets, row["class"], POSITIVE, provenance, *numbers)


def _insert_recordings(
    database: sqlite3.Connection, files: Sequence[Mapping[str, Any]], numbers: Mapping[str, int]
) -> None:
    """Insert recordings with their time, and the sites they were made at as deployments."""
    sites = {row["site"]: (row["latitude"], row["longitude"]) for row in files if row["site"]}
    deployments = {site: number for number, site in enumerate(sites, start=1)}
    database.executemany(
        "INSERT INTO deployments (id, name, project, latitude, longitude) VALUES (?, ?, ?, ?, ?)",
        [(number, site, WINDOW, *sites[site]) for site, number in deployments.items()],
    )
    database.executemany(
        "INSERT INTO recordings (id, filename, datetime, deployment_id) VALUES (?, ?, ?, ?)",
        [
            (numbers[row["file"]], row["file"], row["recorded_at"] or None, deployments.get(row["site"]))
            for row in files
        ],
    )


def _existing(path: Path) -> "_Database | None":
    """The database to which annotations are added; None where it is to be made."""
    if not path.exists() or not path.stat().st_size:
        return None
    found = _Database.open(path)
    if found.version is not CURRENT:
        raise FileError(path, "is a database of perch-hoplite 0.1: annotations are added to those of 1.x only.")
    return found


def _numbers(database: "_Database | None", names: Sequence[str]) -> dict[str, int]:
    """The numbers of recordings by name: those of the database, or new ones."""
    numbered = enumerate(names, start=1) if database is None else database.bags.items()
    return {name: number for number, name in numbered}


def _validate_recordings(path: Path, known: Mapping[str, int], names: Sequence[str]) -> None:
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise FileError(path, f"has no recording {unknown}: write to another file, which is then made.")


def _offsets(start: float, end: float) -> bytes:
    return np.array([start, end], "<f8").tobytes()


def _annotations(
    table: LabelTable, ends: Mapping[str, float]
) -> Iterator[tuple[str, tuple[float, float], str, int, str]]:
    """Yield recording, span, label, type and provenance; `ends` are those of recordings, where they are known."""
    placed = windows_of(table)
    for bag, name, answer in table.triples_but(placed):
        end = ends.get(bag, 0.0) if answer == "absent" else 0.0
        yield bag, (0.0, end), name, TYPES[answer], RECORDING
    for one in placed:
        span = (float(one.place["start"]), float(one.place["end"]))
        yield one.bag, span, one.label_class, POSITIVE if one.present else NEGATIVE, WINDOW


@contextlib.contextmanager
def _faults(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise FileError(path, f"cannot be read or written as a database of perch-hoplite ({_line(error)}).") from error
    except (sqlite3.Error, UnicodeDecodeError) as error:
        # Messages of SQLite repeat what is in the file, and sqlite3 decodes them.
        raise FileError(path, f"is not a database of perch-hoplite ({_line(error)}).") from error


def _line(error: Exception) -> str:
    return NOT_IN_NAMES.sub("?", str(error))


@dataclass(frozen=True)
class _Database:
    """A database whose recordings have been read: their bags by number."""

    path: Path
    version: _Version
    bags: dict[int, str]
    window_length: float | None

    @classmethod
    def open(cls, path: Path) -> "_Database":
        tables = {name for (name,) in _rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'")}
        version = next((one for one in (CURRENT, BEFORE_1) if one.windows_table in tables), None)
        if version is None:
            raise FileError(path, f"is not a database of perch-hoplite: there is no table {CURRENT.windows_table}.")
        found = sorted(_rows(path, version.recordings))
        length = _window_length(path) if version is BEFORE_1 else None
        return cls(path, version, dict(zip([row[0] for row in found], _names(found), strict=True)), length)

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        return _rows(self.path, query, values)

    def span(self, raw: Any) -> tuple[float, float]:
        if not isinstance(raw, bytes):
            raise FileError(self.path, "a window has no start and end.")
        start, end = self.version.span(self.path, raw, self.window_length)
        place = validated_place({"start": start, "end": end}, self.path)
        return place["start"], place["end"]

    def labels(self, bags: dict[int, str]) -> LabelTable | None:
        """The annotations of these recordings, with all of them as bags; None where there are none."""
        triples: list[tuple[str, str, float]] = []
        placed = []
        exists = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '{}'"
        annotated = self.rows(exists.format(self.version.annotations_table))
        for recording, offsets, label, kind, provenance in self.rows(self.version.annotations) if annotated else []:
            if kind not in TYPES.values():
                raise FileError(self.path, f"an annotation has the type {kind!r}, which perch-hoplite does not have.")
            if recording not in bags or kind == UNCERTAIN or provenance == PREDICTED:
                continue
            start, end = self.span(offsets)
            if provenance == RECORDING:
                triples.append((bags[recording], str(label), float(kind == POSITIVE)))
            else:
                place = {"start": start, "end": end}
                placed.append(PlacedLabel(bags[recording], str(label), kind == POSITIVE, None, place))
        if not triples and not placed:
            return None
        found = LabelTable.from_triples(self.path, triples, placed=placed)
        values = np.full((len(bags), len(found.classes)), np.nan)
        position = {name: number for number, name in enumerate(bags.values())}
        values[[position[name] for name in found.ids]] = found.values
        return LabelTable(list(bags.values()), found.classes, values, path=self.path, placed=found.placed)


def _rows(path: Path, query: str, values: Sequence[Any] = ()) -> list[Any]:
    with (
        _faults(path),
        contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database,
    ):
        return database.execute(query, values).fetchall()


def _window_length(path: Path) -> float | None:
    """Seconds of a window of Perch, in a database of perch-hoplite 0.1."""
    for (text,) in _rows(path, SETTINGS_BEFORE_1):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            return float(json.loads(text)["model_config"]["window_size_s"])
    return None


def _names(recordings: Sequence[tuple[int, Any, Any]]) -> list[str]:
    files = names_of_files([str(file) for _, file, _ in recordings])
    count = Counter(files)
    return [file if count[file] == 1 else f"{row[2]}/{file}" for file, row in zip(files, recordings, strict=True)]


def _index(folder: Path) -> Any:
    try:
        from usearch.index import Index
    except ImportError as error:
        raise BagwiseError("usearch is missing: install it with `pip install 'bagwise[hoplite]'`.") from error
    try:
        found = Index.restore(folder / INDEX, view=True)
    except Exception as error:
        raise FileError(folder / INDEX, f"cannot be read ({error}).") from error
    if found is None:
        raise FileError(folder / INDEX, "is not an index that usearch can read.")
    return found


def _embeddings(folder: Path, keys: Array) -> Iterator[Array]:
    index = _index(folder)
    for start in range(0, len(keys), BATCH_SIZE):
        some = keys[start : start + BATCH_SIZE]
        found = np.asarray(index.contains(some))
        if not found.all():
            raise FileError(folder / INDEX, f"contains no embedding of window {some[~found][0]}.")
        yield np.asarray(index.get(some), np.float32)
