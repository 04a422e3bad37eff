"""Bag-level metrics: one function each, f(truth, probability) -> float. Definitions: Tsoumakas et al. 2009.

`truth` is (bags x classes) of 0/1, `probability` the predicted P(present). A label set is what exceeds `THRESHOLD`.
Ranks count ties against us, r(c) = #{c' : s_c' >= s_c}, as scikit-learn does. Bags for which a ranking metric is not
defined (no true class, and for the ranking loss all classes) are left out of its mean; NaN if none is left.

The ranking metrics take `convention`, to compare with figures obtained elsewhere. "sklearn": as scikit-learn, a bag
without a true class, or with all, is perfectly ranked, and coverage counts ranks from 1. "lamda": as the scripts of the
LAMDA group, such bags are left out (coverage keeps them, an empty one as -1), ties of average precision go to the first
class, and one true class among tied top classes forgives the others.
"""

import numpy as np
import numpy.typing as npt

from bagwise.core.errors import BagwiseError
from bagwise.kernels import Array

THRESHOLD = 0.5
CONVENTIONS = ("ours", "sklearn", "lamda")


def _pair(truth: npt.ArrayLike, probability: npt.ArrayLike) -> tuple[Array, Array]:
    true, score = np.asarray(truth), np.asarray(probability, dtype=float)
    if true.ndim != 2 or true.shape != score.shape:
        raise BagwiseError(
            f"truth has shape {true.shape} and probability {score.shape}: both must be (bags x classes)."
        )
    if not np.isin(true, (0, 1)).all():
        raise BagwiseError("truth must be 1 or 0 everywhere: a metric cannot count what is unknown.")
    if not np.isfinite(score).all():
        raise BagwiseError("probability has values that are missing or infinite.")
    return true.astype(bool), score


def _mean(values: Array) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def _ranks(score: Array) -> Array:
    ascending = np.sort(score, axis=1)
    below = [np.searchsorted(row, s, side="left") for row, s in zip(ascending, score, strict=True)]
    return np.asarray(score.shape[1] - np.array(below).reshape(score.shape))


def _ranks_by_index(score: Array) -> Array:
    return np.asarray(np.argsort(np.argsort(-score, axis=1, kind="stable"), axis=1) + 1)


def _undecided(true: Array) -> Array:
    """Bags in which every class, or none, is true: there is nothing to rank."""
    return np.asarray(true.all(axis=1) | ~true.any(axis=1))


def _known(convention: str) -> str:
    if convention not in CONVENTIONS:
        raise BagwiseError(f"There is no metric convention {convention}: choose one of {', '.join(CONVENTIONS)}.")
    return convention


def bag_accuracy(truth: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """Mean Jaccard index of predicted and true set; 1 where both are empty.

    >>> bag_accuracy([[1, 0], [1, 1]], [[0.9, 0.1], [0.9, 0.2]])
    0.75
    """
    true, score = _pair(truth, probability)
    predicted = score > THRESHOLD
    union = (true | predicted).sum(axis=1)
    return _mean(np.where(union == 0, 1.0, (true & predicted).sum(axis=1) / np.maximum(union, 1)))


def hamming_loss(truth: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """Share of pairs predicted wrongly.

    >>> hamming_loss([[1, 0], [1, 1]], [[0.9, 0.1], [0.9, 0.2]])
    0.25
    """
    true, score = _pair(truth, probability)
    return float(np.mean(true != (score > THRESHOLD)))


def average_precision(truth: npt.ArrayLike, probability: npt.ArrayLike, convention: str = "ours") -> float:
    """Mean over the true classes of the share of true classes among those ranked at least as high.

    >>> average_precision([[1, 0, 1]], [[0.9, 0.5, 0.3]])
    0.8333333333333333
    """
    true, score = _pair(truth, probability)
    ranks = _ranks_by_index(score) if _known(convention) == "lamda" else _ranks(score)
    at_least = (ranks[:, None, :] <= ranks[:, :, None]) & true[:, None, :]
    precision = at_least.sum(axis=2) / ranks
    values = (precision * true).sum(axis=1) / np.maximum(true.sum(axis=1), 1)
    if convention == "sklearn":
        return _mean(np.where(_undecided(true), 1.0, values))
    return _mean(values[true.any(axis=1) if convention == "ours" else ~_undecided(true)])


def one_error(truth: npt.ArrayLike, probability: npt.ArrayLike, convention: str = "ours") -> float:
    """How often the top class is wrong; among tied top classes, the share of wrong ones.

    >>> one_error([[1, 0], [1, 0]], [[0.9, 0.5], [0.5, 0.5]])
    0.25
    """
    true, score = _pair(truth, probability)
    if _known(convention) == "sklearn":
        raise BagwiseError("scikit-learn has no one-error: use the convention ours or lamda.")
    top = score == score.max(axis=1, keepdims=True)
    if convention == "lamda":
        return _mean(~(top & true).any(axis=1)[~_undecided(true)])
    kept = true.any(axis=1)
    return _mean(((top & ~true).sum(axis=1) / top.sum(axis=1))[kept])


def coverage(truth: npt.ArrayLike, probability: npt.ArrayLike, convention: str = "ours") -> float:
    """How many steps down the ranking until every true class is found.

    >>> coverage([[1, 0, 1]], [[0.9, 0.5, 0.3]])
    2.0
    """
    true, score = _pair(truth, probability)
    deepest = np.where(true, _ranks(score), 0).max(axis=1, initial=0)
    if _known(convention) == "sklearn":
        return _mean(deepest)
    return _mean(deepest[true.any(axis=1)] - 1 if convention == "ours" else deepest - 1)


def ranking_loss(truth: npt.ArrayLike, probability: npt.ArrayLike, convention: str = "ours") -> float:
    """Share of (true, false) class pairs in the wrong order; a tie is wrong.

    >>> ranking_loss([[1, 0, 1]], [[0.9, 0.5, 0.3]])
    0.5
    """
    true, score = _pair(truth, probability)
    wrong = (score[:, :, None] <= score[:, None, :]) & true[:, :, None] & ~true[:, None, :]
    values = wrong.sum(axis=(1, 2)) / np.maximum(true.sum(axis=1) * (~true).sum(axis=1), 1)
    return _mean(values if _known(convention) == "sklearn" else values[~_undecided(true)])


def micro_f1(truth: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """F1 over all pairs together; 0 where nothing is true or predicted.

    >>> micro_f1([[1, 0], [1, 1]], [[0.9, 0.1], [0.9, 0.2]])
    0.8
    """
    true, score = _pair(truth, probability)
    predicted = score > THRESHOLD
    return float(2 * (true & predicted).sum() / max(true.sum() + predicted.sum(), 1))


def macro_f1(truth: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """F1 of every class, averaged; 0 for a class neither true nor predicted.

    >>> macro_f1([[1, 0], [1, 1]], [[0.9, 0.1], [0.9, 0.2]])
    0.5
    """
    true, score = _pair(truth, probability)
    predicted = score > THRESHOLD
    both = true.sum(axis=0) + predicted.sum(axis=0)
    return _mean(2 * (true & predicted).sum(axis=0) / np.maximum(both, 1))


def instance_accuracy(truth: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """Share of labelled instances whose likeliest class is the true one; truth -1 marks an unlabelled instance.

    >>> instance_accuracy([0, 1, -1], [[0.9, 0.1], [0.8, 0.2], [0.5, 0.5]])
    0.5
    """
    true, score = np.asarray(truth), np.asarray(probability, dtype=float)
    labelled = true >= 0
    return _mean(score[labelled].argmax(axis=1) == true[labelled])


BAG_METRICS = {
    function.__name__: function
    for function in (
        bag_accuracy,
        hamming_loss,
        average_precision,
        one_error,
        coverage,
        ranking_loss,
        micro_f1,
        macro_f1,
    )
}
