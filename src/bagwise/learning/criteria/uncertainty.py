"""Uncertainty: ask about the pair whose presence the model can least predict.

    score[b, c] = 2 P1 P0,    P1 = P(class c is in bag b) = 1 - P0

Range [0, 1/2]. Cost O(bags * classes), no refit. It ignores what the answer would change for other pairs.
The paper's alternative |P1 - 1/2| |P0 - 1/2| gives the same order when it is minimised (the paper maximises it).
It is computed as 2 m (1 - m) with m = min(P1, P0), which rises with m in rounded numbers as well, up to 1/2 exactly.
"""

from bagwise.kernels import Array
from bagwise.model.scored_pool import ScoredPool

RISES_WITH = "nearest_side"
SAME_ON_DEVICES = True


def uncertainty(pool: ScoredPool) -> Array:
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
    >>> uncertainty(ScoredPool([[0.5, 1.0]]))
    array([[0.5, 0. ]])
    """
    side = pool.nearest_side
    scores: Array = 1 - side
    scores *= side
    scores *= 2
    return scores
