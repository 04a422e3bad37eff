"""Audits: questions drawn at random from the open pairs, at turns that a seed decides, to estimate quality from.

Whether a turn is an audit depends on the seed and on the number of the turn alone: neither the model nor the order in
which several people answer changes the share of audits. By default ("uniform") every open pair is as likely as any
other: designed draws did not make the estimates better on simulated projects (docs/quality.md).

A designed draw ("balanced") has two phases. First, `FIRST_PHASE` of the N bags with open pairs are drawn uniformly (all
of them where there are no more); then, among their open pairs O, one pair (b, c) with probability

    q_bc = (1 - u) v_bc / sum_O v + u / |O|          u = UNIFORM_SHARE,    v_bc = w_bc / sqrt(sum over class c of w)
    w_bc = max(sqrt(p_bc (1 - p_bc)), LEAST_WEIGHT)                        p_bc = P(class c in bag b) by the model

so that uncertain pairs are drawn more often, as is best for a total of which the predictions are a control variate, and
rare classes are not left out, nor anything else. What is stored with the question is FIRST_PHASE / N times q_bc: the
inverse of it weights the answer without bias, whatever the bags of the first phase are. Weights are whole numbers, so
that their sums do not depend on an order, and every processor and every pool draws the same.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.data.label_store import LabelStore
from bagwise.kernels import Array, hashed_uniform
from bagwise.learning.questions import Pair, Question

AUDIT = 0xA0D1
FIRST, SECOND = 0xD1A1, 0xD1A2
DESIGNS = ("uniform", "balanced")
FIRST_PHASE = 256
"""Bags that are predicted for one designed draw."""
DESIGNED_AT_ONCE = 8
"""Designed draws of one ranking; those further ahead are uniform: a new ranking mostly comes before their turn."""
UNIFORM_SHARE, LEAST_WEIGHT = 0.1, 0.1
WHOLE = float(1 << 20)
"""Weights are rounded to so many whole steps."""


def audit_turns(seed: int, first: int, count: int, share: float) -> Array:
    """Which of the turns `first`, `first + 1`, ... are audits, (count,) of bool."""
    if share == 0:
        return np.zeros(count, bool)
    turns = np.arange(first, first + count, dtype=np.uint64)
    return np.asarray(hashed_uniform(seed, turns, np.array(AUDIT)) < share)


def validate_design(design: str) -> None:
    """Raise an error unless there is such a design."""
    if design not in DESIGNS:
        raise BagwiseError(f"audit_design={design!r} must be one of {', '.join(DESIGNS)}.")


class Ranked:
    """The questions of a ranking so far, each once, and the pairs that they close.

    Examples
    --------
    >>> ranking = Ranked()
    >>> ranking.add(Question(3, (0, 1)))
    >>> Question(3, (0, 1), score=0.5) in ranking, Question(3, (0,)) in ranking, sorted(ranking.pairs)
    (True, False, [(3, 0), (3, 1)])
    """

    def __init__(self) -> None:
        self._questions: dict[tuple[int, tuple[int, ...], int | None], Question] = {}
        self.pairs: set[Pair] = set()

    @property
    def questions(self) -> list[Question]:
        """The questions, in order."""
        return list(self._questions.values())

    def __len__(self) -> int:
        return len(self._questions)

    def __contains__(self, question: Question) -> bool:
        return (question.bag, question.classes, question.instance) in self._questions

    def add(self, question: Question) -> None:
        """Put a question at the end."""
        self._questions[question.bag, question.classes, question.instance] = question
        if question.instance is None:
            self.pairs.update(question.pairs)


class UniformDraws:
    """Draws for the audit turns of one ranking of which every open pair, or bag, is as likely as any other.

    Parameters
    ----------
    drawn : sequence of Question
        Open pairs, or bags with all their open pairs, in random order.
    count : int
        Number of all open pairs, or of all bags with some.
    whole_bags : bool
        Whether they are bags.

    Examples
    --------
    >>> UniformDraws([Question(3, (0,)), Question(2, (1,))], count=5).draw(Ranked()).probability
    0.2
    """

    def __init__(self, drawn: Sequence[Question], count: int, whole_bags: bool = False) -> None:
        self._drawn, self._count, self._whole_bags = iter(drawn), count, whole_bags

    def draw(self, ranking: Ranked) -> Question | None:
        """Return the next one that is not in the ranking; None where nothing is left.

        Parameters
        ----------
        ranking : Ranked
            What is asked before it.

        Returns
        -------
        Question or None
        """
        left = self._count - (len(ranking) if self._whole_bags else len(ranking.pairs))
        for question in self._drawn:
            if not (question in ranking if self._whole_bags else question.pairs[0] in ranking.pairs):
                return replace(question, audit=True, probability=1 / left)
        return None


class DesignedDraws:
    """Draws for the audit turns of one ranking, one after the other and without replacement.

    Parameters
    ----------
    label_store : LabelStore
        Says what is open.
    present : callable
        Returns P(class in bag) of the bags at some positions, (n, C).
    seed : int
        Seed of the draws.
    turns : sequence of int
        Numbers of the turns that are audits; the first `DESIGNED_AT_ONCE` are drawn by design.
    candidates : ndarray of bool, shape (B,), optional
        Which bags may be drawn; by default all.

    Examples
    --------
    >>> store = LabelStore.of([[np.nan, 0], [np.nan, np.nan]], bags=2, classes=2)
    >>> draws = DesignedDraws(store, lambda bags: np.array([[0.5, 0.5], [0.01, 0.5]])[bags], seed=0, turns=[3])
    >>> question = draws.draw(3, taken=[(1, 0), (1, 1)])
    >>> question.pairs, question.probability
    (((0, 0),), 1.0)
    """

    def __init__(
        self,
        label_store: LabelStore,
        present: Callable[[Array], Array],
        seed: int,
        turns: Sequence[int],
        candidates: Array | None = None,
    ) -> None:
        self._seed = seed
        self._drawn: dict[int, Array] = {}
        bags = label_store.open_bags(candidates) if turns else np.empty(0, np.int64)
        if not len(bags):
            return
        self._share = min(1.0, FIRST_PHASE / len(bags))
        self._drawn = {turn: bags[first_phase(seed, turn, len(bags))] for turn in turns[:DESIGNED_AT_ONCE]}
        self._bags = np.unique(np.concatenate(list(self._drawn.values())))
        self._open = label_store.open_pairs(self._bags)
        self._weights = whole_weights(present(self._bags))

    def draw(self, turn: int, taken: Collection[Pair]) -> Question | None:
        """Return the audit of a turn, None where it is not to be drawn by design or nothing is left to draw.

        Parameters
        ----------
        turn : int
            Number of the turn.
        taken : collection of pairs
            What is asked before it, and so cannot be drawn.

        Returns
        -------
        Question or None
        """
        if turn not in self._drawn:
            return None
        bags = self._drawn[turn]
        rows = np.searchsorted(self._bags, bags)
        is_open = self._open[rows]
        for bag, label_class in taken:
            is_open[bags == bag, label_class] = False
        if not is_open.any():
            return None
        which, where = hashed_uniform(self._seed ^ SECOND, np.array(turn), np.arange(2)).tolist()
        place, probability = drawn_pair(self._weights[rows], is_open, which, where)
        row, label_class = divmod(place, is_open.shape[1])
        return Question(int(bags[row]), (label_class,), score=where, audit=True, probability=self._share * probability)


def first_phase(seed: int, turn: int, bags: int) -> Array:
    """Return which of so many bags are drawn for a turn, ascending: each is as likely as any other.

    Parameters
    ----------
    seed, turn : int
        Decide the draw.
    bags : int
        Number of bags.

    Returns
    -------
    ndarray of int, shape (min(bags, FIRST_PHASE),)

    Examples
    --------
    >>> first_phase(seed=0, turn=5, bags=3)
    array([0, 1, 2])
    """
    if bags <= FIRST_PHASE:
        return np.arange(bags)
    found: dict[int, None] = {}
    tried = 0
    while len(found) < FIRST_PHASE:
        numbers = np.arange(tried, tried + 2 * FIRST_PHASE)
        places = (hashed_uniform(seed ^ FIRST, np.array(turn), numbers) * bags).astype(np.int64)
        found |= dict.fromkeys(np.minimum(places, bags - 1).tolist())
        tried += len(numbers)
    return np.sort(np.array(list(found)[:FIRST_PHASE]))


def whole_weights(present: Array) -> Array:
    """Return the weights w of pairs from P(class in bag), in whole steps.

    Examples
    --------
    >>> (whole_weights(np.array([0.5, 0.9, 0.0])) / WHOLE).round(3)
    array([0.5, 0.3, 0.1])
    """
    # Rounded, a probability can be just above 1.
    exact = np.clip(present.astype(np.float64), 0.0, 1.0)
    return np.asarray((WHOLE * np.maximum(np.sqrt(exact * (1 - exact)), LEAST_WEIGHT)).astype(np.int64))


def drawn_pair(weights: Array, is_open: Array, which: float, where: float) -> tuple[int, float]:
    """Draw one of the open pairs by their weights.

    Parameters
    ----------
    weights : ndarray of int, shape (n, C)
        The weights w.
    is_open : ndarray of bool, shape (n, C)
        Which pairs can be drawn, at least one.
    which, where : float
        Numbers in [0, 1): whether to draw uniformly or by weight, and which pair.

    Returns
    -------
    place : int
        Of the pair, row by row.
    probability : float
        With which this pair is drawn.

    Examples
    --------
    >>> weights, is_open = np.array([[100, 400], [300, 500]]), np.array([[True, True], [True, False]])
    >>> place, probability = drawn_pair(weights, is_open, which=0.5, where=0.9)
    >>> place, round(probability, 3)
    (2, 0.371)
    """
    left = np.where(is_open, weights, 0)
    of_class = np.maximum(left.sum(axis=0), 1)
    by_class = (WHOLE * (left / np.sqrt(of_class.astype(np.float64)))).astype(np.int64).ravel()
    places, cumulated = np.flatnonzero(is_open), np.cumsum(by_class)
    if which < UNIFORM_SHARE:
        place = int(places[min(int(where * len(places)), len(places) - 1)])
    else:
        steps = min(int(where * float(cumulated[-1])), int(cumulated[-1]) - 1)
        place = int(np.searchsorted(cumulated, steps, side="right"))
    by_weight = int(by_class[place]) / int(cumulated[-1])
    return place, (1 - UNIFORM_SHARE) * by_weight + UNIFORM_SHARE / len(places)
