"""Hausdorff distances between bags. With r the Euclidean distance and near(a) = min_{b in B} r(a, b):

    max      the largest near of either side          average  the mean near of all instances of both
    median   the larger of the two medians of near    min      the smallest r

Cost O(n_A n_B d) a pair of bags.
"""

import math

import numpy as np

from bagwise.core.plugins import choose
from bagwise.data.bags import Bags
from bagwise.kernels import Array
from bagwise.kernels.arithmetic.blocks import each_block
from bagwise.kernels.arithmetic.compile import kernel

KINDS = {"max": 0, "average": 1, "median": 2, "min": 3}


@kernel
def _distance(a: Array, b: Array, kind: int) -> float:
    near_a, near_b = np.full(a.shape[0], 1e300), np.full(b.shape[0], 1e300)
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            squared = 0.0
            for k in range(a.shape[1]):
                squared += (a[i, k] - b[j, k]) ** 2
            near_a[i] = min(near_a[i], squared)
            near_b[j] = min(near_b[j], squared)
    for i in range(near_a.shape[0]):
        near_a[i] = math.sqrt(near_a[i])
    for j in range(near_b.shape[0]):
        near_b[j] = math.sqrt(near_b[j])
    if kind == 0:
        return float(max(near_a.max(), near_b.max()))
    if kind == 1:
        return float((near_a.sum() + near_b.sum()) / (near_a.shape[0] + near_b.shape[0]))
    if kind == 2:
        return float(max(np.median(near_a), np.median(near_b)))
    return float(near_a.min())


@kernel
def _rows(
    x: Array, x_offsets: Array, first: int, last: int, y: Array, y_offsets: Array, kind: int, distances: Array
) -> None:
    for a in range(first, last):
        for b in range(y_offsets.shape[0] - 1):
            distances[a, b] = _distance(x[x_offsets[a] : x_offsets[a + 1]], y[y_offsets[b] : y_offsets[b + 1]], kind)


def hausdorff(first: Bags, second: Bags, kind: str = "average") -> Array:
    """Return the distances of all bags of `first` to all of `second`.

    >>> one, two = Bags.from_list([[[0.0], [4.0]]]), Bags.from_list([[[1.0]]])
    >>> [float(hausdorff(one, two, kind)[0, 0].round(3)) for kind in ("max", "average", "median", "min")]
    [3.0, 1.667, 2.0, 1.0]
    """
    code = choose("Hausdorff distance", kind, KINDS)
    distances = np.empty((len(first), len(second)))

    def block(start: int, stop: int) -> None:
        _rows(first.instances, first.offsets, start, stop, second.instances, second.offsets, code, distances)

    each_block(first.offsets, len(second.instances), block)
    return distances
