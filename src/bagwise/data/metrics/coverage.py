"""Coverage: how far down the ranking of a bag's classes its last true class is."""

import numpy as np
import numpy.typing as npt

from bagwise.data.metrics._arrays import mean, ranks, validate_convention, validated

TITLE = "coverage"
MORE_IS_BETTER = False
IN_EXPERIMENTS = False


def coverage(truth: npt.ArrayLike, probability: npt.ArrayLike, convention: str = "ours") -> float:
    """Return how many steps down the ranking it takes until every true class is found.

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
        At least 0, less is better; NaN where no bag has a true class.

    Examples
    --------
    >>> coverage([[1, 0, 1]], [[0.9, 0.5, 0.3]])
    2.0
    """
    true, score = validated(truth, probability)
    deepest = np.where(true, ranks(score), 0).max(axis=1, initial=0)
    if validate_convention(convention) == "sklearn":
        return mean(deepest)
    return mean(deepest[true.any(axis=1)] - 1 if convention == "ours" else deepest - 1)
