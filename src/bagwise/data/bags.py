"""Bags: many instances, grouped. Input is validated once, when bags are made; all later code trusts the shapes."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bagwise.core.errors import BagwiseError
from bagwise.data.bag_store import ArrayStore, BagStore
from bagwise.kernels import Array, gather, hash_of, mix

VALUES_PER_CHUNK = 1 << 20


class Bags:
    """Ragged bags of instances: bag `b` is rows `offsets[b]:offsets[b + 1]` of `instances`.

    Parameters
    ----------
    instances
        All instances, (N, d). A C-ordered float16, float32 or float64 array or memory map is used as it is and never
        copied; other numbers become float64. Values stored as float16 are computed with as float32.
    offsets
        The first row of every bag, and N: (B + 1,) whole numbers.
    ids
        Names of the bags, all text or all whole numbers, unique; by default their positions. Ties and random questions
        are keyed by them, so the order of the bags does not matter.

    Raises
    ------
    BagwiseError
        If a bag is empty, a feature is missing or infinite, or shapes do not fit.

    See Also
    --------
    Bags.over : Bags in any other `BagStore`, such as the partitions of a folder or a cluster.

    Examples
    --------
    >>> bags = Bags.from_list([[[0.0, 1.0]], [[2.0, 3.0], [4.0, 5.0]]], ids=["a", "b"])
    >>> bags
    Bags(2 bags, 3 instances, 2 features)
    >>> bags[1]
    array([[2., 3.],
           [4., 5.]])
    """

    store: BagStore
    """Where the bags are stored."""

    scores: Array | None = None
    """A classifier's logit of every instance and class, (N, C), from which the model starts (`data.scores`)."""

    def __init__(
        self, instances: npt.ArrayLike, offsets: npt.ArrayLike, ids: Sequence[Any] | Array | None = None
    ) -> None:
        rows = _as_instances(instances)
        starts = _as_offsets(offsets, len(rows))
        names = np.arange(len(starts) - 1) if ids is None else _as_ids(ids, len(starts) - 1)
        self.store = ArrayStore(rows, starts, names)
        self._validate_no_empty_bags()
        self._validate_features()

    @classmethod
    def over(cls, store: BagStore) -> "Bags":
        """Bags in a store, whose contents are trusted.

        Parameters
        ----------
        store : BagStore
            Where the bags are stored.

        Returns
        -------
        Bags
        """
        bags = cls.__new__(cls)
        bags.store = store
        return bags

    @classmethod
    def from_list(cls, bags: Sequence[npt.ArrayLike], ids: Sequence[Any] | Array | None = None) -> "Bags":
        """Return bags made of one (n_b, d) array per bag.

        Parameters
        ----------
        bags
            One array-like of shape (n_b, d) per bag, n_b at least 1, all with the same d.
        ids
            Names of the bags, as for `Bags`.

        Returns
        -------
        Bags
        """
        if len(bags) == 0:
            raise BagwiseError("There are no bags: give at least one (instances x features) array.")
        names: list[Any] = list(range(len(bags)))
        if ids is not None:
            names = _as_ids(ids, len(bags)).tolist()
        arrays = [_as_bag(name, bag) for name, bag in zip(names, bags, strict=True)]
        width = None
        for name, array in zip(names, arrays, strict=True):
            if array.size == 0:
                raise BagwiseError(f"Bag {name!r} is empty: every bag needs at least one instance.")
            if array.ndim != 2:
                raise BagwiseError(
                    f"Bag {name!r} has shape {array.shape}: it must be 2-dimensional, (instances x features)."
                )
            width = array.shape[1] if width is None else width
            if array.shape[1] != width:
                raise BagwiseError(f"Bag {name!r} has {array.shape[1]} features where the bags before it have {width}.")
        offsets = np.concatenate([[0], np.cumsum([len(array) for array in arrays])])
        return cls(np.concatenate(arrays), offsets, ids)

    @classmethod
    def trusted(cls, instances: Array, offsets: Array, ids: Array) -> "Bags":
        """From arrays that were validated before, as those of a project: nothing is checked again.

        Parameters
        ----------
        instances : ndarray, shape (N, d)
            All instances.
        offsets : ndarray of int, shape (B + 1,)
            The first row of every bag, and N.
        ids : ndarray, shape (B,)
            The id of every bag.

        Returns
        -------
        Bags
        """
        return cls.over(ArrayStore(instances, offsets, ids))

    @classmethod
    def of(cls, bags: "Bags | Sequence[npt.ArrayLike]") -> "Bags":
        """Return `bags` as Bags, whether they are Bags already or a list with one array per bag.

        Parameters
        ----------
        bags : Bags or sequence of array-like
            The bags, or one array-like of shape (n_b, d) per bag.

        Returns
        -------
        Bags
        """
        return bags if isinstance(bags, Bags) else cls.from_list(bags)

    def __len__(self) -> int:
        return self.store.n_bags

    def __getitem__(self, bag: int) -> Array:
        """The instances of one bag, (n_b, d); a view where the store has an array."""
        return self.store.bag(range(len(self))[bag])

    def __iter__(self) -> Iterator[Array]:
        return (self[bag] for bag in range(len(self)))

    def __repr__(self) -> str:
        return f"Bags({len(self)} bags, {self.n_instances} instances, {self.n_features} features)"

    @property
    def instances(self) -> Array:
        """All instances, (N, d)."""
        return self.store.instances

    @property
    def offsets(self) -> Array:
        """The first row of every bag, and N: (B + 1,)."""
        return self.store.offsets

    @property
    def ids(self) -> Array:
        """The id of every bag, (B,)."""
        return self.store.ids

    @property
    def n_instances(self) -> int:
        """Number of instances N in all bags."""
        return self.store.n_instances

    @property
    def n_features(self) -> int:
        """Number of features d of an instance."""
        return self.store.n_features

    @property
    def sizes(self) -> Array:
        """Number of instances of every bag, (B,)."""
        return np.diff(self.offsets)

    @cached_property
    def keys(self) -> Array:
        """64 bits per bag made from its id, (B,), for randomness that does not depend on the position of the bag."""
        if self.ids.dtype.kind in "iu":
            return mix(self.ids.astype(np.uint64))
        return np.array([hash_of(str(name)) for name in self.ids], np.uint64)

    def select(self, chosen: npt.ArrayLike) -> "Bags":
        """Return the bags at these positions, or where a mask is true, in this order, with their ids.

        Parameters
        ----------
        chosen : array-like of int, or of bool and shape (B,)
            Positions, of which negative ones count from the end, or a mask.

        Returns
        -------
        Bags
            A copy of their instances, in memory.
        """
        positions = _as_positions(chosen, len(self))
        selected = Bags.trusted(*self.store.select(positions))
        if self.scores is not None:
            selected.scores = gather(self.scores, self.offsets, positions)[0]
        return selected

    def with_scores(self, scores: Array | None) -> "Bags":
        """Return the same bags with scores of their instances, or without.

        Parameters
        ----------
        scores : ndarray, shape (N, C), optional
            Finite logits, as `Scores.logits` returns them.

        Returns
        -------
        Bags
        """
        other = Bags.over(self.store)
        other.scores = scores
        return other

    def chunks(self) -> Iterator[tuple[int, Array]]:
        """Yield (first row, rows) of all instances, about a million values at a time."""
        rows = max(1, VALUES_PER_CHUNK // self.n_features)
        for start in range(0, self.n_instances, rows):
            yield start, self.rows(start, min(start + rows, self.n_instances))

    def portions(self) -> Iterator[Array]:
        """The positions of all bags, as many at a time as are best read together."""
        return self.store.portions()

    def rows(self, first: int, last: int) -> Array:
        """Instances `first` to `last` (exclusive), whatever bags they are in.

        Parameters
        ----------
        first, last : int
            Rows of `instances`, counted from 0.

        Returns
        -------
        ndarray, shape (last - first, d)
        """
        return self.store.rows(first, last)

    def _validate_no_empty_bags(self) -> None:
        if len(self) == 0:
            raise BagwiseError("There are no bags: give at least one.")
        empty = np.flatnonzero(self.sizes < 1)
        if len(empty):
            raise BagwiseError(
                f"Bag {self._quoted(empty[0])} is empty: every bag needs at least one instance "
                f"({len(empty)} of {len(self)} bags have none)."
            )

    def _validate_features(self) -> None:
        for start, chunk in self.chunks():
            finite = np.isfinite(chunk)
            if not finite.all():
                row, column = np.argwhere(~finite)[0]
                bag = int(np.searchsorted(self.offsets, start + row, side="right")) - 1
                kind = "missing (NaN)" if np.isnan(self.instances[start + row, column]) else "infinite"
                raise BagwiseError(
                    f"Bag {self._quoted(bag)} has a value that is {kind} in feature column {column} "
                    f"(instance {start + row - self.offsets[bag]}): fill or drop it first."
                )

    def _quoted(self, bag: int) -> str:
        return repr(self.ids[bag].item() if isinstance(self.ids[bag], np.generic) else self.ids[bag])

    def name(self, bag: int) -> str:
        """The id of one bag, as text.

        Parameters
        ----------
        bag : int
            The position of the bag.

        Returns
        -------
        str
        """
        return self.store.names([bag])[0]


def _as_positions(chosen: npt.ArrayLike, bags: int) -> Array:
    """Positions between 0 and `bags` - 1, from a mask or from positions of which negative ones count from the end."""
    given = np.asarray(chosen)
    if given.dtype == bool and given.shape != (bags,):
        raise IndexError(f"a mask of shape {given.shape} for {bags} bags")
    if given.dtype.kind not in "biu":
        raise IndexError(f"positions of bags must be whole numbers or a mask, not {given.dtype}")
    positions = np.flatnonzero(given) if given.dtype == bool else given.astype(np.int64)
    if positions.size and not -bags <= positions.min() <= positions.max() < bags:
        raise IndexError(f"a position is outside of {bags} bags")
    return np.where(positions < 0, positions + bags, positions)


def _as_bag(name: Any, given: npt.ArrayLike) -> Array:
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise BagwiseError(f"Bag {name!r} has instances of different width: each needs every feature.") from error
    if array.dtype.kind not in "fiub":
        raise BagwiseError(f"Bag {name!r} holds values of type {array.dtype}: they must be numbers.")
    return array


def _as_instances(given: npt.ArrayLike) -> Array:
    if isinstance(given, np.ma.MaskedArray) and np.ma.getmaskarray(given).any():
        raise BagwiseError("Some features are masked, that is, missing: fill or drop them first.")
    array = np.asarray(given)
    if array.ndim != 2 or array.shape[1] == 0:
        raise BagwiseError(
            f"Instances have shape {array.shape}: they must be 2-dimensional, (instances x features), "
            "with at least one feature."
        )
    if array.dtype.kind not in "fiub":
        raise BagwiseError(f"Instances are of type {array.dtype}: they must be numbers.")
    dtype = array.dtype if array.dtype in (np.float16, np.float32, np.float64) else np.dtype(np.float64)
    return np.ascontiguousarray(array, dtype=dtype)


def _as_offsets(given: npt.ArrayLike, rows: int) -> Array:
    offsets = np.asarray(given)
    if offsets.ndim != 1 or len(offsets) < 1 or offsets.dtype.kind not in "iu":
        raise BagwiseError("Offsets must be a 1-dimensional array of whole numbers, one more than there are bags.")
    offsets = offsets.astype(np.int64)
    if offsets[0] != 0 or offsets[-1] != rows:
        raise BagwiseError(
            f"Offsets run from {offsets[0]} to {offsets[-1]}: they must run from 0 to the number of instances, {rows}."
        )
    if (np.diff(offsets) < 0).any():
        raise BagwiseError(f"Offsets decrease after bag {int(np.argmax(np.diff(offsets) < 0))}: they must not.")
    return offsets


def _as_ids(given: Sequence[Any] | Array, bags: int) -> Array:
    listed = given.tolist() if isinstance(given, np.ndarray) else list(given)
    if len(listed) != bags:
        raise BagwiseError(f"There are {len(listed)} ids for {bags} bags: give one for each.")
    numbers = all(isinstance(name, int) for name in listed)
    if not numbers and not all(isinstance(name, str) for name in listed):
        raise BagwiseError("Ids must all be whole numbers or all be text.")
    ids = np.asarray(listed)
    names, counts = np.unique(ids, return_counts=True)
    if len(names) < bags:
        raise BagwiseError(f"The id {names[counts > 1][0]!s} is given to {counts.max()} bags: ids must be unique.")
    return ids
