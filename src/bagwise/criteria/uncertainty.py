"""Uncertainty: ask about the pair whose presence the model can least predict.

    score[b, c] = 2 P1 P0,    P1 = P(class c is in bag b) = 1 - P0

Range [0, 1/2]. Cost O(bags * classes), no refit. Blind to what the answer would change elsewhere.
The paper's alternative |P1 - 1/2| |P0 - 1/2| gives the same order when it is minimised (it says maximised).
"""

from bagwise.kernels import Array
from bagwise.model.pool import Pool


def uncertainty(pool: Pool) -> Array:
    """Score every pair.

    >>> uncertainty(Pool([[0.5, 1.0]]))
    array([[0.5, 0. ]])
    """
    scores = pool.present * pool.absent
    scores *= 2
    return scores
