"""Triton kernels: features are read once and nothing but the result is written.

A program takes as many bags as fill its rows, each padded to the power of two above its size. Products of these small
blocks are taken as one product of the whole tile, of which the blocks on the diagonal count: the tensor cores do that
faster than other units could do the blocks alone. The formulas are those of `plain`.
"""

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn.functional import pad
from triton.runtime.interpreter import InterpretedFunction

if TYPE_CHECKING:
    from bagwise.kernels.device.resident import Block, Group, Linear, Resident
    from bagwise.kernels.device.scoring import Wanted

PRESENCE_ROWS = 128
LENGTH_ROWS = 64
MOST_COLUMNS = 256
PROBABILITIES, SCORES = tl.constexpr(0), tl.constexpr(1)
NEVER = -1e30


@triton.jit
def _or(absent, present, absent_next, present_next):
    return absent * absent_next, present + absent * present_next


@triton.jit
def _times(a, b):
    return a * b


@triton.jit
def _logits(
    x, row, there, weights, bias, shift, inverse, D: tl.constexpr, K: tl.constexpr, PART: tl.constexpr,
    SEEN: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """x W' + b of these rows and, where SEEN, the Gram matrix of what is seen of them."""
    c = tl.arange(0, K)
    logits = tl.zeros((ROWS, K), tl.float32)
    gram = tl.zeros((ROWS, ROWS if SEEN else 16), tl.float32)
    for start in tl.static_range(0, D, PART):
        d = start + tl.arange(0, PART)
        inside = d < D
        part = tl.load(x + row[:, None] * D + d[None, :], mask=there[:, None] & inside[None, :], other=0.0)
        if SEEN:
            s = tl.load(shift + d, mask=inside, other=0.0)
            i = tl.load(inverse + d, mask=inside, other=0.0)
            part = tl.where(there[:, None], (part - s[None, :]) * i[None, :], 0.0)
            gram = tl.dot(part, tl.trans(part), gram, input_precision=PRECISION)
        w = tl.load(weights + c[:, None] * D + d[None, :], mask=inside[None, :], other=0.0)
        logits = tl.dot(part, tl.trans(w), logits, input_precision=PRECISION)
    return logits + tl.load(bias + c)[None, :], gram


@triton.jit
def _softmax(logits):
    e = tl.exp(logits - tl.max(logits, 1)[:, None])
    rest = tl.sum(tl.where(e < 1.0, e, 0.0), 1) + (tl.sum(tl.where(e < 1.0, 0.0, 1.0), 1) - 1.0)
    total = 1.0 + rest
    others = tl.where(e < 1.0, total[:, None] - e, rest[:, None])
    return e, rest, total, others


@triton.jit
def _bags(bags, offsets, count, BAGS: tl.constexpr, N: tl.constexpr):
    """Of every row of the tile: its number in its bag, where the bag begins and ends; an empty bag beyond the last."""
    r = tl.arange(0, BAGS * N)
    number = tl.program_id(0) * BAGS + r // N
    bag = tl.load(bags + number, mask=number < count, other=0)
    first = tl.load(offsets + bag)
    last = tl.where(number < count, tl.load(offsets + bag + 1), first)
    return r % N, first, last


@triton.jit
def _places(bags, count, classes, BAGS: tl.constexpr, K: tl.constexpr):
    """Where the numbers of this program's bags go."""
    number = tl.program_id(0) * BAGS + tl.arange(0, BAGS)
    bag = tl.load(bags + number, mask=number < count, other=0)
    c = tl.arange(0, K)
    return bag[:, None] * classes + c[None, :], (number < count)[:, None] & (c < classes)[None, :]


@triton.jit
def _presence(
    x, base, offsets, bags, count, weights, bias, factors, first_out, second_out, classes,
    D: tl.constexpr, K: tl.constexpr, PART: tl.constexpr, N: tl.constexpr, BAGS: tl.constexpr,
    WANTED: tl.constexpr, CHUNKED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    slot, first, last = _bags(bags, offsets, count, BAGS, N)
    absent = tl.full((BAGS, K), 1.0, tl.float32)
    present = tl.zeros((BAGS, K), tl.float32)
    chunks = tl.cdiv(tl.max(last - first), N) if CHUNKED else 1
    for chunk in range(chunks):
        row = first + chunk * N + slot
        there = row < last
        logits, _ = _logits(
            x, row - base, there, weights, bias, x, x, D, K, PART, SEEN=False, PRECISION=PRECISION, ROWS=BAGS * N
        )
        e, rest, total, others = _softmax(logits)
        inverse = (1.0 / total)[:, None]
        p = tl.where(there[:, None], e * inverse, 0.0)
        passed = tl.where(there[:, None], others * inverse, 1.0)
        absent_here, present_here = tl.reduce((tl.reshape(passed, (BAGS, N, K)), tl.reshape(p, (BAGS, N, K))), 1, _or)
        present += absent * present_here
        absent *= absent_here
    place, inside = _places(bags, count, classes, BAGS, K)
    if WANTED == PROBABILITIES:
        tl.store(first_out + place, present, mask=inside)
        tl.store(second_out + place, absent, mask=inside)
    else:
        factor = tl.load(factors + tl.arange(0, K))
        tl.store(first_out + place, present * absent * factor[None, :], mask=inside)


@triton.jit
def _lengths(
    x, base, offsets, bags, count, weights, bias, shift, inverse_scale, factors, first_out, second_out, classes,
    constant, D: tl.constexpr, K: tl.constexpr, PART: tl.constexpr, N: tl.constexpr, BAGS: tl.constexpr,
    WANTED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    ROWS: tl.constexpr = BAGS * N
    slot, first, last = _bags(bags, offsets, count, BAGS, N)
    row = first + slot
    there = row < last
    logits, gram = _logits(
        x, row - base, there, weights, bias, shift, inverse_scale, D, K, PART, SEEN=True, PRECISION=PRECISION, ROWS=ROWS
    )
    r = tl.arange(0, ROWS)
    together = (r[:, None] // N == r[None, :] // N) & there[:, None] & there[None, :]
    gram = tl.where(together, gram + constant, 0.0)
    e, rest, total, others = _softmax(logits)
    inverse = 1.0 / total
    p = tl.where(there[:, None], e * inverse[:, None], 0.0)
    passed = tl.where(there[:, None], others * inverse[:, None], 1.0)
    absent = tl.reduce(tl.reshape(passed, (BAGS, N, K)), 1, _times)
    top = tl.argmax(e, 1)
    is_top = tl.arange(0, K)[None, :] == top[:, None]
    q = tl.where(is_top | ~there[:, None], 0.0, e / tl.where(is_top, 1.0, others))
    u = tl.where(is_top, 0.0, e / tl.where(rest > 0.0, rest, 1.0)[:, None])
    below = rest * inverse
    same = top[:, None] == top[None, :]
    chosen = tl.where(is_top, 1.0, 0.0)
    n = tl.dot(u, tl.trans(u), input_precision=PRECISION)
    u_there = tl.dot(u, tl.trans(chosen), input_precision=PRECISION)
    u_here = tl.trans(u_there)
    p_there = below[:, None] * u_there
    p_here = below[None, :] * u_here
    both = inverse[:, None] * inverse[None, :]
    apart = p_there * inverse[None, :] + p_here * inverse[:, None]
    overlap = below[:, None] * below[None, :] * n + tl.where(same, both, apart)
    cross = 2.0 * p_here / (1.0 - p_here) * (below[None, :] * n + u_there * inverse[None, :])
    of_top = tl.sum(gram * inverse[:, None] * tl.where(same, inverse[None, :] * n, cross), 1)
    pq = p * q
    squared = p * tl.dot(gram, p, input_precision=PRECISION)
    squared += q * tl.dot(gram * overlap, q, input_precision=PRECISION)
    squared -= pq * tl.dot(gram, pq, input_precision=PRECISION)
    squared += tl.where(is_top, of_top[:, None], 0.0)
    squared = tl.where(there[:, None], squared, 0.0)
    length = tl.sqrt(tl.maximum(tl.sum(tl.reshape(squared, (BAGS, N, K)), 1), 0.0))
    place, inside = _places(bags, count, classes, BAGS, K)
    if WANTED == PROBABILITIES:
        tl.store(first_out + place, length, mask=inside)
        tl.store(second_out + place, absent, mask=inside)
    else:
        factor = tl.load(factors + tl.arange(0, K))
        tl.store(first_out + place, length * absent * factor[None, :], mask=inside)


def serves(resident: "Resident", linear: "Linear") -> bool:
    """Whether these instances can be scored here."""
    on_card = resident.device.type == "cuda" or isinstance(_presence, InterpretedFunction)
    return on_card and resident.x.dtype == torch.float32 and len(linear.weights) <= MOST_COLUMNS


def presence(
    resident: "Resident", x: Tensor, block: "Block", group: "Group", raw: "Linear", wanted: "Wanted", tf32: bool
) -> None:
    """P(present) and P(absent) of a group of bags, or their product with the factors."""
    weights, bias, factors = _padded(raw, wanted)
    rows = max(PRESENCE_ROWS * 64 // max(64, len(weights)), group.padded)
    bags = rows // group.padded
    _presence[(triton.cdiv(len(group.bags), bags),)](
        x, block.rows[0], resident.offsets, group.bags, len(group.bags), weights, bias, factors,
        wanted.out[0], wanted.out[-1], wanted.classes,
        D=x.shape[1], K=len(weights), PART=_part(x), N=group.padded, BAGS=bags,
        WANTED=PROBABILITIES if wanted.factors is None else SCORES, CHUNKED=group.longest > group.padded,
        PRECISION=_precision(tf32), num_warps=_warps(rows * len(weights)),
    )  # fmt: skip


def lengths(
    resident: "Resident", x: Tensor, block: "Block", group: "Group", seen: "Linear", wanted: "Wanted", tf32: bool
) -> None:
    """Gradient lengths and P(absent) of a group of bags, or their product with the factors."""
    weights, bias, factors = _padded(seen, wanted)
    bags = LENGTH_ROWS // group.padded
    _lengths[(triton.cdiv(len(group.bags), bags),)](
        x, block.rows[0], resident.offsets, group.bags, len(group.bags), weights, bias,
        resident.shift, resident.inverse_scale, factors, wanted.out[0], wanted.out[-1], wanted.classes,
        float(resident.source.intercept), D=x.shape[1], K=len(weights), PART=_part(x), N=group.padded, BAGS=bags,
        WANTED=PROBABILITIES if wanted.factors is None else SCORES, PRECISION=_precision(tf32),
        num_warps=_warps(LENGTH_ROWS * len(weights) * 2),
    )  # fmt: skip


def _padded(linear: "Linear", wanted: "Wanted") -> tuple[Tensor, Tensor, Tensor]:
    """Weights, bias and factors with columns up to a power of two that are never likely."""
    columns = max(16, triton.next_power_of_2(len(linear.weights)))
    more = columns - len(linear.weights)
    factors = linear.bias if wanted.factors is None else wanted.factors
    return (
        pad(linear.weights, (0, 0, 0, more)).contiguous(),
        pad(linear.bias, (0, more), value=NEVER).contiguous(),
        pad(factors, (0, columns - len(factors))).contiguous(),
    )


def _part(x: Tensor) -> int:
    return min(128, max(16, triton.next_power_of_2(x.shape[1])))


def _precision(tf32: bool) -> str:
    return "tf32" if tf32 else "tf32x3"


def _warps(numbers: int) -> int:
    return 4 if numbers <= 8192 else 8
