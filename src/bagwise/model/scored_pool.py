"""Pool: all that a criterion may see of the model and the labels. Computed when asked for, once."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bagwise.data.label_store import LabelCounts
from bagwise.data.labels import Labels
from bagwise.kernels import (
    Array,
    Instances,
    absent_gradients,
    bag_probabilities,
    gradient_lengths,
    instance_probabilities,
)


@dataclass(frozen=True)
class Scorer:
    """Weights at rest on instances: probabilities and gradients of the asked classes."""

    instances: Instances
    weights: Array
    n_classes: int

    @cached_property
    def folded(self) -> tuple[Array, Array]:
        """Weights and bias on raw rows."""
        return self.instances.fold(self.weights)

    def on(self, instances: Instances) -> "Scorer":
        """The same weights on some of the same instances."""
        other = replace(self, instances=instances)
        other.__dict__["folded"] = self.folded
        return other

    def probabilities(self) -> tuple[Array, Array]:
        """P(present) and P(absent), (bags x classes)."""
        return bag_probabilities(self.instances.x, self.instances.offsets, *self.folded, self.n_classes)

    def instance_probabilities(self, rows: slice = slice(None)) -> Array:
        """P(class) of instances, (instances x classes)."""
        return instance_probabilities(self.instances.x[rows], *self.folded, self.n_classes)

    def gradient_lengths(self) -> tuple[Array, Array]:
        """Norm of the gradient of log P(absent), and P(absent), in one pass."""
        return gradient_lengths(self.instances, *self.folded, self.n_classes)

    def gradients(self, bag: int) -> Array:
        """Gradient of log P(absent) of one bag, flat: (classes x weights)."""
        first, last = self.instances.offsets[bag : bag + 2]
        seen = self.instances.transformed(first, last)
        explicit = absent_gradients(self.instances.bag(bag), seen, *self.folded, self.n_classes)
        return explicit.reshape(self.n_classes, -1)


class ScoredPool:
    """Probabilities, known labels and gradient norms of all bags under one model.

    `askable` excludes what is known and what was withdrawn (answered *unsure*), `touched` are the bags of which it was
    changed since it was made, where somebody keeps count; `label_counts` are about all bags there are,
    of which these may be a part. `prior` is the precision of the weights' prior. A pool made from probabilities alone
    serves criteria that need nothing else.
    """

    def __init__(
        self,
        present: Any = None,
        *,
        labels: Labels | None = None,
        withdrawn: Array | None = None,
        askable: Array | None = None,
        touched: Sequence[int] | None = None,
        label_counts: LabelCounts | None = None,
        keys: Array | None = None,
        seed: int = 0,
        prior: float = 1.0,
        scorer: Scorer | None = None,
    ) -> None:
        if present is not None:
            self.present = np.asarray(present, dtype=float)
            self.absent = 1 - self.present
            shape = self.present.shape
        elif scorer is not None:
            shape = (len(scorer.instances.offsets) - 1, scorer.n_classes)
        else:
            raise ValueError("A pool needs probabilities or a scorer.")
        self.shape: tuple[int, int] = (shape[0], shape[1])
        self.labels = Labels.unknown(*self.shape) if labels is None else labels
        self.withdrawn = np.zeros(self.shape, bool) if withdrawn is None else withdrawn
        self.touched = touched
        if askable is not None:
            self.askable = askable
        if label_counts is not None:
            self.label_counts = label_counts
        self.keys = np.arange(self.shape[0], dtype=np.uint64) if keys is None else keys
        self.seed = seed
        self.prior = prior
        self._scorer = scorer

    @property
    def scorer(self) -> Scorer:
        """The model behind the pool."""
        if self._scorer is None:
            raise ValueError("This pool was made from probabilities alone: it has no gradients.")
        return self._scorer

    @cached_property
    def present(self) -> Array:
        """P(class is in bag), (bags x classes)."""
        present, self.absent = self.scorer.probabilities()
        return present

    @cached_property
    def absent(self) -> Array:
        """P(class is not in bag), to full relative precision where it is small."""
        self.present, absent = self.scorer.probabilities()
        return absent

    @cached_property
    def nearest_side(self) -> Array:
        """min(P(present), P(absent)), (bags x classes)."""
        nearest: Array = np.minimum(self.present, self.absent)
        return nearest

    def like(self, values: Array, dtype: npt.DTypeLike | None = None) -> Array:
        """Numbers of bags or classes, to be combined with the pool's own, wherever those are."""
        return values if dtype is None else values.astype(dtype)

    @cached_property
    def gradient_norm(self) -> Array:
        """||d log P(absent) / d weights||, (bags x classes). Brings P(absent) with it."""
        norm, self.absent = self.scorer.gradient_lengths()
        return norm

    def gradients(self, bag: int) -> Array:
        """D log P(absent) / d weights of one bag, (classes x weights)."""
        return self.scorer.gradients(bag)

    @property
    def known(self) -> Array:
        """Which pairs have a label."""
        return self.labels.known

    @cached_property
    def label_counts(self) -> LabelCounts:
        """What is known of all bags together."""
        return LabelCounts.of(self.labels, self.withdrawn)

    @cached_property
    def askable(self) -> Array:
        """Which pairs may be asked."""
        return np.asarray(~(self.labels.known | self.withdrawn))

    def imagined(self, **values: Array) -> "ScoredPool":
        """The same pool with other numbers for some of its properties."""
        other = copy(self)
        other.__dict__.update(values)
        return other

    def select(self, bags: Array) -> "ScoredPart":
        """Some of the bags."""
        return ScoredPart(self, bags)

    def between(self, first: int, last: int) -> "ScoredPart":
        """Consecutive bags, without a copy of their instances."""
        return ScoredPart(self, slice(first, last))


class ScoredPart(ScoredPool):
    """Some bags of a pool, scored as in the whole."""

    def __init__(self, whole: ScoredPool, bags: Array | slice) -> None:
        self._whole, self._bags = whole, bags
        self.keys, self.seed, self.prior = whole.keys[bags], whole.seed, whole.prior
        self.shape = (len(self.keys), whole.shape[1])

    @property
    def label_counts(self) -> LabelCounts:
        """What is known of all bags together."""
        return self._whole.label_counts

    @cached_property
    def scorer(self) -> Scorer:
        """The model behind the pool, on these bags."""
        bags, scorer = self._bags, self._whole.scorer
        if isinstance(bags, slice):
            return scorer.on(scorer.instances.between(bags.start, bags.stop))
        return scorer.on(scorer.instances.select(bags))

    @cached_property
    def labels(self) -> Labels:  # type: ignore[override]
        """The labels of these bags."""
        return self._whole.labels.select(np.arange(self._whole.shape[0])[self._bags])

    @cached_property
    def askable(self) -> Array:
        """Which pairs may be asked."""
        return np.asarray(self._whole.askable[self._bags])
