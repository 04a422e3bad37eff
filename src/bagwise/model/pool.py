"""Pool: all that a criterion may see of the model and the labels. Computed when asked for, once."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bagwise.kernels import (
    Array,
    Instances,
    absent_gradients,
    bag_probabilities,
    gradient_lengths,
    instance_probabilities,
)
from bagwise.labels import Labels


@dataclass(frozen=True)
class Scorer:
    """Weights at rest on instances: probabilities and gradients of the asked classes."""

    instances: Instances
    weights: Array
    n_classes: int

    @cached_property
    def _folded(self) -> tuple[Array, Array]:
        return self.instances.fold(self.weights)

    def probabilities(self) -> tuple[Array, Array]:
        """P(present) and P(absent), (bags x classes)."""
        return bag_probabilities(self.instances.x, self.instances.offsets, *self._folded, self.n_classes)

    def instance_probabilities(self, rows: slice = slice(None)) -> Array:
        """P(class) of instances, (instances x classes)."""
        return instance_probabilities(self.instances.x[rows], *self._folded, self.n_classes)

    def gradient_lengths(self) -> tuple[Array, Array]:
        """Norm of the gradient of log P(absent), and P(absent), in one pass."""
        return gradient_lengths(self.instances, *self._folded, self.n_classes)

    def gradients(self, bag: int) -> Array:
        """Gradient of log P(absent) of one bag, flat: (classes x weights)."""
        first, last = self.instances.offsets[bag : bag + 2]
        seen = self.instances.transformed(first, last)
        explicit = absent_gradients(self.instances.bag(bag), seen, *self._folded, self.n_classes)
        return explicit.reshape(self.n_classes, -1)


class Pool:
    """Probabilities, known labels and gradient norms of all bags under one model.

    `askable` excludes what is known and what was withdrawn (answered *unsure*). `prior` is the precision of the
    weights' prior. A pool made from probabilities alone serves criteria that need nothing else.
    """

    def __init__(
        self,
        present: Any = None,
        *,
        labels: Labels | None = None,
        withdrawn: Array | None = None,
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

    @property
    def n_known(self) -> int:
        """Number of known pairs |L|."""
        return self.labels.n_known

    @cached_property
    def askable(self) -> Array:
        """Which pairs may be asked."""
        return np.asarray(~(self.labels.known | self.withdrawn))

    @property
    def asked(self) -> Array:
        """Questions already spent on every class."""
        return np.asarray(self.shape[0] - np.count_nonzero(self.askable, axis=0))
