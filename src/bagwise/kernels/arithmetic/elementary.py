"""exp, log and their like in double precision, the same bits on every processor.

NumPy and the C library choose theirs by what the processor can do, and they differ in the last digit. These are

    log x      = k ln 2 + log(1 + f),   x = 2^k (1 + f),  sqrt(1/2) <= 1 + f < sqrt(2)
    log(1 + f) = f - s (f - R),         s = f / (2 + f),  R = 2 s^2/3 + 2 s^4/5 + ...      (2 s + s R = 2 artanh s)
    expm1 x    = x + x^2/2! + ...  near 0, exp(x) - 1 otherwise

are each right within three units of the last digit. The functions of one number are for compiled code; those of arrays
have the names that NumPy and SciPy have for them.
"""

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from bagwise.kernels.arithmetic.compile import Array
from bagwise.kernels.arithmetic.exponential import exp_of_nonpositive, fraction_of, fused, power_of

LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
HALF_ROOT = math.sqrt(0.5)
NEAR_ZERO = -0.35
OF_LOG = tuple(2 / (2 * j + 1) for j in range(11, 0, -1))
OF_EXPM1 = tuple(1 / math.factorial(j) for j in range(14, 1, -1))

# Not as a `kernel`: logarithms of 0 are infinite. Flags that are not given are those of whichever caller is compiled
# first, and the cache keeps them for all.
exactly = numba.njit(cache=True, nogil=True, fastmath=False, error_model="numpy")


@exactly
def _log_of_one_plus(f: float) -> float:
    s = f / (2.0 + f)
    square = s * s
    series = 0.0
    for coefficient in OF_LOG:
        series = fused(series, square, coefficient)
    curved: float = fused(-series, square, f)
    return f - s * curved


@exactly
def log_of(x: float) -> float:
    """log x for x >= 0."""
    if x <= 0.0:
        return -np.inf
    if x == np.inf:
        return x
    fraction, power = math.frexp(x)
    if fraction < HALF_ROOT:
        fraction, power = 2.0 * fraction, power - 1
    k = float(power)
    result: float = fused(k, LN2_HIGH, fused(k, LN2_LOW, _log_of_one_plus(fraction - 1.0)))
    return result


@exactly
def log1p_of(x: float) -> float:
    """log(1 + x) for x >= -1."""
    if -0.25 < x < 0.25:
        return _log_of_one_plus(x)
    total = 1.0 + x
    left = 1.0 - (total - x) if x >= 1.0 else x - (total - 1.0)
    return log_of(total) + left / total if 0.0 < total < np.inf else log_of(total)


@exactly
def log_of_likely(p: float, complement: float) -> float:
    """log p for 1e-300 < p <= 1 from p and 1 - p: where p is not small, right to rounding of the latter.

    The bits of `log_of(p)` below a half and of `log1p_of(-complement)` from there on. Without a branch, so that the
    compiler turns a loop into vector instructions.
    """
    small, near = p < 0.5, p >= 0.5 and complement < 0.25
    total = p if small else 1.0 - complement
    fraction, power = fraction_of(total), float(power_of(total))
    below = fraction < HALF_ROOT
    fraction, power = 2.0 * fraction if below else fraction, power - 1.0 if below else power
    k = 0.0 if near else power
    left = 0.0 if small or near else -complement - (total - 1.0)
    series: float = fused(k, LN2_HIGH, fused(k, LN2_LOW, _log_of_one_plus(-complement if near else fraction - 1.0)))
    return series + left / total


@exactly
def exp_of(x: float) -> float:
    """exp x."""
    e = exp_of_nonpositive(-abs(x))
    return e if x <= 0.0 else 1.0 / e


@exactly
def expm1_of_nonpositive(x: float) -> float:
    """exp(x) - 1 for x <= 0."""
    if x < NEAR_ZERO:
        return exp_of_nonpositive(x) - 1.0
    series = 0.0
    for coefficient in OF_EXPM1:
        series = fused(series, x, coefficient)
    result: float = fused(series * x, x, x)
    return result


@exactly
def expit_of(x: float) -> float:
    """1 / (1 + exp(-x))."""
    e = exp_of_nonpositive(-abs(x))
    return 1.0 / (1.0 + e) if x >= 0.0 else e / (1.0 + e)


@exactly
def log_expit_of(x: float) -> float:
    """log(1 / (1 + exp(-x)))."""
    return min(x, 0.0) - log1p_of(exp_of_nonpositive(-abs(x)))


@exactly
def logaddexp_of(a: float, b: float) -> float:
    """log(exp(a) + exp(b)) of finite numbers."""
    return max(a, b) + log1p_of(exp_of_nonpositive(-abs(a - b)))


def _of_arrays(function: Any) -> Callable[..., Any]:
    # The cache knows code by its name: under the same one, each would load what was compiled for the other.
    in_arrays = FunctionType(function.py_func.__code__, function.py_func.__globals__)
    in_arrays.__qualname__ += "_in_arrays"
    of_numbers: Callable[..., Any] = numba.vectorize(cache=True)(in_arrays)  # type: ignore[no-untyped-call]

    def of_arrays(*values: npt.ArrayLike) -> Any:
        # Where both sides of a condition are computed, the one that is not taken may be infinite.
        with np.errstate(all="ignore"):
            return of_numbers(*(np.asarray(value, np.float64) for value in values))

    return of_arrays


log, log1p, exp = _of_arrays(log_of), _of_arrays(log1p_of), _of_arrays(exp_of)
expm1_nonpositive, expit = _of_arrays(expm1_of_nonpositive), _of_arrays(expit_of)
log_expit, logaddexp = _of_arrays(log_expit_of), _of_arrays(logaddexp_of)


def logit(p: npt.ArrayLike) -> Array:
    """log(p / (1 - p))."""
    return np.asarray(log(p) - log1p(-np.asarray(p, np.float64)))
