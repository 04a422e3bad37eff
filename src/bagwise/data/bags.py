"""Bags: many instances, grouped. Bad input is refused here, once; everything behind trusts the shapes."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bagwise.core.errors import BagwiseError
from bagwise.kernels import Array, gather, hash_of, mix

VALUES_PER_CHUNK = 1 << 20


class Bags:
    """Ragged bags as one flat array: bag `b` is rows `offsets[b]:offsets[b + 1]` of `instances`.

    `instances` (N, d) is used as it is where it can be: a float16, float32 or float64 C-ordered array or memory map is
    never copied; what is stored in float16 is computed with in float32. `ids` name the bags; ties
    and random questions are keyed by them, so the order of the bags does not matter.

    >>> bags = Bags.from_list([[[0.0, 1.0]], [[2.0, 3.0], [4.0, 5.0]]], ids=["a", "b"])
    >>> bags
    Bags(2 bags, 3 instances, 2 features)
    >>> bags[1]
    array([[2., 3.],
           [4., 5.]])
    """

    def __init__(
        self, instances: npt.ArrayLike, offsets: npt.ArrayLike, ids: Sequence[Any] | Array | None = None
    ) -> None:
        self.instances = _as_instances(instances)
        self.offsets = _as_offsets(offsets, len(self.instances))
        self.ids = np.arange(len(self)) if ids is None else _as_ids(ids, len(self))
        self._validate_no_empty_bags()
        self._validate_features()

    @classmethod
    def from_list(cls, bags: Sequence[npt.ArrayLike], ids: Sequence[Any] | Array | None = None) -> "Bags":
        """From one (n_b, d) array per bag."""
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
        """From arrays that went through the checks before, as in a project: nothing is looked at again."""
        bags = object.__new__(cls)
        bags.instances, bags.offsets, bags.ids = instances, offsets, ids
        return bags

    @classmethod
    def of(cls, bags: "Bags | Sequence[npt.ArrayLike]") -> "Bags":
        """`bags` as Bags, whether they are already or a list with one array per bag."""
        return bags if isinstance(bags, Bags) else cls.from_list(bags)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, bag: int) -> Array:
        """The (n_b, d) instances of one bag, as a view."""
        index = range(len(self))[bag]
        return self.rows(self.offsets[index], self.offsets[index + 1])

    def __iter__(self) -> Iterator[Array]:
        return (self[bag] for bag in range(len(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} bags, {self.n_instances} instances, {self.n_features} features)"

    @property
    def n_instances(self) -> int:
        """Number of instances N in all bags."""
        return int(self.offsets[-1])

    @property
    def n_features(self) -> int:
        """Number of features d of an instance."""
        return int(self.instances.shape[1])

    @property
    def sizes(self) -> Array:
        """Number of instances of every bag."""
        return np.diff(self.offsets)

    @cached_property
    def keys(self) -> Array:
        """64 bits per bag made from its id, for randomness that does not depend on the bag's place."""
        if self.ids.dtype.kind in "iu":
            return mix(self.ids.astype(np.uint64))
        return np.array([hash_of(str(name)) for name in self.ids], np.uint64)

    def select(self, chosen: npt.ArrayLike) -> "Bags":
        """The bags at these positions, in this order, with their ids."""
        positions = np.arange(len(self))[np.asarray(chosen)]
        return Bags.trusted(*gather(self.instances, self.offsets, positions), self.ids[positions])

    def chunks(self) -> Iterator[tuple[int, Array]]:
        """(first row, rows) through all instances, about a million values at a time."""
        rows = max(1, VALUES_PER_CHUNK // self.n_features)
        for start in range(0, self.n_instances, rows):
            yield start, self.rows(start, min(start + rows, self.n_instances))

    def portions(self) -> Iterator[Array]:
        """The positions of all bags, as many at a time as are best looked at together: here, all."""
        yield np.arange(len(self))

    def rows(self, first: int, last: int) -> Array:
        """Instances `first` to `last`, whatever bags they are in."""
        return self.instances[first:last]

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
        """The id of one bag, as text."""
        return str(self.ids[bag])


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
