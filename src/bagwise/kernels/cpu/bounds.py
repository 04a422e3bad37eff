"""Upper bounds of min(P1, P0) of every pair, from approximate logits.

`spread` bounds by which share P(present) of a bag may be off. With P1^, P0^ from the logits

    min(P1, P0)  <=  min(P1^ (1 + spread), P0^ + P1^ spread, 1/2)

A few bags at a time go from the instances to the bound while their logits are in the cache.

    absent <- absent - p_i absent          present <- present + p_i absent          for every instance i

The first cancels where p_i is near 1, unlike in `presence`: P0^ is right within a few units of rounding of 1, not of
itself. They are part of `spread` P1^, since P1^ is near 1 in this case.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from bagwise.kernels.arithmetic.blocks import scratch
from bagwise.kernels.arithmetic.compile import Array, bounding_kernel
from bagwise.kernels.arithmetic.vectors import LANES, Vectors, cgutils, compiled
from bagwise.kernels.cpu.logit_update import exponentials, move

TINY = 1e-30
ROWS_TOGETHER = 64


def _write_sides(
    vectors: Vectors, e: Any, stride: Any, inverses: Any, rows: Any, spread: Any, out: Any, count: Any, _like: Any
) -> None:
    builder, one, zero = vectors.builder, vectors.constant(1.0), vectors.constant(0.0)
    share = vectors.number_at(spread, spread.type(0))
    with vectors.each(count) as offset:
        absent, present = vectors.variable(one), vectors.variable(zero)
        column = builder.add(e, offset)
        with cgutils.for_range(builder, rows) as loop:
            inverse = vectors.number_at(inverses, builder.mul(loop.index, stride.type(vectors.size)))
            p = builder.fmul(vectors.load(column, builder.mul(loop.index, stride)), inverse)
            before = builder.load(absent)
            builder.store(vectors.fma(p, before, builder.load(present)), present)
            builder.store(vectors.fma(builder.fneg(p), before, before), absent)
        there = builder.load(present)
        more = vectors.fma(there, share, vectors.constant(TINY))
        side = vectors.smaller(builder.fadd(there, more), builder.fadd(builder.load(absent), more))
        vectors.store(vectors.smaller(side, vectors.constant(0.5)), out, offset)


_sides = compiled("iiiiiii", False, _write_sides)


def bounds_workspace(bags: int, classes: int, columns: int, dtype: npt.DTypeLike) -> Array:
    """Return an array for the bounds of a number of bags, which this thread reuses, with room to pad the last row."""
    return scratch("sides", (bags * classes + columns,), dtype)[: bags * classes].reshape(bags, classes)


@bounding_kernel
def bags_together(offsets: Array, first: int) -> int:
    """Return the end of the bags from `first` on that together have few instances; at least one bag."""
    last = first + 1
    while last < offsets.shape[0] - 1 and offsets[last + 1] - offsets[first] <= ROWS_TOGETHER:
        last += 1
    return last


@bounding_kernel
def softmax_workspace(kept: Array, offsets: Array) -> tuple[Array, Array]:
    """Return arrays for the exponentials of as many bags as are processed together, and for one number per row."""
    most = ROWS_TOGETHER
    for b in range(offsets.shape[0] - 1):
        most = max(most, offsets[b + 1] - offsets[b])
    return np.empty((most, kept.shape[1]), kept.dtype), np.empty(most, kept.dtype)


@bounding_kernel
def uncertainty_bounds(
    offsets: Array,
    x: Array,
    kept: Array,
    along: Array,
    by: Array,
    keep: float,
    tops: Array,
    bias: Array,
    spread: Array,
    sides: Array,
) -> None:
    """Update the logits `kept` of some bags (`logit_update`) and write upper bounds of min(P1, P0) of their pairs.

    A row is written in whole vectors and the next over its end, so behind the last of `bounds_workspace` there is room.
    """
    classes, size, vectors = sides.shape[1], kept.itemsize, kept.shape[1] // LANES
    like, one = kept.dtype.type(0), kept.dtype.type(1)
    e, totals = softmax_workspace(kept, offsets)
    stride, first = e.strides[0], 0
    while first < sides.shape[0]:
        last = bags_together(offsets, first)
        start, stop = offsets[first] - offsets[0], offsets[last] - offsets[0]
        move(x, kept, start, stop, along, by, keep)
        exponentials(kept, tops, start, stop, bias, e, totals)
        for i in range(stop - start):
            totals[i] = one / totals[i]
        for b in range(first, last):
            i, n = offsets[b] - offsets[first], offsets[b + 1] - offsets[b]
            inverses, of_bag = totals.ctypes.data + i * size, spread.ctypes.data + b * size
            out = sides.ctypes.data + b * classes * size
            _sides(e.ctypes.data + i * stride, stride, inverses, n, of_bag, out, vectors, like)
        first = last
