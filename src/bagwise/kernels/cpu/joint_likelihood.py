"""Exact joint likelihood of the known labels of one bag: a forward-backward over subsets (Pham, Raich & Fern 2017).

Event E: every class known present occurs among the instances, no class known absent does. With q_ik the probability
of the k-th present class and u_i that of all unknown classes together (the background among them), over subsets M of
the present classes already seen:

    a_i(M) = u_i a_{i-1}(M) + sum_{k in M} q_ik [ a_{i-1}(M) + a_{i-1}(M without k) ],    P(E) = a_n(all)
    b_{i-1}(M) = u_i b_i(M) + sum_k q_ik b_i(M with k)

    P(y_i = k | E)  is proportional to  q_ik sum_M a_{i-1}(M) b_i(M with k)
    d log P(E) / d z_ic = P(y_i = c | E) - p_ic

Every term is positive; each a_i is divided by its sum, each b_i by its largest entry. Where the labels are so
improbable that P(E) underflows all the same, the recursion runs once more in logarithms. Cost O(n K 2^K), exponential
only in the number K of classes known present.
"""

import numpy as np

from bagwise.kernels.arithmetic.compile import Array, kernel
from bagwise.kernels.arithmetic.elementary import exp_of, log1p_of, log_of
from bagwise.kernels.cpu.evidence import BARRED
from bagwise.kernels.cpu.likelihood import evidence_of_row, log_sum_exp, logits_of_row

SMALLEST = 1e-250
NEVER = -1e300
"""The logarithm of 0, finite as all numbers in kernels are."""


@kernel
def _add_logs(a: float, b: float) -> float:
    low, high = min(a, b), max(a, b)
    return high if low <= NEVER else high + log1p_of(exp_of(low - high))


@kernel
def _times(a: float, b: float) -> float:
    return NEVER if a <= NEVER or b <= NEVER else a + b


@kernel
def _in_logarithms(
    e: Array,
    value: Array,
    known: Array,
    x: Array,
    weights: Array,
    bias: Array,
    rows_with_evidence: Array,
    evidence: Array,
) -> float:
    rows, outputs, classes = e.shape[0], weights.shape[0], known.shape[0]
    log_p = np.empty((rows, outputs))
    for i in range(rows):
        logits_of_row(x[i], weights, bias, evidence_of_row(i, rows_with_evidence, evidence), log_p[i])
        log_p[i] -= log_sum_exp(log_p[i])
    present = np.flatnonzero(known & value)
    free = np.full(rows, NEVER)
    for i in range(rows):
        for c in range(outputs):
            if c >= classes or not known[c]:
                free[i] = _add_logs(free[i], log_p[i, c])
    subsets = 1 << len(present)
    forward = np.full((rows + 1, subsets), NEVER)
    forward[0, 0] = 0.0
    for i in range(rows):
        for m in range(subsets):
            reached = _times(free[i], forward[i, m])
            for k in range(len(present)):
                if m >> k & 1:
                    before = _add_logs(forward[i, m], forward[i, m ^ (1 << k)])
                    reached = _add_logs(reached, _times(log_p[i, present[k]], before))
            forward[i + 1, m] = reached
    total = forward[rows, subsets - 1]
    backward = np.full(subsets, NEVER)
    backward[subsets - 1] = 0.0
    share = np.empty(outputs)
    for i in range(rows - 1, -1, -1):
        share[:] = NEVER
        for m in range(subsets):
            unchanged = _times(forward[i, m], backward[m])
            for c in range(outputs):
                if c >= classes or not known[c]:
                    share[c] = _add_logs(share[c], _times(log_p[i, c], unchanged))
            for k in range(len(present)):
                after = _times(forward[i, m], backward[m | (1 << k)])
                share[present[k]] = _add_logs(share[present[k]], _times(log_p[i, present[k]], after))
        for c in range(outputs):
            posterior = exp_of(share[c] - total) if share[c] > NEVER else 0.0
            e[i, c] = posterior - exp_of(log_p[i, c])
        earlier = np.full(subsets, NEVER)
        for m in range(subsets):
            earlier[m] = _times(free[i], backward[m])
            for k in range(len(present)):
                earlier[m] = _add_logs(earlier[m], _times(log_p[i, present[k]], backward[m | (1 << k)]))
        backward = earlier
    return float(total)


@kernel
def _in_products(
    e: Array, rest: Array, value: Array, known: Array, outputs: int, rows_with_evidence: Array, evidence: Array
) -> float:
    """The same in products, which are fast; NEVER where they underflow."""
    rows = e.shape[0]
    classes = known.shape[0]
    p = np.empty((rows, outputs))
    for i in range(rows):
        said = evidence_of_row(i, rows_with_evidence, evidence)
        for c in range(outputs):
            p[i, c] = np.float64(e[i, c]) / (1.0 + np.float64(rest[i]))
            barred = said.shape[0] > 0 and said[c] <= BARRED
            if p[i, c] < SMALLEST and not barred:
                return NEVER
    present = np.empty(classes, np.int64)
    count = 0
    for c in range(classes):
        if known[c] and value[c]:
            present[count] = c
            count += 1
    free = np.zeros(rows)
    for i in range(rows):
        for c in range(outputs):
            if c >= classes or not known[c]:
                free[i] += p[i, c]
    subsets = 1 << count
    forward = np.zeros((rows + 1, subsets))
    forward[0, 0] = 1.0
    total = 0.0
    for i in range(rows):
        before, after = forward[i], forward[i + 1]
        scale = 0.0
        for m in range(subsets):
            reached = free[i] * before[m]
            for k in range(count):
                if m >> k & 1:
                    reached += p[i, present[k]] * (before[m] + before[m ^ (1 << k)])
            after[m] = reached
            scale += reached
        if scale < SMALLEST:
            return NEVER
        total += log_of(scale)
        for m in range(subsets):
            after[m] /= scale
    if forward[rows, subsets - 1] < SMALLEST:
        return NEVER
    total += log_of(forward[rows, subsets - 1])
    backward, earlier = np.zeros(subsets), np.zeros(subsets)
    backward[subsets - 1] = 1.0
    share = np.zeros(outputs)
    for i in range(rows - 1, -1, -1):
        before = forward[i]
        unchanged = 0.0
        for m in range(subsets):
            unchanged += before[m] * backward[m]
        for c in range(outputs):
            share[c] = p[i, c] * unchanged if c >= classes or not known[c] else 0.0
        for k in range(count):
            reached = 0.0
            for m in range(subsets):
                reached += before[m] * backward[m | (1 << k)]
            share[present[k]] = p[i, present[k]] * reached
        scale = 0.0
        for c in range(outputs):
            scale += share[c]
        if scale < SMALLEST:
            return NEVER
        for c in range(outputs):
            e[i, c] = share[c] / scale - p[i, c]
        largest = 0.0
        for m in range(subsets):
            reached = free[i] * backward[m]
            for k in range(count):
                reached += p[i, present[k]] * backward[m | (1 << k)]
            earlier[m] = reached
            largest = max(largest, reached)
        for m in range(subsets):
            backward[m] = earlier[m] / largest
    return total


@kernel
def bag_joint_likelihood(
    e: Array,
    rest: Array,
    value: Array,
    known: Array,
    x: Array,
    weights: Array,
    bias: Array,
    rows_with_evidence: Array,
    evidence: Array,
) -> float:
    """log P(E) of one bag; `e`, from `softmax_rows` of `x @ weights.T + bias`, is overwritten by its derivative.

    `evidence` of some rows of the bag was added to the logits: P(E) is conditional on it.
    """
    total = _in_products(e, rest, value, known, weights.shape[0], rows_with_evidence, evidence)
    return total if total > NEVER else _in_logarithms(e, value, known, x, weights, bias, rows_with_evidence, evidence)
