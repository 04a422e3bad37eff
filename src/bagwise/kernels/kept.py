"""Logits that are kept and moved along with the weights, and what they say at most about every pair.

Weights that moved by  W' = keep W + by along  (by: classes x rank, along: rank x features) move the logits by

    Z' = keep Z + (X along') by'

which reads the instances once but multiplies by `rank` directions instead of all classes. The logits so moved are off
by a little, and so is what follows from them. `spread` says by how much for every bag: P(present) may be larger or
smaller by that share. Ceilings are what the exact numbers cannot exceed then:

    min(P1, P0)  <=  min(P1^ (1 + spread), P0^ + P1^ spread, 1/2)                           P0  <=  P0^ + P1^ spread

A gradient is a sum over instances of k_i x_i' (`gradient_length`), ||k_i||^2 = p_ic^2 (1 + r_ic), where r_ic is the sum
of the squared shares of the other classes in 1 - p_ic: known for the likeliest class m, and for another at most
min(1, sum_t p_it^2 / (1 - p_ic)^2) with 1 - p_ic >= max(p_im, 1 - p_im). With K the bag's Gram matrix the squared norm
is at most

    row sum * sum_i ||k_i||^2,   or   sum_i K_ii ||k_i||^2 + overlap * [(sum_i ||k_i||)^2 - sum_i ||k_i||^2]

where `row sum` is the largest of |K| and `overlap` the largest |K_ij| beside the diagonal. The first is sharper for
bags whose instances share a class, the second for those in which one has it. Factors (1 + spread)^4 come to it.
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
from bagwise.kernels.softmax import argmax_of, softmax_of

TINY = 1e-30
SMALL = 1e-15


@dataclass(frozen=True)
class Move:
    """W' = keep W + by along."""

    keep: float
    by: Array
    along: Array


Change = Move | Linear | None


@kernel
def _nearest_sides(e: Array, rest: Array, offsets: Array, spread: Array, sides: Array) -> None:
    absent, present = np.empty(e.shape[1], e.dtype), np.empty(e.shape[1], e.dtype)
    half, tiny = e.dtype.type(0.5), e.dtype.type(TINY)
    for b in range(sides.shape[0]):
        rows = slice(offsets[b] - offsets[0], offsets[b + 1] - offsets[0])
        bag_presence(e[rows], rest[rows], absent, present)
        for c in range(sides.shape[1]):
            more = present[c] * spread[b] + tiny
            sides[b, c] = min(min(present[c] + more, absent[c] + more), half)


@kernel
def _add_row(e: Array, rest: float, diagonal: float, sums: Array, weighted: Array, roots: Array) -> None:
    """Add ||k_i||^2, K_ii ||k_i||^2 and ||k_i|| of one instance, each class's at least."""
    zero, one = e.dtype.type(0), e.dtype.type(1)
    # Ties are counted in whole numbers: a float the compiler may subtract from the sum first, which would cancel.
    below, ties = zero, -1
    for c in range(e.shape[0]):
        below += e[c] * e[c] if e[c] < one else zero
        ties += 0 if e[c] < one else 1
    besides = below + e.dtype.type(ties)
    wide, inverse = max(rest, one), one / (one + rest)
    factor = inverse * math.sqrt(one + min((one + besides) / (wide * wide), one))
    for c in range(e.shape[0]):
        root = e[c] * factor
        square = root * root
        sums[c] += square
        weighted[c] += square * diagonal
        roots[c] += root
    others = besides / (rest * rest) if rest > e.dtype.type(SMALL) else one
    at_top = inverse * math.sqrt(one + min(others, one))
    m = argmax_of(e)
    sums[m] += at_top * at_top - factor * factor
    weighted[m] += (at_top * at_top - factor * factor) * diagonal
    roots[m] += at_top - factor


@kernel
def _longest(
    e: Array,
    rest: Array,
    offsets: Array,
    spread: Array,
    diagonal: Array,
    row_sum: Array,
    overlap: Array,
    lengths: Array,
    absences: Array,
) -> None:
    absent, present = np.empty(e.shape[1], e.dtype), np.empty(e.shape[1], e.dtype)
    sums, weighted, roots = np.empty(e.shape[1], e.dtype), np.empty(e.shape[1], e.dtype), np.empty(e.shape[1], e.dtype)
    zero, one, tiny, small = e.dtype.type(0), e.dtype.type(1), e.dtype.type(TINY), e.dtype.type(SMALL)
    for b in range(lengths.shape[0]):
        rows = slice(offsets[b] - offsets[0], offsets[b + 1] - offsets[0])
        bag_presence(e[rows], rest[rows], absent, present)
        sums[:] = zero
        weighted[:] = zero
        roots[:] = zero
        for i in range(rows.start, rows.stop):
            _add_row(e[i], rest[i], diagonal[i], sums, weighted, roots)
        factor, more, together, apart = (one + spread[b]) * (one + spread[b]), spread[b], row_sum[b], overlap[b]
        for c in range(lengths.shape[1]):
            separately = weighted[c] + apart * max(roots[c] * roots[c] - sums[c], zero)
            lengths[b, c] = math.sqrt(max(min(together * sums[c], separately), zero)) * factor + small
            absences[b, c] = (absent[c] + present[c] * more) * (one + more) + tiny


@kernel
def best_allowed(scores: Array, allowed: Array, best: Array) -> None:
    """The largest allowed score of every row; minus infinity where nothing is."""
    for b in range(scores.shape[0]):
        best[b] = -np.inf
        for c in range(scores.shape[1]):
            if allowed[b, c] and scores[b, c] > best[b]:
                best[b] = scores[b, c]


@dataclass(frozen=True)
class KeptLogits:
    """Logits (without bias) of all instances under some weights."""

    instances: Instances
    values: Array

    @classmethod
    def room(cls, instances: Instances, columns: int) -> "KeptLogits":
        """Room for them, to be filled by a first change."""
        return cls(instances, np.empty((len(instances.x), padded(columns)), instances.precision))

    def nearest_sides(
        self, change: Change, bias: Array, spread: Array, classes: int, use: Callable[[int, int, Array], None]
    ) -> None:
        """Use(first, last, at most min(P1, P0) of their pairs) for every block of bags, after `change`."""
        offsets = self.instances.offsets

        def block(e: Array, rest: Array, first: int, last: int) -> None:
            sides = scratch("sides", (last - first, classes), e.dtype)
            _nearest_sides(e, rest, offsets[first : last + 1], spread[first:last], sides)
            use(first, last, sides)

        self._each(change, bias, block)

    def longest(
        self,
        change: Change,
        bias: Array,
        spread: Array,
        bounds: "GramBounds",
        classes: int,
        use: Callable[[int, int, Array, Array], None],
    ) -> None:
        """The same with at most the norm of d log P(absent)/d weights and at most P(absent)."""
        offsets = self.instances.offsets

        def block(e: Array, rest: Array, first: int, last: int) -> None:
            shape, bags = (last - first, classes), slice(first, last)
            lengths, absences = scratch("lengths", shape, e.dtype), scratch("absences", shape, e.dtype)
            diagonal = bounds.diagonal[offsets[first] : offsets[last]]
            starts = offsets[first : last + 1]
            _longest(
                e, rest, starts, spread[bags], diagonal, bounds.row_sum[bags], bounds.overlap[bags], lengths, absences
            )
            use(first, last, lengths, absences)

        self._each(change, bias, block)

    def _each(self, change: Change, bias: Array, use: Callable[[Array, Array, int, int], None]) -> None:
        """Change the logits of every block and use their soft-max while it is warm."""
        offsets, apply = self.instances.offsets, self._applied(change)
        padded_bias = Linear.padded_bias(bias, self.values.dtype)

        def block(first: int, last: int) -> None:
            rows = slice(offsets[first], offsets[last])
            kept = self.values[rows]
            apply(rows, kept)
            e, rest = scratch("logits", kept.shape, kept.dtype), scratch("rest", (len(kept),), kept.dtype)
            softmax_of(kept, padded_bias, e, rest)
            use(e, rest, first, last)

        each_block(offsets, self.values.shape[1], block)

    def _applied(self, change: Change) -> Callable[[slice, Array], None]:
        if change is None:
            return lambda _rows, _kept: None
        x = self.instances
        if isinstance(change, Linear):
            anew = change
            return lambda rows, kept: product_into(kept, x.rows(rows), anew.packed, 0.0)
        along, by, keep, rank = pack(change.along), pack(change.by), change.keep, len(change.along)

        def move(rows: slice, kept: Array) -> None:
            part = scratch("along", (len(kept), padded(rank)), kept.dtype)
            product_into(part, x.rows(rows), along, 0.0)
            product_into(kept, part[:, :rank], by, keep)

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
