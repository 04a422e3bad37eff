"""Label store: which pairs are known or withdrawn, with counts that are updated at every change.

Counting from scratch would read every pair of the pool for each question. A `LabelStore` has a row for every bag; a
`SparseLabelStore` only for bags with an answer, for pools whose bags are stored on other machines.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bagwise.data.labels import Labels
from bagwise.kernels import Array

FIRST_ROWS = 64


@dataclass(frozen=True)
class LabelCounts:
    """Counts over all bags of a pool, of which a shard holds some; `asked`, `known` and `present` are by class."""

    bags: int
    asked: Array
    known: Array
    present: Array
    complete: int
    present_in_complete: int

    @classmethod
    def of(cls, labels: Labels, withdrawn: Array) -> "LabelCounts":
        """Count pair by pair."""
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
        """Return the counts after those of some bags changed from `before` to `after`."""
        return LabelCounts(
            self.bags,
            self.asked + (after.asked - before.asked),
            self.known + (after.known - before.known),
            self.present + (after.present - before.present),
            self.complete + after.complete - before.complete,
            self.present_in_complete + after.present_in_complete - before.present_in_complete,
        )

    @cached_property
    def n_known(self) -> int:
        """Number of known pairs |L|."""
        return int(self.known.sum())

    @property
    def n_open(self) -> int:
        """Number of pairs that may be asked."""
        return self.bags * len(self.asked) - int(self.asked.sum())

    @property
    def mean_positives(self) -> float:
        """Classes per bag, from the completely labelled bags, or else from the share of known pairs present."""
        if self.complete:
            return self.present_in_complete / self.complete
        return float(self.present.sum() / max(self.n_known, 1) * len(self.present))


@dataclass(frozen=True)
class KnownLabels:
    """Labels and withdrawn pairs of the bags that have any, in the order of their positions."""

    bags: Array
    labels: Labels
    withdrawn: Array


class LabelStore:
    """A row for every bag; `labels` and `withdrawn` are changed only by its methods."""

    def __init__(self, labels: Labels, withdrawn: Array | None = None) -> None:
        self.labels = labels
        self.withdrawn = np.zeros(labels.known.shape, bool) if withdrawn is None else withdrawn
        self.askable = np.asarray(~(labels.known | self.withdrawn))
        self.label_counts = LabelCounts.of(labels, self.withdrawn)
        self.touched: list[int] = []
        """Rows that were changed, in order: a copy of the arrays elsewhere is brought up to date by them."""
        self._labelled: list[int] = np.flatnonzero(labels.known.any(axis=1)).tolist()

    @classmethod
    def of(cls, labels: Any, bags: int, classes: int) -> "LabelStore":
        """Return a store of Labels, of an array with NaN for unknown, or of nothing."""
        return cls(Labels.unknown(bags, classes) if labels is None else Labels.of(labels, bags).copy())

    @property
    def shape(self) -> tuple[int, int]:
        """Bags and classes."""
        return self.label_counts.bags, self.labels.n_classes

    @property
    def labelled(self) -> Array:
        """Bags with a known label, in order."""
        return np.array(self._labelled, np.int64)

    def is_open(self, bag: int, label_class: int) -> bool:
        """Whether the pair is neither known nor withdrawn."""
        return bool(self.askable[bag, label_class])

    def flip(self, bag: int, label_class: int) -> float:
        """The rate at which the label of a pair is wrong."""
        row = self._row(bag)
        return 0.0 if self.labels.flip is None else float(self.labels.flip[row, label_class])

    def record(self, bag: int, label_class: int, present: bool, flip: float = 0.0) -> None:
        """Make one pair known; `flip` is the rate at which such a label is wrong."""
        with self._changing(bag) as row:
            self.withdrawn[row, label_class] = False
            self.labels.record(row, label_class, present, flip)

    def withdraw(self, bag: int, label_class: int) -> None:
        """Record *unsure*: the pair stays unknown and is not asked again."""
        with self._changing(bag) as row:
            self.labels.forget(row, label_class)
            self.withdrawn[row, label_class] = True

    def forget(self, bag: int, label_class: int) -> None:
        """Make one pair open again."""
        with self._changing(bag) as row:
            self.labels.forget(row, label_class)
            self.withdrawn[row, label_class] = False

    def told(self) -> KnownLabels:
        """Return everything that is not open."""
        bags = np.flatnonzero(~self.askable.all(axis=1))
        return KnownLabels(bags, self.labels.select(bags), self.withdrawn[bags])

    def labels_of(self, bags: Sequence[int]) -> Labels:
        """Return the labels of these bags, in this order."""
        rows = np.array([self._row(bag) for bag in bags], np.int64)
        return self.labels.select(rows)

    def remember(self, known: KnownLabels) -> None:
        """Replace all contents."""
        labels = Labels.unknown(*self.shape)
        withdrawn = np.zeros(self.shape, bool)
        labels.put(known.bags, known.labels)
        withdrawn[known.bags] = known.withdrawn
        self.__init__(labels, withdrawn)  # type: ignore[misc]

    def _row(self, bag: int) -> int:
        """Return the row of a bag."""
        return bag

    @contextmanager
    def _changing(self, bag: int) -> Iterator[int]:
        row = self._row(bag)
        before = self._counts_of(row)
        yield row
        after = self._counts_of(row)
        self.askable[row] = ~(self.labels.known[row] | self.withdrawn[row])
        self.touched.append(row)
        self.label_counts = self.label_counts.changed(before, after)
        place = bisect_left(self._labelled, bag)
        if after.n_known and not before.n_known:
            self._labelled.insert(place, bag)
        elif before.n_known and not after.n_known:
            del self._labelled[place]

    def _counts_of(self, row: int) -> LabelCounts:
        known, value = self.labels.known[row], self.labels.value[row]
        complete = bool(known.all())
        asked = known | self.withdrawn[row]
        present_in_complete = int(value.sum()) if complete else 0
        return LabelCounts(
            1, asked.astype(int), known.astype(int), value.astype(int), int(complete), present_in_complete
        )


class SparseLabelStore(LabelStore):
    """A row only for bags with an answer, in the order of their first answers."""

    def __init__(self, bags: int, classes: int) -> None:
        super().__init__(Labels.unknown(FIRST_ROWS, classes))
        self.label_counts = replace(self.label_counts, bags=bags)
        self._rows: dict[int, int] = {}

    def is_open(self, bag: int, label_class: int) -> bool:
        """Whether the pair is neither known nor withdrawn."""
        return bag not in self._rows or super().is_open(self._rows[bag], label_class)

    def told(self) -> KnownLabels:
        """Return everything that is not open."""
        return self.told_between(0, self.label_counts.bags)

    def told_between(self, first: int, last: int) -> KnownLabels:
        """Return everything that is not open of consecutive bags."""
        kept = sorted(bag for bag in self._rows if first <= bag < last and not self.askable[self._rows[bag]].all())
        rows = np.array([self._rows[bag] for bag in kept], np.int64)
        return KnownLabels(np.array(kept, np.int64), self.labels.select(rows), self.withdrawn[rows])

    def remember(self, known: KnownLabels) -> None:
        """Replace all contents."""
        bags = self.label_counts.bags
        spare = Labels.unknown(FIRST_ROWS, self.labels.n_classes)
        LabelStore.__init__(self, known.labels.beside(spare), np.concatenate([known.withdrawn, spare.known]))
        self.label_counts = replace(self.label_counts, bags=bags)
        self._rows = {bag: row for row, bag in enumerate(known.bags.tolist())}
        self._labelled = known.bags[self._labelled].tolist()

    def _row(self, bag: int) -> int:
        row = self._rows.setdefault(bag, len(self._rows))
        if row == len(self.askable):
            spare = Labels.unknown(*self.askable.shape)
            self.labels = self.labels.beside(spare)
            self.withdrawn = np.concatenate([self.withdrawn, spare.known])
            self.askable = np.concatenate([self.askable, ~spare.known])
        return row
