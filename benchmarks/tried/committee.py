"""Committee: ask where models that saw other samples of the labelled bags disagree.

    score[b, c] = H(mean_m P1) - mean_m H(P1),   H the entropy of a yes or no

Range [0, log 2]. Every member takes a few L-BFGS iterations from the present weights on a bootstrap sample of the
labelled bags, drawn anew after every answer. Cost: `MEMBERS` short refits, which grow with the labels.
"""

import numpy as np
from scipy.special import entr
from scipy.stats import poisson

from bagwise.kernels import hashed_uniform
from bagwise.model.objective import Objective
from bagwise.model.scored_pool import Scorer
from bagwise.model.solvers import Settings, lbfgs

MEMBERS, ITERATIONS = 5, 4
DRAW = 1 << 43
TIMES = poisson(1).cdf(np.arange(12))


def committee(pool):
    """Score every pair.

    >>> from bagwise import datasets, MIMLClassifier
    >>> data = datasets.load("synthetic").select(range(20))
    >>> pool = MIMLClassifier().fit(data.bags, data.labels).pool(data.bags, data.labels)
    >>> bool((committee(pool) > 0).any())
    True
    """
    present = np.stack([_member(pool, number) for number in range(MEMBERS)])
    return np.maximum(_entropy(present.mean(axis=0)) - _entropy(present).mean(axis=0), 0)


def _entropy(present):
    return entr(present) + entr(1 - present)


def _member(pool, number):
    """P1 by a model that has seen each labelled bag as often as its lot says."""
    labelled = np.flatnonzero(pool.known.any(axis=1))
    lots = hashed_uniform(pool.seed, pool.keys[labelled], np.array(DRAW + pool.label_counts.n_known * MEMBERS + number))
    drawn = np.repeat(labelled, np.searchsorted(TIMES, lots))
    if len(drawn) == 0:
        return np.minimum(pool.present, 1.0).astype(float)
    scorer = pool.scorer
    objective = Objective(
        scorer.instances.select(drawn), pool.labels.select(drawn), len(scorer.weights), pool.prior, None
    )
    weights = lbfgs.minimise(objective, scorer.weights, Settings(max_iter=ITERATIONS))
    present, _ = Scorer(scorer.instances, weights, scorer.n_classes).probabilities()
    return np.minimum(present, 1.0).astype(float)
