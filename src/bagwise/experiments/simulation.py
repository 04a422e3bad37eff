"""A labelling project answered by itself: known labels play the person, a held-out fold plays the exam."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bagwise import datasets
from bagwise.datasets import Dataset
from bagwise.errors import BagwiseError
from bagwise.kernels import Array
from bagwise.labels import Labels
from bagwise.learner import ActiveLearner
from bagwise.metrics import average_precision, bag_accuracy, hamming_loss, one_error
from bagwise.model import MIMLClassifier

REPORTED = (bag_accuracy, average_precision, hamming_loss, one_error)

Row = dict[str, Any]


@dataclass(frozen=True)
class Simulation:
    """Everything that determines one run; the same specification gives the same rows."""

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
    folds: int = 10
    fold: int = 0
    seed: int = 0

    @property
    def strategy(self) -> str:
        """Criterion and granularity in words."""
        return f"{self.criterion} · {self.granularity}"

    def model(self, transformer: Any) -> MIMLClassifier:
        """The model before it has seen anything."""
        return MIMLClassifier(
            prior=self.prior,
            penalty=self.penalty,
            background=self.background,
            transformer=transformer,
            step_size=self.step_size,
            random_state=self.seed,
        )


def split(dataset: Dataset, folds: int, fold: int, seed: int) -> tuple[Dataset, Dataset]:
    """Training and held-out bags of one fold of a shuffled k-fold split."""
    if not 2 <= folds <= len(dataset.bags):
        raise BagwiseError(f"{folds} folds of {len(dataset.bags)} bags: choose between 2 and the number of bags.")
    order = np.random.default_rng([seed, folds]).permutation(len(dataset.bags))
    held_out = np.sort(order[fold::folds])
    return dataset.select(np.setdiff1d(order, held_out)), dataset.select(held_out)


def first_labelled(labels: Labels, initial: float, seed: int) -> Array:
    """Bags labelled before the first question: a share (below 1) or a number of them, in random order, those first
    that bring a class not seen yet.
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


def run(simulation: Simulation, progress: Callable[[int], None] = lambda _: None) -> list[Row]:
    """Ask, answer from the known labels, learn; a row of metrics every `evaluate_every` queries."""
    data = datasets.load(simulation.dataset, simulation.seed)
    training, held_out = split(data, simulation.folds, simulation.fold, simulation.seed)
    labelled = first_labelled(training.labels, simulation.initial, simulation.seed + simulation.fold)
    learner = ActiveLearner(
        training.bags,
        training.classes,
        training.labels.hide(np.setdiff1d(np.arange(len(training.bags)), labelled)),
        simulation.model(training.transformer),
        criterion=simulation.criterion,
        granularity=simulation.granularity,
        update=simulation.update,
        audit=simulation.audit,
        random_state=simulation.seed + simulation.fold,
    )
    return list(_rows(simulation, learner, training.labels, held_out, progress))


def _rows(
    simulation: Simulation,
    learner: ActiveLearner,
    truth: Labels,
    held_out: Dataset,
    progress: Callable[[int], None],
) -> Iterator[Row]:
    described = {**asdict(simulation), "strategy": simulation.strategy}

    def row(queries: int) -> Row:
        probability = learner.model.predict_proba(held_out.bags)
        scores = {metric.__name__: metric(held_out.labels.value, probability) for metric in REPORTED}
        return {**described, "asked": queries, **scores}

    grid = iter(range(0, simulation.queries + 1, simulation.evaluate_every))
    due = next(grid, None)
    asked = 0
    while not learner.exhausted:
        question = learner.ask()
        cost = question.cost(simulation.classes_per_query)
        # A row tells what was known after at most that many queries, so a dear question counts only once paid.
        while due is not None and due < asked + cost:
            yield row(due)
            due = next(grid, None)
        if asked + cost > simulation.queries or due is None:
            return
        learner.tell(question, [bool(truth.value[question.bag, c]) for c in question.classes])
        asked += cost
        progress(cost)
    while due is not None:
        yield row(due)
        due = next(grid, None)
