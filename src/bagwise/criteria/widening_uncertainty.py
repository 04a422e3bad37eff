"""Widening uncertainty: balanced uncertainty among a random few of the bags, more of them the more is known.

    score[b, c] = balanced_uncertainty[b, c] + 1 where bag b is one of the m drawn,   m = (known labels / (5 classes))^2

Range [0, 1/2] or [1, 3/2]. Cost O(bags * classes). A model that knows little is uncertain about bags that are strange
or large, and learns little from them: drawing the bag at random and only the class by uncertainty is then better. When
m has reached the number of bags, this is balanced uncertainty.
"""

import numpy as np

from bagwise.criteria.balanced_uncertainty import balanced_uncertainty
from bagwise.kernels import Array, keyed_uniform
from bagwise.model.pool import Pool

LABELS_PER_CLASS = 5
DRAW = 1 << 42


def widening_uncertainty(pool: Pool) -> Array:
    """Score every pair.

    >>> from bagwise.labels import Labels
    >>> pool = Pool([[0.5], [0.5], [0.5]], labels=Labels.from_array([[1], [-1], [-1]], missing=-1))
    >>> np.count_nonzero(widening_uncertainty(pool) > 1)
    1
    """
    scores = balanced_uncertainty(pool)
    scores[_drawn(pool)] += 1
    return scores


def _drawn(pool: Pool) -> Array:
    """Bags with something to ask, drawn anew after every answer."""
    classes = pool.shape[1]
    askable = np.flatnonzero(pool.askable.any(axis=1))
    count = max(1, int((pool.n_known / (LABELS_PER_CLASS * classes)) ** 2))
    if count >= len(askable):
        return askable
    lots = keyed_uniform(pool.seed, pool.keys[askable], np.array(DRAW + pool.n_known))
    return np.asarray(askable[np.argpartition(lots, count)[:count]])
