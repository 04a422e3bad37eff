"""Average precision of the label ranking: how many of the classes ranked above a true class are true as well."""

import numpy as np
import numpy.typing as npt

from bagwise.data.metrics._arrays import mean, ranks, ranks_by_index, unrankable, validate_convention, validated

TITLE = "average precision"
MORE_IS_BETTER = True


def average_precision(truth: npt.ArrayLike, probability: npt.ArrayLike, convention: str = "ours") -> float:
    """Return the mean over the true classes of the share of true classes among those ranked at least as high.

    Parameters
    ----------
    truth : array-like of {0, 1}, shape (bags, classes)
        Whether each class is in each bag.
    probability : array-like of float, shape (bags, classes)
        The score by which the classes of a bag are ranked, larger first.
    convention : {"ours", "sklearn", "lamda"}
        What to do with bags that cannot be ranked and with ties, see `bagwise.metrics`.

    Returns
    -------
    float
        Between 0 and 1, more is better; NaN where no bag has a true class.

    Examples
    --------
    >>> average_precision([[1, 0, 1]], [[0.9, 0.5, 0.3]])
    0.8333333333333333
    """
    true, score = validated(truth, probability)
    rank = ranks_by_index(score) if validate_convention(convention) == "lamda" else ranks(score)
    at_least = (rank[:, None, :] <= rank[:, :, None]) & true[:, None, :]
    precision = at_least.sum(axis=2) / rank
    values = (precision * true).sum(axis=1) / np.maximum(true.sum(axis=1), 1)
    if convention == "sklearn":
        return mean(np.where(unrankable(true), 1.0, values))
    return mean(values[true.any(axis=1) if convention == "ours" else ~unrankable(true)])
