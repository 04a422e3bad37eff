"""The embeddings of BirdNET-Analyzer: a folder with NAME.birdnet.embeddings.txt for every recording.

A line is `start<tab>end<tab>numbers with commas between`, in seconds. The windows of one recording are one bag, NAME.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bagwise.core.errors import FileError
from bagwise.formats._types import Source
from bagwise.kernels import Array

DESCRIPTION = "BirdNET-Analyzer's embeddings, a folder with a file for each recording (.birdnet.embeddings.txt)"
SUFFIXES = (".birdnet.embeddings.txt",)


def recognises_folder(folder: Path) -> bool:
    """By the names of its files."""
    return any(True for _ in _files(folder))


def read_folder(folder: Path) -> Source:
    """Where windows lie now, their embeddings when they are asked for."""
    files = sorted(_files(folder))
    spans = [_spans(path) for path in files]
    ids = [path.relative_to(folder).as_posix().removesuffix(SUFFIXES[0]) for path in files]
    codes = np.repeat(np.arange(len(files)), [len(one) for one in spans])
    width = len(next(_rows(files[0]))[2])
    blocks = lambda: (_embeddings(path, width) for path in files)  # noqa: E731
    return Source(folder, ids, codes, width, np.dtype(np.float32), blocks, spans=np.concatenate(spans))


def _files(folder: Path) -> Iterator[Path]:
    return folder.rglob(f"*{SUFFIXES[0]}")


def _rows(path: Path) -> Iterator[tuple[float, float, list[str]]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                cells = line.rstrip("\n").split("\t")
                if len(cells) != 3:
                    raise FileError(path, "a line must be start, end and the embedding, with tabs between.", number)
                yield float(cells[0]), float(cells[1]), cells[2].split(",")
    except FileError:
        raise
    except ValueError as error:
        raise FileError(path, f"is damaged ({error}).") from error


def _spans(path: Path) -> Array:
    found = np.array([(start, end) for start, end, _ in _rows(path)])
    if not len(found):
        raise FileError(path, "is empty.")
    return found


def _embeddings(path: Path, width: int) -> Array:
    rows = [row for _, _, row in _rows(path)]
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise FileError(path, f"the embedding has {len(row)} numbers where the first has {width}.", number)
    try:
        return np.array(rows, np.float32)
    except ValueError as error:
        raise FileError(path, "an embedding holds something that is not a number.") from error
