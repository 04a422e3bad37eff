"""How kernels are compiled: once, cached on disk, without the interpreter lock.

The flags let the compiler reorder sums (needed to use vector units) and assume finite numbers. Kernels keep that
promise: logits are finite, padding is finite, and whatever underflows does so to an exact zero.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Function = TypeVar("Function", bound=Callable[..., Any])

FINITE_MATH = {"nnan", "ninf", "nsz", "contract", "reassoc", "arcp"}


def kernel(function: Function) -> Function:
    """Compile `function` to machine code on its first call; later processes load it from the cache."""
    return cast(Function, numba.njit(cache=True, nogil=True, fastmath=FINITE_MATH)(function))


def padding(dtype: npt.DTypeLike) -> float:
    """A logit so low that its probability is exactly zero, yet finite after any subtraction."""
    return float(-np.finfo(dtype).max / 4)
