"""Log-likelihood of all known labels with its gradient by weights and bias, in one pass over the data.

The sum runs over the known labels one by one (marginal), or over bags, all known labels of a bag together (joint).
"""

import numpy as np

from bagwise.kernels.arithmetic.blocks import each_block
from bagwise.kernels.arithmetic.compile import Array, kernel
from bagwise.kernels.arithmetic.product import Linear, precise
from bagwise.kernels.arithmetic.softmax import softmax_rows
from bagwise.kernels.arithmetic.sums import column_sums, transposed_product
from bagwise.kernels.cpu.joint_likelihood import bag_joint_likelihood
from bagwise.kernels.cpu.likelihood import bag_likelihood, no_flips


@kernel
def _likelihood_block(
    logits: Array,
    padded_bias: Array,
    rest: Array,
    offsets: Array,
    first: int,
    last: int,
    value: Array,
    known: Array,
    flip: Array,
    joint: Array,
    x: Array,
    weights: Array,
    bias: Array,
) -> float:
    """Log-likelihood of the bags first..last; `logits` are overwritten by its derivative."""
    softmax_rows(logits, padded_bias, rest)
    room = np.empty((4, logits.shape[1]), logits.dtype)
    base, total = offsets[first], 0.0
    for b in range(first, last):
        rows = slice(offsets[b] - base, offsets[b + 1] - base)
        if joint[b]:
            total += bag_joint_likelihood(logits[rows], rest[rows], value[b], known[b], x[rows], weights, bias)
        else:
            rates = flip[b if flip.shape[1] > 0 else 0]
            total += bag_likelihood(logits[rows], rest[rows], value[b], known[b], rates, x[rows], weights, bias, room)
    return total


def log_likelihood_and_gradient(
    x: Array,
    offsets: Array,
    weights: Array,
    bias: Array,
    value: Array,
    known: Array,
    joint: Array | None = None,
    flip: Array | None = None,
) -> tuple[float, Array, Array]:
    """sum log P, d/d weights (K, d), d/d bias (K,), summed block by block in double precision.

    `joint` says for which bags the known labels are taken together; for none where it is not given. `flip` is the rate
    at which each label is wrong, for bags that are not joint; not given, none ever is.
    """
    rates = no_flips() if flip is None else flip
    together = np.zeros(len(offsets) - 1, bool) if joint is None else joint
    columns, linear = len(weights), Linear(weights, bias)

    def block(first: int, last: int) -> tuple[float, Array, Array]:
        rows = precise(x[offsets[first] : offsets[last]])
        logits, padded_bias, rest = linear.logits(rows)
        total = _likelihood_block(
            logits, padded_bias, rest, offsets, first, last, value, known, rates, together, rows, weights, bias
        )
        return total, transposed_product(logits, rows, columns), column_sums(logits, columns)

    total, by_weight, by_bias = 0.0, np.zeros(weights.shape), np.zeros(columns)
    for part, weight_part, bias_part in each_block(offsets, columns, block):
        total += part
        by_weight += weight_part
        by_bias += bias_part
    return total, by_weight, by_bias
