"""Logits that are kept and moved along with the weights, and what they say at most about every pair.

Weights that moved by  W' = keep W + by along  (by: classes x rank, along: rank x features) move the logits by

    Z' = keep Z + (X along') by'

which reads the instances once but multiplies by `rank` directions instead of all classes. The logits so moved are off by
a little, and so is what follows from them. `spread` says by how much for every bag: P(present) may be larger or smaller
by that share. Ceilings are what the exact numbers cannot exceed then:

    min(P1, P0)  <=  min(P1^ (1 + spread), P0^ + P1^ spread, 1/2)                           P0  <=  P0^ + P1^ spread

A gradient is a sum over instances of k_i x_i' (`gradient_length`), with ||k_i||^2 = p_ic^2 + q_ic^2 sum_{t != c} p_it^2.
With K the bag's Gram matrix its squared norm is at most

    row sum * sum_i ||k_i||^2,   or   sum_i K_ii ||k_i||^2 + overlap * [(sum_i ||k_i||)^2 - sum_i ||k_i||^2]

where `row sum` is the largest of |K| and `overlap` the largest |K_ij| beside the diagonal. The first is sharper for bags
whose instances share a class, the second for those in which one instance has it. Factors (1 + spread)^4 come to it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bagwise.kernels.blocks import each_block, scratch
from bagwise.kernels.compile import Array, kernel
from bagwise.kernels.instances import Instances
from bagwise.kernels.presence import bag_presence
from bagwise.kernels.product import Linear, pack, padded, product_into
from bagwise.kernels.softmax import softmax_rows

TINY = 1e-30


@dataclass(frozen=True)
class Move:
    """W' = keep W + by along."""

    keep: float
    by: Array
    along: Array


Change = Move | Linear | None


@kernel
def _nearest_sides(e: Array, rest: Array, offsets: Array, first: int, last: int, spread: Array, sides: Array) -> None:
    absent, present = np.empty(e.shape[1], e.dtype), np.empty(e.shape[1], e.dtype)
    half, tiny = e.dtype.type(0.5), e.dtype.type(TINY)
    base = offsets[first]
    for b in range(first, last):
        rows = slice(offsets[b] - base, offsets[b + 1] - base)
        bag_presence(e[rows], rest[rows], absent, present)
        for c in range(sides.shape[1]):
            more = present[c] * spread[b] + tiny
            sides[b, c] = min(min(present[c] + more, absent[c] + more), half)


@kernel
def _add_squares(e: Array, rest: Array, length: Array, sums: Array) -> None:
    """Add ||k_i||^2, ||k_i||^2 K_ii and ||k_i|| of every class, for one instance."""
    zero, one = e.dtype.type(0), e.dtype.type(1)
    below, tops = zero, zero
    for c in range(e.shape[0]):
        below += e[c] * e[c] if e[c] < one else zero
        tops += zero if e[c] < one else one
    s = one + rest
    inverse = one / s
    others = (below + tops - one) / (rest * rest) if rest > e.dtype.type(TINY) else one
    at_top = inverse * inverse * (one + min(others, one))
    for c in range(e.shape[0]):
        p = e[c] * inverse
        q = e[c] / (s - e[c] if e[c] < one else one)
        left = max(tops + below - e[c] * e[c], zero) * inverse * inverse
        square = p * p + q * q * left if e[c] < one else at_top
        sums[0, c] += square
        sums[1, c] += square * length
        sums[2, c] += math.sqrt(square)


@kernel
def _longest(
    e: Array,
    rest: Array,
    offsets: Array,
    first: int,
    last: int,
    spread: Array,
    diagonal: Array,
    row_sum: Array,
    overlap: Array,
    lengths: Array,
    absences: Array,
) -> None:
    absent, present = np.empty(e.shape[1], e.dtype), np.empty(e.shape[1], e.dtype)
    sums = np.empty((3, e.shape[1]), e.dtype)
    one, tiny = e.dtype.type(1), e.dtype.type(TINY)
    base = offsets[first]
    for b in range(first, last):
        rows = slice(offsets[b] - base, offsets[b + 1] - base)
        bag_presence(e[rows], rest[rows], absent, present)
        sums[:] = 0
        for i in range(offsets[b], offsets[b + 1]):
            _add_squares(e[i - base], rest[i - base], diagonal[i], sums)
        factor = (one + spread[b]) * (one + spread[b])
        for c in range(lengths.shape[1]):
            together = row_sum[b] * sums[0, c]
            apart = sums[1, c] + overlap[b] * max(sums[2, c] * sums[2, c] - sums[0, c], e.dtype.type(0))
            lengths[b, c] = math.sqrt(min(together, apart)) * factor + tiny
            absences[b, c] = absent[c] + present[c] * spread[b] + tiny


@dataclass(frozen=True)
class KeptLogits:
    """Logits (without bias) of all instances under some weights."""

    instances: Instances
    values: Array

    @classmethod
    def room(cls, instances: Instances, columns: int) -> "KeptLogits":
        """Room for them, to be filled by a first change."""
        return cls(instances, np.empty((len(instances.x), padded(columns)), instances.precision))

    def nearest_sides(self, change: Change, bias: Array, spread: Array, classes: int) -> Array:
        """At most min(P1, P0) of every pair, after `change`."""
        sides = np.empty((len(spread), classes), self.values.dtype)
        offsets = self.instances.offsets

        def block(e: Array, rest: Array, first: int, last: int) -> None:
            _nearest_sides(e, rest, offsets, first, last, spread, sides)

        self._each(change, bias, block)
        return sides

    def longest(
        self, change: Change, bias: Array, spread: Array, bounds: "GramBounds", classes: int
    ) -> tuple[Array, Array]:
        """At most the norm of d log P(absent)/d weights, and at most P(absent), of every pair, after `change`."""
        shape, offsets = (len(spread), classes), self.instances.offsets
        lengths, absences = np.empty(shape, self.values.dtype), np.empty(shape, self.values.dtype)

        def block(e: Array, rest: Array, first: int, last: int) -> None:
            _longest(e, rest, offsets, first, last, spread, *bounds, lengths, absences)

        self._each(change, bias, block)
        return lengths, absences

    def _each(self, change: Change, bias: Array, use: Callable[[Array, Array, int, int], None]) -> None:
        """Change the logits of every block and use their soft-max while it is warm."""
        offsets, apply = self.instances.offsets, self._applied(change)
        padded_bias = Linear.padded_bias(bias, self.values.dtype)

        def block(first: int, last: int) -> None:
            rows = slice(offsets[first], offsets[last])
            kept = self.values[rows]
            apply(rows, kept)
            e = scratch("logits", kept.shape, kept.dtype)
            e[:] = kept
            rest = scratch("rest", (len(kept),), kept.dtype)
            softmax_rows(e, padded_bias, rest)
            use(e, rest, first, last)

        each_block(offsets, self.values.shape[1], block)

    def _applied(self, change: Change) -> Callable[[slice, Array], None]:
        if change is None:
            return lambda rows, kept: None
        x = self.instances
        if isinstance(change, Linear):
            anew = change
            return lambda rows, kept: product_into(kept, x.rows(rows), anew.packed, 0.0)
        width = padded(len(change.along))
        by = np.zeros((len(change.by), width), self.values.dtype)
        by[:, : len(change.along)] = change.by
        along, back, keep = pack(change.along), pack(by), change.keep

        def move(rows: slice, kept: Array) -> None:
            part = scratch("along", (len(kept), width), kept.dtype)
            product_into(part, x.rows(rows), along, 0.0)
            product_into(kept, part, back, keep)

        return move


def radii(instances: Instances) -> Array:
    """The length of the longest raw row of every bag, rounded up."""
    offsets = instances.offsets
    longest = np.empty(len(offsets) - 1)

    def block(first: int, last: int) -> None:
        rows = instances.rows(slice(offsets[first], offsets[last]))
        squares = np.einsum("ij,ij->i", rows, rows, dtype=float)
        longest[first:last] = np.maximum.reduceat(squares, offsets[first:last] - offsets[first])

    each_block(offsets, instances.x.shape[1], block)
    return 1.0001 * np.sqrt(longest)


class GramBounds(NamedTuple):
    """Of every instance K_ii; of every bag the largest row sum of |K| and the largest |K_ij| beside the diagonal."""

    diagonal: Array
    row_sum: Array
    overlap: Array

    @classmethod
    def of(cls, instances: Instances) -> "GramBounds":
        """From the Gram matrices that are kept; for other bags the lengths of the instances have to do."""
        offsets, grams = instances.offsets, instances.grams
        bags, dtype = len(offsets) - 1, instances.precision
        bounds = cls(np.zeros(offsets[-1], dtype), np.zeros(bags, dtype), np.zeros(bags, dtype))
        _bound_grams(grams.entries, grams.offsets, offsets, *bounds)
        for b in np.flatnonzero(np.diff(grams.offsets) == 0):
            lengths = (instances.transformed(*offsets[b : b + 2]).astype(float) ** 2).sum(axis=1)
            bounds.diagonal[offsets[b] : offsets[b + 1]] = lengths
            bounds.row_sum[b], bounds.overlap[b] = lengths.sum(), lengths.max()
        for bound in bounds:
            bound *= 1.0001
        return bounds


@kernel
def _bound_grams(
    entries: Array, starts: Array, offsets: Array, diagonal: Array, row_sum: Array, overlap: Array
) -> None:
    for b in range(row_sum.shape[0]):
        n = offsets[b + 1] - offsets[b]
        for i in range(n if starts[b + 1] > starts[b] else 0):
            total = entries.dtype.type(0)
            for j in range(n):
                size = abs(entries[starts[b] + i * n + j])
                total += size
                if j == i:
                    diagonal[offsets[b] + i] = size
                else:
                    overlap[b] = max(overlap[b], size)
            row_sum[b] = max(row_sum[b], total)
