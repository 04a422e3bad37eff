"""Transformed instances, without a second copy of the data.

A row is seen as  [(x - shift)/scale, 1].  Weights on what is seen fold into weights on the raw rows,

    W~ seen(x) = W x + b,    W = W~ / scale,    b = W~_last - W shift

and gradients unfold the same way, so standardised features cost neither memory nor time, memory maps included.

Scores of a classifier (`data.scores`) are the last C columns of the rows, s_i1 ... s_iC. Class c sees its own only,
with the slope b_c, so the logits stay linear in the rows and every kernel takes them as they are:

    z_ic = w_c x_i + b_c s_ic + a_c,   b = 1 + SLOPE_DEVIATION v + together (v_1 + ... + v_C)

v is one more column of the weights on what is seen, a_c the constant. Under the prior that all weights have, N(0, 1) in
its units, the slopes then have mean 1 (the scores are right), and covariance

    SLOPE_DEVIATION^2 I + SHARED_DEVIATION^2 11',   together = (sqrt(SLOPE_DEVIATION^2 + C SHARED_DEVIATION^2)
                                                                - SLOPE_DEVIATION) / C

that is, they deviate together and each on its own. Where the known labels show that scores are useless
(`model.usefulness`) every v_c is IGNORED and b = 0: the model is then exactly that without scores. The last row, the
background, has no score. The scale of the columns of scores is infinite: what is *seen* of them is 0, so clusters, Gram
matrices and gradient lengths are those of the features.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.kernels.arithmetic.blocks import each_block, gather
from bagwise.kernels.arithmetic.compile import Array, kernel
from bagwise.kernels.arithmetic.elementary import exactly
from bagwise.kernels.arithmetic.product import precise
from bagwise.kernels.arithmetic.sums import dot, gram_into
from bagwise.kernels.cpu.evidence import Evidence

KEPT_SHARE = 4
FEW_ENTRIES = 1 << 20
SLOPE_DEVIATION, SHARED_DEVIATION = 0.25, 0.5
LARGEST = {np.dtype(kind).char: float(np.sqrt(np.finfo(kind).max)) for kind in (np.float32, np.float64)}
"""Weights from here on might overflow, by the type of the rows."""
IGNORED = -1e6
"""In place of every deviation v_c where the scores are ignored: all slopes are 0."""


@dataclass(frozen=True)
class Grams:
    """The cached Gram matrices, end to end; an empty slot for a bag whose matrix is not cached."""

    entries: Array
    offsets: Array


@dataclass(frozen=True)
class Instances:
    """Rows `x`, grouped by `offsets`, seen through (x - shift)/scale, with a constant 1 where `intercept`.

    `evidence` is what is known of single rows, where anything is. The last `n_scores` columns are scores of classes.
    """

    x: Array
    offsets: Array
    shift: Array
    scale: Array
    intercept: bool
    evidence: Evidence | None = None
    n_scores: int = 0
    plain: "Instances | None" = None
    """The same instances without evidence, which cache what does not depend on it."""

    def with_evidence(self, evidence: Evidence | None) -> "Instances":
        """The same instances, of some of which something is known, or nothing any more."""
        plain = self if self.plain is None else self.plain
        return plain if evidence is None else replace(plain, evidence=evidence, plain=plain)

    @property
    def width(self) -> int:
        """Number of weights of a class: of the features, of its score, and the constant."""
        return self.n_features + bool(self.n_scores) + self.intercept

    @property
    def n_features(self) -> int:
        """Number of columns that are features."""
        return int(self.x.shape[1]) - self.n_scores

    @property
    def precision(self) -> np.dtype[Any]:
        """The type of numbers to compute with; half precision is for storage only."""
        return np.dtype(np.float32) if self.x.dtype == np.float16 else self.x.dtype

    def rows(self, rows: slice) -> Array:
        """Raw rows to compute with, valid until this thread asks for others."""
        return precise(self.x[rows])

    def transformed(self, first: int, last: int) -> Array:
        """Rows first..last as the model sees them, (rows, columns [+ 1])."""
        return self.seen(slice(first, last))

    def seen(self, rows: Array | slice) -> Array:
        """Some rows as the model sees them, (rows, columns [+ 1])."""
        x = self.x[rows]
        seen = np.ones((len(x), x.shape[1] + self.intercept), self.precision)
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
        features = self.n_features
        weights, bias = np.empty((len(seen_weights), features)), np.empty(len(seen_weights))
        seen, shift = (np.ascontiguousarray(part, np.float64) for part in (seen_weights, self.shift))
        largest = _fold(seen, shift, self.scale, self.intercept, weights, bias)
        if self.n_scores:
            on_scores = np.zeros((len(weights), self.n_scores))
            np.fill_diagonal(on_scores, slopes(seen_weights[: self.n_scores, features]))
            weights = np.hstack([weights, on_scores])
            largest = max(largest, float(on_scores.max()))
        if not largest < LARGEST[self.precision.char]:
            raise BagwiseError(f"The weights are too large for features in {self.precision}: scale the features.")
        return weights.astype(self.precision, copy=False), bias.astype(self.precision, copy=False)

    def unfold(self, by_weight: Array, by_bias: Array) -> Array:
        """Gradient by the weights on what is seen, from the gradient by raw weights and bias."""
        features = self.n_features
        unfolded = np.zeros((len(by_weight), self.width))
        _unfold(by_weight, by_bias, self.shift, self.scale, features, unfolded)
        if self.n_scores:
            own = np.diagonal(by_weight, features).astype(float)
            unfolded[: self.n_scores, features] = SLOPE_DEVIATION * own + _together(len(own)) * _sum(own)
        if self.intercept:
            unfolded[:, -1] = by_bias
        return unfolded

    @cached_property
    def radii(self) -> Array:
        """The length of the longest raw row of every bag, rounded up, (bags,)."""
        if self.plain is not None:
            return self.plain.radii
        longest = np.empty(len(self.offsets) - 1)

        def block(first: int, last: int) -> None:
            rows = self.rows(slice(self.offsets[first], self.offsets[last]))
            squares = np.einsum("ij,ij->i", rows, rows, dtype=float)
            longest[first:last] = np.maximum.reduceat(squares, self.offsets[first:last] - self.offsets[first])

        each_block(self.offsets, self.x.shape[1], block)
        return 1.0001 * np.sqrt(longest)

    @property
    def has_small_gram(self) -> Array:
        """Which bags have a Gram matrix that is small beside their rows, whether it is cached or not."""
        return np.asarray(np.diff(self.offsets) * KEPT_SHARE <= self.n_features)

    @cached_property
    def grams(self) -> Grams:
        """Gram matrices of the bags with n <= d/4 instances: at most a quarter of the memory of the data.

        Of all bags where that is little memory.
        """
        if self.plain is not None:
            return self.plain.grams
        sizes = np.diff(self.offsets)
        kept = self.has_small_gram if int((sizes**2).sum()) > FEW_ENTRIES else sizes > 0
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


@exactly
def _fold(seen: Array, shift: Array, scale: Array, intercept: bool, weights: Array, bias: Array) -> float:
    """Fill in weights and bias on raw rows; return the largest size of any of them, infinite for what is no number."""
    features, largest, lost = weights.shape[1], 0.0, False
    for c in range(weights.shape[0]):
        for j in range(features):
            weights[c, j] = seen[c, j] / scale[j]
            largest = max(largest, abs(weights[c, j]))
            lost |= weights[c, j] != weights[c, j]
        bias[c] = -dot(weights[c], shift[:features])
        if intercept:
            bias[c] += seen[c, -1]
        largest = max(largest, abs(bias[c]))
        lost |= bias[c] != bias[c]
    return np.inf if lost else largest


@kernel
def _unfold(by_weight: Array, by_bias: Array, shift: Array, scale: Array, features: int, unfolded: Array) -> None:
    for c in range(by_weight.shape[0]):
        for j in range(features):
            unfolded[c, j] = (by_weight[c, j] - by_bias[c] * shift[j]) / scale[j]


def slopes(deviations: Array) -> Array:
    """Slopes of the scores of all classes, (C,), from the column of the weights that says how they deviate from 1."""
    if (deviations == IGNORED).all():
        return np.zeros(len(deviations))
    return np.asarray(1 + SLOPE_DEVIATION * deviations + _together(len(deviations)) * _sum(deviations))


def deviation_of(slope: float, classes: int) -> float:
    """The deviation v of every class with which all slopes are `slope`."""
    return (slope - 1) / (SLOPE_DEVIATION + classes * _together(classes))


def _together(classes: int) -> float:
    return (math.sqrt(SLOPE_DEVIATION**2 + classes * SHARED_DEVIATION**2) - SLOPE_DEVIATION) / classes


def _sum(values: Array) -> float:
    """In an order that does not depend on the processor."""
    return math.fsum(values.tolist())
