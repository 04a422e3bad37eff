"""Audits in the order of their draws, and which pairs were open at each: what a design-based estimate is made of.

An audit is drawn from the pairs that are open at that moment, with a probability that is stored with it. Conditional on
what was known before the draw, a residual r of the open pairs has

    E[1{i is drawn} / probability_i * r_i] = r_i           for every open pair i,

so that a total over all pairs is estimated without bias by every single draw: by the labels of the pairs that were not
open, the predictions of those that were, and the weighted residual of the one that was drawn. Therefore an estimator
needs the order: how much was known when each audit was drawn. Moments are counted in *events*, as a project numbers its
answers: 0 is before the first one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bagwise.kernels import Array
from bagwise.learning.questions import Answer, Pair, Present

NEVER = int(np.iinfo(np.int64).max)
"""The moment at which a pair is closed that is still open."""


@dataclass(frozen=True)
class AuditDraw:
    """One audit question that was drawn and has an answer in effect.

    Parameters
    ----------
    bag : int
        Position of the bag.
    classes : tuple of int
        Positions of the classes, ascending: one, or those of a whole-bag question.
    present : tuple of bool or None
        What counts for each of them now, after corrections and votes; None: unsure, which is not a label.
    probability : float or None
        The probability with which the question was drawn, whose classes share it. None: a project older than this
        number stored it, and drew every open question with the same probability.
    after : int
        Number of events that were known at the draw.

    Examples
    --------
    >>> AuditDraw(bag=3, classes=(0, 2), present=(True, None), probability=0.01, after=12).labelled
    ((3, 0, True),)
    """

    bag: int
    classes: tuple[int, ...]
    present: tuple[Present, ...]
    probability: float | None
    after: int

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """(bag, class) for each class."""
        return tuple((self.bag, label_class) for label_class in self.classes)

    @property
    def labelled(self) -> tuple[tuple[int, int, bool], ...]:
        """(bag, class, present) for each class whose answer is a label."""
        rows = zip(self.classes, self.present, strict=True)
        return tuple((self.bag, label_class, present) for label_class, present in rows if present is not None)


class Closed(NamedTuple):
    """A stretch during which a pair had an answer that was undone: it was closed from `first` to before `last`."""

    pair: Pair
    first: int
    last: int


@dataclass(frozen=True)
class AuditHistory:
    """The audits of a pool in the order of their draws, and when every pair was open.

    Parameters
    ----------
    draws : tuple of AuditDraw
        The audits in effect, first drawn first.
    opened : ndarray of int64, shape (B, C)
        Number of events after which the pair belonged to the pool: 0, or more where the bag or the class came later.
    closed : ndarray of int64, shape (B, C)
        Number of events after which the pair could not be drawn any more, because it has a label or the answer was
        unsure; `NEVER` where it is open still.
    undone : tuple of Closed
        Earlier stretches during which a pair was closed, and that an undo ended.

    Examples
    --------
    Two bags, two classes, one label known from the start; then an audit, a chosen question, and another audit:

    >>> first = Answer(0, (1,), (True,), audit=True, probability=0.5)
    >>> then = [Answer(1, (1,), (False,)), Answer(1, (0,), (False,), audit=True, probability=1.0)]
    >>> known = np.array([[True, False], [False, False]])
    >>> history = AuditHistory.of_answers(known, [first, *then])
    >>> [draw.after for draw in history.draws]
    [0, 2]
    >>> history.open_before(1).tolist()
    [[False, False], [True, False]]
    """

    draws: tuple[AuditDraw, ...]
    opened: Array
    closed: Array
    undone: tuple[Closed, ...] = ()

    @classmethod
    def of_answers(cls, known: Array, answers: Iterable[Answer]) -> "AuditHistory":
        """Return the history of answers that were given one after the other, each asked after the one before it.

        Parameters
        ----------
        known : ndarray of bool, shape (B, C)
            Which pairs had a label before the first answer.
        answers : iterable of Answer
            As `ActiveLearner.answers` has them; those about one instance alone leave their pair open.

        Returns
        -------
        AuditHistory
        """
        closed = np.where(known, 0, NEVER)
        draws: list[AuditDraw] = []
        for after, answer in enumerate(answers):
            if not answer.labels_bag:
                continue
            classes = np.array(answer.classes, int)
            closed[answer.bag, classes] = np.minimum(closed[answer.bag, classes], after + 1)
            if answer.audit:
                order = np.argsort(classes)
                draws.append(
                    AuditDraw(
                        answer.bag,
                        tuple(classes[order].tolist()),
                        tuple(answer.present[place] for place in order),
                        answer.probability,
                        after,
                    )
                )
        return cls(tuple(draws), np.zeros_like(closed), closed)

    @property
    def audited(self) -> Array:
        """Which pairs have a label that an audit gave them, (B, C) of bool."""
        found = np.zeros(self.closed.shape, bool)
        for draw in self.draws:
            for bag, label_class, _ in draw.labelled:
                found[bag, label_class] = True
        return found

    @property
    def order(self) -> Array:
        """When pairs were closed, (B, C) of float: -inf where from the start of the pair, inf where they are open."""
        found = np.where(self.closed == NEVER, np.inf, self.closed)
        return np.where(self.closed <= self.opened, -np.inf, found)

    @property
    def probability(self) -> Array:
        """The probability with which the question about a pair was drawn, (B, C); nan where no audit labels it."""
        found = np.full(self.closed.shape, np.nan)
        for draw, probability in zip(self.draws, self.probabilities.tolist(), strict=True):
            for bag, label_class, _ in draw.labelled:
                found[bag, label_class] = probability
        return found

    @property
    def weights(self) -> Array:
        """How many questions the audit of a pair stands for, (B, C): 0 where there is none; 1 where none is stored."""
        if all(draw.probability is None for draw in self.draws):
            return self.audited.astype(float)
        return np.where(self.audited, 1 / self.probability, 0.0)

    @cached_property
    def probabilities(self) -> Array:
        """The probability of every draw; where it is not stored, of one among as many questions as were open."""
        if all(draw.probability is not None for draw in self.draws):
            return np.array([draw.probability for draw in self.draws], float)
        counts = {
            False: _Counts(self.opened.ravel(), self.closed.ravel()),
            True: _Counts(self.opened.min(axis=1, initial=NEVER), self.closed.max(axis=1, initial=0)),
        }
        found = []
        same = 0
        for place, draw in enumerate(self.draws):
            is_first = place == 0 or self.draws[place - 1].after != draw.after
            same = 0 if is_first else same + 1
            is_whole = len(draw.classes) > 1
            # What was undone counts as open all the time: it is little.
            alike = 1 / max(counts[is_whole].open_after(draw.after) - same, 1)
            found.append(alike if draw.probability is None else draw.probability)
        return np.array(found)

    def open_before(self, place: int) -> Array:
        """Return which pairs could be drawn by the audit at this place, among them its own.

        Audits that know the same events were drawn one after the other, without replacement.

        Parameters
        ----------
        place : int
            Place among `draws`.

        Returns
        -------
        ndarray of bool, shape (B, C)
        """
        after = self.draws[place].after
        found = (self.opened <= after) & (after < self.closed)
        for one in self.undone:
            if one.first <= after < one.last:
                found[one.pair] = False
        for earlier in self.draws[:place]:
            if earlier.after == after:
                found[earlier.bag, list(earlier.classes)] = False
        return np.asarray(found)

    def select(self, bags: Sequence[int] | Array, classes: Sequence[int] | Array) -> "AuditHistory":
        """Return the history of some bags and classes alone, renumbered in the order given.

        What was drawn elsewhere is left out. The probabilities stay as they are: a draw from all pairs is one from
        these too, which may fail to find any.

        Parameters
        ----------
        bags, classes : sequence of int
            Positions, each at most once.

        Returns
        -------
        AuditHistory
        """
        bag_at = {int(bag): place for place, bag in enumerate(bags)}
        class_at = {int(one): place for place, one in enumerate(classes)}
        wanted = np.ix_(np.asarray(bags, int), np.asarray(classes, int))
        draws = []
        for draw in self.draws:
            kept = sorted(
                (class_at[one], present)
                for one, present in zip(draw.classes, draw.present, strict=True)
                if draw.bag in bag_at and one in class_at
            )
            if kept:
                here, present = zip(*kept, strict=True)
                draws.append(AuditDraw(bag_at[draw.bag], here, present, draw.probability, draw.after))
        undone = tuple(
            Closed((bag_at[one.pair[0]], class_at[one.pair[1]]), one.first, one.last)
            for one in self.undone
            if one.pair[0] in bag_at and one.pair[1] in class_at
        )
        return AuditHistory(tuple(draws), self.opened[wanted], self.closed[wanted], undone)


class _Counts:
    """How many of some pairs, or bags, were open at a moment."""

    def __init__(self, opened: Array, closed: Array) -> None:
        self._opened, self._closed = np.sort(opened), np.sort(closed)

    def open_after(self, events: int) -> int:
        counts = (np.searchsorted(one, events, side="right") for one in (self._opened, self._closed))
        opened, closed = (int(count) for count in counts)
        return opened - closed
