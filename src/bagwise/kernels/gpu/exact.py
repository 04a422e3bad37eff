"""Triton kernels whose numbers are those of `kernels.cpu`, bit for bit: what decides a question or becomes a weight.

A kernel of the CPU carries out every operation as it is written, in an order that depends on the row alone
(`kernels.arithmetic`). The same operations in the same order are the same numbers on any processor that rounds as
IEEE 754 says, and a GPU does: fused products are written as such and no other product is fused, divisions are the
rounded ones, sums over classes are taken in the lanes of `kernels.arithmetic.vectors`, sums over rows row by row. It
costs more than the fast kernels of `fused` do, and is for the bags that matter.

Float32 only, as features on a GPU are. Numbers of rows change with every question, so nothing is compiled for them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn.functional import pad
from triton.runtime.interpreter import InterpretedFunction

from bagwise.kernels.arithmetic.compile import Array, padding
from bagwise.kernels.arithmetic.product import padded
from bagwise.kernels.arithmetic.vectors import LANES
from bagwise.kernels.cpu.evidence import Evidence
from bagwise.kernels.gpu.resident import Linear, Resident

LANES_OF_A_VECTOR = tl.constexpr(LANES)
ROWS_AT_ONCE = 1 << 21
MOST_COLUMNS = 1024


@triton.jit
def _exponential(x):
    """exp(x) for x <= 0, as `arithmetic.exponential` has it in float32."""
    y = tl.maximum(x, -87.0)
    k = (y * 1.44269504 - 0.5).to(tl.int32)
    n = -k.to(tl.float32)
    r = tl.fma(n, tl.full(x.shape, 0.693359375, tl.float32), y)
    r = tl.fma(n, tl.full(x.shape, -2.12194440e-4, tl.float32), r)
    series = tl.fma(r, tl.full(x.shape, 1 / 5040, tl.float32), tl.full(x.shape, 1 / 720, tl.float32))
    series = tl.fma(r, series, tl.full(x.shape, 1 / 120, tl.float32))
    series = tl.fma(r, series, tl.full(x.shape, 1 / 24, tl.float32))
    series = tl.fma(r, series, tl.full(x.shape, 1 / 6, tl.float32))
    series = tl.fma(r, series, tl.full(x.shape, 0.5, tl.float32))
    series = tl.fma(r, series, tl.full(x.shape, 1.0, tl.float32))
    series = tl.fma(r, series, tl.full(x.shape, 1.0, tl.float32))
    power = ((k + 127) << 23).to(tl.float32, bitcast=True)
    return tl.where(x >= -87.0, series * power, 0.0)


@triton.jit(do_not_specialize=["count"])
def _exponentials(
    x, rows, count, weights, bias, said, evidence, e, width,
    D, K: tl.constexpr, ROWS: tl.constexpr, EVIDENCE: tl.constexpr,
):  # fmt: skip
    """e of some rows, as `softmax_of` has it; weights are (features, K), and `said` is the evidence of a row or -1."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = r < count
    row = tl.load(rows + r, mask=inside, other=0).to(tl.int64) * D
    c = tl.arange(0, K)
    logits = tl.zeros((ROWS, K), tl.float32)
    for d in range(D):
        feature = tl.load(x + row + d, mask=inside, other=0.0)
        weight = tl.load(weights + d * K + c)
        feature, weight = tl.broadcast_to(feature[:, None], (ROWS, K)), tl.broadcast_to(weight[None, :], (ROWS, K))
        logits = tl.fma(feature, weight, logits)
    if EVIDENCE:
        about = tl.load(said + r, mask=inside, other=-1)
        logits += tl.load(evidence + about[:, None] * K + c[None, :], mask=(about >= 0)[:, None], other=0.0)
    z = logits + tl.load(bias + c)[None, :]
    found = _exponential(z - tl.max(z, 1)[:, None])
    place = r.to(tl.int64)[:, None] * width + c[None, :]
    tl.store(e + place, found, mask=inside[:, None] & (c < width)[None, :])


@triton.jit(do_not_specialize=["count"])
def _rests(e, count, rest, width, ROWS: tl.constexpr):
    """The sum of e but for one of those that are 1, as `rest_of` has it."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = r < count
    lane = tl.arange(0, LANES_OF_A_VECTOR)
    below = tl.zeros((ROWS, LANES_OF_A_VECTOR), tl.float32)
    tops = tl.zeros((ROWS, LANES_OF_A_VECTOR), tl.int32)
    for start in range(0, width, LANES_OF_A_VECTOR):
        place = r.to(tl.int64)[:, None] * width + start + lane[None, :]
        found = tl.load(e + place, mask=inside[:, None], other=0.0)
        is_below = found < 1.0
        below += tl.where(is_below, found, 0.0)
        tops += tl.where(is_below, 0, 1)
    # Halves are added, then halves of that: each sum is one of two numbers.
    four = tl.sum(tl.reshape(below, (ROWS, 2, 4)), 1)
    two = tl.sum(tl.reshape(four, (ROWS, 2, 2)), 1)
    others = tl.sum(tops, 1) - 1
    tl.store(rest + r, tl.sum(two, 1) + others.to(tl.float32), mask=inside)


@triton.jit(do_not_specialize=["bags"])
def _presence(e, rest, starts, bags, present_out, absent_out, classes, width, K: tl.constexpr, BAGS: tl.constexpr):
    """P(present) and P(absent) of bags whose rows of `e` follow each other, as `bag_presence` has them."""
    b = tl.program_id(0) * BAGS + tl.arange(0, BAGS)
    first = tl.load(starts + b, mask=b < bags, other=0)
    last = tl.load(starts + b + 1, mask=b < bags, other=0)
    c = tl.arange(0, K)
    present = tl.zeros((BAGS, K), tl.float32)
    absent = tl.full((BAGS, K), 1.0, tl.float32)
    for i in range(tl.max(last - first)):
        row = first + i
        there = row < last
        found = tl.load(e + row[:, None] * width + c[None, :], mask=there[:, None] & (c < width)[None, :], other=0.0)
        r = tl.load(rest + row, mask=there, other=0.0)
        s = 1.0 + r
        inverse = tl.div_rn(tl.full((BAGS,), 1.0, tl.float32), s)[:, None]
        others = tl.where(found < 1.0, s[:, None] - found, tl.broadcast_to(r[:, None], (BAGS, K)))
        present = tl.where(there[:, None], present + (found * inverse) * absent, present)
        absent = tl.where(there[:, None], absent * (others * inverse), absent)
    place = b.to(tl.int64)[:, None] * classes + c[None, :]
    inside = (b < bags)[:, None] & (c < classes)[None, :]
    tl.store(present_out + place, present, mask=inside)
    tl.store(absent_out + place, absent, mask=inside)


def serves(resident: Resident, columns: int) -> bool:
    """Return whether these instances can be scored here."""
    on_card = resident.device.type == "cuda" or isinstance(_presence, InterpretedFunction)
    return on_card and resident.x.dtype == torch.float32 and columns <= MOST_COLUMNS


@dataclass(frozen=True)
class SoftMax:
    """e and the sums of its rows, for the rows of some bags, which follow each other from `starts` on."""

    e: Tensor
    rest: Tensor
    starts: Tensor
    rows: Tensor

    @classmethod
    def of(cls, resident: Resident, bags: Tensor, linear: Linear, evidence: Evidence | None = None) -> "SoftMax":
        """Return that of the bags at these positions, given what is known of single instances."""
        rows, starts = resident.rows_of(bags)
        x, places = resident.loaded(rows)
        width, columns = padded(len(linear.bias)), power_of_two(padded(len(linear.bias)))
        weights = pad(linear.weights, (0, 0, 0, columns - len(linear.weights))).mT.contiguous()
        bias = pad(linear.bias, (0, columns - len(linear.bias)), value=padding(np.float32))
        e = torch.empty((len(rows), width), dtype=torch.float32, device=resident.device)
        rest = torch.empty(len(rows), dtype=torch.float32, device=resident.device)
        together = max(4, min(32, 4096 // columns))
        launch(
            _exponentials, len(rows), together, x, places, len(rows), weights, bias,
            *_evidence_of(evidence, rows, columns), e, width, x.shape[1],
            K=columns, ROWS=together, EVIDENCE=evidence is not None,
        )  # fmt: skip
        launch(_rests, len(rows), 64, e, len(rows), rest, width, ROWS=64)
        return cls(e, rest, starts, rows)

    def presence(self, classes: int) -> tuple[Tensor, Tensor]:
        """P(present) and P(absent), each (bags, classes)."""
        bags, columns = len(self.starts) - 1, power_of_two(self.e.shape[1])
        present, absent = (torch.empty((bags, classes), device=self.e.device) for _ in range(2))
        together = max(1, min(8, 1024 // columns))
        launch(
            _presence, bags, together, self.e, self.rest, self.starts, bags, present, absent, classes, self.e.shape[1],
            K=columns, BAGS=together,
        )  # fmt: skip
        return present, absent


def bag_probabilities(
    resident: Resident, weights: Array, bags: Tensor, classes: int, evidence: Evidence | None = None
) -> tuple[Tensor, Tensor]:
    """P(present) and P(absent), each (bags, classes), of the bags at some positions: the bits of the CPU."""
    linear = resident.linear(weights)
    found = [
        SoftMax.of(resident, some, linear, evidence).presence(classes)
        for some in torch.split(bags, max(1, ROWS_AT_ONCE // resident.largest_bag))
    ]
    if len(found) == 1:
        return found[0]
    present, absent = (torch.cat(parts) for parts in zip(*found, strict=True))
    return present, absent


def _evidence_of(evidence: Evidence | None, rows: Tensor, columns: int) -> tuple[Tensor, Tensor]:
    """The place of every row in the evidence, -1 where nothing is known of it, and the weights of the evidence."""
    if evidence is None or not len(evidence.rows):
        return torch.full_like(rows, -1), torch.zeros((1, columns), device=rows.device)
    known = torch.as_tensor(evidence.rows, device=rows.device)
    place = torch.searchsorted(known, rows).clamp(max=len(known) - 1)
    weights = torch.as_tensor(evidence.weights, dtype=torch.float32, device=rows.device)
    return torch.where(known[place] == rows, place, -1), pad(weights, (0, columns - weights.shape[1])).contiguous()


def power_of_two(columns: int) -> int:
    """Return the power of two from 16 on that so many columns fit in."""
    return max(16, int(triton.next_power_of_2(columns)))


def launch(kernel: Any, count: int, together: int, *given: Any, **options: Any) -> None:
    """Start a kernel on so many rows or bags, so many in a program, without fusing products that are not written so."""
    if count:
        kernel[(triton.cdiv(count, together),)](*given, **options, num_warps=4, enable_fp_fusion=False)
