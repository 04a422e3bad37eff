"""Soft-max of many rows, split so that 1 - p loses no digits.

Row z with largest logit z_m (spec section 2):

    e_c = exp(z_c - z_m),   rest = sum_{c != m} e_c,   s = 1 + rest
    p_c = e_c / s,   1 - p_c = (s - e_c)/s  for c != m,   rest/s  for c = m

`e` is 1 exactly at the arg-max (and at its ties, for which s - e = rest as well), so `e == 1` marks it.
The exponentials of several rows are taken in one long loop.
"""

from bagwise.kernels.arithmetic.compile import Array, kernel
from bagwise.kernels.arithmetic.exponential import exp_of_nonpositive
from bagwise.kernels.arithmetic.vectors import LANES, address_of, below_top, rest_of

ROWS_AT_A_TIME = 16


@kernel
def softmax_of(logits: Array, bias: Array, e: Array, rest: Array) -> None:
    """Fill `e` and `rest` from rows of logits (+ bias); padded columns become 0.

    `logits` and `e`, which may be the same, are contiguous and a whole number of vectors wide.
    """
    rows, columns = logits.shape
    like, vectors, stride = logits.dtype.type(0), columns // LANES, logits.strides[0]
    for start in range(0, rows, ROWS_AT_A_TIME):
        count = min(ROWS_AT_A_TIME, rows - start)
        first, out = address_of(logits) + start * stride, address_of(e) + start * stride
        for i in range(count):
            below_top(first + i * stride, address_of(bias), out + i * stride, vectors, like)
        exponents = e[start : start + count].reshape(count * columns)
        for k in range(count * columns):
            exponents[k] = exp_of_nonpositive(exponents[k])
        for i in range(count):
            rest[start + i] = rest_of(out + i * stride, vectors, like)


@kernel
def softmax_rows(logits: Array, bias: Array, rest: Array) -> None:
    """Turn rows of logits (+ bias) into `e` in place and fill `rest`."""
    softmax_of(logits, bias, logits, rest)


@kernel
def argmax_of(e: Array, row: int) -> int:
    """Index of the (first) largest logit of a row that went through `softmax_rows`."""
    m = 0
    while m < e.shape[1] - 1 and e[row, m] != 1:
        m += 1
    return m
