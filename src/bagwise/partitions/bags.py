"""Bags whose instances lie in parts: the same questions as to any bags, and only what is wanted is read."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bagwise.data.bags import Bags
from bagwise.kernels import Array
from bagwise.partitions import files

if TYPE_CHECKING:
    from bagwise.partitions.folder import Partitions

BLOCKS_KEPT = 64
VALUES_PER_PORTION = 1 << 22


class PartitionedBags(Bags):
    """Bags over the parts of a folder.

    One bag, a selection or a pass through all of it in chunks reads blocks of rows, of which the last few are kept.
    `instances` is everything in memory, for whoever needs that; a single `.npy` part is mapped instead.
    """

    def __init__(self, parts: "Partitions", offsets: Array, ids: Array) -> None:
        self.parts, self.offsets, self.ids = parts, offsets, ids
        self._all: Array | None = None
        self._kept: OrderedDict[tuple[int, int], Array] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def n_features(self) -> int:
        """Number of features d of an instance."""
        return self.parts.n_features

    @property
    def instances(self) -> Array:  # type: ignore[override]
        """All of them, from the first row to the last."""
        with self._lock:
            if self._all is None:
                self._all = self._read_all()
            return self._all

    def rows(self, first: int, last: int) -> Array:
        """Instances `first` to `last`, counted through all parts."""
        if self._all is not None:
            return self._all[first:last]
        pieces = []
        while first < last:
            number = int(np.searchsorted(self.parts.first_rows, first, side="right")) - 1
            within = first - int(self.parts.first_rows[number])
            start, block = self._block(number, within)
            pieces.append(block[within - start : within - start + last - first])
            first += len(pieces[-1])
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate([np.empty((0, self.n_features), self.parts.dtype), *pieces])

    def portions(self) -> Iterator[Array]:
        """The positions of all bags, some millions of values at a time; all of them where all are in memory."""
        if self._all is not None:
            return super().portions()
        rows = max(1, VALUES_PER_PORTION // self.n_features)
        starts = np.unique(np.searchsorted(self.offsets[:-1], np.arange(0, self.n_instances, rows))).tolist()
        return (np.arange(first, last) for first, last in pairwise([*starts, len(self)]) if first < last)

    def select(self, chosen: npt.ArrayLike) -> Bags:
        """The bags at these positions, in this order, with their ids; every block of rows is read at most once."""
        if self._all is not None:
            return super().select(chosen)
        positions = np.arange(len(self))[np.asarray(chosen)]
        offsets = np.concatenate([[0], np.cumsum(self.sizes[positions])])
        instances = np.empty((offsets[-1], self.n_features), self.parts.dtype)
        for place in np.argsort(positions, kind="stable"):
            instances[offsets[place] : offsets[place + 1]] = self[positions[place]]
        return Bags.trusted(instances, offsets, self.ids[positions])

    def _block(self, number: int, row: int) -> tuple[int, Array]:
        """(its first row, rows) of the block of a part that holds a row; of a mapped part all is one block."""
        part = self.parts.parts[number]
        rows = part.instances if part.is_mapped else files.block_rows(self.n_features)
        start = row // rows * rows
        with self._lock:
            if (number, start) not in self._kept:
                self._kept[number, start] = self._read(number, start, min(start + rows, part.instances))
            self._kept.move_to_end((number, start))
            if len(self._kept) > BLOCKS_KEPT:
                self._kept.popitem(last=False)
            return start, self._kept[number, start]

    def _read_all(self) -> Array:
        if len(self.parts.parts) == 1:
            return self.parts.read(0).instances
        found = np.empty((self.n_instances, self.n_features), self.parts.dtype)
        for number, first in enumerate(self.parts.first_rows[:-1]):
            rows = self.parts.read(number).instances
            found[first : first + len(rows)] = rows
        return found

    def _read(self, number: int, first: int, last: int) -> Array:
        folder, part, dtype = self.parts.folder, self.parts.parts[number], self.parts.dtype
        if part.is_mapped:
            return files.map_partition(folder, part, self.n_features, dtype)
        return files.read_rows(folder, part, first, last, self.n_features, dtype)
