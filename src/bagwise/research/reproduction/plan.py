"""The design of the reproduction, fixed before its runs: seeds, data, arms and analyses.

A cell is one run: an arm of an analysis on one data set, seed and fold. The seeds of the final runs are named here and
were committed before any of them was run; what was tried beforehand used `DEVELOPMENT`. An analysis is a set of arms
under one setting: the main ones decide the claims, the others say how far the verdicts depend on a choice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from bagwise import datasets
from bagwise.core.errors import BagwiseError
from bagwise.research.experiments.full_data import CONTENDERS, FullData
from bagwise.research.experiments.runner import Specification
from bagwise.research.experiments.simulation import Simulation
from bagwise.research.reproduction.timing import FitTime, Growth
from bagwise.research.reproduction.training import Training

SEEDS = (730_021, 730_081, 730_139, 730_187, 730_249, 730_297, 730_351, 730_409, 730_459, 730_517)
DEVELOPMENT = 0
"""The seed of trials, estimates of time and `--quick`: nothing is concluded from it."""

DATASETS = ("carroll", "frost", "hja")
DRAWN = ("carroll", "frost")
"""Every seed draws letters of its own; HJA has the same recordings whatever the seed."""
TO_EXHAUSTION = {"carroll": 3050, "frost": 2650, "hja": 3000}
"""Pair queries: all open pairs of the letters, and somewhat more than half of HJA's."""
BAGS_TO_EXHAUSTION = {"carroll": 130, "frost": 110, "hja": 420}
WHOLE_BAG = 1000
"""More classes than any bag has, so that a whole bag costs one query."""
KNOWN = (0.1, 0.3)
"""Shares of labels known, at random, in the comparison of the likelihoods."""

UPDATES = ("bag_sgd", "pair_sgd", "gd")
BAG_THEN_CLASS = ("uncertainty", "bag_then_class")
ARMS = (
    ("expected_gradient_length", "pair"),
    ("uncertainty", "pair"),
    ("uncertainty", "bag"),
    ("random", "bag"),
    BAG_THEN_CLASS,
    ("random", "pair"),
)
MIML_AL = ("miml_al_published", "miml_al_released", "miml_al")
MIMLSVM_AL = ("mimlsvm_al_released", "mimlsvm_al_median", "mimlsvm_al")


@dataclass(frozen=True)
class Size:
    """Number of seeds, folds, epochs and queries; `most_queries` limits those of every data set."""

    seeds: tuple[int, ...] = SEEDS
    sensitivity_seeds: tuple[int, ...] = SEEDS[:4]
    folds: int = 5
    of_folds: int = 5
    epochs: int = 1500
    most_epochs: int = 20_000
    most_queries: int = 3500
    most_bag_queries: int = 450
    pair_grid: int = 50
    bag_grid: int = 10
    checkpoints: int = 3

    @property
    def runs(self) -> int:
        """Runs of every arm of the main analyses on a data set."""
        return len(self.seeds) * self.of_folds


FULL = Size()
QUICK = Size(
    seeds=(DEVELOPMENT,),
    sensitivity_seeds=(DEVELOPMENT,),
    of_folds=1,
    epochs=20,
    most_epochs=20,
    most_queries=60,
    most_bag_queries=6,
    pair_grid=20,
    bag_grid=2,
    checkpoints=1,
)


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, drawn from the rows of an analysis."""

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


@dataclass(frozen=True)
class Analysis:
    """One setting of one experiment; `main` analyses run on all seeds, the others on the first few.

    Experiment 1 also has the first few: 1,500 epochs of pair-SGD take minutes.
    """

    name: str
    title: str
    experiment: str
    main: bool = False
    options: dict[str, Any] = field(default_factory=dict, hash=False)

    def seeds(self, size: Size) -> tuple[int, ...]:
        """Return the seeds that it runs with."""
        return size.seeds if self.main and self.experiment != "E1" else size.sensitivity_seeds


REFITS, ONLINE_BAG, ONLINE_PAIR = "E2-refits", "E2-online-bag", "E2-online-pair"
ANALYSES = {
    one.name: one
    for one in (
        Analysis(REFITS, "refits, prior 1", "E2", True),
        Analysis(ONLINE_BAG, "algorithm 1, bag-SGD", "E2", True, {"update": "online_bag"}),
        Analysis(ONLINE_PAIR, "algorithm 1, pair-SGD", "E2", True, {"update": "online_pair"}),
        Analysis("E3a", "MIML-AL", "E3a", True),
        Analysis("E3b", "MIMLSVM-AL", "E3b", True),
        Analysis("full-data", "all labels known", "full data", True),
        Analysis("E1", "updates to convergence", "E1", True),
        Analysis("E2-penalty", "refits, λ = 1e-4", "E2", options={"penalty": 1e-4}),
        Analysis("E2-tuned", "refits, λ tuned on all training labels", "E2", options={"tuned_on_all": True}),
        Analysis("E2-initial-10", "refits, 10 % labelled at the start", "E2", options={"initial": 0.1}),
        Analysis("E2-initial-20", "refits, 20 % labelled at the start", "E2", options={"initial": 0.2}),
        Analysis("E2-background", "refits, with a background class", "E2", options={"background": True}),
        Analysis(
            "E2-online-bag-penalised", "bag-SGD with λW in the step", "E2", options={"update": "online_bag_penalised"}
        ),
        Analysis(
            "E2-online-pair-penalised",
            "pair-SGD with λW in the step",
            "E2",
            options={"update": "online_pair_penalised"},
        ),
        Analysis("E2-joint", "refits, joint likelihood", "E2", options={"objective": "joint"}),
        Analysis("E1-penalised", "updates with λW in the step", "E1", options={"penalised": True}),
        Analysis("likelihoods", "marginal and joint likelihood of partial labels", "likelihoods"),
    )
}
MAIN = tuple(name for name, one in ANALYSES.items() if one.main)
GROUPS = {
    "main": MAIN,
    "sensitivity": tuple(name for name in ANALYSES if name not in MAIN),
    "1": tuple(name for name, one in ANALYSES.items() if one.experiment == "E1"),
    "2": tuple(name for name, one in ANALYSES.items() if one.experiment in ("E2", "full data", "likelihoods")),
    "3": (REFITS, ONLINE_BAG, "E3a", "E3b"),
    "all": tuple(ANALYSES),
}


@dataclass(frozen=True)
class Results:
    """All results of a reproduction: the rows of every analysis, and times."""

    size: Size
    rows: dict[str, pl.DataFrame]
    growth: Sequence[Growth] = ()
    fit_times: Sequence[FitTime] = ()


def available_datasets() -> list[str]:
    """Return the paper's data sets; `birds` in place of `hja` if its file does not exist."""
    try:
        datasets.load("hja")
    except BagwiseError:
        return ["carroll", "frost", "birds"]
    return list(DATASETS)


def cells(analysis: Analysis, names: Sequence[str], size: Size) -> list[Specification]:
    """Return every cell of an analysis on these data sets."""
    found: list[Specification] = []
    for seed in analysis.seeds(size):
        for fold in range(size.of_folds):
            for name in names:
                found += _of_run(analysis, name, size, {"folds": size.folds, "fold": fold, "seed": seed})
    return found


def _of_run(analysis: Analysis, name: str, size: Size, run: dict[str, int]) -> Iterator[Specification]:
    """The arms of an analysis on one data set, seed and fold."""
    options = analysis.options
    match analysis.experiment:
        case "E1":
            for solver in UPDATES:
                yield Training(
                    name,
                    solver,
                    epochs=size.epochs,
                    most_epochs=size.most_epochs,
                    **options,
                    **run,  # type: ignore[arg-type]
                )
        case "E2":
            for criterion, granularity in ARMS:
                how = {"criterion": criterion, "granularity": granularity, "checkpoints": size.checkpoints}
                yield _by_pair(name, size, {"update": "refits", **how, **options, **run})
        case "E3a":
            for system in MIML_AL:
                yield _by_pair(name, size, {"system": system, **run})
            yield _by_pair(name, size, {"system": "miml_al", "key_cost": 1, **run})
        case "E3b":
            ours: dict[str, Any] = {"criterion": "uncertainty", "granularity": "bag", "update": "refits"}
            for how in (ours, *({"system": system} for system in MIMLSVM_AL)):
                queries = min(BAGS_TO_EXHAUSTION.get(name, size.most_bag_queries), size.most_bag_queries)
                grid = {"queries": queries, "evaluate_every": size.bag_grid, "classes_per_query": WHOLE_BAG}
                yield Simulation(name, **{**ALIKE, **grid, **how, **run})
        case "full data":
            yield from (FullData(name, model, **run) for model in CONTENDERS)  # type: ignore[arg-type]
        case "likelihoods":
            for known in KNOWN:
                for model in ("marginal", "joint", "em"):
                    yield FullData(name, model, known=known, **run)  # type: ignore[arg-type]


ALIKE: dict[str, Any] = {"background": False, "audit": 0.0, "keyed": True}


def _by_pair(name: str, size: Size, how: dict[str, Any]) -> Simulation:
    queries = min(TO_EXHAUSTION.get(name, size.most_queries), size.most_queries)
    prior = None if "penalty" in how or how.get("tuned_on_all") else 1.0
    grid = {"queries": queries, "evaluate_every": size.pair_grid, "prior": prior}
    return Simulation(name, **{**ALIKE, **grid, **how})
