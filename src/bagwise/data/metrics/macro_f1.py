"""Macro F1: F1 of every class, averaged over the classes."""

import numpy as np
import numpy.typing as npt

from bagwise.data.metrics._arrays import THRESHOLD, mean, validated

TITLE = "macro F1"
MORE_IS_BETTER = True
IN_EXPERIMENTS = False


def macro_f1(truth: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """Return the mean over the classes of their F1.

    Parameters
    ----------
    truth : array-like of {0, 1}, shape (bags, classes)
        Whether each class is in each bag.
    probability : array-like of float, shape (bags, classes)
        P(class is in bag); a class is predicted above 1/2.

    Returns
    -------
    float
        Between 0 and 1, more is better; a class neither true nor predicted counts as 0.

    Examples
    --------
    >>> macro_f1([[1, 0], [1, 1]], [[0.9, 0.1], [0.9, 0.2]])
    0.5
    """
    true, score = validated(truth, probability)
    predicted = score > THRESHOLD
    both = true.sum(axis=0) + predicted.sum(axis=0)
    return mean(2 * (true & predicted).sum(axis=0) / np.maximum(both, 1))
