"""Micro F1: F1 over all (bag, class) pairs together; `f1` is short for it.

Its expected value under probabilities q is taken as 2 sum q [predicted] / sum (q + [predicted]).
"""

import numpy.typing as npt

from bagwise.data.metrics._arrays import THRESHOLD, validated
from bagwise.kernels import Array

TITLE = "micro F1"
MORE_IS_BETTER = True
DESCRIPTION = "Precision and recall of all predictions together, as their harmonic mean."
ALIAS = "f1"
BY_CLASS = True
IN_EXPERIMENTS = False


def micro_f1(truth: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """Return F1 over all pairs together.

    Parameters
    ----------
    truth : array-like of {0, 1}, shape (bags, classes)
        Whether each class is in each bag.
    probability : array-like of float, shape (bags, classes)
        P(class is in bag); a class is predicted above 1/2.

    Returns
    -------
    float
        Between 0 and 1, more is better; 0 where nothing is true or predicted.

    Examples
    --------
    >>> micro_f1([[1, 0], [1, 1]], [[0.9, 0.1], [0.9, 0.2]])
    0.8
    """
    true, score = validated(truth, probability)
    predicted = score > THRESHOLD
    return float(2 * (true & predicted).sum() / max(true.sum() + predicted.sum(), 1))


def expected(present: Array, predicted: Array, weights: Array | None = None) -> float:
    """Return the F1 of the predicted sets with expected instead of true counts under P(present).

    Parameters
    ----------
    present : ndarray of float, shape (bags, classes)
        P(class is in bag).
    predicted : ndarray of bool, shape (bags, classes)
        The predicted sets.
    weights : ndarray of float, shape (bags,), optional
        The weight of each bag; they sum to 1. The default is the same for all.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> expected(np.array([[0.5, 0.5]]), np.array([[True, False]]))
    0.5
    """
    if weights is None:
        return float(2 * (present * predicted).sum() / max(present.sum() + predicted.sum(), 1e-12))
    hits, total = weights @ (present * predicted), weights @ (present + predicted)
    return float(2 * hits.sum() / max(total.sum(), 1e-12))
