"""From raw instances to what the model sees: standardised by default, or through any scikit-learn transformer."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import StandardScaler

from bagwise.bags import Bags
from bagwise.errors import BagwiseError
from bagwise.kernels import Array, Instances

STANDARDISE = "standardise"
CURVED = "nystroem"
CURVED_FEATURES = 300
FAR_FROM_ZERO = 30
"""Means this many deviations from 0 cost float32 products too many digits: such features are centred in a copy."""


def fit_transformer(transformer: Any, bags: Bags) -> Any:
    """A fitted copy of `transformer` (None: features as they are)."""
    if transformer is None:
        return None
    if transformer == CURVED:
        return _curved(bags).fit(bags.instances)
    if isinstance(transformer, str):
        if transformer != STANDARDISE:
            raise BagwiseError(
                f"transformer={transformer!r} is not known: give {STANDARDISE!r}, {CURVED!r}, None or a scikit-learn "
                "transformer."
            )
        scaler = StandardScaler()
        for _, chunk in bags.chunks():
            scaler.partial_fit(chunk)
        return scaler
    return clone(transformer).fit(bags.instances)


def _curved(bags: Bags) -> FeatureUnion:
    """Standardised features beside a Gaussian kernel of them, as many columns of it as `CURVED_FEATURES`.

    The kernel's columns together have length 1, the standardised ones sqrt(features): one prior for both would hardly
    let the former count, so they are made longer.
    """
    width = bags.n_features
    kernel = Nystroem(gamma=0.5 / width, n_components=min(CURVED_FEATURES, len(bags.instances)), random_state=0)
    parts = [
        ("linear", StandardScaler()),
        ("curved", Pipeline([("scale", StandardScaler()), ("kernel", kernel)])),
    ]
    return FeatureUnion(parts, transformer_weights={"linear": 1.0, "curved": float(np.sqrt(width))})


def instances_of(bags: Bags, fitted: Any, intercept: bool) -> Instances:
    """The bags as the model sees them; scaling costs no copy, another transformer makes one."""
    x = bags.instances
    if fitted is not None and not isinstance(fitted, StandardScaler):
        x = _dense(fitted.transform(x), x.dtype)
        _refuse_unusable(x, bags)
        fitted = None
    width, dtype = x.shape[1], np.float32 if x.dtype == np.float16 else x.dtype
    shift = np.zeros(width) if fitted is None or fitted.mean_ is None else fitted.mean_
    scale = np.ones(width) if fitted is None or fitted.scale_ is None else fitted.scale_
    if not (np.isfinite(shift).all() and np.isfinite(scale).all()):
        raise BagwiseError("Some features are so large that their variance overflows: scale them first.")
    if dtype == np.float32 and np.abs(shift / scale).max() > FAR_FROM_ZERO:
        x, shift = (x - shift).astype(dtype), np.zeros(width)
    return Instances(x, bags.offsets, shift.astype(dtype), scale.astype(dtype), intercept)


def _refuse_unusable(x: Array, bags: Bags) -> None:
    if x.ndim != 2 or len(x) != len(bags.instances):
        raise BagwiseError(f"The transformer made {x.shape} of {len(bags.instances)} instances: it must keep them all.")
    if not np.isfinite(x).all():
        row, column = np.argwhere(~np.isfinite(x))[0]
        bag = int(np.searchsorted(bags.offsets, row, side="right")) - 1
        raise BagwiseError(
            f"The transformer makes a value of bag {bags.ids[bag]} missing or infinite (its column {column}): "
            "choose another, or mend the features."
        )


def _dense(transformed: Any, dtype: Any) -> Array:
    array = transformed.toarray() if hasattr(transformed, "toarray") else transformed
    return np.ascontiguousarray(array, dtype=dtype)
