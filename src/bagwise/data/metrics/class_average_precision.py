"""Class-mean average precision (cmAP): how well P(present) ranks the bags of a class, averaged over the classes.

For a class, with precision P_k and recall R_k of the bags from the k-th largest distinct score on,

    AP = sum over k of (R_k - R_{k-1}) P_k

as in scikit-learn, so that ties have one rank. It is the usual metric of bird sound recognition (BirdCLEF, BirdSet).
Cost: O(B C log B).
"""

import numpy as np
import numpy.typing as npt

from bagwise.data.metrics._arrays import mean, validated
from bagwise.kernels import Array

TITLE = "class-mean average precision"
MORE_IS_BETTER = True


def class_average_precision(truth: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """Return the mean over classes of the average precision with which the bags are ranked.

    Parameters
    ----------
    truth : array-like of {0, 1}, shape (bags, classes)
        Whether each class is in each bag.
    probability : array-like of float, shape (bags, classes)
        The score by which the bags of a class are ranked, larger first.

    Returns
    -------
    float
        Between 0 and 1, more is better. Classes that no bag has are left out; NaN where none is left.

    Examples
    --------
    >>> class_average_precision([[1, 0], [0, 1], [1, 0]], [[0.9, 0.5], [0.8, 0.7], [0.7, 0.1]])
    0.9166666666666666
    """
    true, score = validated(truth, probability)
    return mean(np.array([_of_class(true[:, c], score[:, c]) for c in np.flatnonzero(true.any(axis=0))]))


def _of_class(true: Array, score: Array) -> float:
    order = np.argsort(-score, kind="stable")
    last_of_ties = np.append(np.flatnonzero(np.diff(score[order])), len(order) - 1)
    found = np.cumsum(true[order])[last_of_ties]
    return float((np.diff(found, prepend=0) * (found / (last_of_ties + 1))).sum() / found[-1])
