"""Logits that move, z <- keep z + by (along x), and their soft-max at once: what no full pass over logits has to fetch.

Two rows go through the registers together: as many directions as there are can be multiplied by them before they are
needed again, and the processor follows two streams of rows, which it does not with four. Four rows go side by side
through the exponential, where each step waits for the one before.

The exponential is shorter than that of `exponential`: 2^t by a polynomial of degree d around the nearest whole number,
through Chebyshev's points. It is right within the share (ln 2 / 2)^(d + 1) / (2^(d - 1) (d + 1)!), `OFF`, and exactly 1
at 0: as in `softmax`, `e` is 1 at the arg-max and its ties. What is below 2^`LOWEST` becomes about that and not 0.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir

from bagwise.kernels.compile import Array, kernel
from bagwise.kernels.vectors import LANES, Vectors, cgutils, compiled

RANKS = (0, 4, 8, 12)
PAIR, TILE = 2, 4
ROWS_AT_A_TIME = 16
ROWS_AHEAD = 32
DEGREE, LOWEST, MANTISSA = {4: 4, 8: 10}, {4: -125.0, 8: -1020.0}, {4: 23, 8: 52}
BENEATH_ALL = {4: -3e38, 8: -1e308}


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

    def pick(a: Any, b: Any, lanes: list[int]) -> Any:
        return vectors.pick(a, b, lanes)

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
    for of_rank in RANKS:
        with builder.if_then(builder.icmp_signed("==", rank, rank.type(of_rank))):
            with builder.if_else(builder.icmp_signed("!=", two, two.type(0))) as (both, single):
                with both:
                    write(PAIR, of_rank)
                with single:
                    write(1, of_rank)


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
                four = [builder.load(sums[row, way + k]) for k in range(TILE)]
                place = builder.add(out, out.type((row * of_rank + way) * vectors.size))
                _write(vectors, _across(vectors, four, builder.fadd), TILE, place)

    _for_each_kind(vectors, two, rank, write)


def _write_moved(
    vectors: Vectors, kept: Any, stride: Any, part: Any, by: Any, bias: Any, out: Any, tops: Any, count: Any, two: Any,
    rank: Any, keep: Any, _like: Any,
) -> None:  # fmt: skip
    builder, width = vectors.builder, LANES * vectors.size
    factor = vectors.spread(keep)

    def write(rows: int, of_rank: int) -> None:
        highest = [vectors.variable(vectors.constant(BENEATH_ALL[vectors.size])) for _ in range(rows)]
        shares = [
            [vectors.number_at(part, part.type((row * of_rank + way) * vectors.size)) for way in range(of_rank)]
            for row in range(rows)
        ]
        with vectors.each(count) as offset:
            of_classes = builder.add(by, builder.mul(offset, offset.type(of_rank)))
            sums = [vectors.constant(0.0)] * rows
            for way in range(of_rank):
                classes = vectors.load(of_classes, offset.type(way * width))
                sums = [vectors.fma(shares[row][way], classes, sums[row]) for row in range(rows)]
            for row in range(rows):
                here = _row(vectors, kept, stride, row)
                vectors.prefetch(builder.add(_row(vectors, here, stride, ROWS_AHEAD), offset), near=False)
                z = vectors.load(here, offset)
                if of_rank:
                    z = vectors.fma(factor, z, sums[row])
                    vectors.store(z, here, offset)
                z = builder.fadd(z, vectors.load(bias, offset))
                vectors.store(z, _row(vectors, out, stride, row), offset)
                builder.store(vectors.larger(z, builder.load(highest[row])), highest[row])
        largest = _across(vectors, [builder.load(top) for top in highest], vectors.larger)
        _write(vectors, largest, rows, tops)

    _for_each_kind(vectors, two, rank, write)


def _coefficients(degree: int) -> list[float]:
    fit = np.polynomial.Chebyshev.interpolate(np.exp2, degree, [-0.5, 0.5])
    return [1.0, *fit.convert(kind=np.polynomial.Polynomial).coef[1:].tolist()]


def _powers_of_two(vectors: Vectors, exponents: list[Any]) -> list[Any]:
    """Of several vectors side by side."""
    builder = vectors.builder
    integers, narrow = ir.VectorType(ir.IntType(8 * vectors.size), LANES), ir.VectorType(ir.IntType(32), LANES)
    bounded = [vectors.larger(t, vectors.constant(LOWEST[vectors.size])) for t in exponents]
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
    """An intrinsic: exp(row - its top) in place, and the sum of each row but for one of its tops at `rest`."""

    def write(vectors: Vectors, e: Any, stride: Any, tops: Any, rest: Any, count: Any, _like: Any) -> None:
        # Tops are counted in whole numbers, as in `vectors`: sums of floats get merged, and what is small is lost.
        builder, integers = vectors.builder, ir.VectorType(ir.IntType(32), LANES)
        zero, one, per_bit = vectors.constant(0.0), vectors.constant(1.0), vectors.constant(math.log2(math.e))
        highest = [vectors.number_at(tops, tops.type(row * vectors.size)) for row in range(rows)]
        below = [vectors.variable(zero) for _ in range(rows)]
        ties = [cgutils.alloca_once_value(builder, ir.Constant(integers, None)) for _ in range(rows)]
        places = [_row(vectors, e, stride, row) for row in range(rows)]
        with vectors.each(count) as offset:
            beneath = [builder.fsub(vectors.load(places[row], offset), highest[row]) for row in range(rows)]
            for row, value in enumerate(_powers_of_two(vectors, [builder.fmul(t, per_bit) for t in beneath])):
                vectors.store(value, places[row], offset)
                less = builder.fcmp_ordered("<", value, one)
                builder.store(builder.fadd(builder.load(below[row]), builder.select(less, value, zero)), below[row])
                tie = builder.zext(builder.not_(less), integers)
                builder.store(builder.add(builder.load(ties[row]), tie), ties[row])
        counted = _across(vectors, [builder.load(tie) for tie in ties], builder.add)
        others = builder.sitofp(
            builder.sub(counted, ir.Constant(counted.type, [1] * TILE)), ir.VectorType(vectors.number, TILE)
        )
        smaller = _across(vectors, [builder.load(total) for total in below], builder.fadd)
        _write(vectors, builder.fadd(smaller, others), rows, rest)

    return compiled("iiiii", False, write)


_products = compiled("iiiiiiii", False, _write_products)
_moved = compiled("iiiiiiiiiif", False, _write_moved)
_exponential_tile, _exponential_row = _exponentials(TILE), _exponentials(1)


@kernel
def _last_features(x: Array, start: int, count: int, along: Array, part: Array) -> None:
    """Add what the features that fill no vector come to."""
    for i in range(count):
        for way in range(along.shape[0]):
            for k in range(along.shape[1] - along.shape[1] % LANES, along.shape[1]):
                part[i, way] += x[start + i, k] * along[way, k]


@kernel
def moved_softmax(
    x: Array,
    kept: Array,
    first: int,
    last: int,
    along: Array,
    by: Array,
    keep: float,
    bias: Array,
    e: Array,
    rest: Array,
) -> None:
    """Move rows first to last of `kept`; fill `e` and `rest`, as `softmax_of` does, from them and the bias."""
    rank, features, vectors = along.shape[0], along.shape[1], kept.shape[1] // LANES
    like, factor, size, stride = kept.dtype.type(0), kept.dtype.type(keep), kept.itemsize, kept.strides[0]
    part, tops = np.empty((ROWS_AT_A_TIME, rank), kept.dtype), np.empty(ROWS_AT_A_TIME, kept.dtype)
    shares, highest = part.ctypes.data, tops.ctypes.data
    for start in range(first, last, ROWS_AT_A_TIME):
        count = min(ROWS_AT_A_TIME, last - start)
        if rank > 0:
            for i in range(0, count, PAIR):
                _products(
                    x.ctypes.data + (start + i) * x.strides[0],
                    x.strides[0],
                    along.ctypes.data,
                    along.strides[0],
                    shares + i * rank * size,
                    features // LANES,
                    i + 1 < count,
                    rank,
                    like,
                )
            if features % LANES > 0:
                _last_features(x, start, count, along, part)
        rows, out = kept.ctypes.data + start * stride, e.ctypes.data + (start - first) * stride
        for i in range(0, count, PAIR):
            _moved(
                rows + i * stride,
                stride,
                shares + i * rank * size,
                by.ctypes.data,
                bias.ctypes.data,
                out + i * stride,
                highest + i * size,
                vectors,
                i + 1 < count,
                rank,
                factor,
                like,
            )
        others, whole = rest.ctypes.data + (start - first) * size, count - count % TILE
        for i in range(0, whole, TILE):
            _exponential_tile(out + i * stride, stride, highest + i * size, others + i * size, vectors, like)
        for i in range(whole, count):
            _exponential_row(out + i * stride, stride, highest + i * size, others + i * size, vectors, like)
