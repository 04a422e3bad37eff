"""The paper's three experiments as specifications: what is run for which figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from bagwise import datasets
from bagwise.core.errors import BagwiseError
from bagwise.research.experiments.full_data import CONTENDERS, FullData
from bagwise.research.experiments.runner import Specification
from bagwise.research.experiments.simulation import Simulation
from bagwise.research.experiments.statistics import Difference, differences
from bagwise.research.reproduction.timing import FitTime, Growth
from bagwise.research.reproduction.training import Training

DATASETS = ("carroll", "frost", "hja")
UPDATES = ("bag_sgd", "pair_sgd", "gd")
PAIRS = (("expected_gradient_length", "pair"), ("uncertainty", "pair"))
OTHERS = (("uncertainty", "bag"), ("uncertainty", "bag_then_class"), ("random", "pair"))
LIKELIHOODS = ("marginal", "joint")
"""The models that can have a background class."""
WHOLE_BAG = 1000
"""More classes than any bag has, so that a whole bag costs one query."""


@dataclass(frozen=True)
class Size:
    """Number of folds, epochs, queries and draws."""

    folds: int = 10
    of_folds: int = 10
    epochs: int = 1500
    pair_queries: int = 2000
    bag_queries: int = 100
    pair_grid: int = 50
    bag_grid: int = 5
    draws: int = 3


FULL = Size()
QUICK = Size(of_folds=2, epochs=50, pair_queries=150, bag_queries=20, pair_grid=25, bag_grid=2, draws=1)


@dataclass(frozen=True)
class Figure:
    """A figure of the paper."""

    number: int
    experiment: str
    metric: str
    x_title: str


FIGURES = (
    Figure(3, "E1", "bag_accuracy", "epochs"),
    Figure(4, "E1", "log_likelihood", "epochs"),
    Figure(5, "E2", "bag_accuracy", "pair queries"),
    Figure(6, "E2", "average_precision", "pair queries"),
    Figure(7, "E2", "hamming_loss", "pair queries"),
    Figure(8, "E2", "one_error", "pair queries"),
    Figure(9, "E3a", "bag_accuracy", "pair queries"),
    Figure(10, "E3a", "hamming_loss", "pair queries"),
    Figure(11, "E3b", "bag_accuracy", "bag queries"),
    Figure(12, "E3b", "hamming_loss", "bag queries"),
)
EXPERIMENTS = {
    "1": ("E1",),
    "2": ("full data", "E2"),
    "3": ("E3a", "E3b"),
    "all": ("full data", "E1", "E2", "E3a", "E3b"),
}


@dataclass(frozen=True)
class Variant:
    """A model that the experiments are run with; without a fixed penalty, the penalty is tuned."""

    name: str
    title: str
    background: bool
    penalty: float | None = None

    def runs(self, experiment: str) -> bool:
        """Return whether the variant runs this experiment: a fixed penalty matters only to our own model."""
        return self.penalty is None or experiment in ("full data", "E2")


PAPER = Variant("paper", "the paper's model", False)
FIXED = Variant("fixed", "the same, penalty 1e-4 untuned", False, 1e-4)
BACKGROUND = Variant("background", "with a background class", True)
MODELS = {"paper": (PAPER, FIXED), "background": (BACKGROUND,), "all": (PAPER, FIXED, BACKGROUND)}


@dataclass(frozen=True)
class Results:
    """All results of a reproduction: rows by experiment for every model, and times."""

    size: Size
    rows: dict[Variant, dict[str, pl.DataFrame]]
    growth: Sequence[Growth]
    fit_times: Sequence[FitTime]

    def of(self, experiment: str) -> dict[Variant, pl.DataFrame]:
        """Return the rows of one experiment for every model that ran it."""
        return {variant: rows[experiment] for variant, rows in self.rows.items() if experiment in rows}


def available_datasets() -> list[str]:
    """Return the paper's data sets; `birds` in place of `hja` if its file does not exist."""
    try:
        datasets.load("hja")
    except BagwiseError:
        return ["carroll", "frost", "birds"]
    return list(DATASETS)


def paired_differences(experiment: str, rows: pl.DataFrame) -> list[Difference]:
    """Return the differences between every strategy and the last one, for each figure of the experiment.

    Epochs are unevenly spaced, so the first experiment compares final values; the others the area under the curve.
    """
    last = rows["strategy"].unique(maintain_order=True)[-1]
    part = "final" if experiment == "E1" else "area"
    metrics = [figure.metric for figure in FIGURES if figure.experiment == experiment]
    return [one for metric in metrics for one in differences(rows, metric, last, part)]


def plan(experiment: str, names: Sequence[str], size: Size, variant: Variant, seed: int = 0) -> list[Specification]:
    """Return everything that an experiment runs on these data sets; the strategy all are compared with comes last."""
    folds, background = range(size.of_folds), variant.background

    def training(solver: str, epochs: int) -> list[Specification]:
        return [
            Training(name, solver, background, epochs=epochs, folds=size.folds, fold=fold, seed=seed)
            for name in names
            for fold in folds
        ]

    def simulation(queries: int, grid: int, classes_per_query: int = 1, **how: Any) -> list[Specification]:
        return [
            Simulation(
                name,
                background=background,
                audit=0.0,
                queries=queries,
                evaluate_every=grid,
                classes_per_query=classes_per_query,
                folds=size.folds,
                fold=fold,
                seed=seed,
                tuned=variant.penalty is None,
                penalty=variant.penalty,
                **how,
            )
            for name in names
            for fold in folds
        ]

    def full_data(model: str) -> list[Specification]:
        return [
            FullData(name, model, background, folds=size.folds, fold=fold, seed=seed + draw)
            for name in names
            for draw in range(size.draws)
            for fold in folds
        ]

    def by_pair(criterion: str, granularity: str) -> list[Specification]:
        return simulation(size.pair_queries, size.pair_grid, criterion=criterion, granularity=granularity)

    if experiment == "full data":
        models = CONTENDERS if variant == PAPER else LIKELIHOODS
        return [one for model in models for one in full_data(model)]
    if experiment == "E1":
        return [one for solver in UPDATES for one in training(solver, size.epochs)]
    if experiment == "E2":
        return [one for how in (*PAIRS, *OTHERS) for one in by_pair(*how)]
    if experiment == "E3a":
        ours = [one for how in (*PAIRS, ("uncertainty", "bag_then_class")) for one in by_pair(*how)]
        with_key_cost = simulation(size.pair_queries, size.pair_grid, system="miml_al", key_cost=1)
        return ours + with_key_cost + simulation(size.pair_queries, size.pair_grid, system="miml_al")
    ours = simulation(size.bag_queries, size.bag_grid, WHOLE_BAG, criterion="uncertainty", granularity="bag")
    return ours + simulation(size.bag_queries, size.bag_grid, WHOLE_BAG, system="mimlsvm_al")
