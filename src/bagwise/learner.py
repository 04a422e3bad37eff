"""ActiveLearner: ask, tell, undo. The one loop that simulation, server and cluster all run (the paper's algorithm 1).

Its state is a replay of the answers: the same bags, labels, settings and answers give the same weights, bit for bit.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from bagwise import criteria, granularity
from bagwise.bags import Bags
from bagwise.errors import BagwiseError
from bagwise.kernels import Array, keyed_uniform
from bagwise.kernels.blocks import single_threaded_blas
from bagwise.labels import Labels
from bagwise.model import MIMLClassifier, Pool, solvers
from bagwise.model.solvers import State

AUDIT = 0xA0D1
UNDO_AT_ONCE = 64

Present = bool | None


class NothingToAsk(BagwiseError):
    """Every pair has been answered."""


@dataclass(frozen=True)
class Question:
    """*Are these classes in this bag?* Usually one class; a whole-bag query has several.

    `evidence` names, for each class, the instance of the bag that carries most of P(class). An `audit` question was
    drawn at random from those still open, not chosen.
    """

    bag: int
    classes: tuple[int, ...]
    evidence: tuple[int, ...]
    score: float = float("nan")
    audit: bool = False

    def cost(self, classes_per_query: int = 1) -> int:
        """Pair queries it costs when a person answers `classes_per_query` classes of a bag in one go."""
        return -(-len(self.classes) // classes_per_query)


@dataclass(frozen=True)
class Answer:
    """What was told: present, absent or unsure (None) for each class of a question.

    `key` is an instance that a person pointed at as carrying the class; most learners have no use for it.
    """

    bag: int
    classes: tuple[int, ...]
    present: tuple[Present, ...]
    audit: bool = False
    key: int | None = None


def _as_present(answer: Any) -> Present:
    """True, False or None from what people write for them; nothing is guessed."""
    if answer is None or (isinstance(answer, bool | np.bool_ | int | np.integer) and answer in (0, 1)):
        return None if answer is None else bool(answer)
    raise BagwiseError(f"The answer {answer!r} is not known: say True (present), False (absent) or None (unsure).")


class Learner(ABC):
    """What every learner does alike: keep the labels and the answers, refuse what makes no sense."""

    wants_key = False
    """Whether a positive answer should come with the instance that carries the class."""

    def __init__(
        self,
        bags: Bags | Sequence[npt.ArrayLike],
        classes: Sequence[str],
        labels: Any = None,
        random_state: int = 0,
    ) -> None:
        self.bags = Bags.of(bags)
        self.classes = list(classes) if isinstance(classes, list | tuple | np.ndarray) else []
        self._refuse_bad_classes()
        if not isinstance(random_state, int | np.integer):
            raise BagwiseError(f"random_state={random_state!r} must be a whole number: questions are keyed by it.")
        self.random_state = int(random_state)
        self.labels = self._initial_labels(labels)
        self._withdrawn = np.zeros(self.labels.known.shape, bool)
        self._answers: list[Answer] = []

    @abstractmethod
    def predict_proba(self, bags: Bags | Sequence[npt.ArrayLike]) -> Array:
        """P(class is in bag), or a score that exceeds a half where the class is predicted."""

    @abstractmethod
    def _questions(self, count: int) -> list[Question]:
        """Up to `count` different questions, best first; there is something to ask."""

    @abstractmethod
    def _update(self, answer: Answer, told: list[int]) -> None:
        """Learn that the labels of the classes `told` of the answer's bag have become known."""

    @overload
    def ask(self) -> Question: ...
    @overload
    def ask(self, count: int) -> list[Question]: ...
    def ask(self, count: int | None = None) -> Question | list[Question]:
        """The next question; with `count`, up to that many different ones, best first.

        Asking changes nothing: without an answer in between, the same question comes again.
        """
        if self.exhausted:
            raise NothingToAsk("There is nothing left to ask: every pair has been answered.")
        if count is not None and not (isinstance(count, int) and count >= 1):
            raise BagwiseError(f"ask({count!r}): ask for a whole number of questions, at least 1.")
        open_pairs = int(np.count_nonzero(~(self.labels.known | self._withdrawn)))
        questions = self._questions(1 if count is None else min(count, open_pairs))
        return questions[0] if count is None else questions

    def tell(self, question: Question, answer: Present | Sequence[Present], key: int | None = None) -> None:
        """Learn that the class is present (True), absent (False) or that nobody can say (None).

        A question about several classes takes one answer for each.
        """
        given = list(answer) if isinstance(answer, list | tuple | np.ndarray) and np.ndim(answer) else [answer]
        present = tuple(_as_present(one) for one in given)
        self._learn(Answer(question.bag, question.classes, present, question.audit, key))

    def replay(self, answers: Iterable[Answer]) -> None:
        """Tell all of these, in order."""
        for answer in answers:
            self._learn(answer)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Everything told and not undone, in order. Replaying it gives this learner again."""
        return tuple(self._answers)

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to ask."""
        return bool((self.labels.known | self._withdrawn).all())

    def _learn(self, answer: Answer) -> None:
        """Take an answer in, or, if anything goes wrong on the way, be as before."""
        self._refuse_misfit(answer)
        self._refuse_answered(answer)
        self._answers.append(answer)
        told = []
        try:
            for label_class, present in zip(answer.classes, answer.present, strict=True):
                if present is None:
                    self._withdrawn[answer.bag, label_class] = True
                else:
                    self.labels.record(answer.bag, label_class, present)
                    told.append(label_class)
            with single_threaded_blas():
                self._update(answer, told)
        except BaseException:
            self._forget(self._answers.pop())
            raise

    def _forget(self, answer: Answer) -> None:
        for label_class in answer.classes:
            self.labels.forget(answer.bag, label_class)
            self._withdrawn[answer.bag, label_class] = False

    def _initial_labels(self, labels: Any) -> Labels:
        if labels is None:
            return Labels.unknown(len(self.bags), len(self.classes))
        known = Labels.of(labels, len(self.bags)).copy()
        if known.n_classes != len(self.classes):
            raise BagwiseError(f"The labels have {known.n_classes} columns for {len(self.classes)} classes.")
        return known

    def _refuse_bad_classes(self) -> None:
        if not self.classes:
            raise BagwiseError("There are no classes: give a list with at least one name.")
        repeated = {str(name) for name in self.classes if self.classes.count(name) > 1}
        if repeated:
            raise BagwiseError(f"The class {min(repeated)} is named more than once.")

    def _refuse_misfit(self, answer: Answer) -> None:
        bags, classes = self.labels.known.shape
        if len(answer.present) != len(answer.classes):
            raise BagwiseError(
                f"The question names {len(answer.classes)} classes but {len(answer.present)} answers came."
            )
        if not 0 <= answer.bag < bags or not all(0 <= c < classes for c in answer.classes):
            raise BagwiseError(
                f"The question names bag {answer.bag} and classes {answer.classes}: there are {bags} bags and "
                f"{classes} classes, counted from 0."
            )
        if len(set(answer.classes)) < len(answer.classes):
            raise BagwiseError(f"The question names a class twice: {answer.classes}.")

    def _refuse_answered(self, answer: Answer) -> None:
        for label_class in answer.classes:
            if self.labels.known[answer.bag, label_class] or self._withdrawn[answer.bag, label_class]:
                raise BagwiseError(
                    f"Bag {self.bags.ids[answer.bag]}, class {self.classes[label_class]} has been answered already: "
                    "undo it first."
                )


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
