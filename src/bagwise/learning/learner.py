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
from bagwise.data.instance_labels import InstanceLabel, InstanceLabels
from bagwise.data.label_store import KnownLabels, LabelStore
from bagwise.data.labels import Labels
from bagwise.data.scores import Scores
from bagwise.kernels import Array
from bagwise.kernels.arithmetic.blocks import single_threaded_blas
from bagwise.learning import criteria, granularity
from bagwise.learning.audits import DesignedDraws, Ranked, UniformDraws, audit_turns, validate_design
from bagwise.learning.base import Learner, NothingToAsk
from bagwise.learning.candidates import diversify
from bagwise.learning.cold_start import ColdStart
from bagwise.learning.evidence import explain
from bagwise.learning.pool import LocalPool, Pool, QueryOptions, Request, top_k_on
from bagwise.learning.questions import Answer, Present, Question, as_instances
from bagwise.learning.top_k import Statistics
from bagwise.model import MIMLClassifier, ScoredPool, solvers
from bagwise.model.solvers import State

UNDO_AT_ONCE = 64
SPREAD_OVER = 10
NO_INSTANCE = -1
CODE: dict[Present, int] = {True: 1, False: 0, None: -1}
OPEN = "open"
COVERING = ("pair", "bag")
"""Granularities whose ranking of all questions contains every open pair."""

Snapshot = dict[str, Array]


class ActiveLearner(Learner):
    """Asks the most informative question, learns from the answer, asks the next.

    The learner fits a copy of `model` to `labels`, so that its state is a function of labels and answers alone.

    Parameters
    ----------
    bags : Bags or sequence of array-like of shape (n_instances, n_features)
        The B bags to ask about; leave it out where a `pool` is given.
    classes : sequence of str
        The names of the C classes, each once.
    labels : Labels, KnownLabels or array-like of shape (B, C), optional
        The labels known at the start: 1 present, 0 absent, NaN unknown. By default all are unknown.
    model : MIMLClassifier, optional
        Its parameters are used, its weights are not.
    criterion : str or callable
        Scores every pair, larger: ask sooner. A name in `bagwise.criteria`, or a function of a `ScoredPool`.
    granularity : {"pair", "bag", "bag_then_class", "best_value", "instance"}
        What one question asks about; with "instance" one instance of a bag, for bags of many instances.
    update : str or Solver
        Learns every answer: "replay", "lbfgs", "gd", "bag_sgd", "pair_sgd" or another solver.
    audit : float
        Share of the questions, from 0 to 1, that are drawn at random to estimate quality from.
    audit_design : {"uniform", "balanced"}
        How they are drawn: every open pair alike, or uncertain pairs and those of rare classes more often. Whole bags
        (`granularity="bag"`) are always drawn alike.
    random_state : int
        Seed of ties, audits and class discovery.
    refit_every : int, optional
        Number of answers between refits; by default the solver decides.
    cold_start : bool or ColdStart, optional
        Whether to look for a bag of every class and to complete a few bags before `criterion` decides, for a shorter
        time where bags have 200 features or more, and to search rare classes; a `ColdStart` says how long. By default
        where no bag of `labels` is known completely.
    seconds : Seconds, optional
        Seconds that answers take, for `granularity="best_value"`.
    device : {"cpu", "cuda", "auto"}
        Where the best pairs are searched; "auto" is a GPU where there is one. The questions are the same.
    snapshot : dict of str to array, optional
        The `snapshot()` of another learner with the same bags, labels and parameters, to go on from.
    pool : Pool, optional
        Bags that are stored elsewhere, as on a cluster, instead of `bags`.
    scores : Scores, or array-like of probabilities, shape (N, C) or (B, C), optional
        What a classifier thinks of the instances or bags; NaN for unknown. The model starts from them and learns how
        far they are right. Names of classes are matched where the scores have any.
    candidates : array-like of bool, shape (B,), optional
        Which bags may be asked about; of the others only what is known is learned. By default all. It may be set
        again at any time.

    Raises
    ------
    BagwiseError
        If a parameter is invalid, or both or neither of `bags` and `pool` are given.

    Examples
    --------
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
        cold_start: bool | ColdStart | None = None,
        seconds: granularity.Seconds | None = None,
        device: str = "cpu",
        snapshot: Snapshot | None = None,
        pool: Pool | None = None,
        scores: Any = None,
        candidates: npt.ArrayLike | None = None,
        audit_design: str = "uniform",
    ) -> None:
        if scores is not None:
            if bags is None:
                raise BagwiseError("Scores are for `bags` in this process: a `pool` elsewhere does not support them.")
            bags = Bags.of(bags)
            bags = Scores.of(scores, bags).attached_to(bags, classes)
        self._pool = _pool_of(bags, pool, device)
        super().__init__(self._pool.bags, classes, labels, random_state)
        self.candidates = None if candidates is None else np.asarray(candidates)
        self.criterion, self.granularity, self.update = criterion, granularity, update
        self.audit, self.refit_every, self.seconds = audit, refit_every, seconds
        self.audit_design = audit_design
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
        """Undo the last answer; everything is then as if it had not been given.

        Raises
        ------
        BagwiseError
            If there is no answer, or an older one was revised or retracted since.
        """
        if not self._answers:
            raise BagwiseError("There is no answer to undo.")
        if self._states:
            self._undo_last()
            self._state = self._states.pop()
        elif self._revised:
            raise BagwiseError("Answers were revised since: earlier answers cannot be undone, only retracted.")
        else:
            self._undo_last()
            self._rebuild()

    @property
    def last_answer(self) -> Answer | None:
        """The answer that `undo` would undo without a replay, if there is one."""
        return next(reversed(self._answers.values())) if self._answers and self._states else None

    def resume_from(self, withdrawn: Array, n_answered: int) -> None:
        """Go on from answers that are in the labels already.

        Parameters
        ----------
        withdrawn : array of bool, shape (B, C)
            Pairs that are not asked although they are unknown: the answer was unsure, or the bag was removed.
        n_answered : int
            Number of answers so far; it decides which of the next questions are audits.
        """
        for bag, label_class in np.argwhere(withdrawn).tolist():
            self._label_store.withdraw(bag, label_class)
        self._n_answered = n_answered

    def revise(
        self,
        bag: int,
        label_class: int,
        present: Present,
        flip: float = 0.0,
        where: Sequence[int] = (),
        elsewhere: Sequence[int] = (),
        pointing_flip: float = 0.0,
        known: Sequence[InstanceLabel] = (),
    ) -> None:
        """Correct the label of a pair; the model learns it now, as a new label, and goes on from there.

        Parameters
        ----------
        bag, label_class : int
            Positions of the bag and the class.
        present : bool or None
            The right answer: present, absent, or unsure (None), which is not a label.
        flip : float
            The probability that it is wrong.
        where, elsewhere : sequence of int
            Instances that are of the class, and that are not, where it is present; they replace those before.
        pointing_flip : float
            The probability that what is said of an instance is wrong.
        known : sequence of InstanceLabel
            What else is known of instances about the class, whatever the answer is.

        Raises
        ------
        BagwiseError
            If neither the pair nor an instance of it has an answer or a label, or an instance does not exist.
        """
        self._validate_answered(bag, label_class)
        number, answer = self._answer_about(bag, label_class)
        here, not_here = as_instances(where, 1), as_instances(elsewhere, 1)
        revised = Answer(bag, (label_class,), (present,), False, flip, here, not_here, pointing_flip)
        self._validate_shape(revised)
        if answer is not None:
            others = _without(answer, label_class)
            drawn = replace(revised, audit=answer.audit, probability=answer.probability)
            self._answers[number] = drawn if others is None else _joined(others, revised)
        self._change(bag, label_class, present, flip, (*known, *revised.instance_labels(0)))

    def retract(self, bag: int, label_class: int, known: Sequence[InstanceLabel] = ()) -> None:
        """Remove the label of a pair and of its instances, however old: it is unknown and may be asked again.

        The model goes on from where it is: `lbfgs` and `gd` forget the label, the stochastic updates only what later
        steps wash out. `undo` of the last answer forgets it completely.

        Parameters
        ----------
        bag, label_class : int
            Positions of the bag and the class.
        known : sequence of InstanceLabel
            What is known of instances about the class all the same.

        Raises
        ------
        BagwiseError
            If neither the pair nor an instance of it has an answer or a label, and `known` is empty.
        """
        if not known:
            self._validate_answered(bag, label_class)
        number, answer = self._answer_about(bag, label_class)
        if answer is not None:
            others = _without(answer, label_class)
            if others is None:
                del self._answers[number]
            else:
                self._answers[number] = others
        self._change(bag, label_class, OPEN, labelled=known)

    def _validate_answered(self, bag: int, label_class: int) -> None:
        if self._label_store.is_open(bag, label_class) and not self.instance_labels(bag, label_class):
            raise BagwiseError(f"Bag {bag}, class {label_class} has no answer: it is still open.")

    def _answer_about(self, bag: int, label_class: int) -> tuple[int, Answer | None]:
        """The answer to a pair and its number; (-1, None) where it was known from the start, or is open."""
        for number, answer in reversed(self._answers.items()):
            if answer.bag == bag and label_class in answer.classes and answer.labels_bag:
                return number, answer
        return -1, None

    def _change(
        self,
        bag: int,
        label_class: int,
        present: Present | str,
        flip: float = 0.0,
        labelled: Sequence[InstanceLabel] = (),
    ) -> None:
        is_label = isinstance(present, bool)
        teaches = is_label or any(label.present is not None for label in labelled)
        # What was known about this pair is replaced: an undo of a later answer must not bring it back.
        self._answers = {
            number: one
            for number, one in self._answers.items()
            if one.labels_bag or (one.bag, one.classes) != (bag, (label_class,))
        }
        for label in self._first_instance_labels.about(bag, label_class):
            self._first_instance_labels.forget(bag, label.instance, label_class)
        for label in labelled:
            self._first_instance_labels.set(bag, label)
        self._label_store.label_instances(bag, label_class, self._first_instance_labels.about(bag, label_class))
        if is_label:
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
        elif teaches or not solvers.capabilities(self.update).answered_bags_only:
            pairs = np.array([bag] if teaches else [], int), np.array([label_class] if teaches else [], int)
            with single_threaded_blas():
                self._state = self._updated(*pairs)

    def snapshot(self) -> Snapshot:
        """Return the state of the learner as arrays: a learner made with it goes on as this one would.

        Returns
        -------
        dict of str to array
            Answers, known labels, weights and counters; `numpy.savez` can store it.

        Examples
        --------
        >>> bags, labels = Bags.from_list([[[-2.0]], [[2.0]], [[0.1]]]), [[1, 0], [0, 1], [np.nan] * 2]
        >>> learner = ActiveLearner(bags, ["low", "high"], labels)
        >>> learner.tell(learner.ask(), True)
        >>> again = ActiveLearner(bags, ["low", "high"], labels, snapshot=learner.snapshot())
        >>> again.ask() == learner.ask()
        True
        """
        rows = [
            (
                number,
                answer.bag,
                label_class,
                CODE[present],
                answer.audit,
                NO_INSTANCE if answer.instance is None else answer.instance,
            )
            for number, answer in self._answers.items()
            for label_class, present in zip(answer.classes, answer.present, strict=True)
        ]
        states = [self._first_state, self._state, *self._states]
        known = self._label_store.known_labels()
        pointed = [
            (number, label.instance, label.label_class, CODE[label.present])
            for number, answer in self._answers.items()
            if answer.where or answer.elsewhere
            for place in range(len(answer.classes))
            for label in answer.instance_labels(place)
        ]
        return {
            "answers": np.array(rows, np.int64).reshape(-1, 6),
            "pointed": np.array(pointed, np.int64).reshape(-1, 4),
            "pointing_flip": np.array([(number, one.pointing_flip) for number, one in self._answers.items()]),
            "probability": np.array(
                [(number, one.probability) for number, one in self._answers.items() if one.probability is not None]
            ).reshape(-1, 2),
            "instances": known.labels.instances.to_rows(),
            "first_instances": self._first_instance_labels.to_rows(),
            "told": known.bags,
            "known": known.labels.known,
            "value": known.labels.value,
            **({} if known.labels.flip is None else {"flip": known.labels.flip}),
            "withdrawn": known.withdrawn,
            "weights": np.array([state.weights for state in states]),
            "moments": np.array([state.moments for state in states if state.moments is not None]),
            "with_moments": np.array([state.moments is not None for state in states]),
            "counts": np.array([self._n_answered, self._revised, *(state.steps for state in states)], np.int64),
        }

    def _restore(self, snapshot: Snapshot) -> None:
        of_code = {code: present for present, code in CODE.items()}
        instances = InstanceLabels.from_rows(snapshot["instances"], len(self.classes))
        self._first_instance_labels = InstanceLabels.from_rows(snapshot["first_instances"], len(self.classes))
        known = Labels(snapshot["value"], snapshot["known"], snapshot.get("flip"), instances)
        self._label_store.load(KnownLabels(snapshot["told"], known, snapshot["withdrawn"].astype(bool)))
        self._n_answered, self._revised = int(snapshot["counts"][0]), bool(snapshot["counts"][1])
        moments = iter(snapshot["moments"])
        states = [
            State(weights, int(steps), next(moments) if with_moments else None)
            for weights, steps, with_moments in zip(
                snapshot["weights"], snapshot["counts"][2:], snapshot["with_moments"], strict=True
            )
        ]
        self._first_state, self._state, *undoable = states
        self._states.extend(undoable)
        pointed: dict[tuple[int, int, bool | None], list[int]] = {}
        for number, instance, label_class, code in snapshot["pointed"].tolist():
            pointed.setdefault((number, label_class, of_code[code]), []).append(instance)
        pointing_flip = dict(snapshot["pointing_flip"].tolist())
        # Snapshots of older versions do not have it.
        probability = dict(snapshot.get("probability", np.empty((0, 2))).tolist())
        for number, bag, label_class, code, audit, instance in snapshot["answers"].tolist():
            before = self._answers.get(number)
            one = Answer(
                bag,
                (label_class,),
                (of_code[code],),
                bool(audit),
                self._label_store.flip(bag, label_class),
                as_instances(pointed.get((number, label_class, True)), 1),
                as_instances(pointed.get((number, label_class, False)), 1),
                pointing_flip[number],
                None if instance == NO_INSTANCE else instance,
                probability.get(number),
            )
            self._answers[number] = one if before is None else _joined(before, one)

    def close(self) -> None:
        """Release the pool: processes and memory elsewhere, if there are any."""
        self._pool.close()

    def predict_proba(self, bags: Bags | Sequence[npt.ArrayLike], scores: Any = None) -> Array:
        """Return P(class in bag) under the current model.

        Parameters
        ----------
        bags : Bags, or sequence of array-like, each of shape (n_b, d)
            The bags.
        scores : Scores, or array-like of probabilities, shape (N, C) or (B, C), optional
            What a classifier thinks of them, where the learner has scores.

        Returns
        -------
        ndarray, shape (B, C)
        """
        if scores is not None:
            bags = Bags.of(bags)
            bags = Scores.of(scores, bags).attached_to(bags, self.classes)
        return self.model.predict_proba(bags)

    def pool(self) -> ScoredPool:
        """Return what the criterion gets now: the scored pool."""
        if not isinstance(self._pool, LocalPool):
            raise BagwiseError("The bags are not stored in this process, so their scored pool is not available.")
        return self._pool.pool(self.model, self._label_store, self.random_state)

    @property
    def statistics(self) -> Statistics:
        """The cost of finding the questions: how many bags were scored, and how often all of them."""
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

    def _update(self, answer: Answer, known_classes: list[int]) -> None:
        state = self._state
        if known_classes:
            self._state = self._updated(np.full(len(known_classes), answer.bag), np.array(known_classes))
        self._states.append(state)

    def _updated(self, bags: Array, classes: Array) -> State:
        """The model after these pairs became known."""
        alone = solvers.capabilities(self.update).answered_bags_only
        objective, places = self._pool.objective(self.model, self._label_store, bags, alone)
        settings = replace(self.model.settings(), refit_every=self.refit_every)
        return solvers.get(self.update).update(objective, self._state, places, classes, settings)

    def _rebuild(self) -> None:
        """Replay all answers, for an undo of more answers than there are stored states."""
        answers, self._answers, self._n_answered = self.answers, {}, 0
        for answer in answers:
            self._forget(answer)
        self._state = self._first_state
        self.replay(answers)

    def _askable(self, count: int) -> int:
        limited = super()._askable(count)
        # There are more instances to ask about than pairs.
        return count if self.granularity == "instance" else limited

    def _questions(self, count: int) -> list[Question]:
        with single_threaded_blas():
            return self._covering(count)

    def _covering(self, count: int) -> list[Question]:
        """Questions of the granularity, then pairs that are in none of them, so that every open pair is asked."""
        ranking, _ = self._rank(count)
        if len(ranking) < count and self.granularity not in COVERING:
            covered = {pair for question in ranking for pair in question.pairs}
            pairs, _ = self._rank(count + len(covered), granularity="pair")
            ranking += [question for question in pairs if question.pairs[0] not in covered]
        return ranking[:count]

    def _batch(self, count: int) -> list[Question]:
        with single_threaded_blas():
            questions, partial = self._rank(count, spread=count > 1)
            if not questions:
                raise NothingToAsk("There is nothing left to ask about the candidates: every pair has been answered.")
            self._pool.prefetch([question.bag for question in questions])
            return [self._explained(replace(question, partial=partial)) for question in questions]

    def _rank(self, count: int, spread: bool = False, granularity: str | None = None) -> tuple[list[Question], bool]:
        """Up to `count` questions, audits at their turns, and whether some bags were left out.

        Whether a turn is an audit does not depend on what is chosen in the others.
        """
        audits = audit_turns(self.random_state, self._n_answered, count, self.audit)
        by_lot, by_score = count if audits.any() else 0, 0 if audits.all() else count + int(audits.sum())
        requests = Request("random", by_lot), Request(self.criterion, by_score * (SPREAD_OVER if spread else 1))
        found = self._pool.choose(self.model, self._label_store, self._options(granularity), requests)
        drawn, chosen = found.choices
        if spread:
            chosen = diversify(chosen, by_score)
        turns = (self._n_answered + np.flatnonzero(audits)).tolist()
        designed, uniform, best = self._designed_draws(turns), self._uniform_draws(drawn), iter(chosen)
        ranking = Ranked()
        for turn, audit in enumerate(audits.tolist(), self._n_answered):
            if audit:
                question = designed.draw(turn, ranking.pairs) or uniform.draw(ranking)
            else:
                question = next((one for one in best if one not in ranking), None)
            if question is not None:
                ranking.add(question)
        return ranking.questions, found.partial

    def _designed_draws(self, turns: Sequence[int]) -> DesignedDraws:
        """The draws of these turns that are by design: none without a model, and where whole bags are asked."""
        designs = self.audit_design != "uniform" and self.granularity != "bag"
        designed = turns if designs and self._label_store.label_counts.n_known else ()

        def present(bags: Array) -> Array:
            return self._pool.present(self.model, self._label_store, bags)

        return DesignedDraws(self._label_store, present, self.random_state, designed, self.candidates)

    def _uniform_draws(self, drawn: Sequence[Question]) -> UniformDraws:
        if not drawn:
            return UniformDraws((), 0)
        if self.granularity == "bag":
            return UniformDraws(drawn, len(self._label_store.open_bags(self.candidates)), whole_bags=True)
        return UniformDraws(drawn, self._label_store.n_open(self.candidates))

    def _options(self, granularity: str | None) -> QueryOptions:
        last = next(reversed(self._answers.values())).bag if self._answers else None
        given = self.cold_start
        cold_start = given if isinstance(given, ColdStart) else ColdStart.of(self.bags.n_features) if given else None
        return QueryOptions(
            granularity or self.granularity, cold_start, self.seconds, last, self.random_state, self.candidates
        )

    def _explained(self, question: Question) -> Question:
        instances, labels = self._pool.instances(question.bag), self._label_store.labels_of([question.bag])
        evidence = labels.evidence(instances.offsets, len(self.model.weights_))
        probability = self.model.scorer(instances.with_evidence(evidence)).instance_probabilities()
        (explained,) = explain([question], probability, instances.offsets, {question.bag: 0})
        return explained

    def _check_parameters(self) -> None:
        criteria.get(self.criterion)
        granularity.get(self.granularity)
        solvers.get(self.update)
        solvers.validate_objective("update", self.update, self._template.objective)
        if self.bags.scores is not None:
            solvers.validate_scores("update", self.update)
        if self.candidates is not None and (
            self.candidates.dtype != bool or self.candidates.shape != (len(self.bags),)
        ):
            raise BagwiseError(f"candidates must have one bool for each of {len(self.bags)} bags.")
        validate_design(self.audit_design)
        if not 0 <= self.audit <= 1:
            raise BagwiseError(f"audit={self.audit} is a share of the questions: it must be between 0 and 1.")
        if self.refit_every is not None and not (isinstance(self.refit_every, int) and self.refit_every >= 1):
            raise BagwiseError(f"refit_every={self.refit_every!r} must be a whole number of answers, at least 1.")


def _pool_of(bags: Bags | Sequence[npt.ArrayLike] | None, pool: Pool | None, device: str) -> Pool:
    if (bags is None) == (pool is None):
        raise BagwiseError("Give either `bags` or `pool`.")
    if pool is None:
        assert bags is not None
        return LocalPool(Bags.of(bags), top_k_on(device))
    if device != "cpu":
        raise BagwiseError(f"device={device!r} is for `bags`: a `pool` chooses its own devices.")
    return pool


def _without(answer: Answer, label_class: int) -> Answer | None:
    """The answer about its other classes; None where there are none."""
    places = [place for place, one in enumerate(answer.classes) if one != label_class]
    if not places:
        return None
    return replace(
        answer,
        classes=tuple(answer.classes[place] for place in places),
        present=tuple(answer.present[place] for place in places),
        where=tuple(answer.where[place] for place in places) if answer.where else (),
        elsewhere=tuple(answer.elsewhere[place] for place in places) if answer.elsewhere else (),
    )


def _joined(answer: Answer, other: Answer) -> Answer:
    """The answer together with that about one more class of the bag."""
    none = ((),) * len(answer.classes)
    where, elsewhere = (
        (*(of_answer or none), *(of_other or ((),))) if of_answer or of_other else ()
        for of_answer, of_other in ((answer.where, other.where), (answer.elsewhere, other.elsewhere))
    )
    return replace(
        answer,
        classes=(*answer.classes, *other.classes),
        present=(*answer.present, *other.present),
        flip=max(answer.flip, other.flip),
        where=where,
        elsewhere=elsewhere,
        pointing_flip=max(answer.pointing_flip, other.pointing_flip),
    )
