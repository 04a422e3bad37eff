"""The features of all instances in one file that only grows; how much of it counts is said by the database.

Rows are written behind the end and become part of the project when the database says so. Whatever lies behind the end
(an import that failed or was killed) is cut off.
"""

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.formats import Source
from bagwise.kernels import Array

FILE = "instances.bin"
CHUNK = 1 << 24


def open_instances(folder: Path, rows: int, features: int, dtype: str) -> Array:
    """The first `rows` rows, mapped, not read."""
    path = folder / FILE
    needed = rows * features * np.dtype(dtype).itemsize
    there = path.stat().st_size if path.exists() else 0
    if there < needed:
        raise BagwiseError(f"{path} has {there} bytes of {needed}: it is not complete. Restore it from a backup.")
    return np.memmap(path, dtype=dtype, mode="r", shape=(rows, features))


def discard(folder: Path, rows: int, features: int, dtype: str) -> None:
    """Cut off what lies behind the first `rows` rows."""
    path = folder / FILE
    end = rows * features * np.dtype(dtype).itemsize
    if path.exists() and path.stat().st_size > end:
        os.truncate(path, end)


def reserve(file: IO[bytes], size: int) -> None:
    """Take the room for a file that is about to be mapped: a full disk would end the process that writes to the map."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        os.truncate(file.fileno(), size)


def append(folder: Path, rows: int, source: Source, dtype: str, progress: Callable[[int], None]) -> tuple[Array, int]:
    """Write the instances of the source behind row `rows`, those of a bag together: sizes of the bags, a checksum."""
    width = source.n_features
    sizes = np.bincount(source.codes, minlength=len(source.ids))
    path = folder / FILE
    start = rows * width * np.dtype(dtype).itemsize
    together = bool((np.diff(source.codes) >= 0).all())
    try:
        with path.open("r+b" if path.exists() else "w+b") as file:
            file.truncate(start)
            if together:
                file.seek(start)
                for block in source.checked_blocks(dtype):
                    file.write(block.data)
                    progress(len(block))
            else:
                reserve(file, (rows + len(source.codes)) * width * np.dtype(dtype).itemsize)
                _scatter(path, rows, source, dtype, progress)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise BagwiseError(f"{path} cannot be written: {error.strerror or error}. The project is as it was.") from error
    return sizes, checksum(folder, rows, len(source.codes), width, dtype)


def checksum(folder: Path, first: int, rows: int, features: int, dtype: str) -> int:
    """CRC of some rows, to notice when they are not what was imported."""
    width = features * np.dtype(dtype).itemsize
    left, found = rows * width, 0
    with (folder / FILE).open("rb") as file:
        file.seek(first * width)
        while left and (part := file.read(min(CHUNK, left))):
            found = zlib.crc32(part, found)
            left -= len(part)
    return found


def scatter(target: Array, source: Source, progress: Callable[[int], None]) -> None:
    """Rows of one bag lie apart in the source: each goes to its place."""
    order = np.argsort(source.codes, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    done = 0
    for block in source.checked_blocks(target.dtype):
        target[place[done : done + len(block)]] = block
        done += len(block)
        progress(len(block))


def _scatter(path: Path, rows: int, source: Source, dtype: str, progress: Callable[[int], None]) -> None:
    shape = (rows + len(source.codes), source.n_features)
    target = np.memmap(path, dtype=dtype, mode="r+", shape=shape)
    scatter(target[rows:], source, progress)
    target.flush()
