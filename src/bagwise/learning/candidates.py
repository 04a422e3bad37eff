"""Candidates: of questions that are asked at the same time, the next one should differ from the others.

Questions that are asked before the answers to them are learned should not all be the same question in disguise. A
question q overlaps with an asked pair (b, c) if one of both is the same, its bag or one of its classes. Where both are,
it is the same question asked of another person, and a question is not like itself:

    overlap(q) = number of asked pairs (b, c) with either b = bag of q, or c among the classes of q, but not both
"""

from collections import Counter
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush

from bagwise.learning.questions import Pair, Question

FEW_CHANGES = 6
"""To move all overlaps by so many asked pairs takes as long as to count them again."""


class Overlap:
    """How much a question is like those that are asked and not answered yet.

    Parameters
    ----------
    asked : iterable of pairs
        What is asked.

    Examples
    --------
    >>> overlap = Overlap([(0, 0), (0, 2)])
    >>> overlap.of(Question(0, (1,))), overlap.of(Question(1, (2,))), overlap.of(Question(0, (2,)))
    (2, 1, 1)
    """

    def __init__(self, asked: Iterable[Pair] = ()) -> None:
        self._bags, self._classes, self.pairs = Counter[int](), Counter[int](), Counter[Pair]()
        self.changes: list[tuple[Pair, int]] = []
        self.add(asked)

    def add(self, asked: Iterable[Pair], times: int = 1) -> None:
        """Count what is asked besides.

        Parameters
        ----------
        asked : iterable of pairs
            What is asked.
        times : {1, -1}
            -1 for what is not asked after all.
        """
        for pair in asked:
            bag, label_class = pair
            self._bags[bag] += times
            self._classes[label_class] += times
            self.pairs[pair] += times
            self.changes.append((pair, times))

    def of(self, question: Question) -> int:
        """Return how many asked pairs it is like; never below zero.

        Parameters
        ----------
        question : Question
            What may be asked next.

        Returns
        -------
        int
        """
        # A missing key of a counter is looked up by Python code, and nearly all are missing.
        found = self._bags.get(question.bag, 0)
        for pair in question.pairs:
            found += self._classes.get(pair[1], 0) - 2 * self.pairs.get(pair, 0)
        return found


def _unchanged(question: Question) -> Question:
    return question


class Candidates:
    """Questions, best first, of which the one is taken that is least like what is asked already.

    They are read when they are needed, and what they have in common with what is asked is counted once, for all takers.

    Parameters
    ----------
    questions : iterable of Question
        Best first.
    asked : Overlap
        What is asked and not answered yet; it may change.
    is_open : callable
        Whether a question may still be asked of anyone: what is not open is never looked at again.

    Examples
    --------
    >>> ranked, asked = iter([Question(0, (0,)), Question(0, (1,)), Question(1, (1,)), Question(2, (2,))]), Overlap()
    >>> candidates = Candidates(ranked, asked, lambda question: not any(pair in asked.pairs for pair in question.pairs))
    >>> for _ in range(2):
    ...     question = candidates.best()
    ...     asked.add(question.pairs)
    ...     print(question.pairs)
    ((0, 0),)
    ((1, 1),)
    >>> next(ranked).bag
    2
    """

    def __init__(self, questions: Iterable[Question], asked: Overlap, is_open: Callable[[Question], bool]) -> None:
        self._unread, self._asked, self._is_open = iter(questions), asked, is_open
        self._chosen: list[Question] = []
        self._overlaps: list[int] = []
        self._drawn: list[Question] = []
        self._counted = len(asked.changes)

    def best(
        self, suited: Callable[[Question], Question | None] = _unchanged, most: int | None = None
    ) -> Question | None:
        """Return the best of those that are least like what is asked; None where none is left that suits.

        Audits, which were drawn at random, are not among them. No more questions are read than it takes.

        Parameters
        ----------
        suited : callable
            Returns the question as this taker may be asked, None where they may not.
        most : int, optional
            How many questions to compare.

        Returns
        -------
        Question or None
        """
        self._count()
        while True:
            least = min(self._overlaps, default=None)
            while least != 0 and self._read(most):
                least = min(self._overlaps, default=None)
            if least is None:
                return None
            place = self._overlaps.index(least)
            question = self._chosen[place]
            if self._is_open(question):
                return suited(question) or self._best_of_others(question, suited, most)
            del self._chosen[place], self._overlaps[place]

    def _best_of_others(
        self, refused: Question, suited: Callable[[Question], Question | None], most: int | None
    ) -> Question | None:
        """The best where that one does not suit the taker: many may not, if others are to be asked about them still."""
        waiting = [(overlap, place) for place, overlap in enumerate(self._overlaps)]
        heapify(waiting)
        passed = 0
        while True:
            # For each that is not compared another one is.
            while (not waiting or waiting[0][0] > 0) and self._read(None if most is None else most + passed):
                if len(self._overlaps) > len(waiting) + passed:
                    heappush(waiting, (self._overlaps[-1], len(self._overlaps) - 1))
            if not waiting:
                return None
            question = self._chosen[heappop(waiting)[1]]
            passed += 1
            if question is not refused and self._is_open(question) and (found := suited(question)) is not None:
                return found

    def drawn(
        self, suited: Callable[[Question], Question | None] = _unchanged, most: int | None = None
    ) -> Question | None:
        """Return the next audit.

        Parameters
        ----------
        suited, most : callable, int
            As for `best`.

        Returns
        -------
        Question or None
        """
        self._count()
        self._drawn = [one for one in self._drawn if self._is_open(one)]
        place, refused = 0, None
        while True:
            if place < len(self._drawn):
                if (found := suited(self._drawn[place])) is not None:
                    return found
                place += 1
            elif self._read(None if most is None else most + (refused or 0)):
                if refused is not None:
                    newest = self._drawn[-1] if len(self._drawn) > place else self._chosen[-1]
                    refused += suited(newest) is None
            elif refused is None and most is not None:
                # As many as suit the taker are looked at.
                refused = sum(suited(one) is None for one in (*self._chosen, *self._drawn))
            else:
                return None

    def _read(self, most: int | None) -> bool:
        """Read the next open question; False where there is none, or so many were read."""
        if most is not None and len(self._chosen) + len(self._drawn) >= most:
            return False
        for question in self._unread:
            if self._is_open(question):
                if question.audit:
                    self._drawn.append(question)
                else:
                    self._chosen.append(question)
                    self._overlaps.append(self._asked.of(question))
                return True
        return False

    def _count(self) -> None:
        """Count what was asked since the last time."""
        changes = self._asked.changes[self._counted :]
        self._counted += len(changes)
        if len(changes) > FEW_CHANGES:
            self._overlaps = [self._asked.of(question) for question in self._chosen]
            return
        for (bag, label_class), times in changes:
            self._overlaps = [
                overlap + times * ((one.bag == bag) != (label_class in one.classes))
                for overlap, one in zip(self._overlaps, self._chosen, strict=True)
            ]


def diversify(questions: Iterable[Question], count: int) -> list[Question]:
    """Return up to `count` of the questions: always the best of those that are least like the ones before.

    Parameters
    ----------
    questions : iterable of Question
        Best first, none of them twice.
    count : int
        How many are wanted.

    Returns
    -------
    list of Question

    Examples
    --------
    >>> ranked = iter([Question(0, (0,)), Question(0, (1,)), Question(1, (1,)), Question(2, (2,))])
    >>> [one.pairs for one in diversify(ranked, 2)], next(ranked).bag
    ([((0, 0),), ((1, 1),)], 2)
    """
    asked, taken = Overlap(), dict[Question, None]()
    candidates = Candidates(questions, asked, lambda one: one not in taken)
    while len(taken) < count and (question := candidates.best()) is not None:
        asked.add(question.pairs)
        taken[question] = None
    return list(taken)
