"""Random pools of any size for measurements, and a learner that is asked and told in a loop."""

from dataclasses import dataclass

import numpy as np

from bagwise.data.bags import Bags
from bagwise.data.instance_labels import InstanceLabel
from bagwise.data.labels import Labels
from bagwise.kernels import Array
from bagwise.learning.learner import ActiveLearner
from bagwise.model import MIMLClassifier

CRITERIA = {"uncertainty": "uncertainty", "expected_gradient_length": "EGL"}
LABELLED = 50
SHARE_PRESENT = 0.1
ROWS_AT_A_TIME = 4096


@dataclass(frozen=True)
class PoolSize:
    """Number of bags, instances per bag, features and classes, and the type of the features."""

    bags: int
    instances: int = 10
    features: int = 128
    classes: int = 50
    dtype: str = "float32"

    def __str__(self) -> str:
        return (
            f"{self.bags:,} bags x {self.instances} instances x {self.features} features x {self.classes} classes, "
            f"{self.dtype}"
        )


STANDARD, SMALL = PoolSize(10_000), PoolSize(2_000)


class RandomPool:
    """Random bags, weights and true labels; the first `LABELLED` bags are labelled."""

    def __init__(self, size: PoolSize) -> None:
        rng = np.random.default_rng(0)
        x = np.empty((size.bags * size.instances, size.features), size.dtype)
        for start in range(0, len(x), ROWS_AT_A_TIME):
            part = x[start : start + ROWS_AT_A_TIME]
            part[:] = rng.standard_normal(part.shape, dtype=np.float32)
        self.bags = Bags(x, np.arange(0, len(x) + 1, size.instances))
        self.weights = (rng.standard_normal((size.classes, size.features)) / np.sqrt(size.features)).astype(np.float32)
        self.truth: Array = rng.random((size.bags, size.classes)) < SHARE_PRESENT
        self.classes = [str(c) for c in range(size.classes)]

    def labels(self) -> Labels:
        """Return the labels known at the start."""
        labels = Labels.unknown(*self.truth.shape)
        labels.value[:LABELLED], labels.known[:LABELLED] = self.truth[:LABELLED], True
        return labels

    def product(self) -> Array:
        """Return the bare product X @ W.T: the least that reading every instance for every class costs."""
        return np.asarray(self.bags.instances @ self.weights.T)


class AskTellLoop:
    """A learner that every call gives the true answer to its question and asks for the next.

    With `pointing` every yes names an instance, also those known at the start.
    """

    def __init__(
        self,
        pool: RandomPool,
        criterion: str = "widening_uncertainty",
        update: str = "replay",
        device: str = "cpu",
        pointing: bool = False,
    ) -> None:
        model, labels = MIMLClassifier(max_iter=3), pool.labels()
        self._truth, self._pointing = pool.truth, pointing
        if pointing:
            for bag in range(LABELLED):
                present = np.flatnonzero(pool.truth[bag])[: len(pool.bags[bag])]
                for instance, label_class in enumerate(present.tolist()):
                    labels.instances.set(bag, InstanceLabel(instance, label_class, True))
        self.learner = ActiveLearner(
            pool.bags, pool.classes, labels, model, criterion, update=update, audit=0.0, device=device
        )
        self._question = self.learner.ask()

    def __call__(self) -> None:
        """Run one `tell` and one `ask`."""
        question = self._question
        present = bool(self._truth[question.bag, question.classes[0]])
        self.learner.tell(question, present, where=question.evidence if present and self._pointing else ())
        self._question = self.learner.ask()
