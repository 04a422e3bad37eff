"""Sums that do not depend on the order of their terms, nor on how they are split among threads or machines.

A number v below 2^e is split by adding and subtracting a large one: (v + T) - T is v rounded to a multiple of ulp(T).
With T = 1.5 2^(e + log2 N) the sum of N such multiples is exact in double precision, so it is associative. What
rounding left over is split and summed again, `FOLDS` times: more digits than double precision has are then in.
"""

import numba
import numpy as np

from bagwise.kernels.arithmetic.compile import Array

FOLDS = 3


def splitters(largest: Array, count: int) -> Array:
    """The numbers T, (FOLDS x columns), for sums of `count` terms that are at most `largest` in every column."""
    exponent = np.frexp(largest)[1]
    room = (max(count, 2) - 1).bit_length()
    found = []
    for _ in range(FOLDS):
        with np.errstate(over="ignore"):
            found.append(np.ldexp(1.5, exponent + room))
        exponent = exponent + room - 53
    return np.array(found)


@numba.njit(cache=True, nogil=True)  # not as a `kernel`: these operations must be carried out as they are written
def add_rows(sums: Array, split_by: Array, x: Array, centre: Array, squared: bool) -> None:
    """Add (x - centre), or its square, of every row to `sums` (FOLDS x columns)."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            left = np.float64(x[i, j]) - centre[j]
            if squared:
                left = left * left
            for fold in range(FOLDS):
                part = (left + split_by[fold, j]) - split_by[fold, j]
                sums[fold, j] += part
                left -= part


def total(sums: Array) -> Array:
    """The sums as double precision has them."""
    return np.asarray(sums[0] + (sums[1] + sums[2]))
