"""Validated arrays, ranks and means that several metrics share."""

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from bagwise.core.errors import BagwiseError
from bagwise.kernels import Array

THRESHOLD = 0.5
CONVENTIONS = ("ours", "sklearn", "lamda")


def validated(truth: npt.ArrayLike, probability: npt.ArrayLike) -> tuple[Array, Array]:
    """Truth as booleans and probability as floats, both (bags, classes); an error where a metric is undefined."""
    true, score = np.asarray(truth), np.asarray(probability, dtype=float)
    if true.ndim != 2 or true.shape != score.shape:
        raise BagwiseError(
            f"`truth` has shape {true.shape} and `probability` {score.shape}: both must be (bags, classes)."
        )
    if true.dtype != bool and not np.isin(true, (0, 1)).all():
        raise BagwiseError("`truth` must be 1 or 0 everywhere: a metric cannot count unknown labels.")
    if not np.isfinite(score).all():
        raise BagwiseError("`probability` has values that are missing or infinite.")
    return true.astype(bool), score


def validate_convention(convention: str) -> str:
    """The convention, or an error that lists the known ones."""
    if convention not in CONVENTIONS:
        raise BagwiseError(f"There is no metric convention {convention}: choose one of {', '.join(CONVENTIONS)}.")
    return convention


def mean(values: Array) -> float:
    """The mean; NaN of no values."""
    return float(np.mean(values)) if len(values) else float("nan")


def weighted_mean(values: Array, weights: Array | None) -> float:
    """The mean over bags, which `weights` (summing to 1) may weight."""
    return float(values.mean()) if weights is None else float(weights @ values)


def ranks(score: Array) -> Array:
    """Rank of every class in its bag, from 1; tied classes all have the worst rank among them."""
    ascending = np.sort(score, axis=1)
    below = [np.searchsorted(row, s, side="left") for row, s in zip(ascending, score, strict=True)]
    return np.asarray(score.shape[1] - np.array(below).reshape(score.shape))


def ranks_by_index(score: Array) -> Array:
    """Rank of every class in its bag, from 1; of tied classes the first ranks higher."""
    return np.asarray(np.argsort(np.argsort(-score, axis=1, kind="stable"), axis=1) + 1)


def unrankable(true: Array) -> Array:
    """Bags in which every class, or none, is true: there is nothing to rank."""
    return np.asarray(true.all(axis=1) | ~true.any(axis=1))


def mean_auc(of_class: Array, score: Array) -> float:
    """The mean over classes of the ROC-AUC, both arguments (rows, classes); classes of no row, or of all, left out."""
    n1 = of_class.sum(axis=0)
    n0 = len(of_class) - n1
    both = (n1 > 0) & (n0 > 0)
    mid_ranks = rankdata(score[:, both], axis=0)
    above = (mid_ranks * of_class[:, both]).sum(axis=0) - n1[both] * (n1[both] + 1) / 2
    return mean(above / (n1[both] * n0[both]))
