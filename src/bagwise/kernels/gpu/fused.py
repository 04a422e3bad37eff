"""Triton kernels: features are read once and nothing but the result is written.

A program takes as many bags as fill its rows, each padded to the power of two above its size. Products of these small
blocks are taken as one product of the whole tile, of which the blocks on the diagonal count: the tensor cores do that
faster than other units could do the blocks alone. The formulas are those of `plain`.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn.functional import pad
from triton.runtime.interpreter import InterpretedFunction

if TYPE_CHECKING:
    from bagwise.kernels.gpu.resident import Bags, Linear, Resident
    from bagwise.kernels.gpu.scoring import Wanted

LENGTH_ROWS = 64
MOST_COLUMNS = 256
BEYOND = 16
NEVER = -1e30
# The members of `scoring.Kind`, and its `LEAST`.
BOTH, PRODUCT, HIGHEST = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)
LEAST = tl.constexpr(1e-30)


@dataclass(frozen=True)
class Tile:
    """What a program takes at once: rows times columns, features; its warps, and how far it loads ahead."""

    numbers: int
    warps: int
    features: int = 64
    stages: int = 1


# By measurement on an H200 (benchmarks/gpu.py), in float32 and in TF32.
PRESENCE_TILES = {False: Tile(4096, 4), True: Tile(8192, 4)}
LENGTH_TILES = {False: Tile(1024, 2), True: Tile(1024, 1)}


@triton.jit
def _or(absent, present, absent_next, present_next):
    return absent * absent_next, present + absent * present_next


@triton.jit
def _times(a, b):
    return a * b


@triton.jit
def _logits(
    x, row, there, weights, bias,
    D: tl.constexpr, K: tl.constexpr, MORE: tl.constexpr, PART: tl.constexpr, ROWS: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """Logits of the first K columns and, where there are `MORE`, of so many beyond them."""
    c, beyond = tl.arange(0, K), K + tl.arange(0, MORE if MORE else 16)
    logits = tl.zeros((ROWS, K), tl.float32)
    more = tl.zeros((ROWS, MORE if MORE else 16), tl.float32)
    for start in tl.static_range(0, D, PART):
        d = start + tl.arange(0, PART)
        inside = d < D
        part = tl.load(x + row[:, None] * D + d[None, :], mask=there[:, None] & inside[None, :], other=0.0)
        w = tl.load(weights + c[:, None] * D + d[None, :], mask=inside[None, :], other=0.0)
        logits = tl.dot(part, tl.trans(w), logits, input_precision=PRECISION)
        if MORE:
            w = tl.load(weights + beyond[:, None] * D + d[None, :], mask=inside[None, :], other=0.0)
            more = tl.dot(part, tl.trans(w), more, input_precision=PRECISION)
    if MORE:
        more += tl.load(bias + beyond)[None, :]
    return logits + tl.load(bias + c)[None, :], more


@triton.jit
def _softmax(logits, more, MORE: tl.constexpr):
    """e of both parts of the columns, its sum but for one of the largest, that sum and 1, and the sum of the others."""
    largest = tl.max(logits, 1)
    if MORE:
        largest = tl.maximum(largest, tl.max(more, 1))
    e = tl.exp(logits - largest[:, None])
    below, tops = tl.sum(tl.where(e < 1.0, e, 0.0), 1), tl.sum(tl.where(e < 1.0, 0.0, 1.0), 1)
    if MORE:
        more = tl.exp(more - largest[:, None])
        below += tl.sum(tl.where(more < 1.0, more, 0.0), 1)
        tops += tl.sum(tl.where(more < 1.0, 0.0, 1.0), 1)
    rest = below + (tops - 1.0)
    total = 1.0 + rest
    others = tl.where(e < 1.0, total[:, None] - e, rest[:, None])
    return e, more, rest, total, others


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
    """The bags of this program, and where their numbers go."""
    number = tl.program_id(0) * BAGS + tl.arange(0, BAGS)
    bag = tl.load(bags + number, mask=number < count, other=0)
    c = tl.arange(0, K)
    return bag, bag[:, None] * classes + c[None, :], (number < count)[:, None] & (c < classes)[None, :]


@triton.jit
def _presence(
    x, base, offsets, bags, count, weights, bias, factors, share, _of_length, first_out, second_out, classes,
    D: tl.constexpr, K: tl.constexpr, MORE: tl.constexpr, PART: tl.constexpr, N: tl.constexpr, BAGS: tl.constexpr,
    WANTED: tl.constexpr, CHUNKED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    slot, first, last = _bags(bags, offsets, count, BAGS, N)
    absent = tl.full((BAGS, K), 1.0, tl.float32)
    present = tl.zeros((BAGS, K), tl.float32)
    chunks = tl.cdiv(tl.max(last - first), N) if CHUNKED else 1
    for chunk in range(chunks):
        row = first + chunk * N + slot
        there = row < last
        logits, more = _logits(x, row - base, there, weights, bias, D, K, MORE, PART, BAGS * N, PRECISION)
        e, _, _, total, others = _softmax(logits, more, MORE)
        inverse = (1.0 / total)[:, None]
        p = tl.where(there[:, None], e * inverse, 0.0)
        passed = tl.where(there[:, None], others * inverse, 1.0)
        absent_here, present_here = tl.reduce((tl.reshape(passed, (BAGS, N, K)), tl.reshape(p, (BAGS, N, K))), 1, _or)
        present += absent * present_here
        absent *= absent_here
    bag, place, inside = _places(bags, count, classes, BAGS, K)
    if WANTED == BOTH:
        tl.store(first_out + place, present, mask=inside)
        tl.store(second_out + place, absent, mask=inside)
    elif WANTED == PRODUCT:
        factor = tl.load(factors + tl.arange(0, K))
        tl.store(first_out + place, present * absent * factor[None, :], mask=inside)
    else:
        off = present * tl.load(share + bag)[:, None] + LEAST
        if WANTED == HIGHEST:
            tl.store(first_out + place, present + off, mask=inside)
        else:
            tl.store(first_out + place, tl.minimum(tl.minimum(present, absent) + off, 0.5), mask=inside)


@triton.jit
def _lengths(
    x, base, offsets, bags, count, grams, weights, bias, factors, share, of_length, first_out, second_out, classes,
    D: tl.constexpr, K: tl.constexpr, MORE: tl.constexpr, PART: tl.constexpr, N: tl.constexpr, BAGS: tl.constexpr,
    WANTED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    ROWS: tl.constexpr = BAGS * N
    slot, first, last = _bags(bags, offsets, count, BAGS, N)
    row = first + slot
    there = row < last
    logits, more = _logits(x, row - base, there, weights, bias, D, K, MORE, PART, ROWS, PRECISION)
    r = tl.arange(0, ROWS)
    together = (r[:, None] // N == r[None, :] // N) & there[:, None] & there[None, :]
    start = (tl.program_id(0) * ROWS + r).to(tl.int64)[:, None] * N + (r % N)[None, :]
    gram = tl.load(grams + start, mask=together, other=0.0)
    e, more, rest, total, others = _softmax(logits, more, MORE)
    inverse = 1.0 / total
    p = tl.where(there[:, None], e * inverse[:, None], 0.0)
    passed = tl.where(there[:, None], others * inverse[:, None], 1.0)
    absent = tl.reduce(tl.reshape(passed, (BAGS, N, K)), 1, _times)
    top = tl.argmax(e, 1)
    if MORE:
        # A row without a 1 among the first columns has it beyond them.
        top = tl.where(tl.max(e, 1) < 1.0, K + tl.argmax(more, 1), top)
    is_top = tl.arange(0, K)[None, :] == top[:, None]
    q = tl.where(is_top | ~there[:, None], 0.0, e / tl.where(is_top, 1.0, others))
    not_top = tl.where(rest > 0.0, rest, 1.0)[:, None]
    u = tl.where(is_top, 0.0, e / not_top)
    below = rest * inverse
    same = top[:, None] == top[None, :]
    chosen = tl.where(is_top, 1.0, 0.0)
    n = tl.dot(u, tl.trans(u), input_precision=PRECISION)
    u_there = tl.dot(u, tl.trans(chosen), input_precision=PRECISION)
    if MORE:
        is_top_beyond = K + tl.arange(0, MORE)[None, :] == top[:, None]
        u_beyond = tl.where(is_top_beyond, 0.0, more / not_top)
        n = tl.dot(u_beyond, tl.trans(u_beyond), n, input_precision=PRECISION)
        chosen_beyond = tl.where(is_top_beyond, 1.0, 0.0)
        u_there = tl.dot(u_beyond, tl.trans(chosen_beyond), u_there, input_precision=PRECISION)
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
    bag, place, inside = _places(bags, count, classes, BAGS, K)
    if WANTED == BOTH:
        tl.store(first_out + place, length, mask=inside)
        tl.store(second_out + place, absent, mask=inside)
    elif WANTED == PRODUCT:
        factor = tl.load(factors + tl.arange(0, K))
        tl.store(first_out + place, length * absent * factor[None, :], mask=inside)
    else:
        surprise = -tl.log(tl.maximum(absent, LEAST))
        tl.store(first_out + place, length + tl.load(of_length + bag)[:, None] * surprise, mask=inside)
        tl.store(second_out + place, absent + (1.0 - absent) * tl.load(share + bag)[:, None] + LEAST, mask=inside)


def serves(resident: "Resident", linear: "Linear") -> bool:
    """Return whether these instances can be scored by the fused kernels."""
    on_card = resident.device.type == "cuda" or isinstance(_presence, InterpretedFunction)
    return on_card and resident.x.dtype == torch.float32 and len(linear.weights) <= MOST_COLUMNS


def presence(x: Tensor, bags: "Bags", linear: "Linear", wanted: "Wanted", tf32: bool) -> None:
    """P(present) and P(absent) of bags, their product with the factors, or upper bounds."""
    tile = PRESENCE_TILES[tf32]
    rows = max(bags.padded, tile.numbers // max(64, _columns(linear, wanted)[0]), 16)
    _launch(_presence, x, bags, linear, wanted, rows, tf32, tile, CHUNKED=bags.longest > bags.padded)


def lengths(x: Tensor, bags: "Bags", grams: Tensor, linear: "Linear", wanted: "Wanted", tf32: bool) -> None:
    """Gradient lengths and P(absent) of bags of at most `LENGTH_ROWS` rows, their product, or upper bounds."""
    tile = LENGTH_TILES[tf32]
    rows = max(16, bags.padded, tile.numbers // 64)
    tile = tile if rows * _columns(linear, wanted)[0] <= tile.numbers else replace(tile, warps=4)
    _launch(_lengths, x, bags, linear, wanted, rows, tf32, tile, grams)


def _launch(
    kernel: Any, x: Tensor, bags: "Bags", linear: "Linear", wanted: "Wanted", rows: int, tf32: bool, tile: Tile,
    *given: Tensor, **options: Any,
) -> None:  # fmt: skip
    at_once, (columns, more) = rows // bags.padded, _columns(linear, wanted)
    weights, bias, factors = _padded(linear, wanted, columns + more)
    spread = (bias, bias) if wanted.spread is None else (wanted.spread.share, wanted.spread.of_length)
    kernel[(triton.cdiv(len(bags.numbers), at_once),)](
        x, bags.first_row, bags.offsets, bags.numbers, len(bags.numbers), *given, weights, bias, factors, *spread,
        wanted.out[0], wanted.out[-1], wanted.classes,
        D=x.shape[1], K=columns, MORE=more, PART=min(tile.features, max(16, triton.next_power_of_2(x.shape[1]))),
        N=bags.padded, BAGS=at_once, WANTED=int(wanted.kind),
        PRECISION="tf32" if tf32 else "tf32x3", num_warps=tile.warps, num_stages=tile.stages, enable_fp_fusion=True,
        **options,
    )  # fmt: skip


def _columns(linear: "Linear", wanted: "Wanted") -> tuple[int, int]:
    """Return how many columns there are results of, a power of two, and how many beyond these only count in sums.

    A model of 64 classes has a background: rather 64 + 16 columns than 128.
    """
    outputs, columns = len(linear.weights), max(16, int(triton.next_power_of_2(wanted.classes)))
    if outputs <= columns:
        return columns, 0
    return (columns, BEYOND) if outputs <= columns + BEYOND else (int(triton.next_power_of_2(outputs)), 0)


def _padded(linear: "Linear", wanted: "Wanted", columns: int) -> tuple[Tensor, Tensor, Tensor]:
    """Weights, bias and factors with further columns that are never likely."""
    more = columns - len(linear.weights)
    factors = linear.bias if wanted.factors is None else wanted.factors
    return (
        pad(linear.weights, (0, 0, 0, more)).contiguous(),
        pad(linear.bias, (0, more), value=NEVER).contiguous(),
        pad(factors, (0, columns - len(factors))).contiguous(),
    )
