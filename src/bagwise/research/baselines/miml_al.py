"""MIML-AL (Huang, Gao & Chen, IJCAI 2017): first a bag, then a class of it, with MIMLfast inside.

The bag is the one whose number of labels above the dummy is least like the labelled bags', divided by the questions it
has had; the class is the unknown one nearest to the dummy. After a positive answer the person also points at an
instance that carries the class. Which schedule of updates the paper used is not known: `ours` replays all known labels
with a new average, `published` follows public code related to it (the newest bags only, one average throughout).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from bagwise.core.plugins import choose
from bagwise.data.bags import Bags
from bagwise.kernels import Array
from bagwise.learning import granularity
from bagwise.learning.base import Learner
from bagwise.learning.questions import Answer, Question
from bagwise.model.scored_pool import ScoredPool
from bagwise.research.baselines._mimlfast_kernel import NO_KEY
from bagwise.research.baselines.mimlfast import MIMLfast, as_predictions

FIRST_PASSES = {"ours": 40, "published": 2}
LATER_PASSES = 4


class MIMLAL(Learner):
    """The active learner MIML-AL.

    Parameters
    ----------
    bags : Bags, or sequence of array-like, each of shape (n_b, d)
        The bags to ask about.
    classes : sequence of str
        Names of the classes.
    labels : Labels, or array-like of shape (B, C) with NaN for unknown, optional
        What is known at the start.
    model : MIMLfast, optional
        Its settings are used (default: those of the schedule).
    schedule : {"ours", "published"}
        Whether an update replays all known labels, or only those of the newest bags.
    random_state : int
        Seed of the model and of ties.

    Examples
    --------
    >>> bags = Bags.from_list([[[-2.0]], [[2.0]], [[-1.0], [1.5]], [[0.1]]])
    >>> learner = MIMLAL(bags, ["low", "high"], labels=[[1, 0], [0, 1]] + [[np.nan] * 2] * 2)
    >>> question = learner.ask()
    >>> learner.tell(question, True, where=[0])
    >>> question.bag in (2, 3), len(learner.answers)
    (True, 1)
    """

    wants_where = True

    def __init__(
        self,
        bags: Bags | Sequence[npt.ArrayLike],
        classes: Sequence[str],
        labels: Any = None,
        model: MIMLfast | None = None,
        schedule: str = "ours",
        random_state: int = 0,
    ) -> None:
        super().__init__(bags, classes, labels, random_state)
        passes = choose("schedule", schedule, FIRST_PASSES)
        self.schedule = schedule
        default = MIMLfast() if schedule == "ours" else MIMLfast(step_size=0.001, decay=1e-7, average_every=1)
        self.model: MIMLfast = clone(default if model is None else model).set_params(random_state=random_state)
        self._keys = np.full(self.labels.known.shape, NO_KEY)
        self._answered_since_update: list[int] = []
        self._margin: Array | None = None
        self.model.start(self.bags, self.labels.n_classes)
        self.model.learn(self.bags, self.labels, passes)

    def predict_proba(self, bags: Bags | Sequence[npt.ArrayLike]) -> Array:
        """Return scores above 0.5 where a label ranks above the dummy.

        Parameters
        ----------
        bags : Bags, or sequence of array-like, each of shape (n_b, d)
            The bags.

        Returns
        -------
        ndarray, shape (B, C)
        """
        return self.model.predict_proba(bags)

    def _questions(self, count: int) -> list[Question]:
        if self._margin is None:
            self._margin = self.model.decision_function(self.bags)
        margin = self._margin
        pool = ScoredPool(
            as_predictions(margin, force_top=False),
            labels=self.labels,
            withdrawn=self._label_store.withdrawn,
            keys=self.bags.keys,
            seed=self.random_state,
        )
        choices = granularity.bag_then_class(pool, -np.abs(margin), count)
        return [Question(choice.bag, choice.classes, (0,), choice.score) for choice in choices]

    def _update(self, answer: Answer, known_classes: list[int]) -> None:
        if answer.where and answer.where[0]:
            self._keys[answer.bag, answer.classes[0]] = answer.where[0][0]
        self._answered_since_update.append(answer.bag)
        if len(self._answered_since_update) <= self.labels.n_classes:
            return
        self._margin = None
        if self.schedule == "ours":
            self.model.reset_average()
            self.model.learn(self.bags, self.labels, LATER_PASSES, self._keys)
        else:
            newest = np.unique(self._answered_since_update)
            self.model.learn(self.bags, self.labels, LATER_PASSES, self._keys, only=newest)
        self._answered_since_update = []
