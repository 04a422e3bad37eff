"""Transformed instances: standardised by default, or by any scikit-learn transformer.

From `MANY_FEATURES` on, where features are embeddings, "standardise" does not give each feature the deviation 1: they
share a unit, and those that hardly vary tell little. With features centred and s^2 = (sum of their variances) / V,

    x -> (x - mean) / s

so that their variances add up to V, whatever their number. A weight has the prior N(0, 1), so a logit of d standardised
features would have the variance d before any answer: of a thousand features, a model that is sure of everything.
"""

import math
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.kernels import Array, Instances
from bagwise.kernels.arithmetic.exact_sums import add_rows, splitters, total
from bagwise.kernels.arithmetic.product import precise
from bagwise.model.nystroem import NystroemMap

STANDARDISE = "standardise"
CURVED = "nystroem"
FAR_FROM_ZERO = 30
"""Means this many deviations from 0 cost float32 products too many digits: such features are centred in a copy."""

MANY_FEATURES = 200
TOTAL_VARIANCE = 64.0
OTHER_UNITS = 30.0
"""Where the largest deviation is this many times the median, features do not share a unit: each gets its own scale."""


def fit_transformer(transformer: Any, bags: Bags, spread: "Spread | None" = None) -> Any:
    """Return a copy of `transformer` (None: raw features), fitted to these bags, or to all that `spread` summarises."""
    if transformer is None:
        return None
    if transformer != CURVED and (scaler := scaler_of(transformer)) is not None:
        fitted = standardised(scaler, _InMemory(bags) if spread is None else spread)
        return in_one_unit(fitted) if isinstance(transformer, str) and bags.n_features >= MANY_FEATURES else fitted
    if spread is not None:
        raise BagwiseError(
            f"transformer={transformer!r} needs all instances in one place: on a cluster give {STANDARDISE!r}, "
            "a StandardScaler or None, and transform the features beforehand."
        )
    if transformer == CURVED:
        return NystroemMap().fit(bags.instances, standardised(StandardScaler(), _InMemory(bags)))
    return clone(transformer).fit(bags.instances)


def scaler_of(transformer: Any) -> StandardScaler | None:
    """Return the scaler that `transformer` stands for, None where it is another transformer."""
    if type(transformer) is StandardScaler:
        return clone(transformer)
    if isinstance(transformer, str):
        if transformer != STANDARDISE:
            raise BagwiseError(
                f"transformer={transformer!r} is not known: give {STANDARDISE!r}, {CURVED!r}, None or a scikit-learn "
                "transformer."
            )
        return StandardScaler()
    return None


class Spread(Protocol):
    """Summaries of instances that may be distributed over several machines."""

    n_instances: int

    def largest(self) -> Array:
        """The largest absolute value of every feature."""
        ...

    def sums(self, split_by: Array, centre: Array, squared: bool) -> Array:
        """Return exact sums of x - centre or of its square (`arithmetic.exact_sums`); those of shards add up."""
        ...


class _InMemory:
    def __init__(self, bags: Bags) -> None:
        self._bags, self.n_instances = bags, int(bags.offsets[-1])

    def largest(self) -> Array:
        return largest_of(self._bags)

    def sums(self, split_by: Array, centre: Array, squared: bool) -> Array:
        return sums_of(self._bags, split_by, centre, squared)


def largest_of(bags: Bags) -> Array:
    """The largest absolute value of every feature."""
    found = np.zeros(bags.n_features)
    for _, chunk in bags.chunks():
        np.maximum(found, np.abs(chunk).max(axis=0), out=found)
    return found


def sums_of(bags: Bags, split_by: Array, centre: Array, squared: bool) -> Array:
    """Return exact sums of x - centre or of its square, over all instances."""
    sums = np.zeros_like(split_by)
    for _, chunk in bags.chunks():
        add_rows(sums, split_by, precise(chunk), centre, squared)
    return sums


def standardised(scaler: StandardScaler, spread: Spread) -> StandardScaler:
    """Return the fitted scaler: the same numbers, bit for bit, wherever the instances are stored."""
    largest, count = spread.largest(), spread.n_instances
    with np.errstate(over="ignore", invalid="ignore"):
        mean = total(spread.sums(splitters(largest, count), np.zeros_like(largest), False)) / count
        variance = total(spread.sums(splitters(4 * largest**2, count), mean, True)) / count
        # As in scikit-learn: what varies by no more than rounding does not vary.
        noise = count * np.finfo(float).eps * variance + (count * np.finfo(float).eps * mean) ** 2
    scaler.mean_, scaler.n_samples_seen_, scaler.n_features_in_ = mean, count, len(mean)
    scaler.var_ = variance if scaler.with_std else None
    scaler.scale_ = np.where(variance <= noise, 1.0, np.sqrt(variance)) if scaler.with_std else None
    return scaler


def in_one_unit(scaler: StandardScaler) -> StandardScaler:
    """Return the fitted scaler with other scales: the variances of the features add up to `TOTAL_VARIANCE`."""
    deviation = np.sqrt(scaler.var_)
    if deviation.max() > OTHER_UNITS * np.median(deviation):
        scaler.scale_ = scaler.scale_ * math.sqrt(len(deviation) / TOTAL_VARIANCE)
    else:
        # The sum is exact, so that it does not depend on the processor.
        scaler.scale_ = np.full(len(deviation), math.sqrt(math.fsum(scaler.var_) / TOTAL_VARIANCE) or 1.0)
    return scaler


def instances_of(bags: Bags, fitted: Any, intercept: bool) -> Instances:
    """Return transformed bags; scaling costs no copy, another transformer or scores beside the features make one."""
    x = bags.instances
    if fitted is not None and not isinstance(fitted, StandardScaler):
        x = _dense(fitted.transform(x), x.dtype)
        _validate_usable(x, bags)
        fitted = None
    width, dtype = x.shape[1], np.float32 if x.dtype == np.float16 else x.dtype
    shift = np.zeros(width) if fitted is None or not fitted.with_mean else fitted.mean_
    scale = np.ones(width) if fitted is None or fitted.scale_ is None else fitted.scale_
    if not (np.isfinite(shift).all() and np.isfinite(scale).all()):
        raise BagwiseError("Some features are so large that their variance overflows: scale them first.")
    if dtype == np.float32 and np.abs(shift / scale).max() > FAR_FROM_ZERO:
        x, shift = (x - shift).astype(dtype), np.zeros(width)
    if bags.scores is None:
        return Instances(x, bags.offsets, shift.astype(dtype), scale.astype(dtype), intercept)
    n_scores = bags.scores.shape[1]
    x = np.hstack([x, bags.scores], dtype=dtype)
    shift, scale = np.append(shift, np.zeros(n_scores)), np.append(scale, np.full(n_scores, np.inf))
    return Instances(x, bags.offsets, shift.astype(dtype), scale.astype(dtype), intercept, n_scores=n_scores)


def _validate_usable(x: Array, bags: Bags) -> None:
    if x.ndim != 2 or len(x) != len(bags.instances):
        raise BagwiseError(f"The transformer made {x.shape} of {len(bags.instances)} instances: it must keep them all.")
    if not np.isfinite(x).all():
        row, column = np.argwhere(~np.isfinite(x))[0]
        bag = int(np.searchsorted(bags.offsets, row, side="right")) - 1
        raise BagwiseError(
            f"The transformer makes a value of bag {bags.ids[bag]} missing or infinite (its column {column}): "
            "choose another transformer, or clean the features."
        )


def _dense(transformed: Any, dtype: Any) -> Array:
    array = transformed.toarray() if hasattr(transformed, "toarray") else transformed
    return np.ascontiguousarray(array, dtype=dtype)
