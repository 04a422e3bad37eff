"""Training on all labels: our L-BFGS against that of torch, and `fit` against the classifiers of mimllearning.

Both L-BFGS minimise the same F from the same start in the same two stages; the figure is the ratio of the times until
each first reaches the worse of their two final values. mimllearning runs in a separate environment, on the folds of
the data set that comes with it. Everything runs in its own process with one thread and is measured in CPU time.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bagwise import datasets
from bagwise.data.metrics.bag_accuracy import bag_accuracy
from bagwise.data.metrics.hamming_loss import hamming_loss
from bagwise.kernels import Array
from bagwise.research.bench.environments import Missing, environment_python, run_external
from bagwise.research.bench.figures import Figure, Report
from bagwise.research.bench.lbfgs_race import race
from bagwise.research.bench.timing import Log, peer_figure
from bagwise.research.experiments.simulation import split

DESCRIPTION = "L-BFGS against that of torch, and fit against the classifiers of mimllearning, which it installs"
REQUIREMENTS = ("mimllearning==1.0.11", "scikit-learn==1.9.1", "numpy==2.4.6", "tabulate==0.10.0", "setuptools==80.9.0")
"""mimllearning imports the last two without requiring them; setuptools 81 and later lack pkg_resources."""

OURS = "Bagwise, fit"
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
    """Data sets for L-BFGS; folds and classifiers on the birds; and how often each is fitted."""

    data: tuple[str, ...]
    folds: int
    runs: int
    rounds: int
    classifiers: tuple[str, ...] = tuple(CLASSIFIERS)


FULL = Size(("digits", "frost", "birds"), folds=5, runs=5, rounds=3)
QUICK = Size(("frost",), folds=5, runs=1, rounds=1)


def measure(size: Size, log: Log) -> Report:
    """Make both comparisons, or the one whose libraries are installed."""
    figures: list[Figure] = []
    notes = []
    for comparison in (_against_torch, _against_mimllearning):
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


def _against_mimllearning(size: Size, log: Log) -> list[Figure]:
    if not size.classifiers:
        return []
    external = environment_python(REQUIREMENTS, log)
    log("birds: our fit and mimllearning")
    tasks = [_fold(size, fold) for fold in range(size.runs)]
    ours = [run_external(Path(sys.executable), "ours_fit", task) for task in tasks]
    found = [_fit_figure(OURS, ours, ours, tasks)]
    for word in size.classifiers:
        theirs = [run_external(external, "mimllearning", task, word) for task in tasks]
        found.append(_fit_figure(f"mimllearning, {CLASSIFIERS[word]}", theirs, ours, tasks))
    return found


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
    details = {
        "bag accuracy": bag_accuracy(truth, predicted),
        "Hamming loss": hamming_loss(truth, predicted),
    }
    return peer_figure(f"birds: {title}", OURS, seconds, floor_seconds, details)
