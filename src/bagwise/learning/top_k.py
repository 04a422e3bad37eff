"""Exact top-k selection on the CPU: every pair is scored, chunk by chunk, of which only the best are kept.

So a pool may be larger than memory, and a shard of a pool on another machine finds its best pairs by the same call. A
score is the same number, bit for bit, whatever bags are scored beside it (`kernels.arithmetic.product`), so the best of
all chunks are the best of the pool, ties included.

Nothing is remembered from question to question: a step of the default update (Adam's) moves nearly all weights, and
with them every logit by more than the best pairs differ, so that no bound leaves a bag out. What a whole pass costs
beside the bare product of instances and weights is in `docs/performance.md`.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from bagwise.kernels import Array
from bagwise.kernels.arithmetic.blocks import ahead
from bagwise.learning import criteria, granularity
from bagwise.learning.criteria import Criterion
from bagwise.learning.questions import Question
from bagwise.model.objective import Objective
from bagwise.model.scored_pool import ScoredPool

PAIRS_AT_A_TIME = 1 << 20


@dataclass
class Statistics:
    """Cost of selection so far: `scans` scored every bag; `looked_at` is the share of bags scored, by question."""

    questions: int = 0
    scans: int = 0
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


class TopK:
    """Selects from one set of instances, repeatedly, under weights that change."""

    def __init__(self) -> None:
        self.statistics = Statistics()

    def best(self, pool: ScoredPool, criterion: str | Criterion, count: int) -> list[Question]:
        """Return the `count` best unknown pairs, as `granularity.pair` would choose them from the scores of all."""
        self.statistics.add(1.0)
        return scan(pool, criterion, count)

    def objective(self, objective: Objective) -> Objective:
        """Return the same objective, computed where the instances are: here."""
        return objective

    def draw(self, name: str, pool: ScoredPool, count: int) -> list[Question]:
        """Return `count` questions of a granularity at random, as `granularity.random_choice` draws them."""
        return granularity.random_choice(name, pool, count)


def final(pool: ScoredPool, bags: Array, scores: Array, count: int) -> list[Question]:
    """Return the best pairs of these bags, given their scores."""
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
