"""Question and Answer: what a learner asks and learns from, the same types from learner to project."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.data.instance_labels import InstanceLabel

Present = bool | None
Pair = tuple[int, int]
"""The positions of a bag and a class."""
Rank = tuple[float, float]
"""By what a question was ranked: its score, then a random number that breaks ties."""
Instances = tuple[int, ...]
"""Positions of instances in their bag."""


@dataclass(frozen=True)
class Question:
    """*Are these classes in this bag?* One class, or several (the whole bag); or *is this instance of the class?*

    Parameters
    ----------
    bag : int
        Position of the bag.
    classes : tuple of int
        Positions of the classes, at least one.
    evidence : tuple of int
        For each class the instance to mark, most likely to be of it; empty in a ranking, where it is not computed.
    score : float
        The score that the criterion gave it.
    audit : bool
        Whether it was drawn at random from the open pairs instead of chosen; the quality estimate relies on these.
    belief : tuple of float
        P(class in bag) for each class, by the model that asks; empty where `evidence` is.
    partial : bool
        Whether some bags could not be compared in time, as on a cluster with a timeout.
    instance : int, optional
        The instance that is asked about, where the question is about one instance and not about the bag.
    probability : float, optional
        The probability with which it was drawn, given the model and the open pairs at that moment; None where it was
        chosen and not drawn, and for audits of older projects, which were drawn uniformly.
    rank : tuple of float
        What it was ranked by, to merge rankings.

    Examples
    --------
    >>> Question(bag=3, classes=(0, 2)).pairs
    ((3, 0), (3, 2))
    """

    bag: int
    classes: tuple[int, ...]
    evidence: tuple[int, ...] = ()
    score: float = float("nan")
    audit: bool = False
    belief: tuple[float, ...] = ()
    partial: bool = False
    instance: int | None = None
    probability: float | None = None
    rank: Rank = field(default=(0.0, 0.0), compare=False, repr=False)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """(bag, class) for each class."""
        return tuple((self.bag, label_class) for label_class in self.classes)

    def cost(self, classes_per_query: int = 1) -> int:
        """Pair queries it costs when a person answers `classes_per_query` classes of a bag at once.

        Parameters
        ----------
        classes_per_query : int
            Number of classes, at least 1.

        Returns
        -------
        int
        """
        return -(-len(self.classes) // classes_per_query)


@dataclass(frozen=True)
class Answer:
    """The answer to a question: present, absent or unsure (None) for each of its classes, and perhaps where.

    Parameters
    ----------
    bag : int
        Position of the bag.
    classes : tuple of int
        Positions of the classes.
    present : tuple of bool or None
        For each class; None: unsure.
    audit : bool
        Whether the question was an audit.
    flip : float
        The rate at which such an answer is wrong.
    where : tuple of tuple of int
        For each class the instances that are of it; empty where nothing was pointed at.
    elsewhere : tuple of tuple of int
        For each class the instances that are not of it, although it is present: *yes, but not the marked one*.
    pointing_flip : float
        The rate at which what is said of an instance is wrong.
    instance : int, optional
        The instance that was asked about, where the question was about one instance: then *absent* is about the
        instance, and the bag stays open.
    probability : float, optional
        The probability with which the question was drawn; None where it was chosen, or is not known.

    Examples
    --------
    >>> Answer(bag=3, classes=(0,), present=(True,), where=((2,),)).instance_labels(0)
    (InstanceLabel(instance=2, label_class=0, present=True, flip=0.0),)
    """

    bag: int
    classes: tuple[int, ...]
    present: tuple[Present, ...]
    audit: bool = False
    flip: float = 0.0
    where: tuple[Instances, ...] = ()
    elsewhere: tuple[Instances, ...] = ()
    pointing_flip: float = 0.0
    instance: int | None = None
    probability: float | None = None

    def instance_labels(self, place: int) -> tuple[InstanceLabel, ...]:
        """Return what it says of single instances about one of its classes.

        Parameters
        ----------
        place : int
            The place of the class among `classes`.

        Returns
        -------
        tuple of InstanceLabel
        """
        label_class = self.classes[place]
        if self.instance is not None and self.present[place] is not True:
            return (InstanceLabel(self.instance, label_class, self.present[place], self.pointing_flip),)
        here = self.where[place] if self.where else ()
        not_here = self.elsewhere[place] if self.elsewhere else ()
        return tuple(
            InstanceLabel(instance, label_class, of_class, self.pointing_flip)
            for instances, of_class in ((here, True), (not_here, False))
            for instance in instances
        )

    @property
    def labels_bag(self) -> bool:
        """Whether it says something of the bag, and not of one instance alone."""
        return self.instance is None or self.present == (True,)


def as_present(answer: Any) -> Present:
    """Return True, False or None for an answer; anything but a bool, 0, 1 or None is an error."""
    if answer is None or (isinstance(answer, bool | np.bool_ | int | np.integer) and answer in (0, 1)):
        return None if answer is None else bool(answer)
    raise BagwiseError(f"The answer {answer!r} is invalid: use True (present), False (absent) or None (unsure).")


def as_instances(given: Any, classes: int) -> tuple[Instances, ...]:
    """Return the instances pointed at, for each of so many classes.

    Parameters
    ----------
    given : None, sequence of int, or sequence of these
        Instances of the only class, or of each class; None for none.
    classes : int
        Number of classes of the question.

    Examples
    --------
    >>> as_instances([2, 0], classes=1), as_instances([[1], []], classes=2), as_instances(None, classes=2)
    (((0, 2),), ((1,), ()), ())
    """
    if given is None:
        return ()
    nested = list(given)
    if all(isinstance(one, int | np.integer) for one in nested):
        nested = [nested] if classes == 1 or nested else [()] * classes
    if len(nested) != classes:
        raise BagwiseError(f"Instances are given for {len(nested)} classes of a question about {classes}.")
    for one in nested:
        if not all(isinstance(instance, int | np.integer) for instance in one):
            raise BagwiseError(f"{one!r} must be positions of instances in the bag, counted from 0.")
    found = tuple(tuple(sorted({int(instance) for instance in one})) for one in nested)
    return found if any(found) else ()
