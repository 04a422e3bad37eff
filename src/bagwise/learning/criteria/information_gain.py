"""Information gain: ask about the pair that would shrink the posterior of the weights most.

    score[b, c] = log(1 + (P0/P1) g' H^-1 g),   g = grad log P0,
    H = prior I + sum over known pairs of (P0/P1) g g'

A pair carries Fisher information (P0/P1) g g', and so does what is said of one instance and a class, with the instance
as a bag of its own. P and g are conditional on what is known of the instances of the bag. The score is the gain in
log det H. Range [0, inf). Exact, with the full matrix: memory 8 (K d)^2 bytes, cost O(bags C (K d)^2), so it is refused
above `LARGEST` weights.
"""

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from bagwise.core.errors import BagwiseError
from bagwise.kernels import Array
from bagwise.model.scored_pool import ScoredPool

LARGEST = 5000


def _information_roots(pool: ScoredPool, bag: int) -> Array:
    """sqrt(P0/P1) g for every class of a bag, one row each."""
    odds = pool.absent[bag] / np.maximum(pool.present[bag], np.finfo(pool.present.dtype).tiny)
    roots: Array = np.sqrt(odds)[:, None] * pool.gradients(bag)
    return roots.astype(float)


def _said_of_instances(pool: ScoredPool) -> list[tuple[int, int]]:
    """Row and class of every instance that is known to be of a class, or not to be."""
    offsets = pool.scorer.instances.offsets
    said = [(bag, label) for bag, label in pool.labels.instances if label.present is not None]
    return [(int(offsets[bag]) + label.instance, label.label_class) for bag, label in said]


def information_gain(pool: ScoredPool) -> Array:
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
    >>> information_gain(model.pool([[[3.0, 4.0]], [[0.0, 0.1]]])).round(3)
    array([[2.603, 2.603],
           [0.005, 0.005]])
    """
    weights = pool.scorer.weights.size
    if weights > LARGEST:
        raise BagwiseError(
            f"`information_gain` needs a matrix over all {weights} weights and is limited to {LARGEST}. "
            "Use `expected_gradient_length` or `uncertainty`."
        )
    if pool.prior <= 0:
        raise BagwiseError("`information_gain` needs a prior on the weights: give `prior` or `penalty` above 0.")
    information = pool.prior * np.eye(weights)
    for bag in np.flatnonzero(pool.known.any(axis=1)).tolist():
        roots = _information_roots(pool, bag)[pool.known[bag]]
        information += roots.T @ roots
    for row, label_class in _said_of_instances(pool):
        root = _information_roots(pool.instance(row), 0)[[label_class]]
        information += root.T @ root
    lower = cholesky(information, lower=True)
    scores = np.empty(pool.shape)
    for bag in range(pool.shape[0]):
        whitened = solve_triangular(lower, _information_roots(pool, bag).T, lower=True)
        scores[bag] = np.log1p((whitened**2).sum(axis=0))
    return scores
