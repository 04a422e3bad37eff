"""x @ weights.T whose every number depends on its row and its class alone, not on the rows around it.

    out_ic = fma(x_id, w_cd, ... fma(x_i2, w_c2, fma(x_i1, w_c1, keep * out_ic)))

Each sum runs over the features in order, by explicit fused operations that no compiler may reorder. BLAS promises no
such thing: a row's product may change in the last bit with the number of rows beside it. This product gives the same
bits for any choice of rows, in any blocks, on any number of threads, so a few bags computed again equal a whole pass.

Rows go through the registers in tiles, `ROWS_OF[v]` rows by `v` vectors of classes. Several rows at once are too many
streams for the processor to prefetch, so the rows of a later tile are fetched meanwhile (a third of the time saved).
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir

from bagwise.kernels.arithmetic.blocks import scratch
from bagwise.kernels.arithmetic.compile import Array, kernel, padding
from bagwise.kernels.arithmetic.vectors import LANES, Vectors, cgutils, compiled

MOST_VECTORS = 4
ROWS_OF = (0, 8, 6, 4, 3)
ROWS_AT_A_TIME = 96
PREFETCHED = 2


def _tile(rows: int, count: int) -> Any:
    """An intrinsic that fills `rows` x `count` vectors at `out`."""
    cells = [(row, part) for row in range(rows) for part in range(count)]

    def write(
        vectors: Vectors, x: Any, x_stride: Any, w: Any, out: Any, out_stride: Any, depth: Any, keep: Any
    ) -> None:
        builder, width = vectors.builder, LANES * vectors.size

        def place(cell: tuple[int, int]) -> Any:
            return builder.add(builder.mul(out_stride, out_stride.type(cell[0])), out_stride.type(cell[1] * width))

        sums = {cell: vectors.variable(ir.Constant(vectors.kind, None)) for cell in cells}
        with builder.if_then(builder.fcmp_unordered("!=", keep, vectors.number(0.0))):
            for cell in cells:
                later = builder.add(out, builder.mul(out_stride, out_stride.type(PREFETCHED * rows)))
                vectors.prefetch(builder.add(later, place(cell)))
                builder.store(builder.fmul(vectors.load(out, place(cell)), vectors.spread(keep)), sums[cell])
        with cgutils.for_range(builder, depth) as loop:
            k = loop.index
            of_feature = builder.add(w, builder.mul(k, k.type(count * width)))
            classes = [vectors.load(of_feature, k.type(part * width)) for part in range(count)]
            of_row = builder.add(x, builder.mul(k, k.type(vectors.size)))
            if rows > 1:
                later = builder.add(x, builder.mul(x_stride, x_stride.type(PREFETCHED * rows)))
                vectors.prefetch(builder.add(later, builder.mul(k, k.type(rows * vectors.size))))
            for row in range(rows):
                pointer = vectors.address(of_row, builder.mul(x_stride, x_stride.type(row)), vectors.number)
                feature = vectors.spread(builder.load(pointer, align=vectors.size))
                for part in range(count):
                    total = vectors.fma(feature, classes[part], builder.load(sums[row, part]))
                    builder.store(total, sums[row, part])
        for cell in cells:
            vectors.store(builder.load(sums[cell]), out, place(cell))

    return compiled("iiiiii", False, write)


_tile_1, _tile_2, _tile_3, _tile_4 = (_tile(ROWS_OF[count], count) for count in range(1, 5))
_row_1, _row_2, _row_3, _row_4 = (_tile(1, count) for count in range(1, 5))


@kernel
def _columns(
    x: int, x_stride: int, w: int, out: int, out_stride: int, rows: int, depth: int, vectors: int, keep: float
) -> None:
    """The product of some rows with one group of up to `MOST_VECTORS` vectors of classes."""
    tall = 8 if vectors == 1 else 6 if vectors == 2 else 4 if vectors == 3 else 3
    i = 0
    while i + tall <= rows:
        if vectors == 4:
            _tile_4(x + i * x_stride, x_stride, w, out + i * out_stride, out_stride, depth, keep)
        elif vectors == 3:
            _tile_3(x + i * x_stride, x_stride, w, out + i * out_stride, out_stride, depth, keep)
        elif vectors == 2:
            _tile_2(x + i * x_stride, x_stride, w, out + i * out_stride, out_stride, depth, keep)
        else:
            _tile_1(x + i * x_stride, x_stride, w, out + i * out_stride, out_stride, depth, keep)
        i += tall
    while i < rows:
        if vectors == 4:
            _row_4(x + i * x_stride, x_stride, w, out + i * out_stride, out_stride, depth, keep)
        elif vectors == 3:
            _row_3(x + i * x_stride, x_stride, w, out + i * out_stride, out_stride, depth, keep)
        elif vectors == 2:
            _row_2(x + i * x_stride, x_stride, w, out + i * out_stride, out_stride, depth, keep)
        else:
            _row_1(x + i * x_stride, x_stride, w, out + i * out_stride, out_stride, depth, keep)
        i += 1


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
            taken = left if left <= MOST_VECTORS else MOST_VECTORS if left != MOST_VECTORS + 1 else MOST_VECTORS - 1
            _columns(
                x.ctypes.data + start * x.strides[0],
                x.strides[0],
                packed.ctypes.data + done * LANES * depth * size,
                out.ctypes.data + start * out.strides[0] + done * LANES * size,
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


def _groups(vectors: int) -> list[int]:
    """How many vectors of classes go through the registers together: as many as fit, none left alone."""
    taken = []
    while vectors > 0:
        taken.append(vectors if vectors <= MOST_VECTORS else MOST_VECTORS - (vectors == MOST_VECTORS + 1))
        vectors -= taken[-1]
    return taken


def pack(weights: Array) -> Array:
    """Weights (classes, features) in the order in which `product_into` reads them, padded with zeros."""
    wide = np.zeros((padded(len(weights)), weights.shape[1]), weights.dtype)
    wide[: len(weights)] = weights
    if len(wide) <= MOST_VECTORS * LANES:
        return wide.T.ravel()
    edges = np.cumsum([LANES * group for group in _groups(len(wide) // LANES)])[:-1]
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
