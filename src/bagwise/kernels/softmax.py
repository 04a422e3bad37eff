"""Soft-max of many rows, split so that 1 - p loses no digits.

Row z with largest logit z_m (spec section 2):

    e_c = exp(z_c - z_m),   rest = sum_{c != m} e_c,   s = 1 + rest
    p_c = e_c / s,   1 - p_c = (s - e_c)/s  for c != m,   rest/s  for c = m

`e` is 1 exactly at the arg-max (and at its ties, for which s - e = rest as well), so `e == 1` marks it.
Finding all the maxima before any exponential keeps rows independent, so the processor works on several at once.
"""

from bagwise.kernels.compile import Array, kernel
from bagwise.kernels.exponential import exp_of_nonpositive


@kernel
def softmax_rows(logits: Array, bias: Array, rest: Array) -> None:
    """Turn rows of logits (+ bias) into `e` in place and fill `rest`; padded columns become 0."""
    zero, one = logits.dtype.type(0), logits.dtype.type(1)
    rows, columns = logits.shape
    for i in range(rows):
        largest = logits[i, 0] + bias[0]
        for c in range(columns):
            z = logits[i, c] + bias[c]
            logits[i, c] = z
            largest = max(largest, z)
        rest[i] = largest
    for i in range(rows):
        largest = rest[i]
        below, at_top = zero, -one
        for c in range(columns):
            e = exp_of_nonpositive(logits[i, c] - largest)
            logits[i, c] = e
            below += e if e < one else zero
            at_top += zero if e < one else one
        rest[i] = below + at_top


@kernel
def argmax_of(e: Array) -> int:
    """Index of the (first) largest logit of a row that went through `softmax_rows`."""
    m = 0
    while m < e.shape[0] - 1 and e[m] != 1:
        m += 1
    return m
