"""A database of perch-hoplite (1.x): a folder with hoplite.sqlite and usearch.index.

The windows of one recording are one bag, called by the recording's file; where two deployments have files of the same
name, by deployment and file. Embeddings are in the index, which the library usearch reads.
"""

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.formats._types import Source
from bagwise.kernels import Array

DESCRIPTION = "a database of perch-hoplite, a folder with hoplite.sqlite and usearch.index"
SUFFIXES = ("hoplite.sqlite",)
INDEX = "usearch.index"
AT_ONCE = 1 << 14
WINDOWS = """
    SELECT windows.id, windows.offsets, recordings.id, recordings.filename, deployments.name
    FROM windows JOIN recordings ON recordings.id = windows.recording_id
    LEFT JOIN deployments ON deployments.id = recordings.deployment_id
    ORDER BY recordings.filename, recordings.id, windows.id
"""


def recognises_folder(folder: Path) -> bool:
    """By the names of its two files."""
    return (folder / SUFFIXES[0]).is_file() and (folder / INDEX).is_file()


def read_folder(folder: Path) -> Source:
    """Which windows there are now, their embeddings when they are asked for."""
    rows = _windows(folder / SUFFIXES[0])
    keys = np.array([row[0] for row in rows], np.uint64)
    spans = np.array([_span(folder, row[1]) for row in rows])
    _, codes = np.unique([row[2] for row in rows], return_inverse=True)
    first = {recording: row for row in reversed(rows) for recording in [row[2]]}
    # Codes go by the number of the recording, and so must the ids.
    recordings = [first[recording] for recording in sorted(first)]
    names = Counter(str(row[3]) for row in recordings)
    ids = [str(row[3]) if names[str(row[3])] == 1 else f"{row[4]}/{row[3]}" for row in recordings]
    order = np.argsort(codes, kind="stable")
    width = _index(folder).ndim
    blocks = lambda: _embeddings(folder, keys[order])  # noqa: E731
    return Source(folder, ids, codes[order], width, np.dtype(np.float32), blocks, spans=spans[order])


def _windows(path: Path) -> list[tuple[int, bytes, int, str, str | None]]:
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            rows = database.execute(WINDOWS).fetchall()
    except sqlite3.Error as error:
        raise FileError(path, f"is no database of perch-hoplite 1.x ({error}).") from error
    if not rows:
        raise FileError(path, "there are no windows in it.")
    return rows


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
        raise FileError(folder / INDEX, "is no index that usearch can read.")
    return found


def _embeddings(folder: Path, keys: Array) -> Iterator[Array]:
    index = _index(folder)
    for start in range(0, len(keys), AT_ONCE):
        some = keys[start : start + AT_ONCE]
        there = np.asarray(index.contains(some))
        if not there.all():
            raise FileError(folder / INDEX, f"there is no embedding of window {some[~there][0]} in it.")
        yield np.asarray(index.get(some), np.float32)
