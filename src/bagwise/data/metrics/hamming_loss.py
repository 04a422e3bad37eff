"""Hamming loss: the share of (bag, class) pairs that are predicted wrongly.

Its expected value under probabilities q is the mean over all pairs of 1 - q where predicted, else q.
"""

import numpy as np
import numpy.typing as npt

from bagwise.data.metrics._arrays import THRESHOLD, validated
from bagwise.kernels import Array

TITLE = "Hamming loss"
MORE_IS_BETTER = False
GOODNESS_TITLE = "pairs right"
DESCRIPTION = "The share of pairs of a bag and a class about which the model is right."
RESOLUTION = "pairs"


def hamming_loss(truth: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """Return the share of pairs predicted wrongly.

    Parameters
    ----------
    truth : array-like of {0, 1}, shape (bags, classes)
        Whether each class is in each bag.
    probability : array-like of float, shape (bags, classes)
        P(class is in bag); a class is predicted above 1/2.

    Returns
    -------
    float
        Between 0 and 1, less is better.

    Examples
    --------
    >>> hamming_loss([[1, 0], [1, 1]], [[0.9, 0.1], [0.9, 0.2]])
    0.25
    """
    true, score = validated(truth, probability)
    return float(np.mean(true != (score > THRESHOLD)))


def expected(present: Array, predicted: Array, weights: Array | None = None) -> float:
    """Return the expected share of wrong pairs of the predicted sets under P(present).

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
    >>> expected(np.array([[0.75, 0.25]]), np.array([[True, False]]))
    0.25
    """
    wrong = np.where(predicted, 1 - present, present)
    return float(wrong.mean()) if weights is None else float(weights @ wrong.mean(axis=1))
