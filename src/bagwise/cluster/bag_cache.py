"""Bags on a cluster as seen by the learner: any few of them are fetched, and those fetched last are cached."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Never

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.kernels import Array

DEFAULT_BYTES = 1 << 28
BAGS_PER_FETCH = 1000

Fetch = Callable[[Sequence[int]], dict[int, Array]]
"""Returns the instances, (n_b, d), of the bags at some positions."""


class RemoteStore:
    """A `BagStore` of bags in other processes: their number is known, and any few of them are fetched.

    Arrays of everything are refused, since the pool may be larger than the memory of this machine.

    Parameters
    ----------
    n_bags, n_instances, n_features
        Sizes B, N and d of the pool.
    fetch
        Returns the instances of some bags.
    fetch_names
        Returns the ids of some bags as text.
    """

    def __init__(
        self,
        n_bags: int,
        n_instances: int,
        n_features: int,
        fetch: Fetch,
        fetch_names: Callable[[Sequence[int]], list[str]],
    ) -> None:
        self.n_bags, self.n_instances, self.n_features = n_bags, n_instances, n_features
        self._fetch, self._fetch_names = fetch, fetch_names

    @property
    def instances(self) -> Never:
        """Not available."""
        raise _too_much("instances")

    @property
    def offsets(self) -> Never:
        """Not available."""
        raise _too_much("offsets")

    @property
    def ids(self) -> Never:
        """Not available."""
        raise _too_much("ids")

    def bag(self, position: int) -> Array:
        """Fetch the instances of one bag, (n_b, d)."""
        return self._fetch([position])[position]

    def rows(self, first: int, last: int) -> Never:  # noqa: ARG002
        """Not available."""
        raise _too_much("rows")

    def select(self, positions: Array) -> tuple[Array, Array, Array]:
        """Fetch instances, offsets and ids of the bags at these positions, in this order."""
        if not len(positions):
            raise BagwiseError("No bag is selected: select at least one.")
        bags = positions.tolist()
        return *_concatenated(self._fetch(bags), bags), np.asarray(self._fetch_names(bags))

    def portions(self) -> Iterator[Array]:
        """The positions of all bags, as many at a time as are fetched together."""
        for first in range(0, self.n_bags, BAGS_PER_FETCH):
            yield np.arange(first, min(first + BAGS_PER_FETCH, self.n_bags))

    def names(self, positions: Sequence[int]) -> list[str]:
        """Fetch the ids of these bags as text."""
        return self._fetch_names(positions)


def _too_much(what: str) -> BagwiseError:
    return BagwiseError(f"The `{what}` of all bags are not available, they are on the cluster: `select` a few bags.")


def _concatenated(rows: dict[int, Array], bags: Sequence[int]) -> tuple[Array, Array]:
    """Instances and offsets of these bags, in this order."""
    offsets = np.concatenate([[0], np.cumsum([len(rows[bag]) for bag in bags])]).astype(np.int64)
    return np.concatenate([rows[bag] for bag in bags]), offsets


class BagCache:
    """A least-recently-used cache of the instances of bags: labelled bags are needed again and again.

    Parameters
    ----------
    fetch
        Returns the instances of bags that are not cached.
    max_bytes
        Size of the cache in bytes; the bags of one call are kept even if they are larger.
    """

    def __init__(self, fetch: Fetch, max_bytes: int = DEFAULT_BYTES) -> None:
        self._fetch, self._max_bytes = fetch, max_bytes
        self._rows: OrderedDict[int, Array] = OrderedDict()
        self._bytes = 0

    def add(self, rows: dict[int, Array]) -> None:
        """Cache these bags, and drop the least recently used."""
        for bag, instances in rows.items():
            if bag not in self._rows:
                self._rows[bag] = instances
                self._bytes += instances.nbytes
        while self._bytes > self._max_bytes and len(self._rows) > len(rows):
            self._bytes -= self._rows.popitem(last=False)[1].nbytes

    def rows(self, bags: Sequence[int]) -> dict[int, Array]:
        """Return the instances of these bags, fetched where they are not cached."""
        missing = [bag for bag in bags if bag not in self._rows]
        found = self._fetch(missing) if missing else {}
        for bag in bags:
            if bag not in found:
                self._rows.move_to_end(bag)
                found[bag] = self._rows[bag]
        self.add(found)
        return found

    def n_bytes(self, bags: Sequence[int], bytes_per_bag: float) -> float:
        """Return the bytes that the instances of these bags take, `bytes_per_bag` for those that are not cached."""
        cached = [self._rows[bag].nbytes for bag in bags if bag in self._rows]
        return sum(cached) + bytes_per_bag * (len(bags) - len(cached))

    def bags(self, bags: Sequence[int]) -> Bags:
        """Return these bags, in this order, with their positions as ids."""
        return Bags.trusted(*_concatenated(self.rows(bags), bags), np.asarray(bags))
