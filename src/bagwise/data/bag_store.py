"""Where bags are stored. `Bags` asks a store for rows and ids; it does not know whether they are in memory, in a
memory-mapped file, in the partitions of a folder, or on other machines.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bagwise.kernels import Array, gather


class BagStore(Protocol):
    """Storage of B ragged bags with N instances of d features each.

    Bag `b` is rows `offsets[b]:offsets[b + 1]` of `instances`. A store that cannot give an array of everything raises
    `BagwiseError` for it, and still serves single bags, selections and portions.
    """

    @property
    def n_bags(self) -> int:
        """Number of bags B."""
        ...

    @property
    def n_instances(self) -> int:
        """Number of instances N in all bags."""
        ...

    @property
    def n_features(self) -> int:
        """Number of features d of an instance."""
        ...

    @property
    def instances(self) -> Array:
        """All instances, (N, d), in memory or memory-mapped."""
        ...

    @property
    def offsets(self) -> Array:
        """The first row of every bag, and N: (B + 1,)."""
        ...

    @property
    def ids(self) -> Array:
        """The id of every bag, (B,)."""
        ...

    def bag(self, position: int) -> Array:
        """The instances of one bag, (n_b, d); `position` is between 0 and B - 1."""
        ...

    def rows(self, first: int, last: int) -> Array:
        """Instances `first` to `last` (exclusive), (last - first, d), whatever bags they are in."""
        ...

    def select(self, positions: Array) -> tuple[Array, Array, Array]:
        """Instances, offsets and ids of the bags at these positions, in this order."""
        ...

    def portions(self) -> Iterator[Array]:
        """The positions of all bags, as many at a time as are best read together."""
        ...

    def names(self, positions: Sequence[int]) -> list[str]:
        """The ids of these bags as text."""
        ...


@dataclass(frozen=True, eq=False)
class ArrayStore:
    """Bags in three arrays, each in memory or memory-mapped.

    Parameters
    ----------
    instances
        All instances, (N, d).
    offsets
        The first row of every bag, and N: (B + 1,).
    ids
        The id of every bag, (B,).

    Examples
    --------
    >>> store = ArrayStore(np.eye(3), np.array([0, 1, 3]), np.array(["a", "b"]))
    >>> store.n_bags, store.n_instances, store.names([1])
    (2, 3, ['b'])
    >>> store.bag(1)
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """

    instances: Array
    offsets: Array
    ids: Array

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
        return int(self.instances.shape[1])

    def bag(self, position: int) -> Array:
        """The instances of one bag, (n_b, d), as a view."""
        return self.instances[self.offsets[position] : self.offsets[position + 1]]

    def rows(self, first: int, last: int) -> Array:
        """Instances `first` to `last` (exclusive), as a view."""
        return self.instances[first:last]

    def select(self, positions: Array) -> tuple[Array, Array, Array]:
        """Instances, offsets and ids of the bags at these positions, in this order."""
        return *gather(self.instances, self.offsets, positions), self.ids[positions]

    def portions(self) -> Iterator[Array]:
        """The positions of all bags at once."""
        yield np.arange(self.n_bags)

    def names(self, positions: Sequence[int]) -> list[str]:
        """The ids of these bags as text."""
        return [str(self.ids[position]) for position in positions]
