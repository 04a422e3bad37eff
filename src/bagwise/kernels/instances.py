"""Instances as the model sees them, without a second copy of the data.

A row is seen as  [(x - shift)/scale, 1].  Weights on what is seen fold into weights on the raw rows,

    W~ seen(x) = W x + b,    W = W~ / scale,    b = W~_last - W shift

and gradients unfold the same way, so standardised features cost neither memory nor time, memory maps included.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bagwise.errors import BagwiseError
from bagwise.kernels.blocks import each_block, gather
from bagwise.kernels.compile import Array

KEPT_SHARE = 4


@dataclass(frozen=True)
class Grams:
    """The Gram matrices worth keeping, end to end; an empty slot where a bag's is not."""

    entries: Array
    offsets: Array


@dataclass(frozen=True)
class Instances:
    """Rows `x`, grouped by `offsets`, seen through (x - shift)/scale, with a constant 1 where `intercept`."""

    x: Array
    offsets: Array
    shift: Array
    scale: Array
    intercept: bool

    @property
    def width(self) -> int:
        """Number of columns seen: features, and the constant."""
        return int(self.x.shape[1]) + self.intercept

    def transformed(self, first: int, last: int) -> Array:
        """Rows first..last as the model sees them, (rows, width)."""
        rows = np.ones((last - first, self.width), self.x.dtype)
        features = rows[:, : self.x.shape[1]]
        np.subtract(self.x[first:last], self.shift, out=features)
        features /= self.scale
        return rows

    def bag(self, b: int) -> Array:
        """The raw rows of one bag."""
        return self.x[self.offsets[b] : self.offsets[b + 1]]

    def select(self, bags: Array) -> "Instances":
        """These bags only."""
        return Instances(*gather(self.x, self.offsets, bags), self.shift, self.scale, self.intercept)

    def fold(self, seen_weights: Array) -> tuple[Array, Array]:
        """Weights and bias on raw rows, in the precision of the rows."""
        weights = seen_weights[:, : self.x.shape[1]] / self.scale
        bias = -(weights @ self.shift.astype(np.float64))
        if self.intercept:
            bias = bias + seen_weights[:, -1]
        with np.errstate(over="ignore"):
            folded = np.ascontiguousarray(weights, self.x.dtype), bias.astype(self.x.dtype)
        largest = np.sqrt(np.finfo(self.x.dtype).max)
        if not all((np.abs(part) < largest).all() for part in folded):
            raise BagwiseError(f"The weights are too large for features in {self.x.dtype}: scale the features.")
        return folded

    def unfold(self, by_weight: Array, by_bias: Array) -> Array:
        """Gradient by the weights on what is seen, from the gradient by raw weights and bias."""
        by_feature = (by_weight - np.outer(by_bias, self.shift)) / self.scale
        return np.column_stack([by_feature, by_bias]) if self.intercept else by_feature

    @cached_property
    def grams(self) -> Grams:
        """Gram matrices of the bags with n <= d/4 instances: at most a quarter of the memory of the data."""
        sizes = np.diff(self.offsets)
        kept = sizes * KEPT_SHARE <= self.x.shape[1]
        offsets = np.concatenate([[0], np.cumsum(np.where(kept, sizes**2, 0))])
        entries = np.empty(offsets[-1], self.x.dtype)

        def block(first: int, last: int) -> None:
            start = self.offsets[first]
            rows = self.transformed(start, self.offsets[last])
            for b in range(first, last):
                if kept[b]:
                    bag = rows[self.offsets[b] - start : self.offsets[b + 1] - start]
                    entries[offsets[b] : offsets[b + 1]] = (bag @ bag.T).ravel()

        each_block(self.offsets, self.x.shape[1], block)
        return Grams(entries, offsets)
