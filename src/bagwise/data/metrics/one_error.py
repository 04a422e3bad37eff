"""One-error: how often the class ranked first is not in the bag."""

import numpy.typing as npt

from bagwise.core.errors import BagwiseError
from bagwise.data.metrics._arrays import mean, unrankable, validate_convention, validated

TITLE = "one-error"
MORE_IS_BETTER = False


def one_error(truth: npt.ArrayLike, probability: npt.ArrayLike, convention: str = "ours") -> float:
    """Return how often the top class is wrong; among tied top classes, the share of wrong ones.

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
        Between 0 and 1, less is better; NaN where no bag has a true class.

    Examples
    --------
    >>> one_error([[1, 0], [1, 0]], [[0.9, 0.5], [0.5, 0.5]])
    0.25
    """
    true, score = validated(truth, probability)
    if validate_convention(convention) == "sklearn":
        raise BagwiseError("scikit-learn has no one-error: use the convention ours or lamda.")
    top = score == score.max(axis=1, keepdims=True)
    if convention == "lamda":
        return mean(~(top & true).any(axis=1)[~unrankable(true)])
    rankable = true.any(axis=1)
    return mean(((top & ~true).sum(axis=1) / top.sum(axis=1))[rankable])
