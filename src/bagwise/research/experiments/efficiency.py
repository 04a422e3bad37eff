"""Label efficiency: accuracy per answer of the defaults, of random questions, and of the paper's own system.

Folds and draws have seeds that no pilot used. Every arm of a data set runs on the same folds from the same start: 5 %
of the bags labelled, as in the paper, or none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bagwise import datasets
from bagwise.core.errors import BagwiseError
from bagwise.research.experiments.full_data import FullData
from bagwise.research.experiments.simulation import Simulation

SEED = 101
SEARCH_SEED = 103
"""Of the runs with and without search: it was developed on folds with seeds 7, 8 and 101."""
OURS, RANDOM = "Bagwise", "random pairs, same model"
NO_COLD_START = "without scouting"
"""Titles are part of the rows and keys on disk, so this one keeps an older word for the cold start."""
NO_SEARCH = "without search"
PAPER = ("the paper's system, EGL", "the paper's system, uncertainty")
PAPERS_SETS = ("carroll", "frost", "hja")
SEARCH_ONLY = ("scarce",)
"""Fifty fully labelled bags of it have a dozen positives: no project starts like that."""
SETS = (*PAPERS_SETS, "hja_full", "birds", "digits", "rare", "crowded", *SEARCH_ONLY)
STARTS = {"labelled": 0.05, "nothing": 0.0}

DEFAULTS: dict[str, Any] = {"criterion": "widening_uncertainty", "update": "replay", "cold_start": True}
OF_THE_PAPER: dict[str, Any] = {"background": False, "penalty": 1e-4, "update": "bag_sgd", "audit": 0.0}
ARMS: dict[str, dict[str, Any]] = {
    OURS: DEFAULTS,
    RANDOM: {"criterion": "random", "update": "replay", "audit": 0.0},
    NO_COLD_START: {**DEFAULTS, "cold_start": False},
    NO_SEARCH: {**DEFAULTS, "search": False},
    "uncertainty": {**DEFAULTS, "criterion": "uncertainty"},
    "EGL": {**DEFAULTS, "criterion": "expected_gradient_length"},
    PAPER[0]: {**OF_THE_PAPER, "criterion": "expected_gradient_length"},
    PAPER[1]: {**OF_THE_PAPER, "criterion": "uncertainty"},
}
FROM_NOTHING = (OURS, RANDOM, NO_COLD_START)
FROM_LABELLED = tuple(arm for arm in ARMS if arm not in (NO_COLD_START, NO_SEARCH))


@dataclass(frozen=True)
class Size:
    """Number of folds, and of queries in each comparison."""

    fold_count: int
    to_the_level: int
    of_the_paper: int
    of_others: int
    from_nothing: int
    folds: int = 10
    every: int = 25


FULL = Size(fold_count=10, to_the_level=3000, of_the_paper=2000, of_others=500, from_nothing=400)
QUICK = Size(fold_count=2, to_the_level=100, of_the_paper=100, of_others=50, from_nothing=50)


def available_datasets(names: Sequence[str] = SETS) -> list[str]:
    """Return those of the data sets whose files are installed."""
    found = []
    for name in names:
        try:
            datasets.load(name)
        except BagwiseError:
            continue
        found.append(name)
    return found


def plan(names: Sequence[str], size: Size) -> list[Simulation]:
    """Return every run of the suite."""
    compared = [name for name in names if name not in SEARCH_ONLY]
    arms = [
        (name, start, arm, SEED)
        for name in compared
        for start in STARTS
        for arm in (FROM_LABELLED if start == "labelled" else FROM_NOTHING)
    ]
    arms += [(name, "nothing", arm, SEARCH_SEED) for name in names for arm in (OURS, NO_SEARCH)]
    return [
        Simulation(
            name,
            queries=_queries(name, start, arm, size),
            initial=STARTS[start],
            evaluate_every=size.every,
            folds=size.folds,
            fold=fold,
            seed=seed,
            detailed=True,
            title=arm,
            **ARMS[arm],
        )
        for name, start, arm, seed in arms
        for fold in range(size.fold_count)
    ]


def ceilings(names: Sequence[str], size: Size) -> list[FullData]:
    """Return the runs of the same model with every label of the training fold: the level to reach."""
    return [
        FullData(name, "bagwise", background=True, folds=size.folds, fold=fold, seed=SEED)
        for name in names
        if name not in SEARCH_ONLY
        for fold in range(size.fold_count)
    ]


def _queries(name: str, start: str, arm: str, size: Size) -> int:
    if start == "nothing":
        return size.from_nothing
    if name in PAPERS_SETS and arm in (OURS, RANDOM):
        return size.to_the_level
    return size.of_the_paper if name in PAPERS_SETS and arm in PAPER else size.of_others
