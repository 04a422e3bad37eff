"""Granularity: what one query asks. Turns scores into questions; arg-max and ties are computed only in this module.

    pair            the best unknown (bag, class)
    bag             the bag with the largest sum of scores over its unknown classes; all of these are asked
    bag_then_class  the bag whose number of predicted classes is least like the labelled bags', few questions so far
                    preferred; of its unknown classes the one with the best score
    best_value      a pair or a whole bag, whichever has the largest score per second of answering
    instance        the best unknown (instance, class), as if every instance were a bag (`pool`)

Exact ties are broken at random, keyed by seed, bag and class.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.core.plugins import choose
from bagwise.kernels import Array, hashed_uniform
from bagwise.learning.criteria.random import random
from bagwise.learning.questions import Question, Rank
from bagwise.model.scored_pool import ScoredPool

TIES = 0x7165
FEWEST_QUERIED = 0.5
DRAWN_AT_A_TIME = 1 << 20


@dataclass(frozen=True)
class Seconds:
    """What answering takes, in seconds, and how often it takes a click.

    Parameters
    ----------
    pair : float
        About a class of a bag, by one key: no, yes, or yes and which instance, where that is the marked one.
    again : float
        About one more class of the bag that was asked about last.
    bag : float
        About all classes of a bag.
    pointed : float
        About a class of a bag with a click on another instance than the marked one.
    clicked : float
        Share of the answers *present* that take such a click.

    Examples
    --------
    >>> seconds = Seconds(pair=4, pointed=5, clicked=0.5)
    >>> seconds.of(bag=3, classes=1, last=None), seconds.of(bag=3, classes=1, last=None, click=True)
    (4, 5)
    """

    pair: float = 4.0
    again: float = 2.0
    bag: float = 10.0
    pointed: float = 5.0
    clicked: float = 0.0

    def __post_init__(self) -> None:
        if not all(0 < seconds < float("inf") for seconds in (self.pair, self.again, self.bag, self.pointed)):
            raise BagwiseError(f"{self}: every time must be above 0.")
        if not 0 <= self.clicked <= 1:
            raise BagwiseError(f"{self}: `clicked` is a share and must be between 0 and 1.")

    def of(self, bag: int, classes: int, last: int | None, click: bool = False) -> float:
        """What a question about so many classes of the bag takes when `last` was asked about before.

        Parameters
        ----------
        bag : int
            The position of the bag.
        classes : int
            Number of classes that are asked.
        last : int or None
            The position of the bag that was asked about last.
        click : bool
            Whether the answer takes a click on another instance than the marked one.

        Returns
        -------
        float
            Seconds.
        """
        by_key = self.bag if classes > 1 else self.again if bag == last else self.pair
        return by_key + (self.pointed - self.pair if click else 0)


Granularity = Callable[[ScoredPool, Array, int], list[Question]]


def merged(parts: Iterable[Iterable[Question]], count: int) -> list[Question]:
    """The best of several parts of a pool, from the best of each."""
    return sorted((one for part in parts for one in part), key=lambda question: question.rank, reverse=True)[:count]


def _best(scores: Array, allowed: Array, count: int, tie_breaker: Callable[[Array], Array]) -> list[tuple[int, Rank]]:
    """Positions of the `count` largest allowed scores, best first, with their ranks (score, tie breaker)."""
    count = min(count, int(np.count_nonzero(allowed)))
    if count == 0:
        return []
    values = np.where(allowed, scores, -np.inf)
    lowest = values.max() if count == 1 else np.partition(values, len(values) - count)[-count]
    candidates = np.flatnonzero((values >= lowest) & allowed)
    tie_breakers = tie_breaker(candidates)
    order = np.lexsort((-tie_breakers, -values[candidates]))[:count]
    best = candidates[order]
    ranks = zip(values[best].tolist(), tie_breakers[order].tolist(), strict=True)
    return list(zip(best.tolist(), ranks, strict=True))


def pair(pool: ScoredPool, scores: Array, count: int) -> list[Question]:
    """The `count` best unknown pairs."""
    classes = pool.shape[1]

    def tie_breaker(candidates: Array) -> Array:
        return hashed_uniform(pool.seed ^ TIES, pool.keys[candidates // classes], candidates % classes)

    best = _best(scores.ravel(), pool.askable.ravel(), count, tie_breaker)
    return [_ranked(p // classes, (p % classes,), rank[0], rank) for p, rank in best]


def bag(pool: ScoredPool, scores: Array, count: int) -> list[Question]:
    """The `count` bags with the largest sum over their unknown classes, each asked whole."""
    return whole_bag(pool, np.where(pool.askable, scores, 0).sum(axis=1), count)


def random_choice(name: str, pool: ScoredPool, count: int) -> list[Question]:
    """`count` questions of a granularity, each as likely as any other: whole bags, or else pairs."""
    if name == "bag":
        return whole_bag(pool, hashed_uniform(pool.seed, pool.keys, np.array(pool.shape[1])), count)
    bags, classes = pool.shape
    step = max(1, DRAWN_AT_A_TIME // classes)
    parts = ((first, pool.between(first, min(first + step, bags))) for first in range(0, bags, step))
    best = (_moved(pair(part, random(part), count), first) for first, part in parts)
    return merged(best, count)


def _moved(questions: list[Question], first: int) -> list[Question]:
    """Questions about a part of a pool, as questions about the pool; those of its beginning are."""
    return [replace(one, bag=first + one.bag) for one in questions] if first else questions


def whole_bag(pool: ScoredPool, values: Array, count: int) -> list[Question]:
    """The `count` bags with the largest values, each with all its unknown classes."""
    return [_ranked(b, tuple(_open(pool, b)), rank[0], rank) for b, rank in _best_bags(pool, values, count)]


def bag_then_class(pool: ScoredPool, scores: Array, count: int) -> list[Question]:
    """The `count` bags least like the labelled ones, each with its best class."""
    classes = pool.shape[1]
    predicted = (pool.present > 0.5).sum(axis=1)
    queried = classes - np.count_nonzero(pool.askable, axis=1)
    surprise = np.abs(predicted - pool.label_counts.mean_positives) / np.maximum(queried, FEWEST_QUERIED)
    questions = []
    for b, rank in _best_bags(pool, surprise, count):

        def tie_breaker(candidates: Array, key: Array = pool.keys[b]) -> Array:
            return hashed_uniform(pool.seed ^ TIES, key, candidates)

        best, (score, _) = _best(scores[b], pool.askable[b], 1, tie_breaker)[0]
        questions.append(_ranked(b, (best,), score, rank))
    return questions


def best_value(
    pool: ScoredPool, scores: Array, count: int, seconds: Seconds | None = None, last: int | None = None
) -> list[Question]:
    """The `count` bags with the best score per second, each asked about its best class or whole.

    `last` is the bag that was asked about before: one more class of it takes less time.
    """
    times = seconds or Seconds()
    allowed = np.where(pool.askable, scores, -np.inf)
    best = allowed.argmax(axis=1)
    by_key = np.where(np.arange(pool.shape[0]) == last, times.again, times.pair)
    clicks = times.clicked * np.take_along_axis(pool.present, best[:, None], axis=1)[:, 0]
    of_pair = allowed.max(axis=1) / (by_key + clicks * (times.pointed - times.pair))
    of_bag = np.where(pool.askable, scores, 0).sum(axis=1) / times.bag
    several = (np.count_nonzero(pool.askable, axis=1) > 1) & (of_bag > of_pair)
    values = np.where(several, of_bag, of_pair)
    return [
        _ranked(b, tuple(_open(pool, b)) if several[b] else (int(best[b]),), rank[0], rank)
        for b, rank in _best_bags(pool, values, count)
    ]


def _ranked(bag: int, classes: tuple[int, ...], score: float, rank: Rank) -> Question:
    return Question(bag, classes, score=score, rank=rank)


def _open(pool: ScoredPool, bag: int) -> list[int]:
    return [int(c) for c in np.flatnonzero(pool.askable[bag])]


def _best_bags(pool: ScoredPool, values: Array, count: int) -> list[tuple[int, Rank]]:
    def tie_breaker(candidates: Array) -> Array:
        return hashed_uniform(pool.seed ^ TIES, pool.keys[candidates], np.array(pool.shape[1]))

    return _best(values, np.any(pool.askable, axis=1), count, tie_breaker)


GRANULARITIES: dict[str, Granularity] = {
    "pair": pair,
    "bag": bag,
    "bag_then_class": bag_then_class,
    "best_value": best_value,
    # Where pairs have scores, as in a cold start, the question is about the bag.
    "instance": pair,
}


def get(name: str) -> Granularity:
    """The granularity called `name`."""
    return choose("granularity", name, GRANULARITIES)
