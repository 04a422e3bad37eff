"""Bags in the partitions of a folder: only the rows that are asked for are read."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bagwise.data.bag_store import ArrayStore
from bagwise.kernels import Array
from bagwise.partitions import files

if TYPE_CHECKING:
    from bagwise.partitions.folder import Partitions

BLOCKS_CACHED = 64
VALUES_PER_PORTION = 1 << 22


class PartitionStore:
    """A `BagStore` over the partitions of a folder.

    One bag, a selection or a pass over all instances in chunks reads blocks of rows, of which the last
    `BLOCKS_CACHED` are cached. `instances` reads everything into memory, and all later calls use that; a single `.npy`
    partition is memory-mapped instead.

    Parameters
    ----------
    partitions
        The partitions that hold exactly these bags.
    offsets
        The first row of every bag, and the number of instances: (B + 1,).
    ids
        The id of every bag, (B,).

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from bagwise import Bags
    >>> from bagwise.partitions import Partitions
    >>> with TemporaryDirectory() as folder:
    ...     partitions = Partitions.write(folder, [Bags.from_list([[[0.0], [1.0]], [[2.0]]])])
    ...     store = PartitionStore(partitions, np.array([0, 2, 3]), np.array(["a", "b"]))
    ...     print(store.bag(1), store.is_loaded)
    [[2.]] False
    """

    def __init__(self, partitions: "Partitions", offsets: Array, ids: Array) -> None:
        self.partitions, self.offsets, self.ids = partitions, offsets, ids
        self._loaded: ArrayStore | None = None
        self._cache: OrderedDict[tuple[int, int], Array] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def n_bags(self) -> int:
        """Number of bags B."""
        return len(self.offsets) - 1

    @property
    def n_instances(self) -> int:
        """Number of instances N in all bags."""
        return int(self.offsets[-1])

    @property
    def n_features(self) -> int:
        """Number of features d of an instance."""
        return self.partitions.n_features

    @property
    def is_loaded(self) -> bool:
        """Whether all instances are in memory."""
        return self._loaded is not None

    @property
    def instances(self) -> Array:
        """All instances, (N, d), read into memory at first use."""
        with self._lock:
            if self._loaded is None:
                self._loaded = ArrayStore(self._read_all(), self.offsets, self.ids)
            return self._loaded.instances

    def bag(self, position: int) -> Array:
        """The instances of one bag.

        Parameters
        ----------
        position : int
            Between 0 and B - 1.

        Returns
        -------
        ndarray, shape (n_b, d)
        """
        return self.rows(int(self.offsets[position]), int(self.offsets[position + 1]))

    def rows(self, first: int, last: int) -> Array:
        """Instances `first` to `last` (exclusive), counted through all partitions.

        Parameters
        ----------
        first, last : int
            Rows, counted from 0.

        Returns
        -------
        ndarray, shape (last - first, d)
        """
        if self._loaded is not None:
            return self._loaded.rows(first, last)
        blocks = []
        while first < last:
            number = int(np.searchsorted(self.partitions.first_rows, first, side="right")) - 1
            within = first - int(self.partitions.first_rows[number])
            start, block = self._block(number, within)
            blocks.append(block[within - start : within - start + last - first])
            first += len(blocks[-1])
        if len(blocks) == 1:
            return blocks[0]
        return np.concatenate([np.empty((0, self.n_features), self.partitions.dtype), *blocks])

    def select(self, positions: Array) -> tuple[Array, Array, Array]:
        """Instances, offsets and ids of the bags at these positions; every block of rows is read at most once.

        Parameters
        ----------
        positions : ndarray of int, shape (n,)
            Between 0 and B - 1.

        Returns
        -------
        instances : ndarray, shape (rows, d)
        offsets : ndarray of int, shape (n + 1,)
        ids : ndarray, shape (n,)
        """
        if self._loaded is not None:
            return self._loaded.select(positions)
        offsets = np.concatenate([[0], np.cumsum(np.diff(self.offsets)[positions])])
        instances = np.empty((offsets[-1], self.n_features), self.partitions.dtype)
        for place in np.argsort(positions, kind="stable"):
            instances[offsets[place] : offsets[place + 1]] = self.bag(positions[place])
        return instances, offsets, self.ids[positions]

    def portions(self) -> Iterator[Array]:
        """The positions of all bags, some millions of values at a time; all at once where all are in memory."""
        if self._loaded is not None:
            return self._loaded.portions()
        rows = max(1, VALUES_PER_PORTION // self.n_features)
        starts = np.unique(np.searchsorted(self.offsets[:-1], np.arange(0, self.n_instances, rows))).tolist()
        return (np.arange(first, last) for first, last in pairwise([*starts, self.n_bags]) if first < last)

    def names(self, positions: Sequence[int]) -> list[str]:
        """The ids of these bags as text.

        Parameters
        ----------
        positions : sequence of int
            Between 0 and B - 1.

        Returns
        -------
        list of str
        """
        return [str(self.ids[position]) for position in positions]

    def _block(self, number: int, row: int) -> tuple[int, Array]:
        """(first row, rows) of the block that holds a row of a partition; a mapped partition is one block."""
        entry = self.partitions.entries[number]
        rows = entry.instances if entry.is_mapped else files.block_rows(self.n_features)
        start = row // rows * rows
        with self._lock:
            if (number, start) not in self._cache:
                self._cache[number, start] = self._read(number, start, min(start + rows, entry.instances))
            self._cache.move_to_end((number, start))
            if len(self._cache) > BLOCKS_CACHED:
                self._cache.popitem(last=False)
            return start, self._cache[number, start]

    def _read_all(self) -> Array:
        if len(self.partitions) == 1:
            return self.partitions.read(0).instances
        found = np.empty((self.n_instances, self.n_features), self.partitions.dtype)
        for number, first in enumerate(self.partitions.first_rows[:-1]):
            rows = self.partitions.read(number).instances
            found[first : first + len(rows)] = rows
        return found

    def _read(self, number: int, first: int, last: int) -> Array:
        folder, entry, dtype = self.partitions.folder, self.partitions.entries[number], self.partitions.dtype
        if entry.is_mapped:
            return files.map_partition(folder, entry, self.n_features, dtype)
        return files.read_rows(folder, entry, first, last, self.n_features, dtype)
