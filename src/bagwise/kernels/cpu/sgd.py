"""Projected stochastic gradient steps, one after another, on single pairs or on whole bags (spec section 4).

    W <- P( W - eta_k sum_c [ grad f_bc(W) + penalty W ] ),    eta_k = step_size / (decay k + 1)

The sum runs over the one class of the step, or over every known class of the bag. Evidence about instances counts in
every step on the bag, or in that on the class that owns it (`evidence`). P projects onto the ball
||W|| <= radius. `decay` is the penalty unless given. The paper leaves `penalty W` out of the step (penalty 0, and decay
its lambda / c''); with it the steps and the other solvers have one minimum.
"""

import math

import numpy as np

from bagwise.kernels.arithmetic.compile import Array, kernel, padding
from bagwise.kernels.arithmetic.product import padded
from bagwise.kernels.arithmetic.softmax import softmax_rows
from bagwise.kernels.arithmetic.sums import dot
from bagwise.kernels.cpu.evidence import EVERY_OWNER, add_difference, difference, no_evidence, weigh
from bagwise.kernels.cpu.instances import Instances
from bagwise.kernels.cpu.likelihood import likelihood_of_bags, no_flips

EVERY_KNOWN_CLASS = -1


@kernel
def _project(weights: Array, radius: float) -> None:
    squared = dot(weights.reshape(weights.size), weights.reshape(weights.size))
    if squared > radius * radius:
        shrink = radius / math.sqrt(squared)
        for k in range(weights.shape[0]):
            for j in range(weights.shape[1]):
                weights[k, j] *= shrink


@kernel
def _steps(
    x: Array,
    offsets: Array,
    shift: Array,
    scale: Array,
    value: Array,
    known: Array,
    flip: Array,
    bags: Array,
    classes: Array,
    weights: Array,
    padded_bias: Array,
    taken: int,
    step_size: float,
    penalty: float,
    decay: float,
    radius: float,
    evidence_rows: Array,
    evidence: Array,
    owners: Array,
) -> None:
    width, columns = x.shape[1], weights.shape[0]
    largest = 0
    for b in bags:
        largest = max(largest, offsets[b + 1] - offsets[b])
    seen_room = np.ones((largest, weights.shape[1]))
    logits_room = np.empty((largest, padded_bias.shape[0]))
    rest_room = np.empty(largest)
    total, left_out = np.empty(1), np.zeros(1, np.bool_)
    change = np.empty(weights.shape[1])
    asked = np.zeros((1, known.shape[1]), np.bool_)
    for step in range(bags.shape[0]):
        b, only = bags[step], classes[step]
        n = offsets[b + 1] - offsets[b]
        seen, logits, rest = seen_room[:n], logits_room[:n], rest_room[:n]
        for i in range(n):
            for j in range(width):
                seen[i, j] = (x[offsets[b] + i, j] - shift[j]) / scale[j]
            for c in range(logits.shape[1]):
                logits[i, c] = 0.0
            for c in range(columns):
                logits[i, c] = dot(weights[c], seen[i])
        begin = np.searchsorted(evidence_rows, offsets[b])
        end = np.searchsorted(evidence_rows, offsets[b + 1])
        rows_with_evidence, of_bag = evidence_rows[begin:end] - offsets[b], evidence[begin:end]
        changes = np.empty(of_bag.shape)
        weigh(logits, padded_bias, rows_with_evidence, of_bag, changes)
        softmax_rows(logits, padded_bias, rest)
        difference(logits, rest, rows_with_evidence, changes)
        count = 0
        for c in range(known.shape[1]):
            asked[0, c] = known[b, c] and only in (EVERY_KNOWN_CLASS, c)
            count += asked[0, c]
        rates = flip[b : b + 1] if flip.shape[1] > 0 else flip
        likelihood_of_bags(
            logits,
            rest,
            offsets[b : b + 2],
            0,
            1,
            left_out,
            value[b : b + 1],
            asked,
            rates,
            seen,
            weights,
            padded_bias,
            rows_with_evidence,
            of_bag,
            total,
        )
        owner = EVERY_OWNER if only == EVERY_KNOWN_CLASS else only
        add_difference(logits, rows_with_evidence, changes, owners[begin:end], owner)
        eta = step_size / (decay * (taken + step) + 1.0)
        kept = max(0.0, 1.0 - eta * penalty * count)
        for c in range(columns):
            change[:] = 0.0
            for i in range(n):
                for j in range(weights.shape[1]):
                    change[j] += logits[i, c] * seen[i, j]
            for j in range(weights.shape[1]):
                weights[c, j] = kept * weights[c, j] + eta * change[j]
        _project(weights, radius)


def sgd_steps(
    instances: Instances,
    value: Array,
    known: Array,
    bags: Array,
    classes: Array,
    weights: Array,
    taken: int,
    step_size: float,
    penalty: float,
    radius: float,
    flip: Array | None = None,
    decay: float | None = None,
) -> Array:
    """The weights (K, d [+ 1]) after one step for every (bag, class) given, in that order."""
    if instances.x.dtype != instances.precision:
        stepped, bags = np.unique(bags, return_inverse=True)
        instances, value, known = instances.select(stepped), value[stepped], known[stepped]
        flip = None if flip is None else flip[stepped]
    result = np.array(weights, dtype=np.float64, order="C")
    columns = len(weights)
    evidence = no_evidence(columns) if instances.evidence is None else instances.evidence
    padded_bias = np.full(padded(columns), padding(np.float64))
    padded_bias[:columns] = 0
    _steps(
        instances.x,
        instances.offsets,
        instances.shift,
        instances.scale,
        value,
        known,
        no_flips() if flip is None else flip,
        np.asarray(bags, np.int64),
        np.asarray(classes, np.int64),
        result,
        padded_bias,
        taken,
        step_size,
        penalty,
        penalty if decay is None else decay,
        radius,
        evidence.rows,
        evidence.weights,
        evidence.owners,
    )
    return result
