"""Exact joint likelihood of the known labels of one bag: a forward-backward over subsets (Pham, Raich & Fern 2017).

Event E: every class known present occurs among the instances, no class known absent does. With q_ik the probability
of the k-th present class and u_i that of all unknown classes together (the background among them), over subsets M of
the present classes already seen:

    a_i(M) = u_i a_{i-1}(M) + sum_{k in M} q_ik [ a_{i-1}(M) + a_{i-1}(M without k) ],    P(E) = a_n(all)
    b_{i-1}(M) = u_i b_i(M) + sum_k q_ik b_i(M with k)

    P(y_i = k | E)  is proportional to  q_ik sum_M a_{i-1}(M) b_i(M with k)
    d log P(E) / d z_ic = P(y_i = c | E) - p_ic

Every term is positive; each a_i is divided by its sum, each b_i by its largest entry. Cost O(n K 2^K), exponential only
in the number K of classes known present.
"""

import math

import numpy as np

from bagwise.kernels.compile import Array, kernel

SMALLEST = 1e-300


@kernel
def bag_joint_likelihood(e: Array, rest: Array, value: Array, known: Array, outputs: int) -> float:
    """log P(E) of one bag; `e`, from `softmax_rows`, is overwritten by the derivative by the logits."""
    rows = e.shape[0]
    classes = known.shape[0]
    p = np.empty((rows, outputs))
    for i in range(rows):
        for c in range(outputs):
            p[i, c] = max(np.float64(e[i, c]) / (1.0 + np.float64(rest[i])), SMALLEST)
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
        total += math.log(scale)
        for m in range(subsets):
            after[m] /= scale
    total += math.log(forward[rows, subsets - 1])
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
