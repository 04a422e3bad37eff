"""Partition writer: bags are divided into partitions of similar size, written, and read back.

It runs in other processes and on other machines, and does not need the project.
"""

import platform
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.data.bags import Bags
from bagwise.formats import Source
from bagwise.kernels import Array
from bagwise.partitions import Partition, Partitions, write_partition
from bagwise.project.imports.tables import TableFile, joined
from bagwise.project.instances.instance_file import reserve, scatter


@dataclass(frozen=True)
class WrittenPartition:
    """The entry of a partition for `parts.json`, and the checksum and size of its rows alone, as read back."""

    entry: Partition
    rows_checksum: int
    n_bytes: int


class Job(Protocol):
    """Partitions that one task writes into a folder, numbered from `first` on."""

    @property
    def folder(self) -> Path:
        """Where the partitions are written."""

    @property
    def first(self) -> int:
        """The number of the first of them."""

    def contents(self) -> Iterator[Bags]:
        """The bags of each of them."""


@dataclass(frozen=True)
class FromRows:
    """One partition, from rows `start` on of a file that holds nothing but rows."""

    folder: Path
    first: int
    file: Path
    start: int
    dtype: np.dtype
    features: int
    ids: Array
    offsets: Array

    def __str__(self) -> str:
        return f"partition {self.first}"

    def contents(self) -> Iterator[Bags]:
        """The bags, memory-mapped."""
        where = self.start * self.features * self.dtype.itemsize
        shape = (int(self.offsets[-1]), self.features)
        try:
            rows = np.memmap(self.file, self.dtype, "r", where, shape)
        except (OSError, ValueError) as error:
            raise FileError(self.file, f"cannot be read on {platform.node()}, or is not complete.") from error
        yield Bags.trusted(rows, self.offsets, self.ids)


@dataclass(frozen=True)
class FromTables:
    """`count` partitions, from the tables of some files."""

    folder: Path
    first: int
    count: int
    dtype: np.dtype
    files: Sequence[TableFile]

    def __str__(self) -> str:
        return ", ".join(str(file.path) for file in self.files)

    def contents(self) -> Iterator[Bags]:
        """The bags of the files that are imported."""
        source = joined(self.files[0].path, [file.source() for file in self.files], self.dtype)
        yield from divided(source, self.dtype, self.count, self.folder)


def run_job(job: Job) -> list[WrittenPartition]:
    """Write the partitions of a job."""
    if not job.folder.is_dir():
        what = "the project and its partitions must be on storage that all machines of the cluster share."
        raise BagwiseError(f"{job.folder} does not exist on {platform.node()}: {what}")
    return [write_verified(job.folder, number, bags) for number, bags in enumerate(job.contents(), start=job.first)]


def write_verified(folder: Path, number: int, bags: Bags) -> WrittenPartition:
    """Write one partition, and read it back."""
    entry = write_partition(folder, number, bags)
    back = Partitions(folder, bags.n_features, bags.instances.dtype, (entry,)).read(0)
    checksum = zlib.crc32(np.ascontiguousarray(back.instances).data)
    same = np.array_equal(back.ids, bags.ids) and np.array_equal(back.offsets, bags.offsets)
    if not same or checksum != zlib.crc32(np.ascontiguousarray(bags.instances).data):
        raise FileError(folder / entry.file, "could not be read back as it was written: check the disk.")
    return WrittenPartition(entry, checksum, bags.instances.nbytes)


def edges(offsets: Array, count: int) -> list[int]:
    """Return the bags at which `count` partitions of similar size start, and the number of bags.

    >>> edges(np.array([0, 1, 2, 3, 9]), 2)
    [0, 3, 4]
    """
    bags = len(offsets) - 1
    count = min(count, bags)
    number = np.arange(1, count)
    nearest = np.searchsorted((offsets[1:] + offsets[:-1]) / 2, offsets[-1] * number / count)
    # Every partition has a bag: at least one is left for each partition before and after an edge.
    moved = np.maximum.accumulate(np.maximum(nearest - number, 0)) if count > 1 else nearest
    return [0, *(np.minimum(moved, bags - count) + number).tolist(), bags]


def divided(source: Source, dtype: np.dtype, count: int, scratch: Path) -> Iterator[Bags]:
    """Yield the bags of each of `count` partitions; rows of a bag that are not consecutive are sorted in `scratch`."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(source.codes, minlength=len(source.ids)))])
    starts = edges(offsets, count)
    together = bool((np.diff(source.codes) >= 0).all())
    rows = _in_order(source, dtype, offsets[starts]) if together else _sorted(source, dtype, offsets[starts], scratch)
    ids = np.array(source.ids, dtype=str)
    for (first, last), instances in zip(pairwise(starts), rows, strict=True):
        yield Bags.trusted(instances, offsets[first : last + 1] - offsets[first], ids[first:last])


def _in_order(source: Source, dtype: np.dtype, rows: Array) -> Iterator[Array]:
    """The rows between these, as they are read."""
    waiting = [np.empty((0, source.n_features), dtype)]
    blocks = source.checked_blocks(dtype)
    for wanted in np.diff(rows):
        while sum(map(len, waiting)) < wanted:
            waiting.append(next(blocks))
        received = np.concatenate(waiting)
        waiting = [received[wanted:].copy()]
        yield received[:wanted]
    # A source that has more rows than it announced raises at its end.
    for _ in blocks:
        pass


def _sorted(source: Source, dtype: np.dtype, rows: Array, scratch: Path) -> Iterator[Array]:
    """The rows between these, after all were sorted by bag."""
    with tempfile.TemporaryFile(dir=scratch) as file:
        reserve(file, int(rows[-1]) * source.n_features * dtype.itemsize)
        target = np.memmap(file, dtype, "r+", shape=(int(rows[-1]), source.n_features))
        scatter(target, source, lambda _: None)
        for first, last in pairwise(rows):
            yield target[first:last]
