"""ActiveLearner: ask, tell, undo. The one loop that simulation, server and cluster all run (the paper's algorithm 1).

Its state is a replay of the answers: the same bags, labels, settings and answers give the same weights, bit for bit.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from bagwise import criteria, granularity
from bagwise.asking import Answer, Learner, Question
from bagwise.bags import Bags
from bagwise.errors import BagwiseError
from bagwise.kernels import Array, keyed_uniform
from bagwise.model import MIMLClassifier, Pool, solvers
from bagwise.model.solvers import State

AUDIT = 0xA0D1
UNDO_AT_ONCE = 64


class ActiveLearner(Learner):
    """Asks the question that teaches most, learns from the answer, asks the next.

    `model` gives the parameters; the learner fits a copy of it to `labels`, so that its state is a function of labels
    and answers alone. Weights that `model` may have are not used.

    >>> bags = Bags.from_list([[[-2.0]], [[2.0]], [[-1.0], [1.5]], [[0.1]]])
    >>> learner = ActiveLearner(bags, ["low", "high"], labels=[[1, 0], [0, 1]] + [[np.nan] * 2] * 2, audit=0)
    >>> question = learner.ask()
    >>> learner.tell(question, True)
    >>> len(learner.answers), learner.labels.n_known
    (1, 5)
    >>> learner.undo()
    >>> learner.ask() == question
    True
    """

    def __init__(
        self,
        bags: Bags | Sequence[npt.ArrayLike],
        classes: Sequence[str],
        labels: Any = None,
        model: MIMLClassifier | None = None,
        criterion: str = "balanced_uncertainty",
        granularity: str = "pair",
        update: str = "lbfgs",
        audit: float = 0.1,
        random_state: int = 0,
    ) -> None:
        super().__init__(bags, classes, labels, random_state)
        self.criterion, self.granularity, self.update = criterion, granularity, update
        self.audit = audit
        if model is not None and not isinstance(model, MIMLClassifier):
            raise BagwiseError(f"model={model!r} must be a MIMLClassifier.")
        self._template = MIMLClassifier() if model is None else model
        self._check_parameters()
        self.model: MIMLClassifier = self._start(clone(self._template))
        self._first_state = self._state
        self._states: deque[State] = deque(maxlen=UNDO_AT_ONCE)

    def undo(self) -> None:
        """Take the last answer back; everything is then as if it had not been given."""
        if not self._answers:
            raise BagwiseError("There is no answer to undo.")
        self._forget(self._answers.pop())
        if self._states:
            self._state = self._states.pop()
        else:
            self._rebuild()

    def predict_proba(self, bags: Bags | Sequence[npt.ArrayLike]) -> Array:
        """P(class is in bag) under the present model."""
        return self.model.predict_proba(bags)

    def pool(self) -> Pool:
        """What the criterion sees now."""
        return self.model.pool_of(
            self.model.scorer(self._instances),
            self.labels,
            withdrawn=self._withdrawn,
            keys=self.bags.keys,
            seed=self.random_state,
        )

    @property
    def _state(self) -> State:
        return State(self.model.weights_, self.model.n_steps_)

    @_state.setter
    def _state(self, state: State) -> None:
        self.model.set_state(state)

    def _start(self, model: MIMLClassifier) -> MIMLClassifier:
        if self.labels.n_known:
            model.fit(self.bags, self.labels)
        else:
            model.prepare(self.bags, self.labels.n_classes)
        self._instances = model.instances(self.bags)
        return model

    def _update(self, answer: Answer, told: list[int]) -> None:
        state = self._state
        if told:
            self._state = solvers.get(self.update).update(
                self.model.objective_of(self._instances, self.labels),
                state,
                np.full(len(told), answer.bag),
                np.array(told),
                self.model.settings(),
            )
        self._states.append(state)

    def _rebuild(self) -> None:
        """Replay everything: the last resort of an undo deeper than the kept states."""
        answers, self._answers = self._answers, []
        for answer in answers:
            self._forget(answer)
        self._state = self._first_state
        self.replay(answers)

    def _questions(self, count: int) -> list[Question]:
        pool = self.pool()
        numbers = np.arange(len(self._answers), len(self._answers) + count, dtype=np.uint64)
        audits = keyed_uniform(self.random_state, numbers, np.array(AUDIT)) < self.audit
        drawn = iter(self._choose(pool, "random", count) if audits.any() else [])
        chosen = iter(self._choose(pool, self.criterion, count + int(audits.sum())) if not audits.all() else [])
        questions: dict[tuple[int, tuple[int, ...]], Question] = {}
        for audit in audits:
            for choice in drawn if audit else chosen:
                if (choice.bag, choice.classes) not in questions:
                    questions[choice.bag, choice.classes] = self._question(pool, choice, bool(audit))
                    break
        return list(questions.values())

    def _choose(self, pool: Pool, criterion: str, count: int) -> list[granularity.Choice]:
        if criterion == "random":
            return granularity.random_choice(self.granularity, pool, count)
        return granularity.get(self.granularity)(pool, criteria.get(criterion)(pool), count)

    def _question(self, pool: Pool, choice: granularity.Choice, audit: bool) -> Question:
        rows = slice(*self.bags.offsets[choice.bag : choice.bag + 2])
        likeliest = pool.scorer.instance_probabilities(rows).argmax(axis=0)
        evidence = tuple(int(likeliest[c]) for c in choice.classes)
        return Question(choice.bag, choice.classes, evidence, choice.score, audit)

    def _check_parameters(self) -> None:
        criteria.get(self.criterion)
        granularity.get(self.granularity)
        solvers.get(self.update)
        if self._template.objective == "joint" and self.update.endswith("sgd"):
            raise BagwiseError(f"update={self.update!r} steps on single labels: the joint objective needs lbfgs or gd.")
        if not 0 <= self.audit <= 1:
            raise BagwiseError(f"audit={self.audit} is a share of the questions: it must lie between 0 and 1.")
