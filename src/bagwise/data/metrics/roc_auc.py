"""ROC-AUC: how well P(present) separates the bags of a class from the others, averaged over the classes.

For a bag drawn from those of a class and one from the others, the probability that the former has the larger score,
ties counting half (Mann & Whitney 1947). Cost: O(B C log B).
"""

import numpy.typing as npt

from bagwise.data.metrics._arrays import mean_auc, validated

TITLE = "ROC-AUC"
MORE_IS_BETTER = True


def roc_auc(truth: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """Return the mean over classes of the area under the ROC curve.

    Parameters
    ----------
    truth : array-like of {0, 1}, shape (bags, classes)
        Whether each class is in each bag.
    probability : array-like of float, shape (bags, classes)
        The score by which the bags of a class are ranked, larger first.

    Returns
    -------
    float
        Between 0 and 1, more is better; 0.5 for a constant. Classes that no bag has, or every bag, are left out; NaN
        where none is left.

    Examples
    --------
    >>> roc_auc([[1, 0], [0, 1], [1, 0]], [[0.9, 0.5], [0.8, 0.7], [0.7, 0.1]])
    0.75
    """
    return mean_auc(*validated(truth, probability))
