"""InstanceLabels: what is known of single instances. An instance is of a class, is not, or was looked at in vain.

Labels of instances are stored as they were given; what they are worth together is decided here, once:

- an instance that is said to be of two classes, or of a class and not of it, is a disagreement and teaches nothing,
  unless the labels have rates at which they are wrong: then they are weighed against each other;
- *of class c* counts only while c is not known to be absent from the bag;
- a class known to be present in a bag all of whose instances are known to be something else is in none of them: what
  was heard is no instance of the bag. Such a label is known, and teaches nothing but what the instances are not.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bagwise.core.errors import BagwiseError
from bagwise.kernels import Array
from bagwise.kernels.arithmetic.elementary import log
from bagwise.kernels.cpu.evidence import BARRED, Evidence

NONE_OF_THE_CLASSES = -1
UNSURE = -1


@dataclass(frozen=True)
class InstanceLabel:
    """What was said of one instance and one class.

    Parameters
    ----------
    instance : int
        Position of the instance in its bag.
    label_class : int
        Position of the class.
    present : bool or None
        The instance is of the class, is not, or the answer was *unsure* (None), which teaches nothing.
    flip : float
        The rate at which such a label is wrong.

    Examples
    --------
    >>> InstanceLabel(instance=3, label_class=0, present=True)
    InstanceLabel(instance=3, label_class=0, present=True, flip=0.0)
    """

    instance: int
    label_class: int
    present: bool | None
    flip: float = 0.0


@dataclass(frozen=True)
class Conflict:
    """An instance of a bag of which two things are said that cannot both be true: the classes they are about."""

    bag: int
    instance: int
    classes: tuple[int, ...]


class _Weighed(NamedTuple):
    """What the labels of one instance are worth beside its logits, and the class of the first of them."""

    instance: int
    weight: Array
    owner: int


class InstanceLabels:
    """Labels of single instances of some bags; all other instances are unknown.

    Parameters
    ----------
    n_classes : int
        Number of classes C.
    labels : mapping of int to iterable of InstanceLabel, optional
        By the position of the bag.

    Examples
    --------
    >>> known = InstanceLabels(n_classes=2)
    >>> known.set(bag=4, label=InstanceLabel(0, 1, True))
    >>> known.of(4)
    (InstanceLabel(instance=0, label_class=1, present=True, flip=0.0),)
    >>> known
    InstanceLabels(1 labels in 1 bags)
    """

    def __init__(self, n_classes: int, labels: Mapping[int, Iterable[InstanceLabel]] | None = None) -> None:
        self.n_classes = n_classes
        self._labels: dict[int, dict[tuple[int, int], InstanceLabel]] = {}
        self._weighed: dict[int, list[_Weighed]] = {}
        self._evidence: tuple[Array, int, Evidence | None] | None = None
        for bag, some in (labels or {}).items():
            for label in some:
                self.set(bag, label)

    @classmethod
    def from_array(cls, array: npt.ArrayLike, offsets: Array, n_classes: int) -> "InstanceLabels":
        """Return instance labels made from an array with one entry or row for every instance.

        Parameters
        ----------
        array : array-like, shape (N,) or (N, C)
            The class of each instance, -1 for none of the classes and NaN for unknown; or for each instance and class 1
            (it is), 0 (it is not) and NaN (unknown).
        offsets : ndarray of int, shape (B + 1,)
            Where the instances of each bag begin.
        n_classes : int
            Number of classes C.

        Returns
        -------
        InstanceLabels

        Raises
        ------
        BagwiseError
            Where the array has another shape or any other value.

        Examples
        --------
        >>> InstanceLabels.from_array([1, np.nan, -1], np.array([0, 2, 3]), n_classes=2).of(1)[0]
        InstanceLabel(instance=0, label_class=0, present=False, flip=0.0)
        """
        given = np.asarray(array, dtype=float)
        n_instances = int(offsets[-1])
        if given.shape == (n_instances,):
            wrong = ~np.isnan(given) & ~np.isin(given, np.arange(NONE_OF_THE_CLASSES, n_classes))
            if wrong.any():
                raise BagwiseError(
                    f"The label of instance {np.flatnonzero(wrong)[0]} is {given[wrong][0]:g}: give the number of a "
                    f"class below {n_classes}, -1 for none of the classes, or NaN for unknown."
                )
            table = np.full((n_instances, n_classes), np.nan)
            of_class = given >= 0
            table[np.flatnonzero(of_class), given[of_class].astype(int)] = 1
            table[given == NONE_OF_THE_CLASSES] = 0
        elif given.shape == (n_instances, n_classes):
            table = given
            if not (np.isnan(table) | np.isin(table, (0, 1))).all():
                raise BagwiseError("Instance labels are 1 (of the class), 0 (not of it) or NaN (unknown).")
        else:
            raise BagwiseError(
                f"Instance labels have shape {given.shape} for {n_instances} instances and {n_classes} classes: "
                "give one class for each instance, or one column per class."
            )
        result = cls(n_classes)
        rows, classes = np.nonzero(~np.isnan(table))
        bags = np.searchsorted(offsets, rows, side="right") - 1
        for bag, row, label_class in zip(bags.tolist(), rows.tolist(), classes.tolist(), strict=True):
            label = InstanceLabel(row - int(offsets[bag]), label_class, bool(table[row, label_class]))
            result.set(bag, label)
        return result

    @classmethod
    def from_rows(cls, rows: Array, n_classes: int) -> "InstanceLabels":
        """Return the instance labels that `to_rows` wrote.

        Parameters
        ----------
        rows : ndarray of float, shape (M, 5)
            Bag, instance, class, 1 (it is), 0 (it is not) or -1 (unsure), and the rate of being wrong.
        n_classes : int
            Number of classes C.

        Returns
        -------
        InstanceLabels
        """
        result = cls(n_classes)
        for bag, instance, label_class, code, flip in np.asarray(rows, float).tolist():
            present = None if code == UNSURE else bool(code)
            result.set(int(bag), InstanceLabel(int(instance), int(label_class), present, flip))
        return result

    def to_rows(self) -> Array:
        """Return all labels as an array of shape (M, 5): bag, instance, class, 1, 0 or -1 for unsure, and rate.

        Examples
        --------
        >>> InstanceLabels(2, {4: [InstanceLabel(0, 1, None)]}).to_rows()
        array([[ 4.,  0.,  1., -1.,  0.]])
        """
        rows = [
            (bag, label.instance, label.label_class, UNSURE if label.present is None else label.present, label.flip)
            for bag, label in self
        ]
        return np.array(rows, float).reshape(-1, 5)

    def __repr__(self) -> str:
        return f"InstanceLabels({len(self)} labels in {len(self._labels)} bags)"

    def __len__(self) -> int:
        return sum(map(len, self._labels.values()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InstanceLabels) and self._labels == other._labels

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[tuple[int, InstanceLabel]]:
        """(bag, label) of every label, in the order of bag, instance and class."""
        for bag in sorted(self._labels):
            for label in self.of(bag):
                yield bag, label

    @property
    def bags(self) -> list[int]:
        """Positions of the bags with labels of instances, ascending."""
        return sorted(self._labels)

    def has(self, bag: int) -> bool:
        """Return whether anything is known of the instances of a bag.

        Parameters
        ----------
        bag : int
            Position of the bag.

        Returns
        -------
        bool
        """
        return bag in self._labels

    def of(self, bag: int) -> tuple[InstanceLabel, ...]:
        """Return the labels of the instances of one bag, by instance and class.

        Parameters
        ----------
        bag : int
            Position of the bag.

        Returns
        -------
        tuple of InstanceLabel
        """
        return tuple(label for _, label in sorted(self._labels.get(bag, {}).items()))

    def about(self, bag: int, label_class: int) -> tuple[InstanceLabel, ...]:
        """Return the labels of the instances of one bag that are about one class, by instance.

        Parameters
        ----------
        bag, label_class : int
            Positions of the bag and of the class.

        Returns
        -------
        tuple of InstanceLabel
        """
        return tuple(label for label in self.of(bag) if label.label_class == label_class)

    def set(self, bag: int, label: InstanceLabel) -> None:
        """Label an instance; a label of the same instance and class is replaced.

        Parameters
        ----------
        bag : int
            Position of the bag.
        label : InstanceLabel
            What is said of the instance.
        """
        self._labels.setdefault(bag, {})[label.instance, label.label_class] = label
        self.changed(bag)

    def forget(self, bag: int, instance: int, label_class: int) -> None:
        """Remove the label of an instance about a class, where there is one.

        Parameters
        ----------
        bag, instance, label_class : int
            Positions of the bag, of the instance in it, and of the class.
        """
        of_bag = self._labels.get(bag, {})
        of_bag.pop((instance, label_class), None)
        if not of_bag:
            self._labels.pop(bag, None)
        self.changed(bag)

    def changed(self, bag: int) -> None:
        """Weigh the labels of a bag again: they, or those of the bag itself, changed.

        Parameters
        ----------
        bag : int
            Position of the bag.
        """
        self._weighed.pop(bag, None)
        self._evidence = None

    def copy(self) -> "InstanceLabels":
        """Return an independent copy."""
        other = InstanceLabels(self.n_classes)
        other._labels = {bag: dict(some) for bag, some in self._labels.items()}
        return other

    def select(self, chosen: Array) -> "InstanceLabels":
        """Return the labels of the instances of the bags at these positions.

        Parameters
        ----------
        chosen : array-like of int, or of bool and shape (B,)
            Positions of bags, or a mask.

        Returns
        -------
        InstanceLabels
        """
        other = InstanceLabels(self.n_classes)
        if self._labels:
            positions = np.asarray(chosen)
            wanted = enumerate((np.flatnonzero(positions) if positions.dtype == bool else positions).tolist())
            other._labels = {place: dict(self._labels[bag]) for place, bag in wanted if bag in self._labels}
        return other

    def put(self, bags: Array, others: "InstanceLabels") -> None:
        """Replace the labels of the instances of the bags at these positions.

        Parameters
        ----------
        bags : array-like of int, shape (n,)
            Positions of bags.
        others : InstanceLabels
            Labels of the instances of n bags, by their places in `bags`.
        """
        for place, bag in enumerate(np.asarray(bags).tolist()):
            self._labels.pop(bag, None)
            if place in others._labels:
                self._labels[bag] = dict(others._labels[place])
            self.changed(bag)

    def conflicts(self) -> list[Conflict]:
        """Return the instances of which contradictory things are said."""
        found = []
        for bag in self.bags:
            for instance, labels in _by_instance(self.of(bag)):
                yes = {label.label_class for label in labels if label.present}
                no = {label.label_class for label in labels if label.present is False}
                classes = yes | no if len(yes) > 1 else yes & no
                if classes:
                    found.append(Conflict(bag, instance, tuple(sorted(classes))))
        return found

    def evidence(self, offsets: Array, outputs: int, absent: Array) -> Evidence | None:
        """Return what the labels are worth beside the logits of the instances; None where they are worth nothing.

        Parameters
        ----------
        offsets : ndarray of int, shape (B + 1,)
            Where the instances of each bag begin.
        outputs : int
            Number of classes of the model, with a background class C + 1.
        absent : ndarray of bool, shape (B, C)
            Which pairs are known to be absent.

        Returns
        -------
        Evidence or None
        """
        if not self._labels:
            return None
        if self._evidence is None or self._evidence[0] is not offsets or self._evidence[1] != outputs:
            self._evidence = offsets, outputs, self._assembled(offsets, outputs, absent)
        return self._evidence[2]

    def _assembled(self, offsets: Array, outputs: int, absent: Array) -> Evidence | None:
        rows, weights, owners = [], [], []
        for bag in self.bags:
            weighed = self._weighed.get(bag)
            if weighed is None or (weighed and len(weighed[0].weight) != outputs):
                weighed = self._weighed[bag] = _weigh(self.of(bag), outputs, absent[bag])
            for one in weighed:
                rows.append(int(offsets[bag]) + one.instance)
                weights.append(one.weight)
                owners.append(one.owner)
        return Evidence(np.array(rows, np.int64), np.array(weights), np.array(owners, np.int64)) if rows else None


def _by_instance(labels: Iterable[InstanceLabel]) -> Iterator[tuple[int, list[InstanceLabel]]]:
    of_instance: dict[int, list[InstanceLabel]] = {}
    for label in labels:
        of_instance.setdefault(label.instance, []).append(label)
    yield from of_instance.items()


def _weigh(labels: Iterable[InstanceLabel], outputs: int, absent: Array) -> list[_Weighed]:
    """What the labels of the instances of one bag are worth; those that are worth nothing are left out."""
    weighed = []
    for instance, of_instance in _by_instance(labels):
        counted = [one for one in of_instance if one.present is not None]
        counted = [one for one in counted if not (one.present and absent[one.label_class])]
        weight = _weight(counted, outputs)
        if weight is not None:
            weighed.append(_Weighed(instance, weight, counted[0].label_class))
    return weighed


def _weight(labels: list[InstanceLabel], outputs: int) -> Array | None:
    """a_c = log P(what was said | the instance is of class c), for every class; None where it says nothing."""
    weight = np.zeros(outputs)
    for label in labels:
        if label.flip:
            of_class, of_others = log(1 - label.flip), log(label.flip)
            if not label.present:
                of_class, of_others = of_others, of_class
            weight += of_others
            weight[label.label_class] += of_class - of_others
    certain = [label for label in labels if not label.flip]
    barred = np.zeros(outputs, bool)
    for label in certain:
        if label.present:
            others = np.arange(outputs) != label.label_class
            barred |= others
        else:
            barred[label.label_class] = True
    if not barred.all():
        weight[barred] = BARRED
    return weight if weight.any() else None


def explained(labels_present: Array, offsets: Array, evidence: Evidence | None) -> Array:
    """Return which present labels some instance of their bag may carry, given what is known of the instances.

    Parameters
    ----------
    labels_present : ndarray of bool, shape (B, C)
        The labels known to be present.
    offsets : ndarray of int, shape (B + 1,)
        Where the instances of each bag begin.
    evidence : Evidence or None
        What is known of the instances.

    Returns
    -------
    ndarray of bool, shape (B, C)
    """
    result = labels_present.copy()
    if evidence is None:
        return result
    classes = labels_present.shape[1]
    bag_of = np.searchsorted(offsets, evidence.rows, side="right") - 1
    for bag in np.unique(bag_of).tolist():
        of_bag = evidence.weights[bag_of == bag, :classes]
        barred = np.count_nonzero(of_bag <= BARRED, axis=0) == offsets[bag + 1] - offsets[bag]
        result[bag] &= ~barred
    return result
