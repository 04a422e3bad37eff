"""The paper's formulas in NumPy without simplification: every gradient is formed.

p_ic = softmax(W x_i)_c,   P0_c = prod_i (1 - p_ic),   P1_c = 1 - P0_c
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

EDGE = 1e-12
"""Probabilities are clipped to this distance from 0 and 1: the formulas divide by both."""


def probabilities(x: Array, weights: Array) -> tuple[Array, Array]:
    """Return P(class) of every instance, and P(absent) of every class."""
    z = x @ weights.T
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p = np.clip(p, EDGE, 1 - EDGE)
    return p, np.prod(1 - p, axis=0)


def gradients(x: Array, weights: Array) -> Iterable[tuple[Array, Array]]:
    """Yield, for present and absent, P(label) of every class and its log gradient, (classes x K x features)."""
    p, absent = probabilities(x, weights)
    diagonal = np.arange(len(weights))
    share = -p[:, None, :] / (1 - p[:, :, None])
    share[:, diagonal, diagonal] = 1
    for probability, push in ((1 - absent, p * absent / (1 - absent)), (absent, -p)):
        yield probability, np.tensordot((push[:, :, None] * share).transpose(1, 2, 0), x, axes=1)


def expected_gradient_length(bags: Sequence[Array], weights: Array, n_known: int) -> Array:
    """Return the sum over both labels of P(label) ||gradient of log P(label)|| / (|L| + 1), (bags x classes)."""
    scores = np.zeros((len(bags), len(weights)))
    for b, x in enumerate(bags):
        for probability, gradient in gradients(x, weights):
            scores[b] += probability * np.sqrt((gradient**2).sum(axis=(1, 2)))
    return scores / (n_known + 1)
