"""Evidence about single instances, as weights beside their logits (spec section 12).

An answer may say of an instance i that it is of class c, that it is not, or either with a rate of being wrong. All of
them are a likelihood l_i(c) = P(what was said of i | i is of class c), and with a_ic = log l_i(c)

    log P(what was said of i)  =  log sum_c exp(z_ic + a_ic)  -  log sum_c exp(z_ic)
    q_i = P(class of i | what was said)  =  softmax(z_i + a_i)

An instance known to be of class c has a = 0 at c and `BARRED` elsewhere, one known not to be of it `BARRED` at c. So
evidence is added to logits, and every formula of bags then gives its value conditional on the evidence: the soft-max of
the sum has the derivatives of a soft-max. The first line adds its own derivative by the logits, q - p.
"""

from dataclasses import dataclass

import numpy as np

from bagwise.kernels.arithmetic.compile import Array, kernel, padding
from bagwise.kernels.arithmetic.elementary import exp_of, log_of

BARRED = padding(np.float32)
"""The weight of a class that an instance is known not to have: its probability becomes 0 in either precision."""
EVERY_OWNER = -1


@dataclass(frozen=True)
class Evidence:
    """Weights of the classes of some rows of instances.

    Parameters
    ----------
    rows
        Positions of the rows, (E,), ascending.
    weights
        a_ic of every row, (E, K).
    owners
        The class of each row, (E,), with whose pair the row counts where single pairs are learned.
    """

    rows: Array
    weights: Array
    owners: Array

    def between(self, first: int, last: int) -> "Evidence":
        """Evidence about the rows first..last, as a view; rows are counted from `first`."""
        some = slice(*np.searchsorted(self.rows, (first, last)).tolist())
        return Evidence(self.rows[some] - first, self.weights[some], self.owners[some])

    def select(self, offsets: Array, bags: Array, new_offsets: Array) -> "Evidence":
        """Evidence about the instances of these bags, which begin at `offsets` here and at `new_offsets` there."""
        first, last = np.searchsorted(self.rows, offsets[bags]), np.searchsorted(self.rows, offsets[bags + 1])
        counts = last - first
        starts = np.concatenate([[0], np.cumsum(counts)])
        chosen = np.repeat(first - starts[:-1], counts) + np.arange(starts[-1])
        moved = np.repeat(new_offsets[:-1] - offsets[bags], counts)
        return Evidence(self.rows[chosen] + moved, self.weights[chosen], self.owners[chosen])

    def add_to(self, logits: Array) -> None:
        """Add the weights to padded logits of all rows."""
        if len(self.rows):
            _add(logits, self.rows, self.weights)

    def bags(self, offsets: Array) -> Array:
        """Positions of the bags with evidence, ascending."""
        return np.unique(np.searchsorted(offsets, self.rows, side="right") - 1)


def no_evidence(outputs: int) -> Evidence:
    """Evidence about no row, as the kernels want it."""
    return Evidence(np.empty(0, np.int64), np.empty((0, outputs)), np.empty(0, np.int64))


@kernel
def _add(logits: Array, rows: Array, weights: Array) -> None:
    for k in range(rows.shape[0]):
        for c in range(weights.shape[1]):
            logits[rows[k], c] += logits.dtype.type(weights[k, c])


@kernel
def weigh(logits: Array, bias: Array, rows: Array, weights: Array, before: Array) -> float:
    """Add the weights to the logits of some rows; return the sum of log P(what was said of a row).

    `before` is filled with P(class) of each row without the evidence.
    """
    outputs, total = weights.shape[1], 0.0
    for k in range(rows.shape[0]):
        i = rows[k]
        top, top_weighed = np.float64(BARRED) * 2.0, np.float64(BARRED) * 2.0
        for c in range(outputs):
            z = np.float64(logits[i, c]) + np.float64(bias[c])
            top, top_weighed = max(top, z), max(top_weighed, z + weights[k, c])
        all_classes, weighed = 0.0, 0.0
        for c in range(outputs):
            z = np.float64(logits[i, c]) + np.float64(bias[c])
            before[k, c] = exp_of(z - top)
            all_classes += before[k, c]
            weighed += exp_of(z + weights[k, c] - top_weighed)
            logits[i, c] += logits.dtype.type(weights[k, c])
        for c in range(outputs):
            before[k, c] /= all_classes
        total += (top_weighed - top) + (log_of(weighed) - log_of(all_classes))
    return total


@kernel
def difference(e: Array, rest: Array, rows: Array, before: Array) -> None:
    """Replace P(class) of each row in `before` by q - p: its change by the evidence, from the weighed soft-max."""
    for k in range(rows.shape[0]):
        s = 1.0 + np.float64(rest[rows[k]])
        for c in range(before.shape[1]):
            before[k, c] = np.float64(e[rows[k], c]) / s - before[k, c]


@kernel
def add_difference(derivative: Array, rows: Array, changes: Array, owners: Array, owner: int) -> None:
    """Add q - p to the derivative of the rows of one owner, or of all."""
    for k in range(rows.shape[0]):
        if owner in (EVERY_OWNER, owners[k]):
            for c in range(changes.shape[1]):
                derivative[rows[k], c] += derivative.dtype.type(changes[k, c])
