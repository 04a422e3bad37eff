"""MIMLSVM-AL (after Retz & Schwenker 2016): MIMLSVM that selects whole bags by their decision values.

Only the abstract of the paper was available: MIMLSVM's representation is computed once, from all bags, and strategies
for single instances are applied to it. Which strategies is our choice; `min` did best in a pilot.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import entr, expit
from sklearn.base import clone

from bagwise.core.plugins import choose
from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.kernels import Array
from bagwise.learning import granularity
from bagwise.learning.base import Learner
from bagwise.learning.criteria.random import random
from bagwise.learning.questions import Answer, Question
from bagwise.model.scored_pool import ScoredPool
from bagwise.research.baselines.mimlsvm import MIMLSVM


def _separation(decision: Array, _expected: float) -> Array:
    positive = np.where(decision > 0, decision, np.inf).min(axis=1)
    negative = np.where(decision > 0, -np.inf, decision).max(axis=1)
    return -(np.where(np.isinf(positive), 0, positive) - np.where(np.isinf(negative), 0, negative))


def _entropy(decision: Array, _expected: float) -> Array:
    p = expit(2 * decision)
    return np.asarray((entr(p) + entr(1 - p)).sum(axis=1))


STRATEGIES: dict[str, Callable[[Array, float], Array]] = {
    "min": lambda decision, _: -np.abs(decision).min(axis=1),
    "mean": lambda decision, _: -np.abs(decision).mean(axis=1),
    "hinge": lambda decision, _: np.maximum(0, 1 - np.abs(decision)).sum(axis=1),
    "entropy": _entropy,
    "separation": _separation,
    "lci": lambda decision, expected: np.abs((decision > 0).sum(axis=1) - expected),
    "random": lambda decision, _: np.zeros(len(decision)),
}
"""Functions of decision values (bags x classes with a machine) and expected number of classes; larger = ask sooner."""


class MIMLSVMAL(Learner):
    """The active learner MIMLSVM-AL, which asks whole-bag questions.

    Parameters
    ----------
    bags : Bags, or sequence of array-like, each of shape (n_b, d)
        The bags to ask about.
    classes : sequence of str
        Names of the classes.
    labels : Labels, or array-like of shape (B, C) with NaN for unknown, optional
        What is known at the start.
    model : MIMLSVM, optional
        Its settings are used (default: `MIMLSVM()`).
    strategy : {"min", "mean", "hinge", "entropy", "separation", "lci", "random"}
        By which decision values a bag is chosen, see `STRATEGIES`.
    random_state : int
        Seed of the model and of ties.

    Examples
    --------
    >>> bags = Bags.from_list([[[-2.0]], [[2.0]], [[-1.0], [1.5]], [[0.1]]])
    >>> learner = MIMLSVMAL(bags, ["low", "high"], labels=[[1, 0], [0, 1]] + [[np.nan] * 2] * 2)
    >>> learner.ask().classes
    (0, 1)
    """

    def __init__(
        self,
        bags: Bags | Sequence[npt.ArrayLike],
        classes: Sequence[str],
        labels: Any = None,
        model: MIMLSVM | None = None,
        strategy: str = "min",
        random_state: int = 0,
    ) -> None:
        super().__init__(bags, classes, labels, random_state)
        self._score = choose("strategy", strategy, STRATEGIES)
        self.strategy = strategy
        self.model: MIMLSVM = clone(MIMLSVM() if model is None else model).set_params(random_state=random_state)
        self.model.degenerate(self.bags)
        self._train()

    def predict_proba(self, bags: Bags | Sequence[npt.ArrayLike]) -> Array:
        """Return scores above 0.5 where a machine is positive.

        Parameters
        ----------
        bags : Bags, or sequence of array-like, each of shape (n_b, d)
            The bags.

        Returns
        -------
        ndarray, shape (B, C)
        """
        return self.model.predict_proba(bags)

    def _train(self) -> None:
        complete = np.all(self.labels.known, axis=1)
        self.model.train(Labels(self.labels.value, self.labels.known & complete[:, None]))

    def _questions(self, count: int) -> list[Question]:
        decision = self.model.decide(self.model.squared_distances_)
        pool = ScoredPool(
            np.full(decision.shape, 0.5),
            labels=self.labels,
            withdrawn=self._label_store.withdrawn,
            keys=self.bags.keys,
            seed=self.random_state,
        )
        varying = decision[:, ~self.model.constant_]
        scores = self._score(varying, pool.label_counts.mean_positives) if varying.shape[1] else random(pool)[:, 0]
        choices = granularity.whole_bag(pool, scores, count)
        return [Question(c.bag, c.classes, (0,) * len(c.classes), c.score) for c in choices]

    def _update(self, answer: Answer, known_classes: list[int]) -> None:
        if self.labels.known[answer.bag].all():
            self._train()
