"""Bags that came home: instances of the few bags that something was asked about, kept where the learner is."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.kernels import Array

MOST_KEPT = 1 << 28
FETCHED_TOGETHER = 1000

Fetch = Callable[[Sequence[int]], dict[int, Array]]


class RemoteBags(Bags):
    """Bags that lie elsewhere: their number is known, and any few of them are fetched."""

    def __init__(self, count: int, n_features: int, fetch: Fetch, names: Callable[[Sequence[int]], list[str]]) -> None:
        self._count, self._n_features, self._fetch, self._names = count, n_features, fetch, names

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, bag: int) -> Array:
        index = range(len(self))[bag]
        return self._fetch([index])[index]

    def __repr__(self) -> str:
        return f"FarBags({len(self)} bags, {self.n_features} features)"

    def __getattr__(self, name: str) -> object:
        if name in ("instances", "offsets", "ids"):
            raise BagwiseError(f"The {name} of all bags are not here: they lie on the cluster. Select a few bags.")
        raise AttributeError(name)

    @property
    def n_features(self) -> int:
        """Number of features d of an instance."""
        return self._n_features

    def name(self, bag: int) -> str:
        """The id of one bag, as text."""
        return self._names([bag])[0]

    def select(self, chosen: object) -> Bags:
        """The bags at these positions, in this order, with their ids."""
        wanted = np.asarray(chosen)
        if wanted.dtype == bool:
            wanted = np.flatnonzero(wanted)
        positions = [range(len(self))[bag] for bag in wanted.tolist()]
        if not positions:
            raise BagwiseError("No bag is selected: select at least one.")
        return together(self._fetch(positions), positions, self._names(positions))

    def portions(self) -> Iterator[Array]:
        """The positions of all bags, as many at a time as are fetched together."""
        for first in range(0, len(self), FETCHED_TOGETHER):
            yield np.arange(first, min(first + FETCHED_TOGETHER, len(self)))


def together(rows: dict[int, Array], bags: Sequence[int], ids: Sequence[str] | None = None) -> Bags:
    """These bags, in this order."""
    offsets = np.concatenate([[0], np.cumsum([len(rows[bag]) for bag in bags])]).astype(np.int64)
    names = np.asarray(bags) if ids is None else np.asarray(ids)
    return Bags.trusted(np.concatenate([rows[bag] for bag in bags]), offsets, names)


class BagCache:
    """The instances of bags that were fetched, the latest wanted kept; labelled ones are wanted again and again."""

    def __init__(self, fetch: Fetch, most: int = MOST_KEPT) -> None:
        self._fetch, self._most = fetch, most
        self._rows: OrderedDict[int, Array] = OrderedDict()
        self._bytes = 0

    def add(self, rows: dict[int, Array]) -> None:
        """Keep these, and let go of what was not wanted for longest."""
        for bag, instances in rows.items():
            if bag not in self._rows:
                self._rows[bag] = instances
                self._bytes += instances.nbytes
        while self._bytes > self._most and len(self._rows) > len(rows):
            self._bytes -= self._rows.popitem(last=False)[1].nbytes

    def rows(self, bags: Sequence[int]) -> dict[int, Array]:
        """The instances of these bags, fetched where they are not here."""
        missing = [bag for bag in bags if bag not in self._rows]
        found = self._fetch(missing) if missing else {}
        for bag in bags:
            if bag not in found:
                self._rows.move_to_end(bag)
                found[bag] = self._rows[bag]
        self.add(found)
        return found

    def bytes_of(self, bags: Sequence[int], usual: float) -> float:
        """What the instances of these bags take; those that are not here, what is usual."""
        here = [self._rows[bag].nbytes for bag in bags if bag in self._rows]
        return sum(here) + usual * (len(bags) - len(here))

    def bags(self, bags: Sequence[int]) -> Bags:
        """These bags."""
        return together(self.rows(bags), bags)
