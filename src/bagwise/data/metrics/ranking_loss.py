"""Ranking loss: the share of (true, false) pairs of classes of a bag that are ranked in the wrong order."""

import numpy as np
import numpy.typing as npt

from bagwise.data.metrics._arrays import mean, unrankable, validate_convention, validated

TITLE = "ranking loss"
MORE_IS_BETTER = False
IN_EXPERIMENTS = False


def ranking_loss(truth: npt.ArrayLike, probability: npt.ArrayLike, convention: str = "ours") -> float:
    """Return the share of (true, false) class pairs in the wrong order; a tie is wrong.

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
        Between 0 and 1, less is better; NaN where no bag has both true and false classes.

    Examples
    --------
    >>> ranking_loss([[1, 0, 1]], [[0.9, 0.5, 0.3]])
    0.5
    """
    true, score = validated(truth, probability)
    wrong = (score[:, :, None] <= score[:, None, :]) & true[:, :, None] & ~true[:, None, :]
    values = wrong.sum(axis=(1, 2)) / np.maximum(true.sum(axis=1) * (~true).sum(axis=1), 1)
    return mean(values if validate_convention(convention) == "sklearn" else values[~unrankable(true)])
