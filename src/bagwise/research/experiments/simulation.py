"""Simulated labelling: answers come from known labels, metrics from a held-out fold."""

import json
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from copy import copy
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from bagwise import datasets
from bagwise.core.errors import BagwiseError
from bagwise.data.labels import Labels
from bagwise.data.metrics import THRESHOLD
from bagwise.data.metrics.bag_accuracy import bag_accuracy
from bagwise.datasets import Dataset
from bagwise.kernels import Array, hashed_uniform
from bagwise.learning import criteria, granularity
from bagwise.learning.base import Learner
from bagwise.learning.cold_start import ColdStart
from bagwise.learning.learner import ActiveLearner
from bagwise.learning.questions import Question
from bagwise.model import solvers
from bagwise.model.solvers import Solver
from bagwise.research.experiments import systems, updates
from bagwise.research.experiments.measures import OF_INSTANCES, REPORTED
from bagwise.research.experiments.noisy_learner import ESTIMATE
from bagwise.research.experiments.runner import Row, key_from

WRONG_ANSWERS = 1 << 41
POINTED_WRONGLY, NOT_POINTED = 1 << 43, 1 << 44
POINTING = ("", "key", "click")
ONLINE_EPOCHS = 1
"""An online learner sees every label once, and so does the search for its constants."""
AFTER_DISCOVERY = 100
ADDED_LATER = {
    "wrong": 0.0,
    "noise": 0.0,
    "again": False,
    "refit_every": None,
    "cold_start": False,
    "search": True,
    "detailed": False,
    "pointing": "",
    "pointing_wrong": 0.0,
    "pointing_missing": 0.0,
    "pointing_noise": 0.0,
    "title": "",
    "keyed": False,
    "objective": "marginal",
    "tuned_on_all": False,
    "checkpoints": 0,
}
Result = TypeVar("Result")

MOST_SHARED = 64
_SHARED: OrderedDict[tuple[Hashable, ...], Any] = OrderedDict()
STORED_NAMES = {"cold_start": "scouting"}
"""Fields whose name in rows and keys on disk is older than that in the code."""


@dataclass(frozen=True)
class Simulation:
    """Everything that determines one run; the same specification gives the same rows, bit for bit.

    Parameters
    ----------
    dataset : str
        Name of a data set or path of a file.
    criterion, granularity, update, audit, cold_start, refit_every
        Those of `ActiveLearner`; an update may also be one of `updates.UPDATES`. The constants of online updates are
        found on the labels of the training fold (`updates.best_constants`).
    search : bool
        Whether a cold start has an active search.
    background, prior, penalty, step_size, objective
        Those of `MIMLClassifier`.
    queries, evaluate_every : int
        Total cost of the questions, and the cost between two rows of metrics.
    initial : float
        Bags labelled at the start: a share below 1, or a number.
    classes_per_query, key_cost : int
        Classes of a whole bag that cost one query, and the cost of pointing at an instance.
    folds, fold, seed : int
        The cross validation, and the seed of folds, first labels, ties and drawn data.
    keyed : bool
        Whether random numbers of a run are keyed by (seed, fold). By default by seed + fold, as in runs stored before,
        so that runs with different seeds may share them.
    system, tuned
        A compared system, and whether its settings are chosen on the bags labelled at the start.
    tuned_on_all : bool
        Whether the penalty is chosen with all labels of the training fold, which no learner has: a bound on what tuning
        is worth.
    checkpoints : int
        At how many equally spaced points between start and end rows also have `scratch_accuracy`, the bag accuracy of a
        fit from scratch to the same labels; and if there are any, `exhausted_accuracy`, that after every open label was
        told too.
    wrong : float
        Share of wrong answers.
    noise, again
        Those of `NoisyLearner`.
    pointing : {"", "key", "click"}
        What a positive answer says of instances: nothing; whether the marked instance is of the class (*yes, the marked
        one*, or *yes, elsewhere*); or an instance that is of it, with a click where that is not the marked one.
    pointing_wrong, pointing_missing : float
        Share of positive answers that point at a wrong instance, and that do not point.
    pointing_noise : float
        The rate of wrong pointing that the learner assumes.
    detailed : bool
        Whether rows also have the recall of every class, the classes not found yet, the answers *yes* so far, and how
        many of the `AFTER_DISCOVERY` questions were answered so that follow the last first yes of class discovery.
    title : str
        Name of the strategy; empty for the default one.
    """

    dataset: str
    criterion: str = "balanced_uncertainty"
    granularity: str = "pair"
    update: str = "lbfgs"
    background: bool = True
    prior: float | None = None
    penalty: float | None = None
    step_size: float = 0.1
    audit: float = 0.1
    queries: int = 500
    initial: float = 0.05
    evaluate_every: int = 25
    classes_per_query: int = 1
    key_cost: int = 0
    folds: int = 10
    fold: int = 0
    seed: int = 0
    system: str = "bagwise"
    tuned: bool = False
    wrong: float = 0.0
    noise: float | str = 0.0
    again: bool = False
    refit_every: int | None = None
    cold_start: bool = False
    search: bool = True
    detailed: bool = False
    pointing: str = ""
    pointing_wrong: float = 0.0
    pointing_missing: float = 0.0
    pointing_noise: float = 0.0
    title: str = ""
    keyed: bool = False
    objective: str = "marginal"
    tuned_on_all: bool = False
    checkpoints: int = 0
    cluster: str = ""
    """Address of the Ray cluster that holds the bags; the rows do not depend on it."""
    device: str = "cpu"
    """Where the learner searches and learns; the rows do not depend on it."""

    def __post_init__(self) -> None:
        criteria.get(self.criterion)
        granularity.get(self.granularity)
        updates.get(self.update)
        systems.get(self.system)
        if not 0 <= self.wrong < 0.5 or (isinstance(self.noise, float) and not 0 <= self.noise < 0.5):
            raise BagwiseError("`wrong` and `noise` are shares of wrong answers: at least 0 and less than 0.5.")
        if isinstance(self.noise, str) and self.noise != ESTIMATE:
            raise BagwiseError(f"`noise` is {self.noise!r}, but must be a rate or {ESTIMATE!r}.")
        if self.cluster and (self.noise or self.system != "bagwise"):
            raise BagwiseError("`cluster` works only with the system `bagwise` and without `noise`.")
        if self.device != "cpu" and (self.noise or self.cluster or self.system != "bagwise"):
            raise BagwiseError("`device` works only with the system `bagwise`, without `noise` and without `cluster`.")
        if self.pointing not in POINTING:
            raise BagwiseError(f"`pointing` is {self.pointing!r}, but must be one of {', '.join(map(repr, POINTING))}.")
        if not all(0 <= rate < 1 for rate in (self.pointing_wrong, self.pointing_missing, 2 * self.pointing_noise)):
            raise BagwiseError("`pointing_wrong`, `pointing_missing` and `pointing_noise` are shares of the answers.")
        if self.checkpoints and (self.system != "bagwise" or self.noise):
            raise BagwiseError("`checkpoints` work only with the system `bagwise` and without `noise`.")
        if self.again and not self.noise:
            raise BagwiseError("`again` needs a rate of wrong answers: set `noise`.")

    @property
    def strategy(self) -> str:
        """Return the name under which runs are compared."""
        if self.title:
            return self.title
        if self.system == "bagwise":
            return f"{self.criterion} · {self.granularity}" + (f" · {self.pointing}" if self.pointing else "")
        return systems.get(self.system).title + (f", key instance costs {self.key_cost}" if self.key_cost else "")

    @property
    def key(self) -> str:
        """Return a hash of everything that determines the rows."""
        return key_from(self.described)

    @property
    def described(self) -> dict[str, Any]:
        """Return every field by its stored name; those added later only if they differ from the default.

        Rows and keys from before a field was added do not have it.
        """
        return {
            STORED_NAMES.get(name, name): str(value) if name == "noise" else value
            for name, value in asdict(self).items()
            if name not in ("cluster", "device") and (name not in ADDED_LATER or value != ADDED_LATER[name])
        }

    @property
    def steps(self) -> int:
        """Return the amount of work."""
        return self.queries

    def run(self, progress: Callable[[int], None] = lambda _: None) -> list[Row]:
        """Ask, answer from the known labels, learn; return a row of metrics every `evaluate_every` queries."""
        return _run(self, progress)

    @property
    def run_seed(self) -> int:
        """Return the seed of everything random in this run but the folds and the drawn data."""
        return keyed_seed(self.seed, self.fold) if self.keyed else self.seed + self.fold

    def parameters(self, data: Dataset, labelled: Array) -> systems.Parameters:
        """Return the parameters of the model: those given and those chosen, if `tuned` on the bags labelled first."""
        seed = self.run_seed
        if self.system != "bagwise":
            given: systems.Parameters = {}
        else:
            given = {
                "background": self.background,
                "step_size": self.step_size,
                "random_state": seed if self.keyed else self.seed,
            }
            if self.objective != "marginal":
                given["objective"] = self.objective
            if self.tuned_on_all:
                best = shared(
                    lambda: systems.best_penalty(given, data, seed), "penalty", *_fold(data), seed, repr(given)
                )
                given |= best
            elif not self.tuned:
                given |= {"prior": self.prior, "penalty": self.penalty}
        if not self.tuned:
            return given
        return {**given, **systems.tune(systems.get(self.system), given, data, labelled, seed)}

    def learner_update(self, data: Dataset, parameters: systems.Parameters) -> tuple[str | Solver, systems.Parameters]:
        """Return the update, and the parameters of the model with the constants that it needs."""
        update = updates.get(self.update)
        if not isinstance(update, updates.Steps):
            return update, parameters
        of_model = {name: parameters[name] for name in ("background", "prior", "penalty") if name in parameters}
        constants = shared(
            lambda: updates.best_constants(update, data, ONLINE_EPOCHS, self.run_seed, **of_model),
            "constants", *_fold(data), self.run_seed, update, repr(of_model),
        )  # fmt: skip
        return replace(update, offset=constants.offset), parameters | {"step_size": constants.step_size}


def _fold(data: Dataset) -> tuple[str, int, bytes]:
    """What the bags of a fold are told apart by."""
    return data.name, hash(data.bags.instances.tobytes()), data.labels.value.tobytes()


def shared(compute: Callable[[], Result], *key: Hashable) -> Result:
    """Return what several arms of a run have in common, computed once in this process; the latest are kept.

    >>> shared(lambda: 3, "doctest", 1), shared(lambda: 4, "doctest", 1)
    (3, 3)
    """
    if key in _SHARED:
        _SHARED.move_to_end(key)
    else:
        _SHARED[key] = compute()
        if len(_SHARED) > MOST_SHARED:
            _SHARED.popitem(last=False)
    found: Result = _SHARED[key]
    return found


def keyed_seed(seed: int, fold: int) -> int:
    """Return the seed of a run: a hash, so that no two runs share random numbers.

    >>> keyed_seed(3, 1) != keyed_seed(2, 2)
    True
    """
    return int(np.random.SeedSequence([seed, fold]).generate_state(1)[0])


def split(dataset: Dataset, folds: int, fold: int, seed: int) -> tuple[Dataset, Dataset]:
    """Return the training and held-out bags of one fold of a shuffled k-fold split."""
    if not 2 <= folds <= len(dataset.bags):
        raise BagwiseError(
            f"{folds} folds of {len(dataset.bags)} bags are not possible: choose between 2 and the number of bags."
        )
    order = np.random.default_rng([seed, folds]).permutation(len(dataset.bags))
    held_out = np.sort(order[fold::folds])
    return dataset.select(np.setdiff1d(order, held_out)), dataset.select(held_out)


def first_labelled(labels: Labels, initial: float, seed: int) -> Array:
    """Return the bags labelled before the first question, in random order, those with a class not seen yet first.

    `initial` is a share (below 1) or a number of bags.
    """
    bags = len(labels)
    count = round(initial * bags) if 0 < initial < 1 else int(initial)
    if not 0 <= count <= bags:
        raise BagwiseError(f"initial={initial} is not a share or a number of the {bags} training bags.")
    order = np.random.default_rng([seed, 1]).permutation(bags)
    seen = np.zeros(labels.n_classes, bool)
    useful = []
    for b in order:
        if (labels.value[b] & ~seen).any():
            useful.append(b)
            seen |= labels.value[b]
    rest = order[~np.isin(order, useful)]
    return np.concatenate([np.array(useful, np.int64), rest])[:count]


def _run(simulation: Simulation, progress: Callable[[int], None]) -> list[Row]:
    data = datasets.load(simulation.dataset, simulation.seed)
    training, held_out = split(data, simulation.folds, simulation.fold, simulation.seed)
    seed = simulation.run_seed
    labelled = first_labelled(training.labels, simulation.initial, seed)
    system = systems.get(simulation.system)
    update, parameters = simulation.learner_update(training, simulation.parameters(training, labelled))
    known = training.labels.hide(np.setdiff1d(np.arange(len(training.bags)), labelled))
    how = systems.Strategy(
        simulation.criterion,
        simulation.granularity,
        update,
        simulation.audit,
        simulation.noise,
        simulation.again,
        simulation.refit_every,
        simulation.cold_start,
        simulation.search,
        simulation.cluster,
        simulation.device,
    )
    learner = system.learner(training, known, system.model(parameters, training.transformer), how, seed)
    chosen = parameters | ({"offset": update.offset} if isinstance(update, updates.Steps) else {})
    described = {**simulation.described, "strategy": simulation.strategy, "parameters": json.dumps(chosen)}
    found = _ClassesFound(known, training)
    try:
        rows = [{**described, **row} for row in _rows(simulation, learner, training, held_out, found, progress)]
        if not simulation.checkpoints:
            return rows
        exhausted = _exhausted(learner, update, training, held_out, seed)
        return [row | {"exhausted_accuracy": exhausted} for row in rows]
    finally:
        learner.close()


@dataclass(frozen=True)
class _Said:
    """One answer for each class of a question, the instances pointed at, and how many of these took a click."""

    present: list[bool]
    where: list[list[int]]
    elsewhere: list[list[int]]
    clicks: int


class _Annotator:
    """Gives true answers but for a share of wrong ones, drawn by seed, bag, class and the number of repetitions."""

    def __init__(self, simulation: Simulation, data: Dataset, wants_where: bool) -> None:
        self.wrong, self.seed, self.data = simulation.wrong, simulation.run_seed, data
        # Some systems mark no instance: any that shows the class is pointed at.
        self.pointing, self.marks = ("click", False) if wants_where else (simulation.pointing, True)
        self.pointing_wrong, self.pointing_missing = simulation.pointing_wrong, simulation.pointing_missing
        if simulation.pointing and data.instance_labels is None:
            raise BagwiseError(f"The instances of {data.name} have no labels: `pointing` needs them.")
        self._asked: Counter[tuple[int, int]] = Counter()

    def answer(self, question: Question) -> _Said:
        """Return one answer for each class of the question."""
        if question.instance is not None:
            is_it = self._classes_of(question.bag)[question.instance] == question.classes[0]
            return _Said([bool(is_it)], [[]], [[]], 0)
        present = [self._present(question.bag, label_class) for label_class in question.classes]
        pointed = [self._pointed(question, place) if yes else ([], [], 0) for place, yes in enumerate(present)]
        where, elsewhere, clicks = zip(*pointed, strict=True)
        return _Said(present, list(where), list(elsewhere), sum(clicks))

    def _classes_of(self, bag: int) -> Array:
        assert self.data.instance_labels is not None
        return np.asarray(self.data.instance_labels[slice(*self.data.bags.offsets[bag : bag + 2])])

    def _pointed(self, question: Question, place: int) -> tuple[list[int], list[int], int]:
        """Return the instances said to be of a present class, those said not to be, and the clicks it took."""
        bag, label_class = question.bag, question.classes[place]
        if not self.pointing or self.data.instance_labels is None:
            return [], [], 0
        if self._drawn(NOT_POINTED, bag, label_class) < self.pointing_missing:
            return [], [], 0
        of_class = self._classes_of(bag) == label_class
        draw = self._drawn(POINTED_WRONGLY, bag, label_class)
        if draw < self.pointing_wrong:
            of_class = ~of_class
        marked = question.evidence[place]
        if self.marks and of_class[marked]:
            return [marked], [], 0
        if self.pointing == "key" or not of_class.any():
            return [], [marked], 0
        carriers = np.flatnonzero(of_class)
        return [int(carriers[int(draw * 1e9) % len(carriers)])], [], 1

    def _drawn(self, what: int, bag: int, label_class: int) -> float:
        return float(hashed_uniform(self.seed, self.data.bags.keys[[bag]], np.array([what + label_class]))[0])

    def _present(self, bag: int, label_class: int) -> bool:
        times = self._asked[bag, label_class]
        self._asked[bag, label_class] += 1
        present = bool(self.data.labels.value[bag, label_class])
        if self.wrong == 0:
            return present
        index = np.array([WRONG_ANSWERS + times * self.data.labels.n_classes + label_class])
        mistaken = hashed_uniform(self.seed, self.data.bags.keys[[bag]], index)[0] < self.wrong
        return present != bool(mistaken)


class _ClassesFound:
    """Which classes had a positive answer so far, after how many queries all of them had, and the answers *yes*."""

    def __init__(self, known: Labels, training: Dataset) -> None:
        truth = training.labels
        self._missing: Array = np.asarray(truth.value.any(axis=0) & ~known.value.any(axis=0))
        self.after: int | None = None if self._missing.any() else 0
        self._discovery = ColdStart.of(training.bags.n_features).most_discovered(len(truth), truth.n_classes)
        self._first_yes: list[int] = []
        self._yes: list[int] = []

    def record(self, question: Question, present: list[bool], asked: int) -> None:
        """Record the answers to a question."""
        found = [c for c, yes in zip(question.classes, present, strict=True) if yes]
        self._yes += [asked] * len(found)
        if self._missing[found].any():
            self._first_yes.append(asked)
        self._missing[found] = False
        if self.after is None and not self._missing.any():
            self.after = asked

    def yes_after_discovery(self) -> int:
        """Return the answers *yes* to the questions after every class that class discovery found had one."""
        start = max((asked for asked in self._first_yes if asked <= self._discovery), default=0)
        return sum(start < asked <= start + AFTER_DISCOVERY for asked in self._yes)

    def details(self, held_out: Dataset, probability: Array) -> Row:
        """Return the recall of every class (None if no held-out bag has it), what is found, and the answers *yes*."""
        true, predicted = held_out.labels.value, probability > THRESHOLD
        recalls = [float(predicted[true[:, c], c].mean()) if true[:, c].any() else None for c in range(true.shape[1])]
        return {
            "recall": recalls,
            "missing": int(self._missing.sum()),
            "all_found_after": self.after,
            "yes": len(self._yes),
            "yes_after_discovery": self.yes_after_discovery(),
        }


def _from_scratch(learner: Learner, training: Dataset, held_out: Dataset) -> float:
    """The bag accuracy of the learner's model fitted from scratch to the labels that the learner has."""
    assert isinstance(learner, ActiveLearner)
    fitted = clone(learner.model).fit(training.bags, learner.labels)
    return bag_accuracy(held_out.labels.value, fitted.predict_proba(held_out.bags))


def _exhausted(learner: Learner, update: str | Solver, training: Dataset, held_out: Dataset, seed: int) -> float:
    """The bag accuracy once every open label is told too, in random order: the level that the run would end at."""
    assert isinstance(learner, ActiveLearner)
    order = np.random.default_rng([seed, 3]).permutation(len(training.bags))
    everything, model = training.select(order), copy(learner.model)
    bags, classes = np.nonzero(~learner.labels.known[order])
    if len(bags):
        objective = model.objective_of(model.instances(everything.bags), everything.labels)
        model.set_state(solvers.get(update).update(objective, model.state, bags, classes, model.settings()))
    return bag_accuracy(held_out.labels.value, model.predict_proba(held_out.bags))


def _of_instances(learner: Learner, held_out: Dataset) -> Row:
    """The metrics of instances, where the classes of held-out instances are known and the learner predicts them."""
    if held_out.instance_labels is None or not isinstance(learner, ActiveLearner):
        return {}
    probability = learner.model.predict_instance_proba(held_out.bags)
    return {metric.name: metric(held_out.instance_labels, probability) for metric in OF_INSTANCES}


def _rows(
    simulation: Simulation,
    learner: Learner,
    training: Dataset,
    held_out: Dataset,
    found: _ClassesFound,
    progress: Callable[[int], None],
) -> Iterator[Row]:
    def row(queries: int) -> Row:
        probability = learner.predict_proba(held_out.bags)
        measured: Row = {metric.name: metric(held_out.labels.value, probability) for metric in REPORTED}
        measured |= _of_instances(learner, held_out)
        if simulation.pointing:
            measured["clicks"] = clicks
        if simulation.checkpoints:
            measured["scratch_accuracy"] = (
                _from_scratch(learner, training, held_out) if queries in checkpoints else None
            )
        return {"asked": queries, **measured, **(found.details(held_out, probability) if simulation.detailed else {})}

    points = [*range(0, simulation.queries, simulation.evaluate_every), simulation.queries]
    between = np.linspace(0, len(points) - 1, simulation.checkpoints + 2)[1:-1]
    checkpoints = {points[int(place)] for place in between}
    grid = iter(points)
    due = next(grid, None)
    asked = 0
    annotator = _Annotator(simulation, training, learner.wants_where)
    clicks = 0
    # A ranking begins with the same question, without the evidence that only pointing needs.
    plain = type(learner) is ActiveLearner and not simulation.pointing
    ask: Callable[[], Question] = (lambda: learner.rank(1)[0]) if plain else learner.ask
    while not learner.exhausted:
        question = ask()
        said = annotator.answer(question)
        pointed = learner.wants_where and any(said.where)
        cost = question.cost(simulation.classes_per_query) + (simulation.key_cost if pointed else 0)
        # A row describes the state after at most that many queries: an expensive question counts once it is paid.
        while due is not None and due < asked + cost:
            yield row(due)
            due = next(grid, None)
        if asked + cost > simulation.queries or due is None:
            return
        noise = simulation.pointing_noise
        learner.tell(question, said.present, where=said.where, elsewhere=said.elsewhere, pointing_flip=noise)
        asked += cost
        clicks += said.clicks
        found.record(question, said.present, asked)
        progress(cost)
    while due is not None:
        yield row(due)
        due = next(grid, None)
