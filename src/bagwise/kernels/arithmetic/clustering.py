"""k-means with k-means++ seeding, the same clusters on every processor (scikit-learn's depend on BLAS and threads).

Centres are drawn far from each other, the best of a few candidates each (Arthur & Vassilvitskii 2007), and then moved
to the means of the rows nearest to them, `rounds` times or until no row changes its centre. The nearest centre c of a
row x is where  x.c - |c|^2/2  is largest.
"""

import numpy as np

from bagwise.kernels.arithmetic.compile import Array, kernel
from bagwise.kernels.arithmetic.product import Linear
from bagwise.kernels.arithmetic.sums import squared_lengths

ROWS_AT_A_TIME = 1 << 13


def nearness_to(centres: Array) -> Linear:
    """x.c - |c|^2/2 of rows x, by `Linear.logits`: the bias has the second part."""
    squares = np.empty(len(centres), centres.dtype)
    squared_lengths(centres, squares)
    return Linear(centres, -0.5 * squares)


def k_means(rows: Array, count: int, rounds: int, seed: int) -> Array:
    """(count x columns) centres of contiguous rows, of which at least `count` are different."""
    centres = _seeds(rows, count, np.random.default_rng(seed))
    assigned = np.full(len(rows), -1)
    for _ in range(rounds):
        nearest = _nearest(rows, centres)
        if np.array_equal(nearest, assigned):
            break
        assigned = nearest
        centres = _means(rows, assigned, centres)
    return centres


def _nearest(rows: Array, centres: Array) -> Array:
    linear = nearness_to(centres)
    found = []
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        products, bias, _ = linear.logits(rows[start : start + ROWS_AT_A_TIME])
        found.append((products + bias).argmax(axis=1))
    return np.concatenate(found)


def _means(rows: Array, assigned: Array, centres: Array) -> Array:
    """The means of the rows of every cluster; one without rows stays where it is."""
    sums, counts = np.zeros(centres.shape), np.bincount(assigned, minlength=len(centres))
    _add_to(sums, rows, assigned)
    means = sums / np.maximum(counts, 1)[:, None]
    return np.ascontiguousarray(np.where(counts[:, None] > 0, means, centres), rows.dtype)


@kernel
def _add_to(sums: Array, rows: Array, places: Array) -> None:
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            sums[places[i], j] += rows[i, j]


def _seeds(rows: Array, count: int, rng: np.random.Generator) -> Array:
    candidates = 2 + count.bit_length()
    chosen = [int(rng.integers(len(rows)))]
    distance = _distances(rows, chosen)[0]
    while len(chosen) < count:
        reached = np.cumsum(distance)
        drawn = np.searchsorted(reached, rng.random(candidates) * reached[-1], side="right")
        trial = np.minimum(drawn, len(rows) - 1)
        closer = np.minimum(distance, _distances(rows, trial.tolist()))
        best = int(closer.sum(axis=1).argmin())
        chosen.append(int(trial[best]))
        distance = closer[best]
    return rows[chosen]


def _distances(rows: Array, chosen: list[int]) -> Array:
    """Squared distances of all rows from some of them, (chosen x rows)."""
    found = np.ascontiguousarray(squared_distances(rows, rows[chosen]).T)
    found[np.arange(len(chosen)), chosen] = 0.0  # by rounding a row might be drawn again
    return found


def squared_distances(rows: Array, others: Array) -> Array:
    """|x - y|^2 of rows x and y of two arrays, (rows x others), in double precision and never below 0."""
    linear = Linear(others, np.zeros(len(others), others.dtype))
    squares, of_others = np.empty(len(rows), rows.dtype), np.empty(len(others), rows.dtype)
    squared_lengths(rows, squares)
    squared_lengths(others, of_others)
    found = np.empty((len(rows), len(others)))
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        part = slice(start, start + ROWS_AT_A_TIME)
        products = linear.logits(rows[part])[0][:, : len(others)]
        found[part] = squares[part, None] - 2.0 * products + of_others
    return np.maximum(found, 0.0)
