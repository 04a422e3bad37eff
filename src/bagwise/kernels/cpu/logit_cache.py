"""Cached logits that are updated with the weights, and upper bounds for every pair that follow from them.

Weights that changed by  W' = keep W + by along  (by: classes x rank, along: rank x features) change the logits by

    Z' = keep Z + (X along') by'

which reads the instances once but multiplies by `rank` directions instead of all classes. Logits updated so are off
by a little, and so is what follows from them. `spread` bounds by how much for every bag: P(present) may be larger or
smaller by that share. The exact numbers then cannot exceed these upper bounds:

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
import numpy.typing as npt

from bagwise.kernels.arithmetic.blocks import each_block, scratch, thread_count
from bagwise.kernels.arithmetic.compile import Array, bounding_kernel
from bagwise.kernels.arithmetic.product import Linear, padded, product_into
from bagwise.kernels.arithmetic.softmax import argmax_of, softmax_of
from bagwise.kernels.arithmetic.vectors import LANES
from bagwise.kernels.cpu.bounds import TINY, bags_together, bounds_workspace, softmax_workspace, uncertainty_bounds
from bagwise.kernels.cpu.instances import Instances
from bagwise.kernels.cpu.logit_update import LOG2E, RANKS, move
from bagwise.kernels.cpu.presence import bag_presence

SMALL = 1e-15
LEAST = -1e38
MOST_LOGITS_PER_BLOCK = 2**20
BLOCKS_PER_THREAD = 4


@dataclass(frozen=True)
class Move:
    """W' = keep W + by along."""

    keep: float
    by: Array
    along: Array

    @classmethod
    def none(cls, features: int, dtype: npt.DTypeLike) -> "Move":
        """Return the move that changes nothing."""
        return cls(1.0, np.zeros((0, 0), dtype), np.zeros((0, features), dtype))

    @property
    def packed(self) -> tuple[Array, Array, float]:
        """Directions, their effect on each vector of classes, and the factor, in the layout of `logit_update.move`."""
        (classes, used), features = self.by.shape, self.along.shape[1]
        rank, dtype = next(rank for rank in RANKS if rank >= used), self.by.dtype
        along, by = np.zeros((rank, features), dtype), np.zeros((padded(classes), rank), dtype)
        along[:used], by[:classes, :used] = self.along, self.by
        vectors = by.reshape(len(by) // LANES, LANES, rank)
        return along, np.ascontiguousarray(vectors.transpose(0, 2, 1)), self.keep


Change = Move | Linear | None


class Moved(NamedTuple):
    """Instances of some bags, their logits, and how these are to be updated."""

    offsets: Array
    x: Array
    kept: Array
    along: Array
    by: Array
    keep: float


@bounding_kernel
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


@bounding_kernel
def _longest(
    offsets: Array,
    x: Array,
    kept: Array,
    along: Array,
    by: Array,
    keep: float,
    bias: Array,
    spread: Array,
    diagonal: Array,
    row_sum: Array,
    overlap: Array,
    lengths: Array,
    absences: Array,
) -> None:
    columns, dtype = kept.shape[1], kept.dtype
    room = np.empty((5, columns), dtype)
    absent, present, sums, weighted, roots = room[0], room[1], room[2], room[3], room[4]
    zero, one, tiny, small = dtype.type(0), dtype.type(1), dtype.type(TINY), dtype.type(SMALL)
    e_room, rest_room = softmax_workspace(kept, offsets)
    first = 0
    while first < lengths.shape[0]:
        last = bags_together(offsets, first)
        start, stop = offsets[first] - offsets[0], offsets[last] - offsets[0]
        move(x, kept, start, stop, along, by, keep)
        softmax_of(kept[start:stop], bias, e_room[: stop - start], rest_room[: stop - start])
        for b in range(first, last):
            rows = slice(offsets[b] - offsets[first], offsets[b + 1] - offsets[first])
            e, rest = e_room[rows], rest_room[rows]
            bag_presence(e, rest, absent, present)
            sums[:] = zero
            weighted[:] = zero
            roots[:] = zero
            for i in range(e.shape[0]):
                _add_row(e[i], rest[i], diagonal[start + rows.start + i], sums, weighted, roots)
            factor, more, together, apart = (one + spread[b]) * (one + spread[b]), spread[b], row_sum[b], overlap[b]
            for c in range(lengths.shape[1]):
                separately = weighted[c] + apart * max(roots[c] * roots[c] - sums[c], zero)
                lengths[b, c] = math.sqrt(max(min(together * sums[c], separately), zero)) * factor + small
                absences[b, c] = (absent[c] + present[c] * more) * (one + more) + tiny
        first = last


@bounding_kernel
def best_allowed(scores: Array, allowed: Array, best: Array) -> None:
    """Write the largest allowed score of every row; minus infinity where none is allowed."""
    for b in range(scores.shape[0]):
        lowest = scores.dtype.type(LEAST)
        top = lowest
        for c in range(scores.shape[1]):
            top = max(top, scores[b, c] if allowed[b, c] else lowest)
        best[b] = top if top > lowest else -np.inf


@dataclass(frozen=True)
class LogitCache:
    """Logits (without bias) of all instances under some weights, and about where the largest of each is."""

    instances: Instances
    values: Array
    tops: Array

    @classmethod
    def room(cls, instances: Instances, columns: int) -> "LogitCache":
        """Return an empty cache, to be filled by a first change."""
        rows, dtype = len(instances.x), instances.precision
        return cls(instances, np.empty((rows, padded(columns)), dtype), np.zeros(rows, dtype))

    def uncertainty_bounds(
        self, change: Change, bias: Array, spread: Array, classes: int, use: Callable[[int, int, Array], None]
    ) -> None:
        """Call use(first, last, upper bounds of min(P1, P0)) for every block of bags, after `change`."""
        padded_bias, offsets = LOG2E * Linear.padded_bias(bias, self.values.dtype), self.instances.offsets

        def block(first: int, last: int, moved: Moved) -> None:
            sides = bounds_workspace(last - first, classes, self.values.shape[1], self.values.dtype)
            bags, tops = slice(first, last), self.tops[offsets[first] : offsets[last]]
            uncertainty_bounds(*moved, tops, padded_bias, spread[bags], sides)
            use(first, last, sides)

        self._each(change, block)

    def longest(
        self,
        change: Change,
        bias: Array,
        spread: Array,
        bounds: "GramBounds",
        classes: int,
        use: Callable[[int, int, Array, Array], None],
    ) -> None:
        """Call `use` with upper bounds of the norm of d log P(absent)/d weights and of P(absent)."""
        padded_bias, offsets = Linear.padded_bias(bias, self.values.dtype), self.instances.offsets

        def block(first: int, last: int, moved: Moved) -> None:
            shape, bags, dtype = (last - first, classes), slice(first, last), self.values.dtype
            lengths, absences = scratch("lengths", shape, dtype), scratch("absences", shape, dtype)
            diagonal = bounds.diagonal[offsets[first] : offsets[last]]
            of_bags = spread[bags], diagonal, bounds.row_sum[bags], bounds.overlap[bags]
            _longest(*moved, padded_bias, *of_bags, lengths, absences)
            use(first, last, lengths, absences)

        self._each(change, block)

    def _each(self, change: Change, use: Callable[[int, int, Moved], None]) -> None:
        """Call use(first, last, the logits of these bags and how they are to be updated) for every block of bags."""
        offsets, kept, x = self.instances.offsets, self.values, self.instances
        packed = (change if isinstance(change, Move) else Move.none(x.x.shape[1], kept.dtype)).packed

        def block(first: int, last: int) -> None:
            rows = slice(offsets[first], offsets[last])
            features = x.rows(rows)
            if isinstance(change, Linear):
                product_into(kept[rows], features, change.packed, 0.0)
            use(first, last, Moved(offsets[first : last + 1], features, kept[rows], *packed))

        each = -(-kept.size // (BLOCKS_PER_THREAD * thread_count()))
        each_block(offsets, kept.shape[1], block, min(each, MOST_LOGITS_PER_BLOCK))


class GramBounds(NamedTuple):
    """Of every instance K_ii; of every bag the largest row sum of |K| and the largest |K_ij| beside the diagonal."""

    diagonal: Array
    row_sum: Array
    overlap: Array

    @classmethod
    def of(cls, instances: Instances) -> "GramBounds":
        """Return bounds from the cached Gram matrices; for other bags from the lengths of the instances."""
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


@bounding_kernel
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
