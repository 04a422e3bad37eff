"""Log-likelihood of all known labels with its gradient by weights and bias, in one pass over the data.

The sum runs over the known labels one by one (marginal), or over bags, all known labels of a bag together (joint).
"""

import numpy as np

from bagwise.kernels.arithmetic.blocks import each_block
from bagwise.kernels.arithmetic.compile import Array, kernel
from bagwise.kernels.arithmetic.product import Linear, precise, product_into
from bagwise.kernels.arithmetic.softmax import softmax_rows
from bagwise.kernels.arithmetic.sums import add_columns, add_transposed_product, room_for_sums
from bagwise.kernels.cpu.evidence import EVERY_OWNER, Evidence, add_difference, difference, no_evidence, weigh
from bagwise.kernels.cpu.joint_likelihood import bag_joint_likelihood
from bagwise.kernels.cpu.likelihood import likelihood_of_bags, no_flips


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
    packed: Array,
    weights: Array,
    bias: Array,
    evidence_rows: Array,
    evidence: Array,
    owners: Array,
    rows_room: Array,
    part_room: Array,
    by_weight: Array,
    by_bias: Array,
) -> float:
    """Log-likelihood of the bags first..last, whose rows are `x`; its derivatives are added to `by_weight`, `by_bias`.

    One call does it all: for a small block, several would take as long as the arithmetic. `logits` and `rest` are room
    for the logits of all rows, which are overwritten by their derivative.
    """
    product_into(logits, x, packed, 0.0)
    changes = np.empty(evidence.shape)
    base, total = offsets[first], weigh(logits, padded_bias, evidence_rows, evidence, changes)
    softmax_rows(logits, padded_bias, rest)
    difference(logits, rest, evidence_rows, changes)
    totals = np.empty(last - first)
    likelihood_of_bags(
        logits,
        rest,
        offsets,
        first,
        last,
        joint,
        value,
        known,
        flip,
        x,
        weights,
        bias,
        evidence_rows,
        evidence,
        totals,
    )
    for b in range(first, last):
        if joint[b]:
            begin, end = offsets[b] - base, offsets[b + 1] - base
            some = slice(np.searchsorted(evidence_rows, begin), np.searchsorted(evidence_rows, end))
            totals[b - first] = bag_joint_likelihood(
                logits[begin:end],
                rest[begin:end],
                value[b],
                known[b],
                x[begin:end],
                weights,
                bias,
                evidence_rows[some] - begin,
                evidence[some],
            )
    for b in range(last - first):
        total += totals[b]
    add_difference(logits, evidence_rows, changes, owners, EVERY_OWNER)
    add_transposed_product(by_weight, logits, x, rows_room, part_room)
    add_columns(by_bias, logits)
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
    evidence: Evidence | None = None,
) -> tuple[float, Array, Array]:
    """sum log P, d/d weights (K, d), d/d bias (K,), summed block by block in double precision.

    `joint` says for which bags the known labels are taken together; for none where it is not given. `flip` is the rate
    at which each label is wrong, for bags that are not joint; not given, none ever is. `evidence` is what is known of
    single rows: its own log P is added, and that of the labels is conditional on it.
    """
    rates = no_flips() if flip is None else flip
    together = np.zeros(len(offsets) - 1, bool) if joint is None else joint
    columns, linear = len(weights), Linear(weights, bias)
    said = no_evidence(columns) if evidence is None else evidence

    def block(first: int, last: int) -> tuple[float, Array, Array]:
        rows = precise(x[offsets[first] : offsets[last]])
        logits, padded_bias, rest = linear.room(rows)
        of_block = said if evidence is None else said.between(offsets[first], offsets[last])
        by_weight, by_bias = np.zeros(weights.shape), np.zeros(columns)
        total = _likelihood_block(
            logits,
            padded_bias,
            rest,
            offsets,
            first,
            last,
            value,
            known,
            rates,
            together,
            rows,
            linear.packed,
            weights,
            bias,
            of_block.rows,
            of_block.weights,
            of_block.owners,
            *room_for_sums(rows, columns),
            by_weight,
            by_bias,
        )
        return total, by_weight, by_bias

    total, by_weight, by_bias = 0.0, np.zeros(weights.shape), np.zeros(columns)
    for part, weight_part, bias_part in each_block(offsets, columns, block):
        total += part
        by_weight += weight_part
        by_bias += bias_part
    return total, by_weight, by_bias
