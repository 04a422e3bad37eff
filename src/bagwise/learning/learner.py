"""ActiveLearner: ask, tell, undo. The one loop that simulation, server and cluster all run (the paper's algorithm 1).

Its state is a replay of the answers: the same bags, labels, settings and answers give the same weights, bit for bit.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.data.label_store import KnownLabels, LabelStore
from bagwise.data.labels import Labels
from bagwise.kernels import Array
from bagwise.kernels.arithmetic.blocks import single_threaded_blas
from bagwise.learning import criteria, granularity
from bagwise.learning.audits import audit_turns
from bagwise.learning.base import Learner
from bagwise.learning.evidence import explain
from bagwise.learning.pool import LocalPool, Pool, QueryOptions, Request, top_k_on
from bagwise.learning.questions import Answer, Present, Question, diversify
from bagwise.learning.top_k import Statistics
from bagwise.model import MIMLClassifier, ScoredPool, solvers
from bagwise.model.solvers import State

UNDO_AT_ONCE = 64
SPREAD_OVER = 10
NO_KEY = -1
SAID: dict[Present, int] = {True: 1, False: 0, None: -1}
OPEN = "open"
COVERING = ("pair", "bag")
"""Granularities whose ranking of all questions contains every open pair."""

Snapshot = dict[str, Array]


class ActiveLearner(Learner):
    """Asks the question that teaches most, learns from the answer, asks the next.

    `model` gives the parameters; the learner fits a copy of it to `labels`, so that its state is a function of labels
    and answers alone. Weights that `model` may have are not used. With `cold_start` (None: where no bag of `labels` is
    known completely) a bag of every class is looked for and a few bags are completed before the criterion has the word;
    `update` learns every answer, refitting every `refit_every` answers (None: as it thinks best). `device` ("cpu",
    "cuda", or "auto": a card where there is one) finds the same questions, sooner in large pools. Instead of `bags`, a
    `pool` may be given whose bags lie elsewhere, as on a cluster: the questions are the same.

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
        bags: Bags | Sequence[npt.ArrayLike] | None = None,
        classes: Sequence[str] = (),
        labels: Any = None,
        model: MIMLClassifier | None = None,
        criterion: str | criteria.Criterion = "widening_uncertainty",
        granularity: str = "pair",
        update: str | solvers.Solver = "replay",
        audit: float = 0.1,
        random_state: int = 0,
        refit_every: int | None = None,
        cold_start: bool | None = None,
        seconds: granularity.Seconds | None = None,
        device: str = "cpu",
        snapshot: Snapshot | None = None,
        pool: Pool | None = None,
    ) -> None:
        self._pool = _pool_of(bags, pool, device)
        super().__init__(self._pool.bags, classes, labels, random_state)
        self.criterion, self.granularity, self.update = criterion, granularity, update
        self.audit, self.refit_every, self.seconds = audit, refit_every, seconds
        self.cold_start = not self._label_store.label_counts.complete if cold_start is None else cold_start
        if model is not None and not isinstance(model, MIMLClassifier):
            raise BagwiseError(f"model={model!r} must be a MIMLClassifier.")
        self._template = MIMLClassifier() if model is None else model
        self._check_parameters()
        self._states: deque[State] = deque(maxlen=UNDO_AT_ONCE)
        self._revised = False
        self.model: MIMLClassifier = self._start(clone(self._template), learn=snapshot is None)
        self._first_state = self._state
        if snapshot is not None:
            self._restore(snapshot)

    def undo(self) -> None:
        """Take the last answer back; everything is then as if it had not been given."""
        if not self._answers:
            raise BagwiseError("There is no answer to undo.")
        if self._states:
            self._take_back_last()
            self._state = self._states.pop()
        elif self._revised:
            raise BagwiseError("Answers were revised since: what was told before cannot be undone, only retracted.")
        else:
            self._take_back_last()
            self._rebuild()

    @property
    def last_answer(self) -> Answer | None:
        """The answer that `undo` would take back at once and completely, if there is one."""
        return next(reversed(self._answers.values())) if self._answers and self._states else None

    def resume_from(self, withdrawn: Array, told: int) -> None:
        """Go on from a history that is in the labels already: pairs nobody could tell, and how many were told."""
        for bag, label_class in np.argwhere(withdrawn).tolist():
            self._label_store.withdraw(bag, label_class)
        self._told = told

    def revise(self, bag: int, label_class: int, present: Present, flip: float = 0.0) -> None:
        """Correct what was told about a pair. The model learns it now, as something new, and goes on from there."""
        number, answer = self._answer_about(bag, label_class)
        if answer is not None:
            place = answer.classes.index(label_class)
            said = (*answer.present[:place], present, *answer.present[place + 1 :])
            self._answers[number] = replace(answer, present=said, flip=flip)
        self._change(bag, label_class, present, flip)

    def retract(self, bag: int, label_class: int) -> None:
        """Take back what was told about a pair, however long ago: it is unknown and may be asked again.

        The model goes on from where it is: `lbfgs` and `gd` forget the label, the stochastic updates only what later
        steps wash out. `undo` of the last answer forgets it completely.
        """
        number, answer = self._answer_about(bag, label_class)
        if answer is not None:
            kept = [(c, said) for c, said in zip(answer.classes, answer.present, strict=True) if c != label_class]
            if kept:
                classes, said = zip(*kept, strict=True)
                self._answers[number] = replace(answer, classes=classes, present=said)
            else:
                del self._answers[number]
        self._change(bag, label_class, OPEN)

    def _answer_about(self, bag: int, label_class: int) -> tuple[int, Answer | None]:
        """The answer that told about a pair; None where it was known from the start."""
        if self._label_store.is_open(bag, label_class):
            raise BagwiseError(f"Nothing was told about bag {bag}, class {label_class}.")
        for number, answer in reversed(self._answers.items()):
            if answer.bag == bag and label_class in answer.classes:
                return number, answer
        return -1, None

    def _change(self, bag: int, label_class: int, present: Present | str, flip: float = 0.0) -> None:
        told = isinstance(present, bool)
        if told:
            self._label_store.forget(bag, label_class)
            self._label_store.record(bag, label_class, bool(present), flip)
        elif present is None:
            self._label_store.withdraw(bag, label_class)
        else:
            self._label_store.forget(bag, label_class)
        self._states.clear()
        self._revised = True
        if self._label_store.label_counts.n_known == 0:
            self._state = State(np.zeros_like(self._state.weights))
        elif told or not solvers.capabilities(self.update).answered_bags_only:
            pairs = np.array([bag] if told else [], int), np.array([label_class] if told else [], int)
            with single_threaded_blas():
                self._state = self._updated(*pairs)

    def snapshot(self) -> Snapshot:
        """All that the learner has become, as arrays: a learner made with it goes on as this one would."""
        rows = [
            (number, answer.bag, label_class, SAID[present], answer.audit, NO_KEY if answer.key is None else answer.key)
            for number, answer in self._answers.items()
            for label_class, present in zip(answer.classes, answer.present, strict=True)
        ]
        states = [self._first_state, self._state, *self._states]
        told = self._label_store.known_labels()
        return {
            "answers": np.array(rows, np.int64).reshape(-1, 6),
            "told": told.bags,
            "known": told.labels.known,
            "value": told.labels.value,
            **({} if told.labels.flip is None else {"flip": told.labels.flip}),
            "withdrawn": told.withdrawn,
            "weights": np.array([state.weights for state in states]),
            "moments": np.array([state.moments for state in states if state.moments is not None]),
            "with_moments": np.array([state.moments is not None for state in states]),
            "counts": np.array([self._told, self._revised, *(state.steps for state in states)], np.int64),
        }

    def _restore(self, snapshot: Snapshot) -> None:
        known = Labels(snapshot["value"], snapshot["known"], snapshot.get("flip"))
        self._label_store.load(KnownLabels(snapshot["told"], known, snapshot["withdrawn"].astype(bool)))
        self._told, self._revised = int(snapshot["counts"][0]), bool(snapshot["counts"][1])
        moments = iter(snapshot["moments"])
        states = [
            State(weights, int(steps), next(moments) if with_moments else None)
            for weights, steps, with_moments in zip(
                snapshot["weights"], snapshot["counts"][2:], snapshot["with_moments"], strict=True
            )
        ]
        self._first_state, self._state, *undoable = states
        self._states.extend(undoable)
        said = {number: present for present, number in SAID.items()}
        for number, bag, label_class, present, audit, key in snapshot["answers"].tolist():
            before = self._answers.get(number)
            classes = (*(before.classes if before else ()), label_class)
            told = (*(before.present if before else ()), said[present])
            flip = max(self._label_store.flip(bag, label_class), before.flip if before else 0.0)
            self._answers[number] = Answer(bag, classes, told, bool(audit), None if key == NO_KEY else key, flip)

    def close(self) -> None:
        """Let go of what is held elsewhere, if anything is."""
        self._pool.close()

    def predict_proba(self, bags: Bags | Sequence[npt.ArrayLike]) -> Array:
        """P(class is in bag) under the present model."""
        return self.model.predict_proba(bags)

    def pool(self) -> ScoredPool:
        """What the criterion sees now."""
        if not isinstance(self._pool, LocalPool):
            raise BagwiseError("The bags lie elsewhere: what a criterion sees of them is seen there.")
        return self._pool.pool(self.model, self._label_store, self.random_state)

    @property
    def statistics(self) -> Statistics:
        """What finding the questions has cost: how many bags had to be scored, and how often all of them."""
        return self._pool.statistics

    @property
    def _state(self) -> State:
        return self.model.state

    @_state.setter
    def _state(self, state: State) -> None:
        self.model.set_state(state)

    def _first_label_store(self, labels: Any) -> LabelStore:
        return self._pool.label_store(labels, len(self.classes))

    def _start(self, model: MIMLClassifier, learn: bool) -> MIMLClassifier:
        self._pool.prepare(model, len(self.classes), self.random_state)
        if self._label_store.label_counts.n_known and learn:
            model.learn(self._pool.objective(model, self._label_store, np.empty(0, int))[0])
        return model

    def _update(self, answer: Answer, told: list[int]) -> None:
        state = self._state
        if told:
            self._state = self._updated(np.full(len(told), answer.bag), np.array(told))
        self._states.append(state)

    def _updated(self, bags: Array, classes: Array) -> State:
        """The model after these pairs became known."""
        alone = solvers.capabilities(self.update).answered_bags_only
        objective, places = self._pool.objective(self.model, self._label_store, bags, alone)
        settings = replace(self.model.settings(), refit_every=self.refit_every)
        return solvers.get(self.update).update(objective, self._state, places, classes, settings)

    def _rebuild(self) -> None:
        """Replay everything: the last resort of an undo deeper than the kept states."""
        answers, self._answers, self._told = self.answers, {}, 0
        for answer in answers:
            self._forget(answer)
        self._state = self._first_state
        self.replay(answers)

    def _questions(self, count: int) -> list[Question]:
        with single_threaded_blas():
            return self._covering(count)

    def _covering(self, count: int) -> list[Question]:
        """Questions of the granularity, then pairs that are in none of them: no open pair is left out for ever."""
        ranking, _ = self._rank(count)
        if len(ranking) < count and self.granularity not in COVERING:
            covered = {pair for question in ranking for pair in question.pairs}
            pairs, _ = self._rank(count + len(covered), granularity="pair")
            ranking += [question for question in pairs if question.pairs[0] not in covered]
        return ranking[:count]

    def _batch(self, count: int) -> list[Question]:
        with single_threaded_blas():
            questions, partial = self._rank(count, spread=count > 1)
            self._pool.prefetch([question.bag for question in questions])
            return [self._explained(replace(question, partial=partial)) for question in questions]

    def _rank(self, count: int, spread: bool = False, granularity: str | None = None) -> tuple[list[Question], bool]:
        """Up to `count` questions, audits at their turns, and whether some bags were left out.

        Whether a turn is an audit does not depend on what is chosen in the others.
        """
        audits = audit_turns(self.random_state, self._told, count, self.audit)
        by_lot, by_score = count if audits.any() else 0, 0 if audits.all() else count + int(audits.sum())
        requests = Request("random", by_lot), Request(self.criterion, by_score * (SPREAD_OVER if spread else 1))
        found = self._pool.choose(self.model, self._label_store, self._options(granularity), requests)
        drawn, chosen = found.choices
        if spread:
            chosen = diversify(chosen, (), by_score)[:by_score]
        left = {True: iter(drawn), False: iter(chosen)}
        ranking: dict[tuple[int, tuple[int, ...]], Question] = {}
        for audit in audits.tolist():
            for question in left[audit]:
                if (question.bag, question.classes) not in ranking:
                    ranking[question.bag, question.classes] = replace(question, audit=True) if audit else question
                    break
        return list(ranking.values()), found.partial

    def _options(self, granularity: str | None) -> QueryOptions:
        last = next(reversed(self._answers.values())).bag if self._answers else None
        return QueryOptions(granularity or self.granularity, self.cold_start, self.seconds, last, self.random_state)

    def _explained(self, question: Question) -> Question:
        return explain(question, self.model.scorer(self._pool.instances(question.bag)).instance_probabilities())

    def _check_parameters(self) -> None:
        criteria.get(self.criterion)
        granularity.get(self.granularity)
        solvers.get(self.update)
        solvers.validate_objective("update", self.update, self._template.objective)
        if not 0 <= self.audit <= 1:
            raise BagwiseError(f"audit={self.audit} is a share of the questions: it must lie between 0 and 1.")
        if self.refit_every is not None and not (isinstance(self.refit_every, int) and self.refit_every >= 1):
            raise BagwiseError(f"refit_every={self.refit_every!r} must be a whole number of answers, at least 1.")


def _pool_of(bags: Bags | Sequence[npt.ArrayLike] | None, pool: Pool | None, device: str) -> Pool:
    if (bags is None) == (pool is None):
        raise BagwiseError("Give bags, or a pool whose bags lie elsewhere: one of the two.")
    if pool is None:
        assert bags is not None
        return LocalPool(Bags.of(bags), top_k_on(device))
    if device != "cpu":
        raise BagwiseError(f"device={device!r} is for bags in this process: a pool elsewhere has devices of its own.")
    return pool
