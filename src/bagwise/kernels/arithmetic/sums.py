"""Sums of products in a fixed order: in `LANES` lanes, then across them, then what fills no vector.

BLAS does them in whatever order suits the processor, which shows in the last digits. Each number of

    transposed product:    out_cd = sum_i factors_ic x_id

is summed over the rows i in their order by explicit fused operations, some rows at a time, and the sums of those rows
are added up in double precision. Tiles of classes x features go through the registers as in `product`.
"""

from typing import Any

import numpy as np

from bagwise.kernels.arithmetic.compile import Array, kernel
from bagwise.kernels.arithmetic.product import padded, vectors_together
from bagwise.kernels.arithmetic.vectors import LANES, Vectors, address_of, cgutils, compiled, dot_of

ROWS_TOGETHER = 128


@kernel
def dot(a: Array, b: Array) -> Any:
    """Sum of the products of two contiguous rows of one type."""
    whole = a.shape[0] // LANES
    total = dot_of(address_of(a), address_of(b), whole, a.dtype.type(0))
    for k in range(whole * LANES, a.shape[0]):
        total += a[k] * b[k]
    return total


def inner(a: Array, b: Array) -> float:
    """The sum of all products of two arrays of one shape, in double precision."""
    return float(dot(np.ascontiguousarray(a, np.float64).ravel(), np.ascontiguousarray(b, np.float64).ravel()))


@kernel
def squared_lengths(rows: Array, squares: Array) -> None:
    """Fill in the squared length of every contiguous row."""
    for i in range(rows.shape[0]):
        squares[i] = dot(rows[i], rows[i])


@kernel
def gram_into(gram: Array, rows: Array) -> None:
    """The products of all rows with each other."""
    for i in range(rows.shape[0]):
        for j in range(i + 1):
            gram[i, j] = gram[j, i] = dot(rows[i], rows[j])


def _write_tile(
    vectors: Vectors, factors: Any, factors_stride: Any, x: Any, x_stride: Any, out: Any, out_stride: Any, rows: Any,
    classes: int, count: int,
) -> None:  # fmt: skip
    """Fill `classes` x `count` vectors of features at `out`."""
    builder, parts = vectors.builder, vectors.split(count)
    sums = {(c, offset): part.variable(part.constant(0.0)) for c in range(classes) for offset, part in parts}
    with cgutils.for_range(builder, rows) as loop:
        of_row = builder.add(x, builder.mul(loop.index, x_stride))
        features = {offset: part.load(of_row, of_row.type(offset)) for offset, part in parts}
        of_class = builder.add(factors, builder.mul(loop.index, factors_stride))
        for c in range(classes):
            pointer = vectors.address(of_class, of_class.type(c * vectors.size), vectors.number)
            factor = builder.load(pointer, align=vectors.size)
            for offset, part in parts:
                total = part.fma(part.spread(factor), features[offset], builder.load(sums[c, offset]))
                builder.store(total, sums[c, offset])
    for c in range(classes):
        for offset, part in parts:
            place = builder.add(builder.mul(out_stride, out_stride.type(c)), out_stride.type(offset))
            part.store(builder.load(sums[c, offset]), out, place)


def _write_columns(
    vectors: Vectors, factors: Any, factors_stride: Any, x: Any, x_stride: Any, out: Any, out_stride: Any, rows: Any,
    classes: Any, count: Any, _like: Any,
) -> None:  # fmt: skip
    """The sums of all classes for one group of `count` vectors of features, tile by tile."""
    builder = vectors.builder
    for c, height, width in vectors.each_tile(classes, count):
        here = builder.add(factors, builder.mul(c, c.type(vectors.size)))
        there = builder.add(out, builder.mul(c, out_stride))
        _write_tile(vectors, here, factors_stride, x, x_stride, there, out_stride, rows, height, width)


_columns = compiled("iiiiiiiii", False, _write_columns)


@kernel
def add_transposed_product(sums: Array, factors: Array, x: Array, rows_room: Array, part: Array) -> None:
    """sums <- sums + factors[:, :classes].T @ x, with `room_for_sums`."""
    classes, features = sums.shape
    like, size, whole = x.dtype.type(0), x.itemsize, rows_room.shape[1] // LANES
    for start in range(0, x.shape[0], ROWS_TOGETHER):
        count = min(ROWS_TOGETHER, x.shape[0] - start)
        for i in range(count):
            for j in range(features):
                rows_room[i, j] = x[start + i, j]
        done = 0
        while done < whole:
            taken = vectors_together(whole - done, size)
            _columns(
                address_of(factors) + start * factors.strides[0],
                factors.strides[0],
                address_of(rows_room) + done * LANES * size,
                rows_room.strides[0],
                address_of(part) + done * LANES * size,
                part.strides[0],
                count,
                classes,
                taken,
                like,
            )
            done += taken
        for c in range(classes):
            for j in range(features):
                sums[c, j] += part[c, j]


def room_for_sums(x: Array, classes: int) -> tuple[Array, Array]:
    """Room for some rows of `x`, whose padding is 0, and for sums over them."""
    wide = padded(x.shape[1])
    return np.zeros((min(ROWS_TOGETHER, len(x)), wide), x.dtype), np.empty((classes, wide), x.dtype)


def transposed_product(factors: Array, x: Array, classes: int) -> Array:
    """factors[:, :classes].T @ x, (classes, features), in double precision; rows of `factors` are contiguous."""
    sums = np.zeros((classes, x.shape[1]))
    add_transposed_product(sums, factors, x, *room_for_sums(x, classes))
    return sums


@kernel
def add_columns(sums: Array, rows: Array) -> None:
    """sums <- sums + the first columns, over the rows in their order, in double precision."""
    for i in range(rows.shape[0]):
        for c in range(sums.shape[0]):
            sums[c] += rows[i, c]
