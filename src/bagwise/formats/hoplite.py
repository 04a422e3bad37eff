"""A database of perch-hoplite (1.x): a folder with hoplite.sqlite and usearch.index.

The windows of one recording are one bag, called by the recording's file; where two deployments have files of the same
name, by deployment and file. Embeddings are in the index, which the library usearch reads. Annotations are labels of
spans of time: positive, negative or uncertain (which says nothing).
"""

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.formats._label_table import LabelTable, PlacedLabel
from bagwise.formats._types import Source
from bagwise.formats._values import validated_place
from bagwise.kernels import Array

DESCRIPTION = "a database of perch-hoplite, a folder with hoplite.sqlite and usearch.index"
SUFFIXES = ("hoplite.sqlite",)
INDEX = "usearch.index"
BATCH_SIZE = 1 << 14
WINDOWS = """
    SELECT windows.id, windows.offsets, recordings.id, recordings.filename, deployments.name
    FROM windows JOIN recordings ON recordings.id = windows.recording_id
    LEFT JOIN deployments ON deployments.id = recordings.deployment_id
    ORDER BY recordings.filename, recordings.id, windows.id
"""
ANNOTATIONS = "SELECT recording_id, offsets, label, label_type FROM annotations ORDER BY id"
NEGATIVE, POSITIVE, UNCERTAIN = 0, 1, 2


def recognises_folder(folder: Path) -> bool:
    """Return whether both files are in it."""
    return (folder / SUFFIXES[0]).is_file() and (folder / INDEX).is_file()


def read_folder(folder: Path) -> Source:
    """Read the windows and annotations now, the embeddings when they are needed."""
    rows = _rows(folder / SUFFIXES[0], WINDOWS)
    if not rows:
        raise FileError(folder / SUFFIXES[0], "contains no windows.")
    keys = np.array([row[0] for row in rows], np.uint64)
    spans = np.array([_span(folder, row[1]) for row in rows])
    _, codes = np.unique([row[2] for row in rows], return_inverse=True)
    first = {recording: row for row in reversed(rows) for recording in [row[2]]}
    # Codes follow the number of the recording, and so must the ids.
    recordings = [first[recording] for recording in sorted(first)]
    names = Counter(str(row[3]) for row in recordings)
    ids = [str(row[3]) if names[str(row[3])] == 1 else f"{row[4]}/{row[3]}" for row in recordings]
    order = np.argsort(codes, kind="stable")
    width = _index(folder).ndim
    blocks = lambda: _embeddings(folder, keys[order])  # noqa: E731
    labels = _labels(folder, dict(zip(sorted(first), ids, strict=True)))
    return Source(folder, ids, codes[order], width, np.dtype(np.float32), blocks, labels, spans=spans[order])


def _labels(folder: Path, bags: dict[int, str]) -> LabelTable | None:
    """The annotations of recordings that have windows; None where there are none."""
    path, placed = folder / SUFFIXES[0], []
    for recording, offsets, name, kind in _rows(path, ANNOTATIONS) if _has_annotations(path) else []:
        if kind not in (NEGATIVE, POSITIVE, UNCERTAIN):
            raise FileError(path, f"an annotation has the type {kind!r}, which is not one of perch-hoplite 1.x.")
        if recording in bags and kind != UNCERTAIN:
            start, end = _span(folder, offsets)
            place = validated_place({"start": start, "end": end}, path)
            placed.append(PlacedLabel(bags[recording], str(name), kind == POSITIVE, None, place))
    if not placed:
        return None
    found = LabelTable.from_triples(path, [], placed=placed)
    values = np.full((len(bags), len(found.classes)), np.nan)
    position = {name: number for number, name in enumerate(bags.values())}
    values[[position[name] for name in found.ids]] = found.values
    return LabelTable(list(bags.values()), found.classes, values, path=path, placed=found.placed)


def _has_annotations(path: Path) -> bool:
    return bool(_rows(path, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'annotations'"))


def _rows(path: Path, query: str) -> list[Any]:
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return database.execute(query).fetchall()
    except sqlite3.Error as error:
        raise FileError(path, f"is not a database of perch-hoplite 1.x ({error}).") from error


def _span(folder: Path, raw: bytes) -> tuple[float, float]:
    offsets = np.frombuffer(raw, "<f8") if len(raw) % 8 == 0 else np.empty(0)
    if len(offsets) != 2:
        raise FileError(folder / SUFFIXES[0], "a window has no start and end.")
    return float(offsets[0]), float(offsets[1])


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
