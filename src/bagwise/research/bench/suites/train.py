"""Training on all labels: our L-BFGS against that of torch, and `fit` against other classifiers.

Both L-BFGS minimise the same F from the same start in the same two stages; the figure is the ratio of the times until
each first reaches the worse of their two final values. On bags of one instance `fit` minimises what scikit-learn's
logistic regression does, to the same tolerance (`runners/logistic.py`). mimllearning runs in a separate environment, on
the folds of the data set that comes with it; beside it stand fits of ours that stop after a few iterations, and for
each of its classifiers the most accurate of them that is faster and no worse by either metric. Everything runs with one
thread and is measured in CPU time.
"""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bagwise import datasets
from bagwise.data.metrics.bag_accuracy import bag_accuracy
from bagwise.data.metrics.hamming_loss import hamming_loss
from bagwise.kernels import Array
from bagwise.research.bench.environments import Missing, environment_python, run_external
from bagwise.research.bench.figures import Figure, Report
from bagwise.research.bench.lbfgs_race import race
from bagwise.research.bench.logistic_race import logistic_race
from bagwise.research.bench.timing import Log, peer_figure
from bagwise.research.experiments.simulation import split

DESCRIPTION = "L-BFGS against that of torch, fit against scikit-learn and against mimllearning, which it installs"
REQUIREMENTS = ("mimllearning==1.0.11", "scikit-learn==1.9.1", "numpy==2.4.6", "tabulate==0.10.0", "setuptools==80.9.0")
"""mimllearning imports the last two without requiring them; setuptools 81 and later lack pkg_resources."""

OURS = "Bagwise, fit"
RUNGS = (2, 5, 10, 20, 50)
"""Iterations after which a fit of ours stops early."""
ACCURACY, LOSS, WITH_PREDICTIONS = "bag accuracy", "Hamming loss", "fit and predict, ms"
AHEAD = "ours that is ahead in all of these"
ROUNDS_OF_LOGISTIC = 5
CLASSIFIERS = {
    "apr": "axis-parallel rectangles, one problem per class",
    "wrapped_tree": "decision tree on instances, label sets as classes",
    "neighbours": "3 nearest neighbours, mid-ranges",
    "tree": "decision tree, bag means",
    "forest": "random forest, bag means",
    "svc": "support vectors, bag means",
}


@dataclass(frozen=True)
class Size:
    """Data sets for L-BFGS; folds, classifiers and rungs on the birds; how often each is fitted; one-instance data."""

    data: tuple[str, ...]
    folds: int
    runs: int
    rounds: int
    classifiers: tuple[str, ...] = tuple(CLASSIFIERS)
    logistic: tuple[str, ...] = ()
    rungs: tuple[int, ...] = RUNGS


FULL = Size(("digits", "frost", "birds"), folds=5, runs=5, rounds=3, logistic=("digits", "frost", "hja"))
QUICK = Size(("frost",), folds=5, runs=1, rounds=1, logistic=("frost",), rungs=(20,))


def measure(size: Size, log: Log) -> Report:
    """Make all comparisons, or those whose libraries are installed."""
    figures: list[Figure] = []
    notes = []
    for comparison in (_against_torch, _against_scikit_learn, _against_mimllearning):
        try:
            figures += comparison(size, log)
        except Missing as missing:
            notes.append(str(missing))
    if not figures:
        raise Missing(" ".join(notes))
    what = f"all labels of {', '.join(size.data)}; birds in {size.runs} of {size.folds} folds"
    return Report("train", what, tuple(figures), "times as long as Bagwise", tuple(notes))


def _against_torch(size: Size, log: Log) -> list[Figure]:
    found = []
    for name in size.data:
        log(f"{name}: our L-BFGS and that of torch")
        found.append(race(name, size.rounds))
    return found


def _against_scikit_learn(size: Size, log: Log) -> list[Figure]:
    found = []
    for name in size.logistic:
        log(f"{name}: our fit and scikit-learn's logistic regression on single instances")
        found.append(logistic_race(name, ROUNDS_OF_LOGISTIC * size.rounds))
    return found


def _against_mimllearning(size: Size, log: Log) -> list[Figure]:
    if not size.classifiers:
        return []
    external = environment_python(REQUIREMENTS, log)
    log("birds: our fit and mimllearning")
    tasks = [_fold(size, fold) for fold in range(size.runs)]
    here = Path(sys.executable)
    ours = [run_external(here, "ours_fit", task) for task in tasks]
    found, rungs = [_fit_figure(OURS, ours, ours, tasks)], []
    for iterations in size.rungs:
        stopped = [run_external(here, "ours_fit", task, str(iterations)) for task in tasks]
        rungs.append(_fit_figure(f"{OURS}, {iterations} iterations", stopped, ours, tasks))
    for word in size.classifiers:
        theirs = [run_external(external, "mimllearning", task, word) for task in tasks]
        figure = _fit_figure(f"mimllearning, {CLASSIFIERS[word]}", theirs, ours, tasks)
        found.append(_beside_ours(figure, [*rungs, found[0]]))
    return [found[0], *rungs, *found[1:]]


def _beside_ours(theirs: Figure, ours: list[Figure]) -> Figure:
    """Return their figure with the most accurate fit of ours that is ahead in everything, and how long it takes."""
    ahead = [one for one in ours if _is_ahead(one, theirs)]
    if not ahead:
        return replace(theirs, details={**theirs.details, AHEAD: "none"})
    best = max(ahead, key=lambda one: one.details[ACCURACY])
    assert best.seconds is not None
    assert theirs.seconds is not None
    name = best.name.removeprefix(f"birds: {OURS}").removeprefix(", ") or "default"
    return replace(
        theirs, details={**theirs.details, AHEAD: f"{name}: {best.seconds / theirs.seconds:.2f} of its time"}
    )


def _is_ahead(ours: Figure, theirs: Figure) -> bool:
    """Whether a fit takes less time, with predictions and without, and is no worse by either metric."""
    assert ours.seconds is not None
    assert theirs.seconds is not None
    return (
        ours.seconds < theirs.seconds
        and ours.details[WITH_PREDICTIONS] < theirs.details[WITH_PREDICTIONS]
        and ours.details[ACCURACY] >= theirs.details[ACCURACY]
        and ours.details[LOSS] <= theirs.details[LOSS]
    )


def _fold(size: Size, fold: int) -> dict[str, Array]:
    training, held_out = split(datasets.load("birds"), size.folds, fold, seed=0)
    return {
        "x": training.bags.instances,
        "offsets": training.bags.offsets,
        "truth": training.labels.value,
        "held_out_x": held_out.bags.instances,
        "held_out_offsets": held_out.bags.offsets,
        "held_out_truth": held_out.labels.value,
        "rounds": np.array(size.rounds),
    }


def _fit_figure(
    title: str, runs: list[dict[str, Array]], floor: list[dict[str, Array]], tasks: list[dict[str, Array]]
) -> Figure:
    """Return the figure over all folds: times of fitting, and the quality of predictions for held-out bags."""
    seconds, floor_seconds = (np.concatenate([run["seconds"] for run in some]) for some in (runs, floor))
    truth = np.concatenate([task["held_out_truth"] for task in tasks])
    predicted = np.concatenate([run["predicted"] for run in runs])
    until_predicted = float(np.median(np.concatenate([run["until_predicted"] for run in runs])))
    details = {
        ACCURACY: bag_accuracy(truth, predicted),
        LOSS: hamming_loss(truth, predicted),
        WITH_PREDICTIONS: 1000 * until_predicted,
    }
    return peer_figure(f"birds: {title}", OURS, seconds, floor_seconds, details)
