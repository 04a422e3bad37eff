"""Log-likelihood of all known labels with its gradient by weights and bias, in one pass over the data."""

import numpy as np

from bagwise.kernels.blocks import each_block, logits_of
from bagwise.kernels.compile import Array
from bagwise.kernels.likelihood import likelihood_block


def log_likelihood_and_gradient(
    x: Array, offsets: Array, weights: Array, bias: Array, value: Array, known: Array
) -> tuple[float, Array, Array]:
    """Sum log P, d/d weights (K, d), d/d bias (K,), summed block by block in double precision."""
    columns = len(weights)

    def block(first: int, last: int) -> tuple[float, Array, Array]:
        rows = x[offsets[first] : offsets[last]]
        logits, padded_bias, rest = logits_of(rows, weights, bias)
        total = likelihood_block(logits, padded_bias, rest, offsets, first, last, value, known, rows, weights, bias)
        by_logit = logits[:, :columns]
        return total, by_logit.T @ rows, by_logit.sum(axis=0)

    total, by_weight, by_bias = 0.0, np.zeros(weights.shape), np.zeros(columns)
    for part, weight_part, bias_part in each_block(offsets, columns, block):
        total += part
        by_weight += weight_part
        by_bias += bias_part
    return total, by_weight, by_bias
