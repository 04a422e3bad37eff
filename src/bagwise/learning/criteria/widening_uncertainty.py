"""Widening uncertainty: balanced uncertainty among a random few of the bags, more of them the more is known.

    score[b, c] = u[b, c]                               where bag b is drawn,
                                                        draw[b] < (known labels / (5 classes))^2 / bags
                  (1 - draw[b] + u[b, c]/1000) / 10^6   for all other bags

with u the balanced uncertainty and draw[b] uniform in [0, 1), drawn again after every answer. Range [0, 1/2]. Cost
O(bags * classes). A model that knows little is uncertain about bags that are strange or large, and learns little from
them: then it is better to draw the bag and to choose only the class by uncertainty. Once a bag is labelled completely,
or 5 sqrt(bags) labels per class are known, every bag counts as drawn: from then on this is balanced uncertainty.
"""

import numpy as np

from bagwise.kernels import Array
from bagwise.learning.criteria.balanced_uncertainty import balanced_uncertainty
from bagwise.model.scored_pool import ScoredPool

LABELS_PER_CLASS = 5
DRAWS = 1 << 42

RISES_WITH = "nearest_side"
SAME_ON_DEVICES = True


def widening_uncertainty(pool: ScoredPool) -> Array:
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
    >>> widening_uncertainty(ScoredPool([[0.5, 0.9], [0.5, 0.9]])).argmax(axis=1)
    array([0, 0])
    """
    scores = balanced_uncertainty(pool)
    if pool.label_counts.complete:
        return scores
    bags, classes = pool.label_counts.bags, pool.shape[1]
    drawn = (pool.label_counts.n_known / (LABELS_PER_CLASS * classes)) ** 2 / bags
    draws = pool.uniform(DRAWS + pool.label_counts.n_known)
    rest = draws >= drawn
    # Divided by arrays: a device multiplies by the inverse of a number, which rounds otherwise.
    thousand, million = pool.like(np.array(1e3), scores.dtype), pool.like(np.array(1e6))
    scores[rest] = pool.like((1 - draws[rest, None] + scores[rest] / thousand) / million, scores.dtype)
    return scores
