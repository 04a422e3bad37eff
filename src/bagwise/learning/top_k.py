"""Selection: the best pairs of a pool, found exactly, but without scoring all of it where that can be avoided.

An online step on one bag moves the weights along a few directions (`model.motion`), so logits that are kept are moved
along by a thin product. They are then right within `slack` ||x||, and every score has a ceiling (`kernels.kept`). The
bags with the highest ceilings are scored exactly, and then all bags whose ceiling reaches the worst of the pairs
wanted: no other bag can have a better one, nor one as good. An exact score is the same number, bit for bit, whatever
bags are scored beside it (`kernels.product`), so the outcome is that of scoring everything, ties included.

How wide is a ceiling? Let every logit of a bag be right within t. Then p is within a factor exp(+-2t), and so is P1: as
1 - prod(1 - s p_i) is concave in s and 0 at s = 0, it grows by at most the factor s. Hence P1 (exp(2t) - 1) bounds how
far P1 and P0 are off. Near 1/2 uncertainty is flat, and only pairs within about t of it are candidates.

Rounding after the logits, with n instances, K classes and unit roundoff u. A probability is an exponential, within 90 u
where its exponent is not below that of the smallest number, over a sum of K of them: within (K + 120) u. As above, what
P1 is off by is no larger a share. Then n steps of the OR round a few times each: 6 (n + 2) u. This happens twice, in
what is kept and in what is exact. For gradient lengths, sums over pairs of instances, more is allowed.

Weights that moved in another way (a refit, an Adam step) leave too much of the motion outside of the directions. Then
everything is scored, in parts, of which only the best are kept: as when logits would take too much memory. So a pool
may be larger than memory, and a shard of a pool on another machine finds its best pairs by the same call.
"""

import threading
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bagwise.kernels import Array
from bagwise.kernels.arithmetic.blocks import ahead
from bagwise.kernels.arithmetic.product import Linear, padded
from bagwise.kernels.cpu.bounds import TINY
from bagwise.kernels.cpu.logit_cache import Change, GramBounds, LogitCache, best_allowed, radii
from bagwise.kernels.cpu.logit_update import exponential_off
from bagwise.learning import criteria, granularity
from bagwise.learning.criteria import Criterion
from bagwise.learning.granularity import Choice
from bagwise.model.scored_pool import ScoredPool, Scorer
from bagwise.model.weight_change import WeightChange, fresh_slack, longest, unit_of

PAIRS_AT_A_TIME = 1 << 20
MOST_KEPT = 1 << 29
FIRST_LOOK = 32
MOST_LOOKED_AT = 0.25
MOST_LEFT = 0.02
MOST_OFF = 8.0
"""Logits that may be off by more say nothing: such a bag has no ceiling and is scored."""
ENOUGH = 0.0015
WORN = 0.25
LONGEST_PAUSE = 64


@dataclass
class Statistics:
    """What selecting has cost so far: `scans` scored every bag, the other questions `looked_at` some share of them."""

    questions: int = 0
    scans: int = 0
    products: int = 0
    looked_at: list[float] = field(default_factory=list, repr=False)

    @property
    def share_looked_at(self) -> float:
        """Median share of the bags that were scored exactly, over all questions."""
        return float(np.median(self.looked_at)) if self.looked_at else 0.0

    def add(self, share: float) -> None:
        """One more question, for which this share of the bags was scored exactly."""
        self.questions += 1
        self.scans += share == 1.0
        self.looked_at.append(share)


@dataclass
class _Followed:
    """Kept logits, the weights they stand for, and how much rounding has gone into them.

    `shares` of the bags were looked at since the logits were computed; more and more, as rounding adds up.
    """

    logits: LogitCache
    radius: Array
    typical: float
    reached: Array
    rounding: float = 0.0
    shares: list[float] = field(default_factory=list)

    @property
    def worn(self) -> bool:
        """Whether looking at more bags than at first has cost as much as computing the logits anew."""
        return sum(self.shares) - len(self.shares) * min(self.shares, default=0.0) > WORN


class TopK:
    """Selects from one set of instances, again and again, under weights that change."""

    def __init__(self) -> None:
        self.statistics = Statistics()
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        return {"statistics": self.statistics}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.statistics = state["statistics"]
        self._forget()

    def _forget(self) -> None:
        self._followed: _Followed | None = None
        self._weights: Array | None = None
        self._grams: GramBounds | None = None
        self._pause, self._failed, self._reached = 0, 0, 0
        self._one_at_a_time = threading.Lock()

    def best(self, pool: ScoredPool, criterion: str | Criterion, count: int) -> list[Choice]:
        """The `count` best unknown pairs, as `granularity.pair` would choose them from the scores of all."""
        with self._one_at_a_time:
            chosen = self._among_candidates(pool, criterion, count) if criteria.rises_with(criterion) else None
        if chosen is None:
            self.statistics.add(1.0)
            chosen = scan(pool, criterion, count)
        return chosen

    def _among_candidates(self, pool: ScoredPool, criterion: str | Criterion, count: int) -> list[Choice] | None:
        """The best pairs, or None where everything has to be scored."""
        upper_bounds = self._upper_bounds(pool, criterion)
        if upper_bounds is None:
            return None
        finalists = Finalists(pool, criterion, count)
        finalists.enter(self._highest(upper_bounds, max(FIRST_LOOK, count) + self._reached))
        reaching = self._reaching(upper_bounds, finalists.worst)
        if len(reaching) > MOST_LOOKED_AT * len(upper_bounds):
            self._give_up_for_a_while()
            return None
        finalists.enter(reaching)
        self._failed, self._reached = 0, len(reaching)
        self._count_in(finalists.size / len(upper_bounds))
        return finalists.winners()

    def _highest(self, upper_bounds: Any, count: int) -> Array:
        """The bags with the `count` highest ceilings."""
        if count >= len(upper_bounds):
            return np.arange(len(upper_bounds))
        highest: Array = np.argpartition(upper_bounds, len(upper_bounds) - count)[-count:]
        return highest

    def _reaching(self, upper_bounds: Any, score: float) -> Array:
        """The bags whose ceilings reach a score."""
        return np.flatnonzero(upper_bounds >= score)

    def _count_in(self, share: float) -> None:
        assert self._followed is not None
        self._followed.shares.append(share)
        self.statistics.add(share)

    def _give_up_for_a_while(self) -> None:
        self._followed, self._failed = None, self._failed + 1
        self._pause = min(2**self._failed, LONGEST_PAUSE)

    def _upper_bounds(self, pool: ScoredPool, criterion: str | Criterion) -> Any:
        """What no unknown pair of a bag can exceed, for every bag; None where logits are not worth keeping."""
        scorer, score = pool.scorer, criteria.get(criterion)
        change = self._follow(scorer)
        if self._followed is None:
            return None
        of_gradients = criteria.rises_with(criterion) == "gradient_length"
        off = self._off(scorer)
        logits, bias, spread = self._followed.logits, scorer.folded[1], self._spread(scorer, off, of_gradients)
        askable, upper_bounds = pool.askable, np.empty(pool.shape[0])

        def hope(first: int, last: int, **values: Array) -> None:
            hopeful = pool.between(first, last).imagined(**values)
            best_allowed(score(hopeful), askable[first:last], upper_bounds[first:last])
            upper_bounds[first:last][off[first:last] > MOST_OFF] = np.inf

        if not of_gradients:
            logits.uncertainty_bounds(
                change, bias, spread, scorer.n_classes, lambda a, b, sides: hope(a, b, present=sides, absent=sides)
            )
        else:
            if self._grams is None:
                self._grams = GramBounds.of(scorer.instances)
            logits.longest(
                change,
                bias,
                spread,
                self._grams,
                scorer.n_classes,
                lambda a, b, lengths, absent: hope(a, b, gradient_norm=lengths, absent=absent),
            )
        return upper_bounds

    def _follow(self, scorer: Scorer) -> Change:
        """What moves the kept logits to the present weights; nothing is kept where the weights moved too far."""
        weights, before = scorer.folded[0], self._weights
        self._weights = weights
        if self._pause or len(scorer.instances.x) * padded(len(weights)) * weights.itemsize > MOST_KEPT:
            self._pause = max(0, self._pause - 1)
            self._followed = None
        elif self._followed is not None:
            if before is not None and np.array_equal(weights, before):
                return None
            typical = self._followed.typical
            motion = WeightChange.between(self._followed.reached, weights, ENOUGH / typical)
            if motion.left * typical <= MOST_LEFT:
                self._followed.reached = motion.reached
                self._followed.rounding += motion.rounding
                return self._anew(scorer) if self._followed.worn else motion.move
            self._followed = None
        elif before is not None and before.shape == weights.shape:
            radius = radii(scorer.instances)
            typical = max(float(np.median(radius)), TINY)
            if WeightChange.between(before.astype(float), weights).left * typical <= MOST_LEFT:
                room = LogitCache.room(scorer.instances, len(weights))
                self._followed = _Followed(room, radius, typical, weights.astype(float))
                return self._anew(scorer)
        return None

    def _anew(self, scorer: Scorer) -> Linear:
        assert self._followed is not None
        weights, bias = scorer.folded
        self._followed = replace(
            self._followed, reached=weights.astype(float), rounding=fresh_slack(weights), shares=[]
        )
        self.statistics.products += 1
        return Linear(weights, bias)

    def _off(self, scorer: Scorer) -> Array:
        """By how much a kept logit of every bag may be off."""
        followed, (weights, bias) = self._followed, scorer.folded
        assert followed is not None
        unit = unit_of(weights.dtype)
        slack = longest(weights - followed.reached) + followed.rounding + fresh_slack(weights)
        slack += 4 * unit * longest(weights)
        of_bias = 8 * unit * float(np.abs(bias).max(initial=0))
        return np.asarray(slack * followed.radius + of_bias + exponential_off(weights.dtype))

    def _spread(self, scorer: Scorer, off: Array, of_gradients: bool) -> Array:
        """By which share P(present) of a bag, or ||k_i||, may differ from what the kept logits say."""
        weights, sizes = scorer.folded[0], np.diff(scorer.instances.offsets)
        unit, classes = unit_of(weights.dtype), len(weights)
        roundings = (sizes + 2) * (2 * classes + 100) if of_gradients else 6 * (sizes + 2) + classes + 120
        spread = np.expm1(2 * np.minimum(off, MOST_OFF)) + 2 * unit * roundings
        return np.asarray(1.001 * spread, weights.dtype)


class Finalists:
    """Bags scored exactly, and the best pairs among them."""

    def __init__(self, pool: ScoredPool, criterion: str | Criterion, count: int) -> None:
        self._pool, self._criterion, self._count = pool, criteria.get(criterion), count
        self._bags, self._entered = np.empty(0, np.int64), np.zeros(pool.shape[0], bool)
        self._scores: list[Array] = []
        self._winners: list[Choice] = []

    @property
    def size(self) -> int:
        """Number of bags scored."""
        return len(self._bags)

    def enter(self, bags: Array) -> None:
        """Score those of the bags that are not there yet."""
        new = np.sort(bags[~self._entered[bags]])
        self._entered[new] = True
        if len(new):
            self._scores.append(self._criterion(self._pool.select(new)))
            self._bags = np.concatenate([self._bags, new])
            self._winners = final(self._pool, self._bags, np.concatenate(self._scores), self._count)

    @property
    def worst(self) -> float:
        """The score of the last of the pairs wanted."""
        chosen = self._winners
        return chosen[-1].score if len(chosen) == self._count else -np.inf

    def winners(self) -> list[Choice]:
        """The best pairs."""
        return self._winners


def final(pool: ScoredPool, bags: Array, scores: Array, count: int) -> list[Choice]:
    """The best pairs of these bags, given their scores: how a cluster puts the best of its shards together."""
    chosen = granularity.pair(pool.select(bags), scores, count)
    return [choice._replace(bag=int(bags[choice.bag])) for choice in chosen]


def scan(pool: ScoredPool, criterion: str | Criterion, count: int) -> list[Choice]:
    """The best pairs by scoring everything, a part at a time; nothing but the best of each part is kept."""
    score = criteria.get(criterion)
    bags, step = pool.shape[0], max(1, PAIRS_AT_A_TIME // pool.shape[1])
    if bags <= step or criteria.rises_with(criterion) is None:
        return granularity.pair(pool, score(pool), count)
    instances = pool.scorer.instances
    if criteria.rises_with(criterion) == "gradient_length":
        _ = instances.grams
    finalists, kept = [], []
    for first, last in ahead(instances.x, instances.offsets, range(0, bags, step)):
        part = pool.between(first, last)
        scores = score(part)
        best = np.unique([choice.bag for choice in granularity.pair(part, scores, count)]).astype(np.int64)
        finalists.append(first + best)
        kept.append(scores[best])
    return final(pool, np.concatenate(finalists), np.concatenate(kept), count)
