"""One pass of MIMLfast's stochastic ranking (Huang, Gao & Zhou 2014; section 1 of the baselines' specification).

A label l scores an instance by f_l(x) = max_k w_lk' V x and a bag by its best instance, the key instance. Label C is
the dummy that separates relevant from irrelevant labels. For a relevant label y, irrelevant labels are drawn until one
violates f_j > f_y - 1; after v draws of M the step is g S with S = H(floor(M/v)) and moves w_y, w_j and V down the
gradient of S (1 + f_j - f_y); then norms are clipped to the bound.
"""

import math

import numpy as np

from bagwise.kernels.arithmetic.compile import Array, kernel

NO_KEY = -1
LOWEST = -1e300


@kernel
def _draw(state: Array, below: int) -> int:
    """Return an integer in [0, below) from a SplitMix64 stream."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return int(np.float64(z >> np.uint64(11)) * 2.0**-53 * below)


@kernel
def through_map(bag: Array, shared: Array) -> Array:
    """Return V x of every instance, (instances x rows of V)."""
    mapped = np.empty((bag.shape[0], shared.shape[0]))
    for i in range(bag.shape[0]):
        for r in range(shared.shape[0]):
            total = 0.0
            for j in range(bag.shape[1]):
                total += shared[r, j] * bag[i, j]
            mapped[i, r] = total
    return mapped


@kernel
def best_concept(concepts: Array, mapped: Array) -> tuple[float, int, int]:
    """Return the largest w_k' z_i with its instance and sub-concept."""
    best, instance, concept = LOWEST, 0, 0
    for i in range(mapped.shape[0]):
        for k in range(concepts.shape[0]):
            score = 0.0
            for r in range(mapped.shape[1]):
                score += concepts[k, r] * mapped[i, r]
            if score > best:
                best, instance, concept = score, i, k
    return best, instance, concept


@kernel
def _clip(vector: Array, bound: float) -> None:
    squared = 0.0
    for r in range(vector.shape[0]):
        squared += vector[r] * vector[r]
    if squared > bound * bound:
        shrink = bound / math.sqrt(squared)
        for r in range(vector.shape[0]):
            vector[r] *= shrink


@kernel
def _step(shared: Array, up: Array, down: Array, x_up: Array, x_down: Array, step: float, bound: float) -> None:
    """up += step V x_up, down -= step V x_down, V -= step (down x_down' - up x_up'), all from old values; then clip.

    `up` and `down` may be the same vector.
    """
    rows, width = shared.shape
    for r in range(rows):
        old_up, old_down, z_up, z_down = up[r], down[r], 0.0, 0.0
        for j in range(width):
            z_up += shared[r, j] * x_up[j]
            z_down += shared[r, j] * x_down[j]
            shared[r, j] -= step * (old_down * x_down[j] - old_up * x_up[j])
        up[r] += step * z_up
        down[r] -= step * z_down
    _clip(up, bound)
    _clip(down, bound)
    for j in range(width):
        _clip(shared[:, j], bound)


@kernel
def ranking_pass(
    x: Array,
    offsets: Array,
    value: Array,
    known: Array,
    keys: Array,
    rank_instances: bool,
    pair_bags: Array,
    pair_labels: Array,
    shared: Array,
    concepts: Array,
    shared_sum: Array,
    concepts_sum: Array,
    counts: Array,
    harmonic: Array,
    random: Array,
    step_size: float,
    decay: float,
    bound: float,
    average_every: int,
) -> None:
    """Visit every (bag, relevant label) once, in the order given; `counts` = updates so far, averaged models."""
    classes = known.shape[1]
    dummy = classes
    irrelevant = np.empty(classes + 1, np.int64)
    for pair in range(pair_bags.shape[0]):
        b, y = pair_bags[pair], pair_labels[pair]
        bag = x[offsets[b] : offsets[b + 1]]
        mapped = through_map(bag, shared)
        key = keys[b, y] if y != dummy else NO_KEY
        first, last = (0, bag.shape[0]) if key == NO_KEY else (key, key + 1)
        score, i, k = best_concept(concepts[y], mapped[first:last])
        i += first
        m = 0
        for c in range(classes):
            if known[b, c] and not value[b, c]:
                irrelevant[m] = c
                m += 1
        if y != dummy:
            irrelevant[m] = dummy
            m += 1
        for v in range(1, m + 1):
            j = irrelevant[_draw(random, m)]
            other, i2, k2 = best_concept(concepts[j], mapped)
            if other > score - 1:
                step = step_size / (1.0 + decay * step_size * counts[0]) * harmonic[m // v]
                _step(shared, concepts[y, k], concepts[j, k2], bag[i], bag[i2], step, bound)
                counts[0] += 1
                break
        if rank_instances and key != NO_KEY and bag.shape[0] > 1:
            others = bag.shape[0] - 1
            mapped = through_map(bag, shared)
            score, _, k = best_concept(concepts[y], mapped[key : key + 1])
            for v in range(1, others + 1):
                i2 = _draw(random, others)
                i2 += i2 >= key
                other, _, k2 = best_concept(concepts[y], mapped[i2 : i2 + 1])
                if other > score - 1:
                    step = step_size / (1.0 + decay * step_size * counts[0]) * harmonic[others // v]
                    _step(shared, concepts[y, k], concepts[y, k2], bag[key], bag[i2], step, bound)
                    counts[0] += 1
                    break
        if counts[0] > 0 and (pair + 1) % average_every == 0:
            shared_sum += shared
            concepts_sum += concepts
            counts[1] += 1
