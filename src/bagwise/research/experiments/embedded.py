"""Embeddings of trained models: accuracy per answer of the defaults against random questions, from nothing.

Folds have a seed that no pilot used. Both arms of a data set run on the same folds with the same model.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bagwise.research.experiments import efficiency
from bagwise.research.experiments.efficiency import ARMS, OURS, RANDOM
from bagwise.research.experiments.full_data import FullData
from bagwise.research.experiments.simulation import Simulation

SEED = 211
SETS = ("soundscapes", "scenes", "manuals")


@dataclass(frozen=True)
class Size:
    """Number of folds and of questions."""

    fold_count: int
    questions: int
    folds: int = 10
    every: int = 25


FULL = Size(fold_count=10, questions=300)
QUICK = Size(fold_count=2, questions=50)


def available_datasets() -> list[str]:
    """Return the data sets of the suite whose packages are installed; those not in the cache are built."""
    return efficiency.available_datasets(SETS)


def plan(names: Sequence[str], size: Size) -> list[Simulation]:
    """Return every run of the suite, fold after fold."""
    return [
        Simulation(
            name,
            queries=size.questions,
            initial=0.0,
            evaluate_every=size.every,
            folds=size.folds,
            fold=fold,
            seed=SEED,
            title=arm,
            **ARMS[arm],
        )
        for fold in range(size.fold_count)
        for name in names
        for arm in (OURS, RANDOM)
    ]


def ceilings(names: Sequence[str], size: Size) -> list[FullData]:
    """Return the runs of the same model with every label of the training fold: the level to reach."""
    return [
        FullData(name, "bagwise", background=True, folds=size.folds, fold=fold, seed=SEED)
        for fold in range(size.fold_count)
        for name in names
    ]
