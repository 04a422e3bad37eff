"""Triton kernels: features are read once and nothing but the result is written.

A program takes as many bags as fill its rows, each padded to the power of two above its size. Products of two rows of a
bag are taken in blocks of rows, of which those in the same bag count: the tensor cores do that faster than other units
could do the bags alone. A block belongs to one warp, so that warps need not wait for each other. The formulas are those
of `plain`.
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
    """What a program takes at once: rows times columns, features; its warps, and how far it loads ahead.

    For lengths, rows times columns of a warp, and the most registers of a thread where there are 1024 of these: with
    fewer, threads need fewer anyway; with more, they need all.
    """

    numbers: int
    warps: int
    features: int = 64
    stages: int = 1
    registers: int | None = None


# By measurement on an H200 (benchmarks/gpu.py), in float32 and in TF32.
PRESENCE_TILES = {False: Tile(4096, 4), True: Tile(8192, 4)}
LENGTH_TILES = {False: Tile(1024, 4), True: Tile(2048, 4, registers=168)}


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
def _blocks(a, BLOCK: tl.constexpr):
    """Rows in blocks, columns in another order, which is the same to a sum over them.

    In this order a lane has of a product what the tensor cores want of a factor from it: nothing is exchanged.
    """
    K: tl.constexpr = a.shape[1]
    a = tl.reshape(a, (a.shape[0] // BLOCK, BLOCK, K // 8, 4, 2))
    return tl.reshape(tl.permute(a, (0, 1, 2, 4, 3)), (a.shape[0], BLOCK, K))


@triton.jit
def _dot(a, b, sums, PRECISION: tl.constexpr):
    """Products of blocks, each by a warp, or of one block, by all of them."""
    if a.shape[0] > 1:
        sums = tl.dot(a, b, sums, input_precision=PRECISION)
    else:
        shape: tl.constexpr = sums.shape
        a, b = tl.reshape(a, a.shape[1:]), tl.reshape(b, b.shape[1:])
        sums = tl.reshape(tl.dot(a, b, tl.reshape(sums, shape[1:]), input_precision=PRECISION), shape)
    return sums


@triton.jit
def _lengths(
    x, base, offsets, bags, count, grams, weights, bias, factors, share, of_length, first_out, second_out, classes,
    D: tl.constexpr, K: tl.constexpr, MORE: tl.constexpr, PART: tl.constexpr, N: tl.constexpr, BAGS: tl.constexpr,
    BLOCK: tl.constexpr, WANTED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    ROWS: tl.constexpr = BAGS * N
    BLOCKS: tl.constexpr = ROWS // BLOCK
    slot, first, last = _bags(bags, offsets, count, BAGS, N)
    row = first + slot
    there = row < last
    logits, more = _logits(x, row - base, there, weights, bias, D, K, MORE, PART, ROWS, PRECISION)
    e, more, rest, total, others = _softmax(logits, more, MORE)
    inverse, inverse_rest = 1.0 / total, 1.0 / tl.maximum(rest, LEAST)
    passed = tl.where(there[:, None], others * inverse[:, None], 1.0)
    absent = tl.reduce(tl.reshape(passed, (BAGS, N, K)), 1, _times)

    c, beyond = tl.arange(0, K), K + tl.arange(0, MORE if MORE else 16)
    top = tl.min(tl.where(e < 1.0, K + MORE, c[None, :]), 1)
    if MORE:
        top = tl.minimum(top, tl.min(tl.where(more < 1.0, K + MORE, beyond[None, :]), 1))
    is_top = c[None, :] == top[:, None]
    below = tl.where(is_top, 0.0, e)
    zeros = tl.zeros((BLOCKS, BLOCK, BLOCK), tl.float32)
    p = tl.permute(_blocks(e * inverse[:, None], BLOCK), (0, 2, 1))
    v = _dot(_blocks(below * inverse_rest[:, None], BLOCK), p, zeros, PRECISION)
    p_there = _dot(_blocks(tl.where(is_top, 1.0, 0.0), BLOCK), p, zeros, PRECISION)
    if MORE:
        is_top_beyond = beyond[None, :] == top[:, None]
        below_beyond = tl.where(is_top_beyond, 0.0, more)
        p = tl.permute(_blocks(more * inverse[:, None], BLOCK), (0, 2, 1))
        v = _dot(_blocks(below_beyond * inverse_rest[:, None], BLOCK), p, v, PRECISION)
        p_there = _dot(_blocks(tl.where(is_top_beyond, 1.0, 0.0), BLOCK), p, p_there, PRECISION)

    # Gram matrices are 0 where a row is missing.
    r = tl.arange(0, BLOCK)
    number = (tl.program_id(0) * BLOCKS + tl.arange(0, BLOCKS))[:, None] * (BLOCK // N) + (r // N)[None, :]
    together = (r[:, None] // N == r[None, :] // N)[None, :, :] & (number < count)[:, :, None]
    start = (number.to(tl.int64) * N + (r % N)[None, :]) * N
    gram = tl.load(grams + start[:, :, None] + (r % N)[None, None, :], mask=together, other=0.0)

    of_block = tl.reshape(top, (BLOCKS, BLOCK))
    same = of_block[:, :, None] == of_block[:, None, :]
    at_own = tl.reshape(inverse, (BLOCKS, BLOCK))
    rho = tl.reshape(rest * inverse, (BLOCKS, BLOCK))
    odds_there = p_there / tl.where(same, 1.0, 1.0 - p_there)
    odds = tl.where(same, tl.reshape(inverse_rest, (BLOCKS, BLOCK))[:, None, :], odds_there)
    of_top = gram * (p_there + odds * v)
    of_top = at_own * tl.sum(tl.where(same, of_top, 2.0 * of_top), 2)
    overlap = rho[:, :, None] * v + at_own[:, :, None] * p_there

    # e / others, by what takes less time than a division.
    root = tl.rsqrt(tl.where(is_top, 1.0, others))
    q = below * root * root
    q_of_block, zeros = tl.reshape(q, (BLOCKS, BLOCK, K)), tl.zeros((BLOCKS, BLOCK, K), tl.float32)
    sums = tl.reshape(_dot(gram + gram * overlap, q_of_block, zeros, PRECISION), (ROWS, K))
    weighted = tl.reshape(_dot(gram, q_of_block, zeros, PRECISION), (ROWS, K))
    squared = q * (sums - below * (2.0 * inverse)[:, None] * weighted)
    squared = tl.where(is_top, tl.reshape(of_top, (ROWS,))[:, None], squared)
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
    tile, columns, block = LENGTH_TILES[tf32], _columns(linear, wanted)[0], max(16, bags.padded)
    rows = tile.warps * block if block * max(block, columns) <= tile.numbers else block
    tile = tile if block * columns == 1024 else replace(tile, registers=None)
    _launch(_lengths, x, bags, linear, wanted, rows, tf32, tile, grams, BLOCK=block)


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
        PRECISION="tf32" if tf32 else "tf32x3", num_warps=tile.warps, num_stages=tile.stages,
        maxnreg=tile.registers, enable_fp_fusion=True, **options,
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
