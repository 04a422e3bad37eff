"""Expected gradient length: ask about the pair whose answer is expected to move the model most.

    score[b, c] = sum_Y P(Y) ||grad log P(Y)|| / (|L| + 1) = 2 P0 ||grad log P0|| / (|L| + 1)

The two gradients are parallel, grad log P1 = -(P0/P1) grad log P0, so both terms are equal. Range [0, inf). The norms
come from Gram matrices, O(n_b^2 (C + d)) a bag for all classes, without forming a gradient.
"""

from bagwise.kernels import Array
from bagwise.model.scored_pool import ScoredPool

RISES_WITH = "gradient_length"


def expected_gradient_length(pool: ScoredPool) -> Array:
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
    >>> from bagwise import MIMLClassifier
    >>> model = MIMLClassifier.from_weights([[0.0, 0.0], [0.0, 0.0]])
    >>> expected_gradient_length(model.pool([[[3.0, 4.0]], [[0.0, 0.1]]])).round(3)
    array([[3.536, 3.536],
           [0.071, 0.071]])
    """
    scores = pool.gradient_norm * pool.absent
    scores *= 2 / (pool.label_counts.n_known + 1)
    return scores
