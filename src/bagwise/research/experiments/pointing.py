"""What pointing is worth: answers of yes or no, about the marked instance, or with a click on an instance of the class.

Every arm of a data set runs on the same folds from the same start, with a seed that no pilot used: 5 % of the bags
labelled, or none. Pointing that is wrong at some rate is learned as if it were right, and with the rate known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bagwise.research.experiments import efficiency
from bagwise.research.experiments.efficiency import DEFAULTS, SEED, STARTS
from bagwise.research.experiments.full_data import FullData
from bagwise.research.experiments.simulation import Simulation

PLAIN, KEY, CLICK = "yes and no", "one key", "a click"
ARMS: dict[str, dict[str, Any]] = {PLAIN: {}, KEY: {"pointing": "key"}, CLICK: {"pointing": "click"}}
WRONG = (0.1, 0.2)
WRONG_SETS = ("hja", "frost")
SETS = ("hja", "carroll", "frost", "hja_full", "digits", "rare", "crowded")


def wrong_arms() -> dict[str, dict[str, Any]]:
    """Return the arms whose pointing is wrong at some rate, taken as right or with the rate known."""
    arms = {}
    for rate in WRONG:
        wrong = {"pointing": "click", "pointing_wrong": rate}
        arms[f"{rate:.0%} wrong"] = wrong
        arms[f"{rate:.0%} wrong, rate known"] = {**wrong, "pointing_noise": rate}
    return arms


@dataclass(frozen=True)
class Size:
    """Number of folds, and of questions from labelled bags and from nothing."""

    fold_count: int
    questions: int
    to_the_level: int
    from_nothing: int
    folds: int = 10
    every: int = 25


FULL = Size(fold_count=5, questions=500, to_the_level=700, from_nothing=400)
QUICK = Size(fold_count=2, questions=50, to_the_level=50, from_nothing=50)
NEEDS_MORE = ("carroll",)
"""Data sets on which the level of all labels is reached late."""


def available_datasets() -> list[str]:
    """Return the data sets of the suite whose files are installed."""
    return efficiency.available_datasets(SETS)


def plan(names: Sequence[str], size: Size) -> list[Simulation]:
    """Return every run of the suite, fold after fold."""
    return [
        Simulation(
            name,
            queries=_questions(name, start, size),
            initial=STARTS[start],
            evaluate_every=size.every,
            folds=size.folds,
            fold=fold,
            seed=SEED,
            detailed=True,
            title=arm,
            **DEFAULTS,
            **options,
        )
        for fold in range(size.fold_count)
        for name in names
        for start in STARTS
        for arm, options in (ARMS | (wrong_arms() if start == "labelled" and name in WRONG_SETS else {})).items()
    ]


def ceilings(names: Sequence[str], size: Size) -> list[FullData]:
    """Return the runs of the same model with every label of the training fold: the level to reach."""
    return [
        FullData(name, "bagwise", background=True, folds=size.folds, fold=fold, seed=SEED)
        for fold in range(size.fold_count)
        for name in names
    ]


def _questions(name: str, start: str, size: Size) -> int:
    if start == "nothing":
        return size.from_nothing
    return size.to_the_level if name in NEEDS_MORE else size.questions
