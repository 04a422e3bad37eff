"""Labels: present, absent or unknown for every (bag, class), and of single instances. Unknown is never absent."""

from typing import Any

import numpy as np
import numpy.typing as npt

from bagwise.core.errors import BagwiseError
from bagwise.data.instance_labels import InstanceLabels, explained
from bagwise.kernels import Array, Evidence

MOST_WRONG = 0.5


def _as_flags(given: npt.ArrayLike, what: str) -> Array:
    """A (bags, classes) copy of True/False or 1/0."""
    flags = np.array(given, ndmin=2)
    if flags.dtype != bool:
        if flags.dtype.kind not in "fiu" or not np.isin(flags, (0, 1)).all():
            raise BagwiseError(
                f"{what} is neither True nor False (1 or 0): `Labels.from_array` takes other conventions."
            )
        flags = flags.astype(bool)
    return flags


def _as_rates(given: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    """A (bags, classes) copy of rates at which labels are wrong."""
    rates = np.array(np.broadcast_to(np.asarray(given, dtype=float), shape))
    if not ((rates >= 0) & (rates < MOST_WRONG)).all():
        raise BagwiseError("A flip rate is the share of wrong answers: it must be at least 0 and less than 0.5.")
    return rates


class Labels:
    """Present, absent or unknown for every pair of a bag and a class.

    Parameters
    ----------
    value : array-like of bool, shape (B, C)
        Whether the class is present; values that are not known are ignored and stored as False.
    known : array-like of bool, shape (B, C)
        Whether the label is known.
    flip : float or array-like, shape (B, C), optional
        The rate, from 0 to below 1/2, at which each known label is wrong; None where labels are always right.
    instances : InstanceLabels, optional
        What is known of single instances. A class that an instance is of is present in its bag.

    Attributes
    ----------
    value, known : ndarray of bool, shape (B, C)
    flip : ndarray of float, shape (B, C), or None
    instances : InstanceLabels

    Examples
    --------
    >>> labels = Labels.from_array([[1, 0, -1], [-1, -1, 1]], missing=-1)
    >>> labels
    Labels(2 bags, 3 classes, 3 of 6 known)
    >>> labels.known[0]
    array([ True,  True, False])
    """

    def __init__(
        self,
        value: npt.ArrayLike,
        known: npt.ArrayLike,
        flip: npt.ArrayLike | None = None,
        instances: InstanceLabels | None = None,
    ) -> None:
        self.known = _as_flags(known, "The known mask")
        # Values that are not known mean nothing, so they may be anything.
        matching = np.shape(value) == self.known.shape
        self.value = _as_flags(np.where(self.known, value, False) if matching else value, "A label")
        if self.value.ndim != 2 or self.value.shape != self.known.shape:
            raise BagwiseError(
                f"Label values have shape {self.value.shape} and the known mask {self.known.shape}: "
                "both must be (bags, classes)."
            )
        if self.value.shape[1] == 0:
            raise BagwiseError("There are no classes: labels need at least one column.")
        self.value &= self.known
        self.flip = None if flip is None else _as_rates(np.where(self.known, flip, 0.0), self.known.shape)
        self.instances = InstanceLabels(self.n_classes) if instances is None else instances

    @classmethod
    def from_array(cls, array: npt.ArrayLike, missing: float = np.nan) -> "Labels":
        """Return labels made from an array of 1 (present), 0 (absent) and `missing` (unknown).

        Parameters
        ----------
        array : array-like, shape (B, C)
            One row per bag, one column per class.
        missing : float
            The value of an unknown label: NaN as in scikit-activeml, or -1 as in the paper. In some files -1 means
            *absent*: give `missing=-1` only where it means unknown.

        Returns
        -------
        Labels

        Raises
        ------
        BagwiseError
            Where the array has any other value.

        Examples
        --------
        >>> Labels.from_array([[1, np.nan], [0, 1]])
        Labels(2 bags, 2 classes, 3 of 4 known)
        """
        try:
            given = np.asarray(array)
        except ValueError as error:
            raise BagwiseError("The rows of the labels differ in length: give one column per class.") from error
        if isinstance(array, np.ma.MaskedArray):
            given = np.where(np.ma.getmaskarray(array), missing, np.ma.getdata(array).astype(float))
        if given.ndim != 2:
            raise BagwiseError(f"Labels have shape {given.shape}: they must be 2-dimensional, (bags, classes).")
        if given.dtype.kind not in "fiub":
            raise BagwiseError(f"Labels are of type {given.dtype}: they must be numbers, 1, 0 or {missing}.")
        unknown = np.isnan(given.astype(float)) if np.isnan(missing) else given == missing
        wrong = ~unknown & (given != 0) & (given != 1)
        if wrong.any():
            bag, column = np.argwhere(wrong)[0]
            raise BagwiseError(
                f"The label of bag {bag}, class column {column} is {given[bag, column]}: only 1 (present), "
                f"0 (absent) and {missing} (unknown) are allowed; `missing` sets the value of unknown labels."
            )
        return cls(np.where(unknown, 0, given), ~unknown)

    @classmethod
    def unknown(cls, bags: int, classes: int) -> "Labels":
        """Return labels of which none is known.

        Parameters
        ----------
        bags, classes : int
            The shape of the labels.

        Returns
        -------
        Labels

        Examples
        --------
        >>> Labels.unknown(bags=2, classes=3)
        Labels(2 bags, 3 classes, 0 of 6 known)
        """
        return cls(np.zeros((bags, classes), bool), np.zeros((bags, classes), bool))

    @classmethod
    def of(cls, labels: Any, bags: int) -> "Labels":
        """Return `labels` as Labels with one row for every bag; an array with NaN for unknown is converted.

        Parameters
        ----------
        labels : Labels or array-like, shape (B, C)
            Labels, or an array of 1 (present), 0 (absent) and NaN (unknown).
        bags : int
            Number of bags B.

        Returns
        -------
        Labels

        Raises
        ------
        BagwiseError
            Where the number of rows is another, or the array has any other value.
        """
        result = labels if isinstance(labels, cls) else cls.from_array(labels)
        if len(result) != bags:
            raise BagwiseError(f"There are labels for {len(result)} bags but {bags} bags: give one row for each bag.")
        return result

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return f"Labels({len(self)} bags, {self.n_classes} classes, {self.n_known} of {self.known.size} known)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Labels):
            return NotImplemented
        alike = np.array_equal(self.value, other.value) and np.array_equal(self.known, other.known)
        return alike and np.array_equal(self._rates(), other._rates()) and self.instances == other.instances

    __hash__ = None  # type: ignore[assignment]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.value.shape[1])

    @property
    def n_known(self) -> int:
        """Number of known pairs |L|."""
        return int(np.count_nonzero(self.known))

    @property
    def labelled(self) -> Array:
        """Positions of the bags with a known label, of the bag or of an instance, ascending."""
        some = np.asarray(self.known.any(axis=1))
        some[self.instances.bags] = True
        return np.flatnonzero(some)

    def _rates(self) -> Array:
        return np.zeros(self.known.shape) if self.flip is None else self.flip

    def copy(self) -> "Labels":
        """Return an independent copy."""
        return Labels(self.value, self.known, self.flip, self.instances.copy())

    def with_instances(self, instances: InstanceLabels) -> "Labels":
        """Return the same labels together with labels of instances, whose classes become present in their bags.

        Parameters
        ----------
        instances : InstanceLabels
            What is known of single instances.

        Returns
        -------
        Labels

        Raises
        ------
        BagwiseError
            Where an instance is of a class that is known to be absent from its bag, or of two classes.

        Examples
        --------
        >>> from bagwise import InstanceLabel
        >>> labels = Labels.from_array([[np.nan, 0]])
        >>> labels.with_instances(InstanceLabels(2, {0: [InstanceLabel(3, 0, True)]})).to_array()
        array([[1., 0.]])
        """
        value, known = self.value.copy(), self.known.copy()
        for bag, label in instances:
            if not 0 <= bag < len(self) or not 0 <= label.label_class < self.n_classes:
                raise BagwiseError(
                    f"There is an instance label for bag {bag}, class {label.label_class}: there are {len(self)} bags "
                    f"and {self.n_classes} classes, counted from 0."
                )
            if label.present:
                if self.known[bag, label.label_class] and not self.value[bag, label.label_class]:
                    raise BagwiseError(
                        f"Instance {label.instance} of bag {bag} is said to be of class {label.label_class}, which is "
                        "known to be absent from the bag: correct one of the two."
                    )
                value[bag, label.label_class] = known[bag, label.label_class] = True
        for conflict in instances.conflicts():
            raise BagwiseError(
                f"Contradictory labels of instance {conflict.instance} of bag {conflict.bag}, about the classes "
                f"{', '.join(map(str, conflict.classes))}: an instance is of one class."
            )
        return Labels(value, known, self.flip, instances)

    def evidence(self, offsets: Array, outputs: int) -> Evidence | None:
        """Return what the labels of instances are worth beside their logits; None where there are none.

        Parameters
        ----------
        offsets : ndarray of int, shape (B + 1,)
            Where the instances of each bag begin.
        outputs : int
            Number of classes of the model, with a background class C + 1.

        Returns
        -------
        Evidence or None
        """
        return self.instances.evidence(offsets, outputs, self.known & ~self.value) if len(self.instances) else None

    def learnable(self, offsets: Array, evidence: Evidence | None) -> Array:
        """Return which known labels can be learned from: those that some instance may explain.

        Parameters
        ----------
        offsets : ndarray of int, shape (B + 1,)
            Where the instances of each bag begin.
        evidence : Evidence or None
            What is known of the instances, from `evidence`.

        Returns
        -------
        ndarray of bool, shape (B, C)
        """
        return self.known if evidence is None else self.known & (~self.value | explained(self.value, offsets, evidence))

    def doubted(self, flip: npt.ArrayLike) -> "Labels":
        """Return the same labels with a rate at which each is wrong: one for all, or shape (B, C).

        Parameters
        ----------
        flip : float or array-like, shape (B, C)
            Rates from 0 to below 1/2; those of unknown labels are ignored.

        Returns
        -------
        Labels

        Examples
        --------
        >>> Labels.from_array([[1, np.nan]]).doubted(0.1).flip
        array([[0.1, 0. ]])
        """
        return Labels(self.value, self.known, flip, self.instances)

    def select(self, chosen: npt.ArrayLike) -> "Labels":
        """Return the labels of the bags at these positions.

        Parameters
        ----------
        chosen : array-like of int, or of bool and shape (B,)
            Positions of bags, or a mask.

        Returns
        -------
        Labels
            A copy, in the order of `chosen`.
        """
        positions = np.asarray(chosen)
        flip = None if self.flip is None else self.flip[positions]
        return Labels(self.value[positions], self.known[positions], flip, self.instances.select(positions))

    def hide(self, bags: npt.ArrayLike) -> "Labels":
        """Return the same labels with all labels of the bags at these positions, and of their instances, unknown.

        Parameters
        ----------
        bags : array-like of int, or of bool and shape (B,)
            Positions of bags, or a mask.

        Returns
        -------
        Labels
            A copy of the same shape.
        """
        known = self.known.copy()
        known[np.asarray(bags)] = False
        instances = self.instances.copy()
        instances.put(np.arange(len(self))[np.asarray(bags)], InstanceLabels(self.n_classes))
        return Labels(self.value, known, self.flip, instances)

    def beside(self, more: "Labels") -> "Labels":
        """Return the labels of these bags followed by those of more bags.

        Parameters
        ----------
        more : Labels
            The labels of more bags, for the same classes.

        Returns
        -------
        Labels
            A copy with a row for every bag of both.
        """
        flip = None if self.flip is None and more.flip is None else np.concatenate([self._rates(), more._rates()])
        instances = self.instances.copy()
        instances.put(len(self) + np.arange(len(more)), more.instances)
        value, known = np.concatenate([self.value, more.value]), np.concatenate([self.known, more.known])
        return Labels(value, known, flip, instances)

    def put(self, bags: npt.ArrayLike, labels: "Labels") -> None:
        """Replace the labels of the bags at these positions.

        Parameters
        ----------
        bags : array-like of int, shape (n,)
            Positions of bags.
        labels : Labels
            Their labels, shape (n, C).
        """
        positions = np.asarray(bags)
        self.value[positions], self.known[positions] = labels.value, labels.known
        if self.flip is not None or labels.flip is not None:
            self.flip = self._rates()
            self.flip[positions] = labels._rates()
        self.instances.put(positions, labels.instances)

    def record(self, bag: int, label_class: int, present: bool, flip: float = 0.0) -> None:
        """Make one pair known; `flip` is the rate at which such a label is wrong.

        Parameters
        ----------
        bag, label_class : int
            Positions of the bag and of the class.
        present : bool
            Whether the class is in the bag.
        flip : float
            From 0 to below 1/2.
        """
        self.value[bag, label_class] = present
        self.known[bag, label_class] = True
        if flip or self.flip is not None:
            self.flip = self._rates()
            self.flip[bag, label_class] = _as_rates(flip, ())
        self.instances.changed(bag)

    def forget(self, bag: int, label_class: int) -> None:
        """Make one pair unknown again.

        Parameters
        ----------
        bag, label_class : int
            Positions of the bag and of the class.
        """
        self.value[bag, label_class] = False
        self.known[bag, label_class] = False
        if self.flip is not None:
            self.flip[bag, label_class] = 0.0
        self.instances.changed(bag)

    def to_array(self, missing: float = np.nan) -> Array:
        """Return an array of 1 (present), 0 (absent) and `missing` (unknown), shape (B, C).

        Parameters
        ----------
        missing : float
            The value of an unknown label.

        Returns
        -------
        ndarray of float, shape (B, C)

        Examples
        --------
        >>> Labels.from_array([[1, np.nan]]).to_array(missing=-1)
        array([[ 1., -1.]])
        """
        return np.where(self.known, self.value.astype(float), missing)
