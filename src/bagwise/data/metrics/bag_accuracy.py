"""Bag accuracy: the mean Jaccard index of the predicted and the true label set of a bag, 1 where both are empty.

Its expected value where the true set is not known but every class has a probability q: with P predicted,
I = |true and predicted|, O = |true and not predicted|, classes independent given the bag,

    E[J] = E[I] E[1 / (|P| + O)],    1 / (|P| + o) = integral_0^1 s^(|P| - 1 + o) ds
         = sum_{c in P} q_c * integral_0^1 s^(|P| - 1) prod_{c not in P} (1 - q_c + q_c s) ds        and prod (1 - q_c)

where nothing is predicted. The integrand is a polynomial of degree < C, so Gauss-Legendre with NODES points is exact up
to 2 NODES classes, and far better than needed beyond. Cost O(NODES) per pair.
"""

import numpy as np
import numpy.typing as npt

from bagwise.data.metrics._arrays import THRESHOLD, mean, validated, weighted_mean
from bagwise.kernels import Array

TITLE = "bag accuracy"
MORE_IS_BETTER = True
DESCRIPTION = "Of the classes that are in a bag or predicted for it, the share that is both."

NODES = 8
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(NODES)


def bag_accuracy(truth: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """Return the mean Jaccard index of the predicted and the true label sets.

    Parameters
    ----------
    truth : array-like of {0, 1}, shape (bags, classes)
        Whether each class is in each bag.
    probability : array-like of float, shape (bags, classes)
        P(class is in bag); a class is predicted above 1/2.

    Returns
    -------
    float
        Between 0 and 1, more is better. A bag with neither true nor predicted classes counts as 1.

    Examples
    --------
    >>> bag_accuracy([[1, 0], [1, 1]], [[0.9, 0.1], [0.9, 0.2]])
    0.75
    """
    true, score = validated(truth, probability)
    predicted = score > THRESHOLD
    union = (true | predicted).sum(axis=1)
    return mean(np.where(union == 0, 1.0, (true & predicted).sum(axis=1) / np.maximum(union, 1)))


def expected(present: Array, predicted: Array, weights: Array | None = None) -> float:
    """Return the expected bag accuracy of the predicted sets under P(present).

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
    >>> round(expected(np.array([[1.0, 0.5]]), np.array([[True, False]])), 3)
    0.75
    """
    return weighted_mean(expected_jaccard(present, predicted), weights)


def expected_jaccard(present: Array, predicted: Array) -> Array:
    """Return the expected Jaccard index of every bag.

    Parameters
    ----------
    present : ndarray of float, shape (..., bags, classes)
        P(class is in bag).
    predicted : ndarray of bool, shape (..., bags, classes)
        The predicted sets.

    Returns
    -------
    ndarray of float, shape (..., bags)
        E[Jaccard index of the predicted and the true set], between 0 and 1.

    Examples
    --------
    >>> present, predicted = np.array([[1.0, 0.5], [0.0, 0.25]]), np.array([[True, False], [False, False]])
    >>> expected_jaccard(present, predicted).round(3)
    array([0.75, 0.75])
    """
    size = predicted.sum(axis=-1)
    hits = np.where(predicted, present, 0).sum(axis=-1)
    missed = np.where(predicted, 0, present)
    inverse = np.zeros(missed.shape[:-1])
    for point, weight in zip((_POINTS + 1) / 2, _WEIGHTS / 2, strict=True):
        inverse += weight * point ** np.maximum(size - 1, 0) * np.prod(1 - missed * (1 - point), axis=-1)
    return np.asarray(np.where(size == 0, np.prod(1 - missed, axis=-1), hits * inverse))
