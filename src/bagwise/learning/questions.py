"""Question and Answer: what a learner asks and learns from, the same types from learner to project."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError

Present = bool | None
Pair = tuple[int, int]
"""The positions of a bag and a class."""
Rank = tuple[float, float]
"""By what a question was ranked: its score, then a random number that breaks ties."""


@dataclass(frozen=True)
class Question:
    """*Are these classes in this bag?* One class, or several in a whole-bag question.

    Parameters
    ----------
    bag : int
        Position of the bag.
    classes : tuple of int
        Positions of the classes, at least one.
    evidence : tuple of int
        For each class the instance of the bag that contributes most to P(class in bag); empty in a ranking, where it
        is not computed.
    score : float
        The score that the criterion gave it.
    audit : bool
        Whether it was drawn at random from the open pairs instead of chosen; the quality estimate relies on these.
    belief : tuple of float
        P(class in bag) for each class, by the model that asks; empty where `evidence` is.
    partial : bool
        Whether some bags could not be compared in time, as on a cluster with a timeout.
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
    rank: Rank = field(default=(0.0, 0.0), compare=False, repr=False)

    @property
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
    """The answer to a question: present, absent or unsure (None) for each of its classes.

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
    key : int, optional
        An instance that the person pointed at as showing the class; most learners do not use it.
    flip : float
        The rate at which such an answer is wrong.

    Examples
    --------
    >>> answer = Answer(bag=3, classes=(0, 2), present=(True, None))
    >>> answer.present
    (True, None)
    """

    bag: int
    classes: tuple[int, ...]
    present: tuple[Present, ...]
    audit: bool = False
    key: int | None = None
    flip: float = 0.0


def diversify(questions: Sequence[Question], asked: Sequence[Pair], count: int) -> list[Question]:
    """Best first, but among the first `count` those about a class or a bag that is asked about already come later.

    Questions that are asked before the answers to them are learned should not all be the same question in disguise.
    `asked` are pairs that were asked and are not answered yet.
    """
    bags, classes, pairs = Counter(b for b, _ in asked), Counter(c for _, c in asked), Counter(asked)
    left = list(questions)
    ordered: list[Question] = []

    def overlap(question: Question) -> int:
        return bags[question.bag] + sum(classes[c] - 2 * pairs[question.bag, c] for c in question.classes)

    while left and len(ordered) < count:
        best = min(left, key=overlap)
        left.remove(best)
        ordered.append(best)
        bags[best.bag] += 1
        classes.update(best.classes)
        pairs.update(best.pairs)
    return ordered + left


def as_present(answer: Any) -> Present:
    """Return True, False or None for an answer; anything but a bool, 0, 1 or None is an error."""
    if answer is None or (isinstance(answer, bool | np.bool_ | int | np.integer) and answer in (0, 1)):
        return None if answer is None else bool(answer)
    raise BagwiseError(f"The answer {answer!r} is invalid: use True (present), False (absent) or None (unsure).")
