"""LabelStore: what is known of every pair, and what was withdrawn, counted as it changes.

Counting from scratch would look at every pair of the pool for each question. A store has a row for every bag, or only
for bags of which something is known: a pool on a cluster may have more bags than the learner has room for.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from bagwise.data.instance_labels import InstanceLabel
from bagwise.data.labels import Labels
from bagwise.kernels import Array

SPARE_ROWS = 64


@dataclass(frozen=True)
class LabelCounts:
    """Counts over all bags of a pool, whether or not they are stored in this process.

    Parameters
    ----------
    bags
        Number of bags B.
    asked, known, present
        Number of bags by class, (C,): for which the pair is known or withdrawn, known, known to be present.
    complete
        Number of bags all of whose classes are known.
    present_in_complete
        Number of present pairs in these.

    Examples
    --------
    >>> labels = Labels.from_array([[1, 0], [1, np.nan], [np.nan, np.nan]])
    >>> counts = LabelCounts.of(labels, np.zeros((3, 2), bool))
    >>> counts.n_known, counts.n_open, counts.complete
    (3, 3, 1)
    """

    bags: int
    asked: Array
    known: Array
    present: Array
    complete: int
    present_in_complete: int

    @classmethod
    def of(cls, labels: Labels, withdrawn: Array) -> "LabelCounts":
        """Return the counts of some labels, (B, C), and of the pairs that are withdrawn, (B, C)."""
        known, value = labels.known, labels.value
        complete = known.all(axis=1)
        return cls(
            len(known),
            np.count_nonzero(known | withdrawn, axis=0),
            np.count_nonzero(known, axis=0),
            np.count_nonzero(value, axis=0),
            int(np.count_nonzero(complete)),
            int(np.count_nonzero(value[complete])),
        )

    def changed(self, before: "LabelCounts", after: "LabelCounts") -> "LabelCounts":
        """Return the counts after some of the bags changed from the counts `before` to the counts `after`."""
        return LabelCounts(
            self.bags,
            self.asked + after.asked - before.asked,
            self.known + after.known - before.known,
            self.present + after.present - before.present,
            self.complete + after.complete - before.complete,
            self.present_in_complete + after.present_in_complete - before.present_in_complete,
        )

    @cached_property
    def n_known(self) -> int:
        """Number of known pairs |L|."""
        return int(self.known.sum())

    @property
    def n_open(self) -> int:
        """Number of pairs that are neither known nor withdrawn."""
        return self.bags * len(self.asked) - int(self.asked.sum())

    @property
    def mean_positives(self) -> float:
        """Mean number of classes per bag: of the complete bags, or else estimated from all known pairs."""
        if self.complete:
            return self.present_in_complete / self.complete
        return float(self.present.sum() / max(self.n_known, 1) * len(self.present))


@dataclass(frozen=True)
class KnownLabels:
    """The bags of which, or of whose instances, something is known or withdrawn.

    Parameters
    ----------
    bags
        Their positions, (M,), ascending.
    labels
        What is known of them, (M, C).
    withdrawn
        Which of their pairs were withdrawn, (M, C).
    """

    bags: Array
    labels: Labels
    withdrawn: Array


class PairState(IntEnum):
    """What a pair can be: open to questions, known to be absent or present, or withdrawn."""

    OPEN = 0
    ABSENT = 1
    PRESENT = 2
    WITHDRAWN = 3


@dataclass(frozen=True)
class LabelChange:
    """A pair, its new state, and what is known of single instances of its bag.

    Parameters
    ----------
    bag, label_class
        Positions of the bag and the class.
    state
        The new state of the pair; None where it stays as it is.
    flip
        The rate at which such a label is wrong.
    labelled
        New labels of instances of the bag.
    forgotten
        Instances whose label about the class is removed.
    """

    bag: int
    label_class: int
    state: PairState | None
    flip: float = 0.0
    labelled: tuple[InstanceLabel, ...] = ()
    forgotten: tuple[int, ...] = ()


class LabelListener(Protocol):
    """Is notified of every change of a label store, after it."""

    def changed(self, change: LabelChange) -> None:
        """Handle the new state of one pair."""
        ...

    def loaded(self) -> None:
        """Handle that everything was replaced at once."""
        ...


class RowIndex(Protocol):
    """Which row of the arrays of a label store belongs to a bag."""

    @property
    def n_bags(self) -> int:
        """Number of bags, with or without rows."""
        ...

    @property
    def capacity(self) -> int:
        """Number of rows that the arrays need."""
        ...

    def find(self, bag: int) -> int | None:
        """The row of a bag, or None where it has none."""
        ...

    def assign(self, bag: int) -> int:
        """The row of a bag, which gets one where it has none."""
        ...

    def reset(self, bags: Array) -> Array:
        """Forget all rows, and assign rows to these bags: their rows."""
        ...

    def bags(self) -> Array:
        """The bag of every row in use, from the first row on."""
        ...


class DenseRows:
    """A row for every bag: that of its position."""

    def __init__(self, n_bags: int) -> None:
        self.n_bags = self.capacity = n_bags

    def find(self, bag: int) -> int | None:
        """The position of the bag."""
        return bag

    def assign(self, bag: int) -> int:
        """The position of the bag."""
        return bag

    def reset(self, bags: Array) -> Array:
        """The positions of the bags."""
        return bags

    def bags(self) -> Array:
        """All positions."""
        return np.arange(self.n_bags)


class SparseRows:
    """A row only for bags that were changed, in the order in which they were; room for more is made in advance."""

    def __init__(self, n_bags: int) -> None:
        self.n_bags, self.capacity = n_bags, SPARE_ROWS
        self._rows: dict[int, int] = {}

    def find(self, bag: int) -> int | None:
        """The row of a bag, or None where it has none."""
        return self._rows.get(bag)

    def assign(self, bag: int) -> int:
        """The row of a bag, which gets one where it has none."""
        row = self._rows.setdefault(bag, len(self._rows))
        if row == self.capacity:
            self.capacity *= 2
        return row

    def reset(self, bags: Array) -> Array:
        """Forget all rows, and assign the first rows to these bags."""
        self._rows = {bag: row for row, bag in enumerate(bags.tolist())}
        self.capacity = len(bags) + SPARE_ROWS
        return np.arange(len(bags))

    def bags(self) -> Array:
        """The bags that have rows, from the first row on."""
        return np.array(list(self._rows), np.int64)


class LabelStore:
    """Labels of a pool that are changed pair by pair, and counts that are kept up to date.

    Parameters
    ----------
    labels
        What is known at the start, (B, C); changed in place, through this store alone.
    withdrawn
        Pairs that are not asked although they are unknown, (B, C); by default none.
    rows
        Which bags have rows in these arrays; by default all.
    listener
        Is notified of every change.

    See Also
    --------
    LabelStore.sparse : Rows only for bags of which something is known.

    Examples
    --------
    >>> store = LabelStore(Labels.unknown(3, 2))
    >>> store.record(2, 0, present=True)
    >>> store.withdraw(0, 1)
    >>> store.label_counts.n_known, store.label_counts.n_open, store.labelled
    (1, 4, array([2]))
    >>> store.forget(2, 0)
    >>> store.is_open(2, 0)
    True
    """

    def __init__(
        self,
        labels: Labels,
        withdrawn: Array | None = None,
        rows: RowIndex | None = None,
        listener: LabelListener | None = None,
    ) -> None:
        self.listener = listener
        self._rows = DenseRows(len(labels)) if rows is None else rows
        self._set(labels, np.zeros(labels.known.shape, bool) if withdrawn is None else withdrawn)

    @classmethod
    def of(cls, labels: Any, bags: int, classes: int) -> "LabelStore":
        """Return a store that starts with Labels, an array with NaN for unknown, or None for nothing; it is copied."""
        return cls(Labels.unknown(bags, classes) if labels is None else Labels.of(labels, bags).copy())

    @classmethod
    def sparse(cls, bags: int, classes: int, listener: LabelListener | None = None) -> "LabelStore":
        """Return an empty store of any number of bags that takes memory only for those of which something is known."""
        return cls(Labels.unknown(SPARE_ROWS, classes), rows=SparseRows(bags), listener=listener)

    @property
    def is_sparse(self) -> bool:
        """Whether only some bags have rows in `labels`, `withdrawn` and `askable`."""
        return isinstance(self._rows, SparseRows)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of bags and of classes, (B, C)."""
        return self._rows.n_bags, self.labels.n_classes

    @property
    def labelled(self) -> Array:
        """Positions of the bags with a known label, of the bag or of an instance, ascending."""
        return np.array(self._labelled, np.int64)

    def is_open(self, bag: int, label_class: int) -> bool:
        """Whether the pair is neither known nor withdrawn."""
        row = self._rows.find(bag)
        return row is None or bool(self.askable[row, label_class])

    def flip(self, bag: int, label_class: int) -> float:
        """Return the rate at which the label of a pair is wrong."""
        row = self._rows.find(bag)
        return 0.0 if self.labels.flip is None or row is None else float(self.labels.flip[row, label_class])

    def record(
        self, bag: int, label_class: int, present: bool, flip: float = 0.0, labelled: Sequence[InstanceLabel] = ()
    ) -> None:
        """Make one pair known, and labels of instances with it; `flip` is the rate at which such a label is wrong."""
        state = PairState.PRESENT if present else PairState.ABSENT
        self.apply(LabelChange(bag, label_class, state, flip, tuple(labelled)))

    def label_instances(self, bag: int, label_class: int, labels: Sequence[InstanceLabel]) -> None:
        """Replace all that is known of the instances of a bag about one class; the pair stays as it is."""
        row = self._rows.find(bag)
        before = () if row is None else self.labels.instances.about(row, label_class)
        kept = {label.instance for label in labels}
        forgotten = tuple(label.instance for label in before if label.instance not in kept)
        changed = tuple(label for label in labels if label not in before)
        if changed or forgotten:
            self.apply(LabelChange(bag, label_class, None, labelled=changed, forgotten=forgotten))

    def withdraw(self, bag: int, label_class: int) -> None:
        """Make one pair unknown and never ask it again: the answer was *unsure*."""
        self.apply(LabelChange(bag, label_class, PairState.WITHDRAWN))

    def forget(self, bag: int, label_class: int) -> None:
        """Make one pair unknown, and open to questions."""
        self.apply(LabelChange(bag, label_class, PairState.OPEN))

    def apply(self, change: LabelChange) -> None:
        """Give one pair a new state, and notify the listener."""
        with self._changing(change.bag) as row:
            if change.state is not None:
                self.withdrawn[row, change.label_class] = change.state == PairState.WITHDRAWN
            if change.state in (PairState.ABSENT, PairState.PRESENT):
                self.labels.record(row, change.label_class, change.state == PairState.PRESENT, change.flip)
            elif change.state is not None:
                self.labels.forget(row, change.label_class)
            for instance in change.forgotten:
                self.labels.instances.forget(row, instance, change.label_class)
            for label in change.labelled:
                self.labels.instances.set(row, label)
        if self.listener is not None:
            self.listener.changed(change)

    def known_labels(self, first: int = 0, last: int | None = None) -> KnownLabels:
        """Return all that is known or withdrawn of the bags `first` to `last` (exclusive; None: of all)."""
        bags = self._rows.bags()
        something = np.asarray(~self.askable[: len(bags)].all(axis=1))
        something[[row for row in self.labels.instances.bags if row < len(bags)]] = True
        rows = np.flatnonzero(something)
        rows = rows[(bags[rows] >= first) & (bags[rows] < (self._rows.n_bags if last is None else last))]
        rows = rows[np.argsort(bags[rows])]
        return KnownLabels(bags[rows], self.labels.select(rows), self.withdrawn[rows])

    def labels_of(self, bags: Sequence[int]) -> Labels:
        """Return what is known of these bags, in this order."""
        places, rows = self._found(bags)
        if len(places) == len(bags):
            return self.labels.select(rows)
        labels = Labels.unknown(len(bags), self.labels.n_classes)
        labels.put(places, self.labels.select(rows))
        return labels

    def open_pairs(self, bags: Sequence[int] | Array) -> Array:
        """Return which pairs of these bags are neither known nor withdrawn, (n, C) of bool."""
        places, rows = self._found(bags)
        is_open = np.ones((len(bags), self.labels.n_classes), bool)
        is_open[places] = self.askable[rows]
        return is_open

    def open_bags(self, candidates: Array | None = None) -> Array:
        """Return the positions of the bags with an open pair, ascending; of the candidates, (B,) of bool, if given."""
        is_open = np.ones(self._rows.n_bags, bool) if candidates is None else candidates.copy()
        bags = self._rows.bags()
        is_open[bags[~self.askable[: len(bags)].any(axis=1)]] = False
        return np.flatnonzero(is_open)

    def n_open(self, candidates: Array | None = None) -> int:
        """Return the number of open pairs; of the candidates, (B,) of bool, if given."""
        if candidates is None:
            return self.label_counts.n_open
        bags = self._rows.bags()
        closed = int(np.count_nonzero(~self.askable[: len(bags)][candidates[bags]]))
        return int(np.count_nonzero(candidates)) * self.labels.n_classes - closed

    def _found(self, bags: Sequence[int] | Array) -> tuple[Array, Array]:
        """Return the places among these bags of those that have rows, and their rows."""
        rows = [self._rows.find(int(bag)) for bag in bags]
        found = [(place, row) for place, row in enumerate(rows) if row is not None]
        places, rows_of_these = np.array(found, np.int64).reshape(-1, 2).T
        return places, rows_of_these

    def load(self, known: KnownLabels) -> None:
        """Replace everything by these known labels, and notify the listener."""
        rows = self._rows.reset(known.bags)
        labels = Labels.unknown(self._rows.capacity, self.labels.n_classes)
        withdrawn = np.zeros(labels.known.shape, bool)
        labels.put(rows, known.labels)
        withdrawn[rows] = known.withdrawn
        self._set(labels, withdrawn)
        if self.listener is not None:
            self.listener.loaded()

    def _set(self, labels: Labels, withdrawn: Array) -> None:
        self.labels, self.withdrawn = labels, withdrawn
        self.askable = np.asarray(~(labels.known | withdrawn))
        self.label_counts = replace(LabelCounts.of(labels, withdrawn), bags=self._rows.n_bags)
        self.touched: list[int] = []
        """Rows that were changed, in order: a copy of the arrays is brought up to date with them."""
        self._labelled: list[int] = sorted(self._rows.bags()[labels.labelled].tolist())

    def _assign(self, bag: int) -> int:
        row = self._rows.assign(bag)
        if self._rows.capacity > len(self.askable):
            spare = Labels.unknown(self._rows.capacity - len(self.askable), self.labels.n_classes)
            self.labels = self.labels.beside(spare)
            self.withdrawn = np.concatenate([self.withdrawn, spare.known])
            self.askable = np.concatenate([self.askable, ~spare.known])
        return row

    @contextmanager
    def _changing(self, bag: int) -> Iterator[int]:
        row = self._assign(bag)
        before, was_labelled = self._counts_of(row), self._is_labelled(row)
        yield row
        after = self._counts_of(row)
        self.askable[row] = ~(self.labels.known[row] | self.withdrawn[row])
        self.touched.append(row)
        self.label_counts = self.label_counts.changed(before, after)
        place, is_labelled = bisect_left(self._labelled, bag), self._is_labelled(row)
        if is_labelled and not was_labelled:
            self._labelled.insert(place, bag)
        elif was_labelled and not is_labelled:
            del self._labelled[place]

    def _is_labelled(self, row: int) -> bool:
        return bool(self.labels.known[row].any()) or self.labels.instances.has(row)

    def _counts_of(self, row: int) -> LabelCounts:
        known, value = self.labels.known[row], self.labels.value[row]
        complete = bool(known.all())
        asked = known | self.withdrawn[row]
        present_in_complete = int(value.sum()) if complete else 0
        return LabelCounts(1, asked, known.copy(), value.copy(), int(complete), present_in_complete)
