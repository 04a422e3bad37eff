"""x @ weights.T whose every number depends on its row and its class alone, not on the rows around it.

    out_ic = fma(x_id, w_cd, ... fma(x_i2, w_c2, fma(x_i1, w_c1, keep * out_ic)))

Each sum runs over the features in order, by explicit fused operations that no compiler may reorder. BLAS promises no
such thing: a row's product may change in the last bit with the number of rows beside it. This product gives the same
bits for any choice of rows, in any blocks, on any number of threads, so a few bags computed again equal a whole pass.

Rows go through the registers in tiles, some rows by some vectors of classes: the more, the less often a number is read,
but no more than there are registers. Which tiles, and how many lanes a register has, changes no sum and so no bit.
Several rows at once are too many streams for the processor to prefetch, so the rows of a later tile are fetched
meanwhile (a third of the time saved).
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir

from bagwise.kernels.arithmetic.blocks import scratch
from bagwise.kernels.arithmetic.compile import Array, kernel, padding
from bagwise.kernels.arithmetic.vectors import (
    LANES,
    MOST_OF_DOUBLES,
    MOST_OF_FLOATS,
    Vectors,
    address_of,
    cgutils,
    compiled,
)

ROWS_AT_A_TIME = 120
PREFETCHED = 2


def _write_tile(
    vectors: Vectors, x: Any, x_stride: Any, w: Any, out: Any, out_stride: Any, depth: Any, keep: Any,
    rows: int, count: int,
) -> None:  # fmt: skip
    """Fill `rows` x `count` vectors at `out`."""
    builder, parts = vectors.builder, vectors.split(count)

    def place(row: int, offset: int) -> Any:
        return builder.add(builder.mul(out_stride, out_stride.type(row)), out_stride.type(offset))

    sums = {(row, offset): part.variable(ir.Constant(part.kind, None)) for row in range(rows) for offset, part in parts}
    with builder.if_then(builder.fcmp_unordered("!=", keep, vectors.number(0.0))):
        for row in range(rows):
            for offset, part in parts:
                later = builder.add(out, builder.mul(out_stride, out_stride.type(PREFETCHED * rows)))
                part.prefetch(builder.add(later, place(row, offset)))
                kept = builder.fmul(part.load(out, place(row, offset)), part.spread(keep))
                builder.store(kept, sums[row, offset])
    with cgutils.for_range(builder, depth) as loop:
        k = loop.index
        of_feature = builder.add(w, builder.mul(k, k.type(count * LANES * vectors.size)))
        classes = {offset: part.load(of_feature, k.type(offset)) for offset, part in parts}
        of_row = builder.add(x, builder.mul(k, k.type(vectors.size)))
        if rows > 1:
            later = builder.add(x, builder.mul(x_stride, x_stride.type(PREFETCHED * rows)))
            vectors.prefetch(builder.add(later, builder.mul(k, k.type(rows * vectors.size))))
        for row in range(rows):
            pointer = vectors.address(of_row, builder.mul(x_stride, x_stride.type(row)), vectors.number)
            number = builder.load(pointer, align=vectors.size)
            for offset, part in parts:
                total = part.fma(part.spread(number), classes[offset], builder.load(sums[row, offset]))
                builder.store(total, sums[row, offset])
    for row in range(rows):
        for offset, part in parts:
            part.store(builder.load(sums[row, offset]), out, place(row, offset))


def _write_columns(
    vectors: Vectors, x: Any, x_stride: Any, w: Any, out: Any, out_stride: Any, rows: Any, depth: Any, count: Any,
    keep: Any,
) -> None:  # fmt: skip
    """The product of some rows with one group of `count` vectors of classes, tile by tile."""
    builder = vectors.builder
    for row, height, width in vectors.each_tile(rows, count):
        of_x, of_out = builder.add(x, builder.mul(row, x_stride)), builder.add(out, builder.mul(row, out_stride))
        _write_tile(vectors, of_x, x_stride, w, of_out, out_stride, depth, keep, height, width)


_columns = compiled("iiiiiiii", False, _write_columns)


@kernel
def vectors_together(left: int, size: int) -> int:
    """How many of the vectors that are left go through the registers together: as many as fit, none left alone."""
    most = MOST_OF_FLOATS if size == 4 else MOST_OF_DOUBLES
    return left if left <= most else most if left != most + 1 else most - 1


@kernel
def product_into(out: Array, x: Array, packed: Array, keep: float) -> None:
    """out <- keep out + x @ weights.T, all columns of `out` (padded to whole vectors); `keep` 0 ignores what was."""
    size = x.itemsize
    rows, depth, vectors = x.shape[0], x.shape[1], out.shape[1] // LANES
    factor = x.dtype.type(keep)
    for start in range(0, rows, ROWS_AT_A_TIME):
        count = min(ROWS_AT_A_TIME, rows - start)
        left, done = vectors, 0
        while left > 0:
            taken = vectors_together(left, size)
            _columns(
                address_of(x) + start * x.strides[0],
                x.strides[0],
                address_of(packed) + done * LANES * depth * size,
                address_of(out) + start * out.strides[0] + done * LANES * size,
                out.strides[0],
                count,
                depth,
                taken,
                factor,
            )
            left -= taken
            done += taken


def padded(columns: int) -> int:
    """`columns` rounded up so that rows end on a whole vector."""
    return -(-columns // LANES) * LANES


def _groups(vectors: int, size: int) -> list[int]:
    """The numbers of vectors that go through the registers together, one after the other."""
    taken = []
    while vectors > 0:
        taken.append(vectors_together(vectors, size))
        vectors -= taken[-1]
    return taken


def pack(weights: Array) -> Array:
    """Weights (classes, features) in the order in which `product_into` reads them, padded with zeros."""
    wide = np.zeros((padded(len(weights)), weights.shape[1]), weights.dtype)
    wide[: len(weights)] = weights
    groups = _groups(len(wide) // LANES, weights.itemsize)
    if len(groups) == 1:
        return wide.T.ravel()
    edges = np.cumsum([LANES * group for group in groups])[:-1]
    return np.concatenate([part.T.ravel() for part in np.split(wide, edges)])


def precise(x: Array) -> Array:
    """Rows in the precision of the arithmetic: half precision is for storage only."""
    if x.dtype != np.float16:
        return x
    rows = scratch("precise", x.shape, np.float32)
    np.copyto(rows, x)
    return rows


class Linear:
    """Weights (classes, features) and bias, ready to make logits of many blocks of rows."""

    def __init__(self, weights: Array, bias: Array) -> None:
        self.columns = len(weights)
        self.dtype = weights.dtype
        self.packed = pack(weights)
        self.bias = self.padded_bias(bias, self.dtype)

    @staticmethod
    def padded_bias(bias: Array, dtype: npt.DTypeLike) -> Array:
        """The bias, and for the columns that pad a row one that leaves them nothing."""
        wide = np.full(padded(len(bias)), padding(dtype), dtype)
        wide[: len(bias)] = bias
        return wide

    def logits(self, x: Array) -> tuple[Array, Array, Array]:
        """Rows @ weights.T in padded scratch, the padded bias to be added, and room for one number per row."""
        logits, bias, rest = self.room(x)
        product_into(logits, precise(x), self.packed, 0.0)
        return logits, bias, rest

    def room(self, x: Array) -> tuple[Array, Array, Array]:
        """The same before the logits are computed: scratch for them, which holds anything."""
        logits = scratch("logits", (len(x), len(self.bias)), self.dtype)
        return logits, self.bias, scratch("rest", (len(x),), self.dtype)
