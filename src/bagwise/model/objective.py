"""The objective of fitting: the mean negative log-likelihood of the known labels plus a Gaussian prior.

    F(W) = -(1/|L|) sum_{(b,c) in L} log P(Y_bc)  +  (penalty/2) ||W||^2

With `joint`, the known labels of a bag are taken together: sum_b log P(all known labels of b). It is exact, costs time
exponential in the number of classes known present, and has no value for labels that the model cannot produce.

A label that is wrong with rate f (`Labels.flip`) has P = (1 - f) P(Y_bc) + f (1 - P(Y_bc)); the joint has no such form.

With scores of a classifier, W has a column for their slopes (`kernels.cpu.instances`). Their prior has the mean m =
`slope_mean`, and its deviations are m times those for m = 1. Where scores do not help (`usefulness`) the column says so
and takes no part in F, which is then F without scores.

What is known of single instances adds log P(what was said of the instance), and P(Y_bc) is conditional on it
(`kernels.cpu.evidence`).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.data.labels import Labels
from bagwise.kernels import IGNORED, Array, Instances, deviation_of, log_likelihood_and_gradient
from bagwise.kernels.arithmetic.elementary import log
from bagwise.kernels.arithmetic.sums import inner
from bagwise.model.usefulness import Usefulness, usefulness_of

MOST_POSITIVES_TOGETHER = 14


@dataclass(frozen=True)
class Counts:
    """Number of known pairs, bags with a known label, and size of the largest bag, where a label store counts them."""

    n_known: int
    labelled: Array
    largest_bag: int
    named: Array | None = None
    """Positions of the labelled bags in the whole pool, where `labelled` are positions in a part of it."""

    @classmethod
    def of(cls, instances: Instances, labels: Labels) -> "Counts":
        """Count pair by pair and bag by bag."""
        return cls(labels.n_known, labels.labelled, int(np.diff(instances.offsets).max()))


@dataclass(frozen=True)
class Objective:
    """F for these instances and labels; `prior` is a fixed weight beside the sum, penalty = prior/|L|.

    What is known of single instances comes with them, as their evidence (`Objective.of`). `counted` may count more bags
    than these instances have: bags without a label cost nothing.
    """

    instances: Instances
    labels: Labels
    n_outputs: int
    prior: float | None
    fixed_penalty: float | None
    joint: bool = False
    counted: Counts | None = None
    slope_mean: float = 1.0

    @classmethod
    def of(cls, instances: Instances, labels: Labels, n_outputs: int, *options: Any) -> "Objective":
        """Return the objective of labels of bags and of single instances."""
        return cls(instances.with_evidence(labels.evidence(instances.offsets, n_outputs)), labels, n_outputs, *options)

    @cached_property
    def counts(self) -> Counts:
        """Number of known pairs and which bags have them."""
        return Counts.of(self.instances, self.labels) if self.counted is None else self.counted

    @property
    def penalty(self) -> float:
        """The weight of ||W||^2/2 beside the mean log-likelihood."""
        if self.fixed_penalty is not None:
            return self.fixed_penalty
        assert self.prior is not None
        return self.prior / max(self.counts.n_known, 1)

    def strengthened(self, factor: float) -> "Objective":
        """Return the same objective with `factor` times the penalty."""
        return replace(self, prior=None, fixed_penalty=factor * self.penalty)

    @property
    def radius(self) -> float:
        """The minimiser of F is in this ball around 0 (the paper's appendix); infinite without a penalty.

        F(W*) <= F(0), and at W = 0 a label costs at most log K (present) or n/(K - 1) (absent). What is said of an
        instance costs at most log K, and may leave it two classes: then each label of its bag that is absent costs up
        to log 2 more.
        """
        if self.penalty == 0:
            return float("inf")
        worst = max(float(log(self.n_outputs)), self.counts.largest_bag / (self.n_outputs - 1))
        if self.instances.evidence is not None:
            of_instance = float(log(self.n_outputs)) + self.labels.n_classes * float(log(2.0))
            worst += len(self.instances.evidence.rows) * of_instance / max(self.counts.n_known, 1)
        return float(np.sqrt(2 / self.penalty * worst))

    def about(self, bags: Array) -> "Objective":
        """Return the objective of the labels of these bags only, with the same penalty."""
        return replace(
            self,
            instances=self.instances.select(bags),
            labels=self.labels.select(bags),
            prior=None,
            fixed_penalty=self.penalty,
            counted=None,
        )

    @cached_property
    def learnable(self) -> Array:
        """Which known labels count, (B, C): those that some instance may explain."""
        return self.labels.learnable(self.instances.offsets, self.instances.evidence)

    @property
    def start(self) -> Array:
        """Weights to start from: all 0."""
        return np.zeros((self.n_outputs, self.instances.width))

    def start_like(self, weights: Array) -> Array:
        """Return weights to start from, which ignore scores where these weights do."""
        start = self.start
        if self.ignores_scores(weights):
            start[: self.instances.n_scores, self.instances.n_features] = IGNORED
        return start

    def with_useful_scores(self, weights: Array) -> Array:
        """Return the same weights with the scores ignored, or taken up again, where the known labels say so."""
        ignored = self.ignores_scores(weights)
        if not self.instances.n_scores or self._usefulness.helps(ignored) is not ignored:
            return weights
        changed = weights.copy()
        changed[: self.instances.n_scores, self.instances.n_features] = 0.0 if ignored else IGNORED
        return changed

    def ignores_scores(self, weights: Array) -> bool:
        """Return whether these weights ignore the scores of the instances."""
        own = weights[: self.instances.n_scores, self.instances.n_features : self.instances.n_features + 1]
        return bool(self.instances.n_scores and (own == IGNORED).all())

    @cached_property
    def _usefulness(self) -> Usefulness:
        return usefulness_of(*self._labelled, self._learnable, self.n_outputs)

    @cached_property
    def _labelled(self) -> tuple[Instances, Labels]:
        """Only bags with a known label cost anything."""
        bags = self.counts.labelled
        return self.instances.select(bags), self.labels.select(bags)

    @cached_property
    def _learnable(self) -> Array:
        """Which known labels of the labelled bags count: those that some instance may explain."""
        instances, labels = self._labelled
        return labels.learnable(instances.offsets, instances.evidence)

    @cached_property
    def _together(self) -> Array:
        """Which labelled bags take their labels together: those with few enough classes known present."""
        instances, labels = self._labelled
        if not self.joint:
            return np.zeros(len(labels), bool)
        if labels.flip is not None and labels.flip.any():
            raise BagwiseError("The joint objective takes labels as certain: use objective='marginal' with flip rates.")
        positives = (labels.value & self._learnable).sum(axis=1)
        self._validate_explainable(np.diff(instances.offsets), positives, labels)
        return np.asarray(positives <= MOST_POSITIVES_TOGETHER)

    def _validate_explainable(self, sizes: Array, positives: Array, labels: Labels) -> None:
        bags = self.counts.labelled if self.counts.named is None else self.counts.named
        crowded = np.flatnonzero(positives > sizes)
        if len(crowded):
            first = crowded[0]
            raise BagwiseError(
                f"The bag at position {bags[first]} has {sizes[first]} instances but {positives[first]} classes known "
                "present: the joint objective cannot explain it (one class per instance). Use objective='marginal'."
            )
        nothing_left = np.flatnonzero(labels.known.all(axis=1) & (positives == 0))
        if len(nothing_left) and self.n_outputs == labels.n_classes:
            raise BagwiseError(
                f"The bag at position {bags[nothing_left[0]]} is known to have none of the classes: the joint "
                "objective cannot explain its instances without a background class. Use background=True."
            )

    def log_likelihood_and_gradient(self, weights: Array) -> tuple[float, Array]:
        """Return the sum of log P over the known labels, and its gradient by the weights."""
        instances, labels = self._labelled
        total, by_weight, by_bias = log_likelihood_and_gradient(
            instances.x,
            instances.offsets,
            *instances.fold(weights),
            labels.value,
            self._learnable,
            self._together,
            labels.flip,
            instances.evidence,
        )
        return total, instances.unfold(by_weight, by_bias)

    def log_likelihood(self, weights: Array, value: float | None = None) -> float:
        """Return the sum of log P over the known labels; free where the value of F is given."""
        if value is None or self.instances.n_scores:
            return self.log_likelihood_and_gradient(weights)[0]
        return -max(self.counts.n_known, 1) * (value - self.penalty / 2 * inner(weights, weights))

    def __call__(self, weights: Array) -> tuple[float, Array]:
        """Return F and its gradient, shape (C [+ 1], d)."""
        total, gradient = self.log_likelihood_and_gradient(weights)
        known = max(self.counts.n_known, 1)
        classes, own = self.instances.n_scores, self.instances.n_features
        pull = weights
        if self.ignores_scores(weights):
            pull = weights = weights.copy()
            weights[:, own] = gradient[:, own] = 0.0
        elif classes and self.slope_mean != 1:
            weights, pull = weights.copy(), weights.copy()
            weights[:classes, own] -= deviation_of(self.slope_mean, classes)
            weights[:classes, own] /= self.slope_mean
            pull[:classes, own] = weights[:classes, own] / self.slope_mean
        value = -total / known + self.penalty / 2 * inner(weights, weights)
        return value, -gradient / known + self.penalty * pull
