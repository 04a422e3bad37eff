"""Exact top-k selection: the best pairs of a pool, without scoring all of it where that can be avoided.

An online step on one bag changes the weights along a few directions (`model.weight_change`), so cached logits are
updated by a thin product. They are then right within `slack` ||x||, and every score has an upper bound
(`kernels.cpu.logit_cache`). The bags with the highest bounds are scored exactly, and then all bags whose bound reaches
the worst of the pairs wanted: no other bag can have a better one, nor one as good. An exact score is the same number,
bit for bit, whatever bags are scored beside it (`kernels.arithmetic.product`), so the result is that of scoring
everything, ties included.

How wide is a bound? Let every logit of a bag be right within t. Then p is within a factor exp(+-2t), and so is P1: as
1 - prod(1 - s p_i) is concave in s and 0 at s = 0, it grows by at most the factor s. Hence P1 (exp(2t) - 1) bounds how
far P1 and P0 are off. Near 1/2 uncertainty is flat, and only pairs within about t of it are candidates.

Rounding after the logits, with n instances, K classes and unit roundoff u. A probability is an exponential, within 90 u
where its exponent is not below that of the smallest number, over a sum of K of them: within (K + 120) u. As above, what
P1 is off by is no larger a share. Then n steps of the OR round a few times each: 6 (n + 2) u. This happens twice, in
the cached and in the exact numbers. For gradient lengths, sums over pairs of instances, more is allowed.

Weights that changed in another way (a refit, an Adam step) leave too much of the change outside of the directions.
Then everything is scored, chunk by chunk, of which only the best are kept: as when logits would take too much memory.
So a pool may be larger than memory, and a shard of a pool on another machine finds its best pairs by the same call.
"""

import threading
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bagwise.kernels import Array
from bagwise.kernels.arithmetic.blocks import ahead
from bagwise.kernels.arithmetic.product import Linear, padded
from bagwise.kernels.cpu.bounds import TINY
from bagwise.kernels.cpu.logit_cache import Change, GramBounds, LogitCache, best_allowed
from bagwise.kernels.cpu.logit_update import exponential_off
from bagwise.learning import criteria, granularity
from bagwise.learning.criteria import Criterion
from bagwise.learning.questions import Question
from bagwise.model.objective import Objective
from bagwise.model.scored_pool import ScoredPool, Scorer
from bagwise.model.weight_change import WeightChange, fresh_slack, longest, unit_of

PAIRS_AT_A_TIME = 1 << 20
MOST_KEPT = 1 << 29
FEWEST_LOGITS = 1 << 16
"""With fewer logits, to score everything is faster than to find out what need not be scored."""
FIRST_LOOK = 32
MOST_LOOKED_AT = 0.25
MOST_LEFT = 0.02
MOST_OFF = 8.0
"""Logits that may be off by more say nothing: such a bag has no bound and is scored."""
ENOUGH = 0.0015
WORN = 0.25
LONGEST_PAUSE = 64


@dataclass
class Statistics:
    """Cost of selection so far: `scans` scored every bag; `looked_at` is the share of bags scored, by question."""

    questions: int = 0
    scans: int = 0
    products: int = 0
    looked_at: list[float] = field(default_factory=list, repr=False)

    @property
    def share_looked_at(self) -> float:
        """Median share of the bags that were scored exactly, over all questions."""
        return float(np.median(self.looked_at)) if self.looked_at else 0.0

    def add(self, share: float) -> None:
        """Count one more question, for which this share of the bags was scored exactly."""
        self.questions += 1
        self.scans += share == 1.0
        self.looked_at.append(share)


@dataclass
class _Cached:
    """Cached logits, the weights they are the logits of, and a bound of the rounding errors in them.

    `shares` of the bags were scored since the logits were computed; more and more, as rounding adds up.
    """

    logits: LogitCache
    radius: Array
    typical: float
    reached: Array
    rounding: float = 0.0
    shares: list[float] = field(default_factory=list)

    @property
    def worn(self) -> bool:
        """Whether scoring more bags than at first has cost as much as computing the logits from scratch."""
        return sum(self.shares) - len(self.shares) * min(self.shares, default=0.0) > WORN


class TopK:
    """Selects from one set of instances, repeatedly, under weights that change."""

    def __init__(self) -> None:
        self.statistics = Statistics()
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        return {"statistics": self.statistics}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.statistics = state["statistics"]
        self._forget()

    def _forget(self) -> None:
        self._cached: _Cached | None = None
        self._weights: Array | None = None
        self._grams: GramBounds | None = None
        self._pause, self._failed, self._reached = 0, 0, 0
        self._one_at_a_time = threading.Lock()

    def best(self, pool: ScoredPool, criterion: str | Criterion, count: int) -> list[Question]:
        """Return the `count` best unknown pairs, as `granularity.pair` would choose them from the scores of all."""
        with self._one_at_a_time:
            bounded = criteria.rises_with(criterion) in ("nearest_side", "gradient_length")
            chosen = self._among_candidates(pool, criterion, count) if bounded else None
        if chosen is None:
            self.statistics.add(1.0)
            chosen = scan(pool, criterion, count)
        return chosen

    def objective(self, objective: Objective) -> Objective:
        """Return the same objective, computed where the instances are: here."""
        return objective

    def draw(self, name: str, pool: ScoredPool, count: int) -> list[Question]:
        """Return `count` questions of a granularity at random, as `granularity.random_choice` draws them."""
        return granularity.random_choice(name, pool, count)

    def _among_candidates(self, pool: ScoredPool, criterion: str | Criterion, count: int) -> list[Question] | None:
        """The best pairs, or None where everything has to be scored."""
        upper_bounds = self._upper_bounds(pool, criterion)
        if upper_bounds is None:
            return None
        finalists = Finalists(pool, criterion, count)
        if pool.scorer.instances.evidence is not None:
            # The bounds do not count what is known of single instances: such bags are always scored.
            pointed_at = pool.scorer.instances.evidence.bags(pool.scorer.instances.offsets)
            upper_bounds = self._without(upper_bounds, pointed_at)
            finalists.enter(pointed_at[pool.askable[pointed_at].any(axis=1)])
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
        """Return the bags with the `count` highest bounds."""
        if count >= len(upper_bounds):
            return np.arange(len(upper_bounds))
        highest: Array = np.argpartition(upper_bounds, len(upper_bounds) - count)[-count:]
        return highest

    def _without(self, upper_bounds: Any, bags: Array) -> Any:
        """Return bounds that leave out some bags."""
        upper_bounds[bags] = -np.inf
        return upper_bounds

    def _reaching(self, upper_bounds: Any, score: float) -> Array:
        """The bags whose ceilings reach a score."""
        return np.flatnonzero(upper_bounds >= score)

    def _count_in(self, share: float) -> None:
        assert self._cached is not None
        self._cached.shares.append(share)
        self.statistics.add(share)

    def _give_up_for_a_while(self) -> None:
        self._cached, self._failed = None, self._failed + 1
        self._pause = min(2**self._failed, LONGEST_PAUSE)

    def _upper_bounds(self, pool: ScoredPool, criterion: str | Criterion) -> Any:
        """Return an upper bound of the scores of the open pairs of every bag; None where nothing is cached."""
        scorer, score = pool.scorer, criteria.get(criterion)
        if len(scorer.instances.x) * len(scorer.weights) < FEWEST_LOGITS:
            return None
        change = self._follow(scorer)
        if self._cached is None:
            return None
        of_gradients = criteria.rises_with(criterion) == "gradient_length"
        off = self._off(scorer)
        logits, bias, spread = self._cached.logits, scorer.folded[1], self._spread(scorer, off, of_gradients)
        askable, upper_bounds = pool.askable, np.empty(pool.shape[0])

        def bound(first: int, last: int, **values: Array) -> None:
            highest = pool.between(first, last).imagined(**values)
            best_allowed(score(highest), askable[first:last], upper_bounds[first:last])
            upper_bounds[first:last][off[first:last] > MOST_OFF] = np.inf

        if not of_gradients:
            logits.uncertainty_bounds(
                change, bias, spread, scorer.n_classes, lambda a, b, sides: bound(a, b, present=sides, absent=sides)
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
                lambda a, b, lengths, absent: bound(a, b, gradient_norm=lengths, absent=absent),
            )
        return upper_bounds

    def _follow(self, scorer: Scorer) -> Change:
        """Return the update of the cached logits to the current weights; drop the cache where they changed too much."""
        weights, before = scorer.folded[0], self._weights
        self._weights = weights
        if self._pause or len(scorer.instances.x) * padded(len(weights)) * weights.itemsize > MOST_KEPT:
            self._pause = max(0, self._pause - 1)
            self._cached = None
        elif self._cached is not None:
            if before is not None and np.array_equal(weights, before):
                return None
            typical = self._cached.typical
            change = WeightChange.between(self._cached.reached, weights, ENOUGH / typical)
            if change.left * typical <= MOST_LEFT:
                self._cached.reached = change.reached
                self._cached.rounding += change.rounding
                return self._computed(scorer) if self._cached.worn else change.move
            self._cached = None
        elif before is not None and before.shape == weights.shape:
            radius = scorer.instances.radii
            typical = max(float(np.median(radius)), TINY)
            if WeightChange.between(before.astype(float), weights).left * typical <= MOST_LEFT:
                room = LogitCache.room(scorer.instances, len(weights))
                self._cached = _Cached(room, radius, typical, weights.astype(float))
                return self._computed(scorer)
        return None

    def _computed(self, scorer: Scorer) -> Linear:
        assert self._cached is not None
        weights, bias = scorer.folded
        self._cached = replace(self._cached, reached=weights.astype(float), rounding=fresh_slack(weights), shares=[])
        self.statistics.products += 1
        return Linear(weights, bias)

    def _off(self, scorer: Scorer) -> Array:
        """Return by how much a cached logit of every bag may be off."""
        cached, (weights, bias) = self._cached, scorer.folded
        assert cached is not None
        unit = unit_of(weights.dtype)
        slack = longest(weights - cached.reached) + cached.rounding + fresh_slack(weights)
        slack += 4 * unit * longest(weights)
        of_bias = 8 * unit * float(np.abs(bias).max(initial=0))
        return np.asarray(slack * cached.radius + of_bias + exponential_off(weights.dtype))

    def _spread(self, scorer: Scorer, off: Array, of_gradients: bool) -> Array:
        """Return by which share P(present) of a bag, or ||k_i||, may differ from that of the cached logits."""
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
        self._winners: list[Question] = []

    @property
    def size(self) -> int:
        """Number of bags scored."""
        return len(self._bags)

    def enter(self, bags: Array) -> None:
        """Score those of the bags that were not scored before."""
        new = np.sort(bags[~self._entered[bags]])
        self._entered[new] = True
        if len(new):
            self._scores.append(self._criterion(self._pool.select(new)))
            self._bags = np.concatenate([self._bags, new])
            self._winners = final(self._pool, self._bags, np.concatenate(self._scores), self._count)

    @property
    def worst(self) -> float:
        """Score of the last of the pairs wanted."""
        chosen = self._winners
        return chosen[-1].score if len(chosen) == self._count else -np.inf

    def winners(self) -> list[Question]:
        """The best pairs."""
        return self._winners


def final(pool: ScoredPool, bags: Array, scores: Array, count: int) -> list[Question]:
    """Return the best pairs of these bags, given their scores; a cluster merges the best of its shards by it."""
    return placed(granularity.pair(pool.select(bags), scores, count), bags)


def placed(questions: list[Question], bags: Array) -> list[Question]:
    """Return questions about some bags of a pool, at these positions, as questions about the pool."""
    return [replace(question, bag=int(bags[question.bag])) for question in questions]


def scan(pool: ScoredPool, criterion: str | Criterion, count: int) -> list[Question]:
    """Return the best pairs by scoring everything, a chunk at a time; only the best of each chunk are kept."""
    score = criteria.get(criterion)
    bags, step = pool.shape[0], max(1, PAIRS_AT_A_TIME // pool.shape[1])
    if bags <= step or criteria.rises_with(criterion) is None:
        return granularity.pair(pool, score(pool), count)
    instances = pool.scorer.instances
    if criteria.rises_with(criterion) == "gradient_length":
        _ = instances.grams
    finalists, kept = [], []
    for first, last in ahead(instances.x, instances.offsets, range(0, bags, step)):
        chunk = pool.between(first, last)
        scores = score(chunk)
        best = np.unique([choice.bag for choice in granularity.pair(chunk, scores, count)]).astype(np.int64)
        finalists.append(first + best)
        kept.append(scores[best])
    return final(pool, np.concatenate(finalists), np.concatenate(kept), count)
