"""The Jaccard index to be expected when the true set is not known but every class has a probability.

With P predicted, I = |true and predicted|, O = |true and not predicted|, classes independent given the bag:

    E[J] = E[I] E[1 / (|P| + O)],    1 / (|P| + o) = integral_0^1 s^(|P| - 1 + o) ds
         = sum_{c in P} q_c * integral_0^1 s^(|P| - 1) prod_{c not in P} (1 - q_c + q_c s) ds        and prod (1 - q_c)

where nothing is predicted. The integrand is a polynomial of degree < C, so Gauss-Legendre with NODES points is exact up
to 2 NODES classes, and far better than needed beyond. Cost O(NODES) per pair.
"""

import numpy as np

from bagwise.kernels import Array

NODES = 8
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(NODES)


def expected_jaccard(present: Array, predicted: Array) -> Array:
    """E[Jaccard] of every bag, (..., bags), from P(class in bag) and the predicted sets, (..., bags, classes).

    >>> expected_jaccard(np.array([[1.0, 0.5], [0.0, 0.25]]), np.array([[True, False], [False, False]]))
    array([0.75, 0.75])
    """
    size = predicted.sum(axis=-1)
    hits = np.where(predicted, present, 0).sum(axis=-1)
    missed = np.where(predicted, 0, present)
    inverse = np.zeros(missed.shape[:-1])
    for point, weight in zip((_POINTS + 1) / 2, _WEIGHTS / 2, strict=True):
        inverse += weight * point ** np.maximum(size - 1, 0) * np.prod(1 - missed * (1 - point), axis=-1)
    return np.asarray(np.where(size == 0, np.prod(1 - missed, axis=-1), hits * inverse))
