"""The log-likelihood of known labels and its gradient on a GPU, with the bits of `kernels.cpu.gradient`.

What is learned decides every later question, so it must not depend on the device. The sums are those of the CPU, in its
order: over the classes of a row in lanes, over 128 rows by fused products, over the rows of a block and over blocks in
double precision. Where a probability underflows, which takes logits some 70 apart, the CPU computes all again.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

from bagwise.kernels.arithmetic.blocks import split
from bagwise.kernels.arithmetic.compile import Array
from bagwise.kernels.arithmetic.sums import ROWS_TOGETHER
from bagwise.kernels.gpu.exact import LANES_OF_A_VECTOR, SoftMax, launch, power_of_two
from bagwise.kernels.gpu.resident import Linear, Resident

UNROLLED = tl.constexpr(16)
TINY = tl.constexpr(1e-30)


@triton.jit
def _logarithm_of_one_plus(f):
    """log(1 + f) for f near 0, as `arithmetic.elementary` has it."""
    s = f / (2.0 + f)
    square = s * s
    series = tl.zeros(f.shape, tl.float64)
    for j in tl.static_range(0, 11):
        series = tl.fma(series, square, tl.full(f.shape, 2 / (2 * (11 - j) + 1), tl.float64))
    return f - s * tl.fma(-series, square, f)


@triton.jit
def _logarithm(x):
    """log(x) for normal x > 0, as `log_of` has it."""
    bits = x.to(tl.int64, bitcast=True)
    power = ((bits >> 52) & 0x7FF).to(tl.int32) - 1022
    fraction = ((bits & 0xFFFFFFFFFFFFF) | 0x3FE0000000000000).to(tl.float64, bitcast=True)
    is_low = fraction < 0.7071067811865476
    fraction = tl.where(is_low, 2.0 * fraction, fraction)
    k = tl.where(is_low, power - 1, power).to(tl.float64)
    rest = _logarithm_of_one_plus(fraction - 1.0)
    rest = tl.fma(k, tl.full(x.shape, 1.90821492927058770002e-10, tl.float64), rest)
    return tl.fma(k, tl.full(x.shape, 6.93147180369123816490e-01, tl.float64), rest)


@triton.jit(do_not_specialize=["bags"])
def _labels(
    present_in, absent_in, value, known, bags, factors, logs, rare, classes, width, K: tl.constexpr, BAGS: tl.constexpr
):
    """A_c of every pair, and log P of its label, as `likelihood_of_bags` has them; `rare` is set if one underflows."""
    b = (tl.program_id(0) * BAGS + tl.arange(0, BAGS)).to(tl.int64)
    c = tl.arange(0, K)
    inside = (b < bags)[:, None] & (c < classes)[None, :]
    place = b[:, None] * classes + c[None, :]
    present, absent = tl.load(present_in + place, mask=inside, other=1.0), tl.load(absent_in + place, inside, 1.0)
    is_known = tl.load(known + place, mask=inside, other=0) != 0
    is_there = tl.load(value + place, mask=inside, other=0) != 0
    said, other = tl.where(is_there, present, absent), tl.where(is_there, absent, present)
    lost = is_known & (said < TINY)
    tl.atomic_max(rare, tl.max(tl.max(lost.to(tl.int32), 1), 0))
    counts = is_known & (said >= TINY)
    said, other = tl.where(counts, said, 1.0), tl.where(counts, other, 0.0)
    factor = tl.where(is_there, tl.div_rn(other, said), -1.0)
    to = b[:, None] * width + c[None, :]
    tl.store(factors + to, tl.where(is_known, factor, 0.0), mask=(b < bags)[:, None] & (c < width)[None, :])
    likely, rest = said.to(tl.float64), -other.to(tl.float64)
    near = rest > -0.25
    total = 1.0 + rest
    positive = tl.where(total > 0.0, total, 1.0)
    far = _logarithm(positive) + (rest - (total - 1.0)) / positive
    log1p = tl.where(near, _logarithm_of_one_plus(tl.where(near, rest, 0.0)), far)
    found = tl.where(likely < 0.5, _logarithm(likely), log1p)
    tl.store(logs + place, tl.where(is_known, found, 0.0), mask=inside)


@triton.jit(do_not_specialize=["bags"])
def _totals(logs, bags, totals, classes, BAGS: tl.constexpr):
    """The sum over the classes of every bag, class by class."""
    b = tl.program_id(0) * BAGS + tl.arange(0, BAGS)
    total = tl.zeros((BAGS,), tl.float64)
    for c in range(classes):
        total += tl.load(logs + b.to(tl.int64) * classes + c, mask=b < bags, other=0.0)
    tl.store(totals + b, total, mask=b < bags)


@triton.jit(do_not_specialize=["count"])
def _derivatives(e, rest, bag_of, factors, count, rare, width, ROWS: tl.constexpr):
    """Overwrite e by the derivative by the logits, as `likelihood_of_bags` does."""
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = i < count
    lane = tl.arange(0, LANES_OF_A_VECTOR)
    row = e + i.to(tl.int64)[:, None] * width + lane[None, :]
    bag = tl.load(bag_of + i, mask=inside, other=0).to(tl.int64)
    factor_of = factors + bag[:, None] * width + lane[None, :]
    top = tl.full((ROWS,), 1 << 30, tl.int32)
    for start in range(0, width, LANES_OF_A_VECTOR):
        x = tl.load(row + start, mask=inside[:, None], other=1.0)
        top = tl.minimum(top, tl.min(tl.where(x < 1.0, 1 << 30, start + lane[None, :]), 1))
    at_top = tl.load(factors + bag * width + top, mask=inside, other=0.0)
    r = tl.load(rest + i, mask=inside, other=1.0)
    s = 1.0 + r
    inverse = tl.div_rn(tl.full((ROWS,), 1.0, tl.float32), s)
    least = tl.maximum(r, TINY)
    lanes = tl.zeros((ROWS, LANES_OF_A_VECTOR), tl.float32)
    for start in range(0, width, LANES_OF_A_VECTOR):
        x = tl.load(row + start, mask=inside[:, None], other=0.0)
        factor = tl.load(factor_of + start, mask=inside[:, None], other=0.0)
        factor = tl.where(start + lane[None, :] == top[:, None], 0.0, factor)
        others = tl.where(x < 1.0, s[:, None] - x, tl.broadcast_to(least[:, None], (ROWS, LANES_OF_A_VECTOR)))
        lanes += factor * tl.div_rn(x, others)
    four = tl.sum(tl.reshape(lanes, (ROWS, 2, 4)), 1)
    two = tl.sum(tl.reshape(four, (ROWS, 2, 2)), 1)
    pull = tl.sum(two, 1)
    push = at_top * inverse
    low = r <= TINY
    tl.atomic_max(rare, tl.max((inside & low & (push != 0.0)).to(tl.int32), 0))
    shared = tl.where(low, 0.0, tl.div_rn(push, tl.where(low, 1.0, r)))
    draw = inverse * pull + shared
    of_top = push - inverse * pull
    for start in range(0, width, LANES_OF_A_VECTOR):
        x = tl.load(row + start, mask=inside[:, None], other=0.0)
        factor = tl.load(factor_of + start, mask=inside[:, None], other=0.0)
        is_top = start + lane[None, :] == top[:, None]
        others = tl.where(x < 1.0, s[:, None] - x, tl.broadcast_to(least[:, None], (ROWS, LANES_OF_A_VECTOR)))
        drive = tl.where(is_top, 0.0, factor) * tl.div_rn(x, others)
        found = tl.where(is_top, tl.broadcast_to(of_top[:, None], (ROWS, LANES_OF_A_VECTOR)), drive - x * draw[:, None])
        tl.store(row + start, found, mask=inside[:, None])


@triton.jit
def _products(derivative, x, rows, first_of, last_of, parts, columns, D, width, C: tl.constexpr, F: tl.constexpr):
    """sum_i derivative_ic x_id over a group of rows, row by row, as `transposed_product` has it."""
    group = tl.program_id(0)
    c, d = tl.program_id(1) * C + tl.arange(0, C), tl.program_id(2) * F + tl.arange(0, F)
    first, last = tl.load(first_of + group), tl.load(last_of + group)
    sums = tl.zeros((C, F), tl.float32)
    for i in range(first, last):
        factor = tl.load(derivative + i * width + c, mask=c < columns, other=0.0)
        feature = tl.load(x + tl.load(rows + i) * D + d, mask=d < D, other=0.0)
        sums = tl.fma(tl.broadcast_to(factor[:, None], (C, F)), tl.broadcast_to(feature[None, :], (C, F)), sums)
    place = (group.to(tl.int64) * columns + c[:, None]) * D + d[None, :]
    tl.store(parts + place, sums, mask=(c < columns)[:, None] & (d < D)[None, :])


@triton.jit
def _sums_of(values, stride, first_of, last_of, out, count, SIZE: tl.constexpr):
    """Sums of consecutive rows of numbers in double precision, row by row."""
    n = tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    first, last = tl.load(first_of + tl.program_id(0)), tl.load(last_of + tl.program_id(0))
    total = tl.zeros((SIZE,), tl.float64)
    for start in range(first, last, UNROLLED):
        # Loads that do not wait for each other; what is beyond the last row adds 0.
        for j in tl.static_range(0, UNROLLED):
            there = tl.where(start + j < last, n, count) < count
            total += tl.load(values + (start + j) * stride + n, mask=there, other=0.0).to(tl.float64)
    tl.store(out + tl.program_id(0).to(tl.int64) * count + n, total, mask=n < count)


@dataclass(frozen=True)
class Likelihood:
    """The known labels of some bags of the instances on a device.

    Parameters
    ----------
    resident
        The instances.
    bags
        Positions of the bags, (n,).
    value, known
        Their labels, and which of these count, (n, C) each.
    """

    resident: Resident
    bags: Array
    value: Array
    known: Array

    def __call__(self, weights: Array, bias: Array) -> tuple[float, Array, Array] | None:
        """Return sum log P and its derivatives by raw weights and bias; None where a probability underflows."""
        device, (count, classes), columns = self.resident.device, self.known.shape, len(weights)
        linear = Linear(torch.as_tensor(weights, device=device), torch.as_tensor(bias, device=device))
        soft = SoftMax.of(self.resident, self._on_device, linear)
        width, power = soft.e.shape[1], power_of_two(soft.e.shape[1])
        present, absent = soft.presence(classes)
        rare = torch.zeros(1, dtype=torch.int32, device=device)
        factors = torch.empty((count, width), device=device)
        logs = torch.empty((count, classes), dtype=torch.float64, device=device)
        totals = torch.empty(count, dtype=torch.float64, device=device)
        value, known = self._labels
        launch(
            _labels, count, 4, present, absent, value, known, count, factors, logs, rare, classes, width,
            K=power, BAGS=4,
        )  # fmt: skip
        launch(_totals, count, 128, logs, count, totals, classes, BAGS=128)
        bag_of, rows_between, groups, of_block = self._order(columns)
        launch(
            _derivatives, len(soft.rest), 32, soft.e, soft.rest, bag_of, factors, len(soft.rest), rare, width, ROWS=32
        )
        by_weight, by_bias = self._gradient(soft, columns, rows_between, groups, of_block)
        if int(rare):
            return None
        of_bags = totals.cpu().numpy()
        of_blocks = [np.cumsum(of_bags[first:last])[-1] for first, last in self._ranges(columns)]
        return float(np.cumsum(of_blocks)[-1]), by_weight.cpu().numpy(), by_bias.cpu().numpy()

    def _gradient(
        self, soft: SoftMax, columns: int, rows_between: tuple[Tensor, Tensor], groups: tuple[Tensor, Tensor],
        of_block: tuple[Tensor, Tensor],
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        x, places = self.resident.loaded(soft.rows)
        features, blocks, device = x.shape[1], len(rows_between[0]), self.resident.device
        parts = torch.empty((len(groups[0]), columns, features), device=device)
        tile = 16, min(128, power_of_two(features))
        grid = len(groups[0]), triton.cdiv(columns, tile[0]), triton.cdiv(features, tile[1])
        _products[grid](
            soft.e, x, places, *groups, parts, columns, features, soft.e.shape[1], C=tile[0], F=tile[1],
            num_warps=4, enable_fp_fusion=False,
        )  # fmt: skip
        numbers = columns * features
        by_weight = self._summed(self._summed(parts.view(-1, numbers), numbers, of_block), numbers, None)
        by_bias = self._summed(self._summed(soft.e, columns, rows_between), columns, None)
        assert blocks
        return by_weight.view(columns, features), by_bias[0]

    def _summed(self, values: Tensor, count: int, between: tuple[Tensor, Tensor] | None) -> Tensor:
        """Sums of the first `count` columns over consecutive rows, or over all of them, row by row."""
        if between is None:
            ends = torch.tensor([0, len(values)], device=values.device)
            between = ends[:1], ends[1:]
        out = torch.empty((len(between[0]), count), dtype=torch.float64, device=values.device)
        grid = len(between[0]), triton.cdiv(count, 128)
        _sums_of[grid](values, values.shape[1], *between, out, count, SIZE=128, num_warps=4, enable_fp_fusion=False)
        return out

    @cached_property
    def _on_device(self) -> Tensor:
        return torch.as_tensor(self.bags, device=self.resident.device)

    @cached_property
    def _labels(self) -> tuple[Tensor, Tensor]:
        device = self.resident.device
        value, known = (np.ascontiguousarray(one).astype(np.int8) for one in (self.value, self.known))
        return torch.as_tensor(value, device=device), torch.as_tensor(known, device=device)

    @cached_property
    def _offsets(self) -> Array:
        offsets = self.resident.source.offsets
        return np.concatenate([[0], np.cumsum(offsets[self.bags + 1] - offsets[self.bags])])

    def _ranges(self, columns: int) -> list[tuple[int, int]]:
        """The blocks of bags in which the CPU sums."""
        return split(self._offsets, columns)

    def _order(
        self, columns: int
    ) -> tuple[Tensor, tuple[Tensor, Tensor], tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """The bag of every row; first and last row of blocks, of groups of rows, and first and last group of blocks."""
        offsets, device = self._offsets, self.resident.device
        blocks = [(int(offsets[first]), int(offsets[last])) for first, last in self._ranges(columns)]
        groups = [
            (start, min(start + ROWS_TOGETHER, last))
            for first, last in blocks
            for start in range(first, last, ROWS_TOGETHER)
        ]
        counts = [-(-(last - first) // ROWS_TOGETHER) for first, last in blocks]
        ends = np.cumsum(counts)
        of_block = list(zip((ends - counts).tolist(), ends.tolist(), strict=True))
        bag_of = torch.as_tensor(np.repeat(np.arange(len(self.bags)), np.diff(offsets)), device=device)
        between = (torch.as_tensor(np.array(some).T.copy(), device=device) for some in (blocks, groups, of_block))
        first, second, third = ((one[0], one[1]) for one in between)
        return bag_of, first, second, third
