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

NONE: frozenset[int] = frozenset()


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
        # By place in the ranking, the best first.
        self._chosen: dict[int, Question] = {}
        self._overlaps: dict[int, int] = {}
        self._with_bag: dict[int, set[int]] = {}
        self._with_class: dict[int, set[int]] = {}
        self._drawn: list[Question] = []
        self._n_read, self._counted = 0, len(asked.changes)

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
        overlaps = self._overlaps
        while True:
            place = min(overlaps, key=overlaps.__getitem__, default=None)
            while (place is None or overlaps[place] > 0) and (read := self._read(most)) is not None:
                if read in overlaps and (place is None or overlaps[read] < overlaps[place]):
                    place = read
            if place is None:
                return None
            question = self._chosen[place]
            if self._is_open(question):
                return suited(question) or self._best_of_others(question, suited, most)
            self._forget(place)

    def _best_of_others(
        self, refused: Question, suited: Callable[[Question], Question | None], most: int | None
    ) -> Question | None:
        """The best where that one does not suit the taker: many may not, if others are to be asked about them still."""
        waiting = [(overlap, place) for place, overlap in self._overlaps.items()]
        heapify(waiting)
        passed = 0
        while True:
            # For each that is not compared another one is.
            while (not waiting or waiting[0][0] > 0) and (
                read := self._read(None if most is None else most + passed)
            ) is not None:
                if read in self._overlaps:
                    heappush(waiting, (self._overlaps[read], read))
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
        self._drawn = [one for one in self._drawn if self._is_open(one)]
        place, refused = 0, None
        while True:
            if place < len(self._drawn):
                if (found := suited(self._drawn[place])) is not None:
                    return found
                place += 1
            elif (read := self._read(None if most is None else most + (refused or 0))) is not None:
                if refused is not None:
                    refused += suited(self._chosen.get(read) or self._drawn[-1]) is None
            elif refused is None and most is not None:
                # As many as suit the taker are looked at.
                refused = sum(suited(one) is None for one in (*self._chosen.values(), *self._drawn))
            else:
                return None

    def _read(self, most: int | None) -> int | None:
        """Read the next open question; its place, or None where there is none, or so many were read."""
        if most is not None and len(self._chosen) + len(self._drawn) >= most:
            return None
        for question in self._unread:
            if self._is_open(question):
                place = self._n_read
                self._n_read += 1
                if question.audit:
                    self._drawn.append(question)
                else:
                    self._keep(place, question)
                return place
        return None

    def _keep(self, place: int, question: Question) -> None:
        self._count()
        self._chosen[place] = question
        self._overlaps[place] = self._asked.of(question)
        self._with_bag.setdefault(question.bag, set()).add(place)
        for label_class in question.classes:
            self._with_class.setdefault(label_class, set()).add(place)

    def _forget(self, place: int) -> None:
        question = self._chosen.pop(place)
        del self._overlaps[place]
        self._with_bag[question.bag].discard(place)
        for label_class in question.classes:
            self._with_class[label_class].discard(place)

    def _count(self) -> None:
        """Count what was asked since the last time."""
        changes = self._asked.changes[self._counted :]
        self._counted += len(changes)
        for (bag, label_class), times in changes:
            for place in self._with_bag.get(bag, NONE) ^ self._with_class.get(label_class, NONE):
                self._overlaps[place] += times


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
