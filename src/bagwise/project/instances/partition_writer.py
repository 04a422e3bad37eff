"""Parts are made: bags are dealt out so that parts are alike in size, written, and read back.

What is in here is called in other processes and on other machines; it knows nothing of the project.
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
class Made:
    """A part, and the checksum of its rows alone, as they were read back."""

    part: Partition
    rows_checksum: int
    n_bytes: int


class Job(Protocol):
    """Some parts to be made in a folder by one process, numbered from `first` on."""

    @property
    def folder(self) -> Path:
        """Where the parts are made."""

    @property
    def first(self) -> int:
        """The number of the first of them."""

    def pieces(self) -> Iterator[Bags]:
        """What is in each of them."""


@dataclass(frozen=True)
class FromRows:
    """One part, from rows `start` on of a file that holds nothing but rows."""

    folder: Path
    first: int
    file: Path
    start: int
    dtype: np.dtype
    features: int
    ids: Array
    offsets: Array

    def pieces(self) -> Iterator[Bags]:
        """The bags, mapped."""
        where = self.start * self.features * self.dtype.itemsize
        shape = (int(self.offsets[-1]), self.features)
        try:
            rows = np.memmap(self.file, self.dtype, "r", where, shape)
        except (OSError, ValueError) as error:
            raise FileError(self.file, f"cannot be read on {platform.node()}, or is not complete.") from error
        yield Bags.trusted(rows, self.offsets, self.ids)


@dataclass(frozen=True)
class FromTables:
    """Some parts, from some files."""

    folder: Path
    first: int
    count: int
    dtype: np.dtype
    files: Sequence[TableFile]

    def pieces(self) -> Iterator[Bags]:
        """The bags that are wanted of the files."""
        source = joined(self.files[0].path, [file.source() for file in self.files], self.dtype)
        yield from pieces_of(source, self.dtype, self.count, self.folder)


def make_partitions(job: Job) -> list[Made]:
    """The parts of a job."""
    if not job.folder.is_dir():
        what = "the project and its parts must lie on storage that all machines of the cluster share."
        raise BagwiseError(f"{job.folder} cannot be seen from {platform.node()}: {what}")
    return [make_partition(job.folder, number, bags) for number, bags in enumerate(job.pieces(), start=job.first)]


def make_partition(folder: Path, number: int, bags: Bags) -> Made:
    """One part, written and read back."""
    part = write_partition(folder, number, bags)
    back = Partitions(folder, bags.n_features, bags.instances.dtype, (part,)).read(0)
    checksum = zlib.crc32(np.ascontiguousarray(back.instances).data)
    same = np.array_equal(back.ids, bags.ids) and np.array_equal(back.offsets, bags.offsets)
    if not same or checksum != zlib.crc32(np.ascontiguousarray(bags.instances).data):
        raise FileError(folder / part.file, "did not come back as it was written: see to the disk.")
    return Made(part, checksum, bags.instances.nbytes)


def edges(offsets: Array, count: int) -> list[int]:
    """Where to cut these bags for `count` parts that are alike in instances: positions of bags, 0 and the end too.

    >>> edges(np.array([0, 1, 2, 3, 9]), 2)
    [0, 3, 4]
    """
    bags = len(offsets) - 1
    count = min(count, bags)
    number = np.arange(1, count)
    nearest = np.searchsorted((offsets[1:] + offsets[:-1]) / 2, offsets[-1] * number / count)
    # Every part has a bag: none is cut before there is one for each part on either side.
    moved = np.maximum.accumulate(np.maximum(nearest - number, 0)) if count > 1 else nearest
    return [0, *(np.minimum(moved, bags - count) + number).tolist(), bags]


def pieces_of(source: Source, dtype: np.dtype, count: int, scratch: Path) -> Iterator[Bags]:
    """The bags of a source for each of so many parts; where rows of a bag lie apart, sorted in a file in `scratch`."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(source.codes, minlength=len(source.ids)))])
    cuts = edges(offsets, count)
    together = bool((np.diff(source.codes) >= 0).all())
    rows = _in_order(source, dtype, offsets[cuts]) if together else _sorted(source, dtype, offsets[cuts], scratch)
    ids = np.array(source.ids, dtype=str)
    for (first, last), instances in zip(pairwise(cuts), rows, strict=True):
        yield Bags.trusted(instances, offsets[first : last + 1] - offsets[first], ids[first:last])


def _in_order(source: Source, dtype: np.dtype, rows: Array) -> Iterator[Array]:
    """The rows between these, as they come."""
    waiting = [np.empty((0, source.n_features), dtype)]
    blocks = source.checked_blocks(dtype)
    for wanted in np.diff(rows):
        while sum(map(len, waiting)) < wanted:
            waiting.append(next(blocks))
        there = np.concatenate(waiting)
        waiting = [there[wanted:].copy()]
        yield there[:wanted]
    # A source that has more than it announced says so at its end.
    for _ in blocks:
        pass


def _sorted(source: Source, dtype: np.dtype, rows: Array, scratch: Path) -> Iterator[Array]:
    """The rows between these, after all were put in their places."""
    with tempfile.TemporaryFile(dir=scratch) as file:
        reserve(file, int(rows[-1]) * source.n_features * dtype.itemsize)
        target = np.memmap(file, dtype, "r+", shape=(int(rows[-1]), source.n_features))
        scatter(target, source, lambda _: None)
        for first, last in pairwise(rows):
            yield target[first:last]
