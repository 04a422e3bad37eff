"""Factors of symmetric matrices, with the same bits on every processor (LAPACK's differ in the last digits).

    A = L L'  on the rows and columns `pivots`, taken in the order of what is left on the diagonal, largest first,

until nothing above `smallest` is left there: what remains is a combination of the rows taken, to that precision.
"""

import math

import numpy as np

from bagwise.kernels.arithmetic.compile import Array, kernel
from bagwise.kernels.arithmetic.sums import dot


@kernel
def _factor(matrix: Array, smallest: float, pivots: Array, lower: Array) -> int:
    size: int = matrix.shape[0]
    left, taken = np.empty(size), np.zeros(size, np.bool_)
    rows = np.zeros((size, size))
    for i in range(size):
        left[i] = matrix[i, i]
    for step in range(size):
        best = -1
        for i in range(size):
            if not taken[i] and (best < 0 or left[i] > left[best]):
                best = i
        if not left[best] > smallest:
            return step
        root = math.sqrt(left[best])
        taken[best], pivots[step] = True, best
        rows[best, step] = root
        for i in range(size):
            if not taken[i]:
                rows[i, step] = (matrix[i, best] - dot(rows[i, :step], rows[best, :step])) / root
                left[i] -= rows[i, step] * rows[i, step]
        lower[step, : step + 1] = rows[best, : step + 1]
    return size


def pivoted_cholesky(matrix: Array, smallest: float) -> tuple[Array, Array]:
    """`pivots`, and the lower triangular L for these rows and columns."""
    pivots, lower = np.zeros(len(matrix), np.int64), np.zeros(matrix.shape)
    rank = _factor(np.ascontiguousarray(matrix, np.float64), smallest, pivots, lower)
    return pivots[:rank], np.ascontiguousarray(lower[:rank, :rank])


@kernel
def _invert(lower: Array, inverse: Array) -> None:
    # Row i of the inverse is (e_i - sum_k<i L_ik inverse_k) / L_ii.
    for i in range(lower.shape[0]):
        inverse[i, i] = 1.0
        for k in range(i):
            for j in range(k + 1):
                inverse[i, j] -= lower[i, k] * inverse[k, j]
        for j in range(i + 1):
            inverse[i, j] /= lower[i, i]


def inverse_of_lower(lower: Array) -> Array:
    """The inverse of a lower triangular matrix."""
    inverse = np.zeros(lower.shape)
    _invert(lower, inverse)
    return inverse


def inverse_diagonal(matrix: Array, smallest: float) -> Array:
    """The diagonal of the inverse of a positive matrix; 0 for rows that are combinations of others."""
    pivots, lower = pivoted_cholesky(matrix, smallest)
    found = np.zeros(len(matrix))
    found[pivots] = np.square(inverse_of_lower(lower)).sum(axis=0)
    return found
