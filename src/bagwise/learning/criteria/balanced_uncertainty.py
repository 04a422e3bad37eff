"""Balanced uncertainty: uncertainty, divided among the classes.

    score[b, c] = 2 P1 P0 / sqrt(1 + questions already spent on class c)

Range [0, 1/2]. Cost O(bags * classes). With a background class, a class that the first labels miss is explained away,
never uncertain and never asked; the divisor brings every class back.
"""

import numpy as np

from bagwise.kernels import Array
from bagwise.learning.criteria.uncertainty import uncertainty
from bagwise.model.scored_pool import ScoredPool

RISES_WITH = "nearest_side"
SAME_ON_DEVICES = True


def balanced_uncertainty(pool: ScoredPool) -> Array:
    """Return the score of every pair.

    Parameters
    ----------
    pool : ScoredPool
        The bags under the current model, with their labels.

    Returns
    -------
    ndarray, shape (B, C)
        Larger = ask sooner.

    Examples
    --------
    >>> from bagwise.data.labels import Labels
    >>> labels = Labels.from_array([[-1, -1], [1, -1], [0, -1], [0, -1]], missing=-1)
    >>> balanced_uncertainty(ScoredPool([[0.5, 0.5], [1, 0], [0, 0], [0, 0]], labels=labels))[0]
    array([0.25, 0.5 ])
    """
    scores = uncertainty(pool)
    scores /= pool.like(np.sqrt(1 + pool.label_counts.asked), scores.dtype)
    return scores
