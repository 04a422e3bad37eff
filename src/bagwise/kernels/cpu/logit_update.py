"""Logit updates, z <- keep z + by (along x), and exponentials of the logits, a few rows at a time.

This is all that touches every instance after an online step, so it is written for what the processor waits for. Two
rows are multiplied by all directions together, so that a direction is fetched once for both; with four rows memory does
not keep up, as it is asked in four places by turns. What comes next is fetched to the second level of the cache. Four
rows go side by side through the exponential, where every step waits for the one before.

Exponentials are 2^(log2(e) z + bias - top). What `top` is does not matter for the soft-max as long as nothing over- or
underflows, so it is that of an earlier step and no pass over the row looks for it; a row whose sum has got beyond
`FARTHEST` is done again beside its largest number. 2^t is a polynomial of degree d around the nearest whole number,
through Chebyshev's points on [-1/2, 1/2]: |f^(d+1)| <= sqrt(2) (ln 2)^(d+1) and 2^t >= 1/sqrt(2), so it is right
within the share (ln 2 / 2)^(d+1) / (2^(d-1) (d+1)!). What is below 2^`LOWEST` becomes 2^`LOWEST`.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir

from bagwise.kernels.arithmetic.compile import Array, bounding_kernel
from bagwise.kernels.arithmetic.exponential import exp_of_nonpositive
from bagwise.kernels.arithmetic.vectors import LANES, Vectors, compiled

RANKS = (0, 4, 8, 12)
LOG2E = math.log2(math.e)
PAIR, TILE = 2, 4
ROWS_AT_A_TIME = 16
ROWS_AHEAD = 32
DEGREE, LOWEST, MANTISSA = {4: 4, 8: 10}, {4: -125.0, 8: -1020.0}, {4: 23, 8: 52}
BENEATH_ALL = -1e38
FARTHEST = 2.0**20


def exponential_off(dtype: npt.DTypeLike) -> float:
    """By which share an exponential may be off: what the polynomial leaves, and rounding of exponent and series."""
    size = np.dtype(dtype).itemsize
    degree, roundings = DEGREE[size], math.log(2) * -LOWEST[size] + DEGREE[size] + 2
    remainder = (math.log(2) / 2) ** (degree + 1) / (2 ** (degree - 1) * math.factorial(degree + 1))
    return float(remainder + roundings * np.finfo(dtype).eps)


def _row(vectors: Vectors, start: Any, stride: Any, row: int) -> Any:
    return vectors.builder.add(start, vectors.builder.mul(stride, stride.type(row)))


def _across(vectors: Vectors, rows: list[Any], merge: Callable[[Any, Any], Any]) -> Any:
    """What `merge` makes of the lanes of each of up to four vectors, in four lanes."""
    pick = vectors.pick

    def halved(a: Any, b: Any) -> Any:
        return merge(pick(a, b, [0, 1, 8, 9, 4, 5, 12, 13]), pick(a, b, [2, 3, 10, 11, 6, 7, 14, 15]))

    first, second, third, fourth = (rows * TILE)[:TILE]
    one, two = halved(first, second), halved(third, fourth)
    both = merge(pick(one, two, [0, 2, 8, 10, 4, 6, 12, 14]), pick(one, two, [1, 3, 9, 11, 5, 7, 13, 15]))
    return merge(pick(both, both, [0, 1, 2, 3]), pick(both, both, [4, 5, 6, 7]))


def _write(vectors: Vectors, values: Any, count: int, out: Any) -> None:
    """Write the first lanes."""
    first = vectors.pick(values, values, list(range(count)))
    vectors.builder.store(first, vectors.address(out, out.type(0), first.type), align=vectors.size)


def _for_each_kind(vectors: Vectors, two: Any, rank: Any, write: Callable[[int, int], None]) -> None:
    """Write(rows, rank) for one row and two, and for every rank, of which the right one is run."""
    builder = vectors.builder
    for of_rank in RANKS[1:]:
        for rows, wanted in ((PAIR, 1), (1, 0)):
            right_rank = builder.icmp_signed("==", rank, rank.type(of_rank))
            right_rows = builder.icmp_signed("==", two, two.type(wanted))
            with builder.if_then(builder.and_(right_rank, right_rows)):
                write(rows, of_rank)


def _write_products(
    vectors: Vectors, x: Any, stride: Any, along: Any, along_stride: Any, out: Any, count: Any, two: Any, rank: Any,
    _like: Any,
) -> None:  # fmt: skip
    builder, zero = vectors.builder, vectors.constant(0.0)

    def write(rows: int, of_rank: int) -> None:
        cells = [(row, way) for way in range(of_rank) for row in range(rows)]
        sums = {cell: vectors.variable(zero) for cell in cells}
        with vectors.each(count) as offset:
            later = _row(vectors, x, stride, ROWS_AHEAD)
            vectors.prefetch(builder.add(later, builder.mul(offset, offset.type(rows))), near=False)
            features = [vectors.load(_row(vectors, x, stride, row), offset) for row in range(rows)]
            ways = [vectors.load(_row(vectors, along, along_stride, way), offset) for way in range(of_rank)]
            for row, way in cells:
                total = vectors.fma(features[row], ways[way], builder.load(sums[row, way]))
                builder.store(total, sums[row, way])
        for row in range(rows):
            for way in range(0, of_rank, TILE):
                some = [builder.load(sums[row, k]) for k in range(way, min(way + TILE, of_rank))]
                place = builder.add(out, out.type((row * of_rank + way) * vectors.size))
                _write(vectors, _across(vectors, some, builder.fadd), len(some), place)

    _for_each_kind(vectors, two, rank, write)


def _write_moved(
    vectors: Vectors, kept: Any, stride: Any, part: Any, by: Any, count: Any, two: Any, rank: Any, keep: Any, _like: Any
) -> None:
    builder, width, size, factor = vectors.builder, LANES * vectors.size, vectors.size, vectors.spread(keep)

    def write(rows: int, of_rank: int) -> None:
        places = [_row(vectors, kept, stride, row) for row in range(rows)]
        shares = [
            [vectors.number_at(part, part.type((row * of_rank + way) * size)) for row in range(rows)]
            for way in range(of_rank)
        ]
        with vectors.each(count) as offset:
            classes = builder.add(by, builder.mul(offset, offset.type(of_rank)))
            moves = [vectors.constant(0.0)] * rows
            for way in range(of_rank):
                here = vectors.load(classes, offset.type(way * width))
                moves = [vectors.fma(share, here, move) for share, move in zip(shares[way], moves, strict=True)]
            for place, move in zip(places, moves, strict=True):
                later = builder.add(_row(vectors, place, stride, ROWS_AHEAD), offset)
                vectors.prefetch(later, near=False)
                vectors.store(vectors.fma(factor, vectors.load(place, offset), move), place, offset)

    _for_each_kind(vectors, two, rank, write)


def _coefficients(degree: int) -> list[float]:
    fit = np.polynomial.Chebyshev.interpolate(np.exp2, degree, [-0.5, 0.5])
    return [float(c) for c in fit.convert(kind=np.polynomial.Polynomial).coef]


def _powers_of_two(vectors: Vectors, exponents: list[Any]) -> list[Any]:
    """Of several vectors side by side."""
    builder = vectors.builder
    integers, narrow = ir.VectorType(ir.IntType(8 * vectors.size), LANES), ir.VectorType(ir.IntType(32), LANES)
    least, most = vectors.constant(LOWEST[vectors.size]), vectors.constant(-LOWEST[vectors.size] / 2)
    bounded = [vectors.smaller(vectors.larger(t, least), most) for t in exponents]
    wholes = [vectors.whole(t) for t in bounded]
    fractions = [builder.fsub(t, whole) for t, whole in zip(bounded, wholes, strict=True)]
    *lower, highest = [vectors.constant(c) for c in _coefficients(DEGREE[vectors.size])]
    series = [highest] * len(exponents)
    for coefficient in reversed(lower):
        series = [vectors.fma(s, fraction, coefficient) for s, fraction in zip(series, fractions, strict=True)]
    powers = [builder.fptosi(whole, narrow) for whole in wholes]
    powers = powers if narrow == integers else [builder.sext(power, integers) for power in powers]
    places = ir.Constant(integers, [MANTISSA[vectors.size]] * LANES)
    raised = [
        builder.add(builder.bitcast(s, integers), builder.shl(power, places))
        for s, power in zip(series, powers, strict=True)
    ]
    return [builder.bitcast(power, vectors.kind) for power in raised]


def _exponentials(rows: int) -> Any:
    """An intrinsic: 2^(log2(e) z + bias - top) of so many rows z, and the sum of each."""

    def write(
        vectors: Vectors,
        kept: Any,
        stride: Any,
        bias: Any,
        tops: Any,
        out: Any,
        totals: Any,
        count: Any,
        _like: Any,
    ) -> None:
        builder, per_bit = vectors.builder, vectors.constant(LOG2E)
        highest = [vectors.number_at(tops, tops.type(row * vectors.size)) for row in range(rows)]
        sums = [vectors.variable(vectors.constant(0.0)) for _ in range(rows)]
        with vectors.each(count) as offset:
            shift = vectors.load(bias, offset)
            logits = [vectors.load(_row(vectors, kept, stride, row), offset) for row in range(rows)]
            exponents = [
                builder.fsub(vectors.fma(z, per_bit, shift), top) for z, top in zip(logits, highest, strict=True)
            ]
            for row, e in enumerate(_powers_of_two(vectors, exponents)):
                vectors.store(e, _row(vectors, out, stride, row), offset)
                builder.store(builder.fadd(e, builder.load(sums[row])), sums[row])
        _write(vectors, _across(vectors, [builder.load(total) for total in sums], builder.fadd), rows, totals)

    return compiled("iiiiiii", False, write)


_products = compiled("iiiiiiii", False, _write_products)
_moved = compiled("iiiiiiif", False, _write_moved)
_exponential_tile, _exponential_row = _exponentials(TILE), _exponentials(1)


@bounding_kernel
def _add_last_features(x: Array, start: int, count: int, along: Array, part: Array) -> None:
    """Add what the features that fill no vector come to."""
    for i in range(count):
        for way in range(along.shape[0]):
            for k in range(along.shape[1] - along.shape[1] % LANES, along.shape[1]):
                part[i, way] += x[start + i, k] * along[way, k]


@bounding_kernel
def move(x: Array, kept: Array, first: int, last: int, along: Array, by: Array, keep: float) -> None:
    """Rows first to last of `kept` <- keep times themselves + (x along') by'."""
    rank, features, vectors = along.shape[0], along.shape[1], kept.shape[1] // LANES
    like, factor, size, stride = kept.dtype.type(0), kept.dtype.type(keep), kept.itemsize, kept.strides[0]
    part = np.empty((ROWS_AT_A_TIME, rank), kept.dtype)
    for start in range(first, last if rank > 0 else first, ROWS_AT_A_TIME):
        count = min(ROWS_AT_A_TIME, last - start)
        for i in range(0, count, PAIR):
            _products(
                x.ctypes.data + (start + i) * x.strides[0],
                x.strides[0],
                along.ctypes.data,
                along.strides[0],
                part.ctypes.data + i * rank * size,
                features // LANES,
                i + 1 < count,
                rank,
                like,
            )
        if features % LANES > 0:
            _add_last_features(x, start, count, along, part)
        for i in range(0, count, PAIR):
            row, share = kept.ctypes.data + (start + i) * stride, part.ctypes.data + i * rank * size
            _moved(row, stride, share, by.ctypes.data, vectors, i + 1 < count, rank, factor, like)


@bounding_kernel
def _again(z: Array, bias: Array, e: Array) -> tuple[float, float]:
    """The exponent of the largest number of one row, and its exponentials and their sum beside that one."""
    per_bit, top, total = z.dtype.type(LOG2E), z.dtype.type(BENEATH_ALL), z.dtype.type(0)
    for c in range(z.shape[0]):
        top = max(top, z[c] * per_bit + bias[c])
    for c in range(z.shape[0]):
        e[c] = exp_of_nonpositive((z[c] * per_bit + bias[c] - top) / per_bit)
        total += e[c]
    return top, total


@bounding_kernel
def exponentials(kept: Array, tops: Array, first: int, last: int, bias: Array, e: Array, totals: Array) -> None:
    """Write 2^(log2(e) z + bias - top), and the sum, of rows z first to last; replace tops that are too far off."""
    vectors, stride, size, like = kept.shape[1] // LANES, kept.strides[0], kept.itemsize, kept.dtype.type(0)
    rows, highest, shift = kept.ctypes.data + first * stride, tops.ctypes.data + first * size, bias.ctypes.data
    out, sums, count = e.ctypes.data, totals.ctypes.data, last - first
    whole = count - count % TILE
    for i in range(0, whole, TILE):
        there, here = i * stride, i * size
        _exponential_tile(rows + there, stride, shift, highest + here, out + there, sums + here, vectors, like)
    for i in range(whole, count):
        there, here = i * stride, i * size
        _exponential_row(rows + there, stride, shift, highest + here, out + there, sums + here, vectors, like)
    least, most = kept.dtype.type(1 / FARTHEST), kept.dtype.type(FARTHEST)
    for i in range(count):
        if not least < totals[i] < most:
            tops[first + i], totals[i] = _again(kept[first + i], bias, e[i])
