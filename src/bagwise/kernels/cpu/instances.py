"""Transformed instances, without a second copy of the data.

A row is seen as  [(x - shift)/scale, 1].  Weights on what is seen fold into weights on the raw rows,

    W~ seen(x) = W x + b,    W = W~ / scale,    b = W~_last - W shift

and gradients unfold the same way, so standardised features cost neither memory nor time, memory maps included.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.kernels.arithmetic.blocks import each_block, gather
from bagwise.kernels.arithmetic.compile import Array
from bagwise.kernels.arithmetic.product import precise
from bagwise.kernels.arithmetic.sums import gram_into, row_dots
from bagwise.kernels.cpu.evidence import Evidence

KEPT_SHARE = 4


@dataclass(frozen=True)
class Grams:
    """The cached Gram matrices, end to end; an empty slot for a bag whose matrix is not cached."""

    entries: Array
    offsets: Array


@dataclass(frozen=True)
class Instances:
    """Rows `x`, grouped by `offsets`, seen through (x - shift)/scale, with a constant 1 where `intercept`.

    `evidence` is what is known of single rows, where anything is.
    """

    x: Array
    offsets: Array
    shift: Array
    scale: Array
    intercept: bool
    evidence: Evidence | None = None
    plain: "Instances | None" = None
    """The same instances without evidence, which cache what does not depend on it."""

    def with_evidence(self, evidence: Evidence | None) -> "Instances":
        """The same instances, of some of which something is known, or nothing any more."""
        plain = self if self.plain is None else self.plain
        return plain if evidence is None else replace(plain, evidence=evidence, plain=plain)

    @property
    def width(self) -> int:
        """Number of columns seen: features, and the constant."""
        return int(self.x.shape[1]) + self.intercept

    @property
    def precision(self) -> np.dtype[Any]:
        """The type of numbers to compute with; half precision is for storage only."""
        return np.dtype(np.float32) if self.x.dtype == np.float16 else self.x.dtype

    def rows(self, rows: slice) -> Array:
        """Raw rows to compute with, valid until this thread asks for others."""
        return precise(self.x[rows])

    def transformed(self, first: int, last: int) -> Array:
        """Rows first..last as the model sees them, (rows, width)."""
        return self.seen(slice(first, last))

    def seen(self, rows: Array | slice) -> Array:
        """Some rows as the model sees them, (rows, width)."""
        x = self.x[rows]
        seen = np.ones((len(x), self.width), self.precision)
        features = seen[:, : x.shape[1]]
        np.subtract(x, self.shift, out=features)
        features /= self.scale
        return seen

    def bag(self, b: int) -> Array:
        """The raw rows of one bag."""
        return self.rows(slice(*self.offsets[b : b + 2]))

    def select(self, bags: Array) -> "Instances":
        """These bags only, with their Gram matrices where these have been computed."""
        x, offsets = gather(self.x, self.offsets, bags)
        evidence = None if self.evidence is None else self.evidence.select(self.offsets, bags, offsets)
        chosen = replace(self, x=x.astype(self.precision, copy=False), offsets=offsets, evidence=evidence, plain=None)
        if self._has_grams:
            chosen.__dict__["grams"] = Grams(*gather(self.grams.entries, self.grams.offsets, bags))
        return chosen

    @property
    def _has_grams(self) -> bool:
        return "grams" in (self if self.plain is None else self.plain).__dict__

    def between(self, first: int, last: int) -> "Instances":
        """Consecutive bags, as a view."""
        offsets = self.offsets[first : last + 1]
        evidence = None if self.evidence is None else self.evidence.between(offsets[0], offsets[-1])
        x = self.x[offsets[0] : offsets[-1]]
        part = replace(self, x=x, offsets=offsets - offsets[0], evidence=evidence, plain=None)
        if self._has_grams:
            entries, starts = self.grams.entries, self.grams.offsets[first : last + 1]
            part.__dict__["grams"] = Grams(entries[starts[0] : starts[-1]], starts - starts[0])
        return part

    def fold(self, seen_weights: Array) -> tuple[Array, Array]:
        """Weights and bias on raw rows, in the precision of the rows."""
        weights = seen_weights[:, : self.x.shape[1]] / self.scale
        bias = -row_dots(weights, self.shift)
        if self.intercept:
            bias = bias + seen_weights[:, -1]
        with np.errstate(over="ignore"):
            folded = np.ascontiguousarray(weights, self.precision), bias.astype(self.precision)
        largest = np.sqrt(np.finfo(self.precision).max)
        if not all((np.abs(part) < largest).all() for part in folded):
            raise BagwiseError(f"The weights are too large for features in {self.precision}: scale the features.")
        return folded

    def unfold(self, by_weight: Array, by_bias: Array) -> Array:
        """Gradient by the weights on what is seen, from the gradient by raw weights and bias."""
        by_feature = (by_weight - np.outer(by_bias, self.shift)) / self.scale
        return np.column_stack([by_feature, by_bias]) if self.intercept else by_feature

    @cached_property
    def grams(self) -> Grams:
        """Gram matrices of the bags with n <= d/4 instances: at most a quarter of the memory of the data."""
        if self.plain is not None:
            return self.plain.grams
        sizes = np.diff(self.offsets)
        kept = sizes * KEPT_SHARE <= self.x.shape[1]
        offsets = np.concatenate([[0], np.cumsum(np.where(kept, sizes**2, 0))])
        entries = np.empty(offsets[-1], self.precision)

        def block(first: int, last: int) -> None:
            start = self.offsets[first]
            rows = self.transformed(start, self.offsets[last])
            for b in range(first, last):
                if kept[b]:
                    bag = rows[self.offsets[b] - start : self.offsets[b + 1] - start]
                    gram_into(entries[offsets[b] : offsets[b + 1]].reshape(len(bag), len(bag)), bag)

        each_block(self.offsets, self.x.shape[1], block)
        return Grams(entries, offsets)
