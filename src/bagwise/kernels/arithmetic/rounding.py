"""How far a product may be off: bounds of its rounding errors.

A sum of products is off by at most u times the sum of the absolute partial sums, u the unit roundoff. For a product of
weights w with an instance x these are at most ||x|| times the norms of the beginnings of w, by Cauchy and Schwarz.
"""

import numpy as np
import numpy.typing as npt

from bagwise.kernels.arithmetic.compile import Array


def fresh_slack(weights: Array) -> float:
    """By how much a logit computed from these weights is off at most, for an instance of length 1."""
    partial_sums = np.sqrt(np.cumsum(weights.astype(float) ** 2, axis=1)).sum(axis=1).max()
    return unit_of(weights.dtype) * (2 + float(partial_sums))


def longest(rows: Array) -> float:
    """The largest norm of a row."""
    return float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max()))


def unit_of(dtype: npt.DTypeLike) -> float:
    """The unit roundoff, and a little more for terms of second order."""
    return 0.51 * float(np.finfo(dtype).eps)
