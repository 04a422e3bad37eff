"""Expected error reduction: of the most uncertain pairs, ask the one whose answer leaves the fewest errors.

    score[b, c] = 1 + mean over open pairs of  e(W) - P1 e(W | yes) - P0 e(W | no),    e = min(P0, P1)

for the `CANDIDATES` best pairs of balanced uncertainty, 0 for all others. W | answer is one Fisher scoring step on the
weights of the asked class; the mean runs over `JUDGED` bags drawn anew after every answer. Range [0, 2].
Cost: 2 `CANDIDATES` predictions of `JUDGED` bags, and what block_information_gain costs.
"""

import numpy as np

from bagwise.kernels import hashed_uniform
from bagwise.learning.criteria.balanced_uncertainty import balanced_uncertainty
from bagwise.model.scored_pool import Scorer

from ._blocks import information_blocks, odds_of_absence, own_gradients

CANDIDATES, JUDGED = 15, 100
DRAW = 1 << 44


def expected_error_reduction(pool):
    """Score every pair.

    >>> from bagwise import datasets, MIMLClassifier
    >>> data = datasets.load("synthetic").select(range(20))
    >>> labels = data.labels.hide(range(5, 20))
    >>> pool = MIMLClassifier().fit(data.bags, labels).pool(data.bags, labels)
    >>> int((expected_error_reduction(pool) > 0).sum())
    15
    """
    chosen = np.where(pool.askable, balanced_uncertainty(pool), -1).ravel()
    candidates = np.argsort(-chosen, kind="stable")[: min(CANDIDATES, np.count_nonzero(pool.askable))]
    judged = _judged(pool)
    remaining, now = _Remaining(pool, judged), pool.scorer.weights
    error = remaining(now)
    scores = np.zeros(pool.shape)
    for bag, label_class, steps in _steps(pool, candidates):
        chances = pool.present[bag, label_class], pool.absent[bag, label_class]
        after = 0.0
        for chance, step in zip(chances, steps, strict=True):
            weights = now.copy()
            weights[label_class] += step
            after += chance * remaining(weights)
        scores[bag, label_class] = 1 + error - after
    return scores


def _judged(pool):
    bags = np.flatnonzero(pool.askable.any(axis=1))
    lots = hashed_uniform(pool.seed, pool.keys[bags], np.array(DRAW + pool.label_counts.n_known))
    return bags[np.argsort(lots)[:JUDGED]]


class _Remaining:
    """Expected share of wrong predictions among the open pairs of the judged bags."""

    def __init__(self, pool, judged):
        self._instances, self._open = pool.scorer.instances.select(judged), pool.askable[judged]

    def __call__(self, weights):
        present, absent = Scorer(self._instances, weights, self._open.shape[1]).probabilities()
        return float(np.minimum(present, absent)[self._open].mean())


def _steps(pool, candidates):
    """For every candidate its place and how the weights of its class move on yes and on no."""
    gradients, odds = own_gradients(pool), odds_of_absence(pool)
    information = information_blocks(pool, gradients, odds)
    for bag, label_class in zip(*np.unravel_index(candidates, pool.shape), strict=True):
        gradient, ratio = gradients[bag, label_class], odds[bag, label_class]
        direction = np.linalg.solve(information[label_class], gradient)
        direction /= 1 + ratio * (gradient @ direction)
        yield bag, label_class, (-ratio * direction, direction)
