"""Other systems: seconds per question and accuracy after the same number of answers, on the same folds.

Libraries run in a separate environment on the mean of each bag with one binary problem per class, and refit only the
class that was answered. The paper's formulas in NumPy and with torch's autograd ask the same questions as Bagwise with
the same settings, from the same start. Each system has its own process with one thread and is measured in CPU time, so
that one system per core can run at once.
"""

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from bagwise import datasets
from bagwise.data.metrics.bag_accuracy import bag_accuracy
from bagwise.datasets import Dataset
from bagwise.kernels import Array
from bagwise.kernels.arithmetic.blocks import thread_count
from bagwise.model import MIMLClassifier
from bagwise.research.bench.environments import environment_python, run_external
from bagwise.research.bench.figures import Figure, Report
from bagwise.research.bench.timing import Log, peer_figure
from bagwise.research.experiments.simulation import first_labelled, split

DESCRIPTION = "scikit-activeml, modAL, ALiPy, and the paper's formulas in NumPy and torch; installs the libraries"
REQUIREMENTS = (
    "scikit-activeml==1.0.1", "modAL-python==0.4.2.1", "alipy==1.2.5", "scikit-learn==1.9.1", "numpy==2.4.6",
)  # fmt: skip
SHARE_LABELLED, SEED = 0.15, 0
PENALTY = 1e-2
"""Penalty of the paper's system."""


@dataclass(frozen=True)
class System:
    """A compared system: its runner, the runner's argument, and the system it is compared with."""

    title: str
    runner: str
    argument: str = ""
    floor: str = "Bagwise"
    installed: bool = False


OURS = (System("Bagwise", "ours", "default"), System("Bagwise as the paper", "ours", "paper"))
LIBRARIES = (
    System("scikit-activeml, uncertainty", "scikit_activeml", "uncertainty", installed=True),
    System("scikit-activeml, expected model change", "scikit_activeml", "expected_model_change", installed=True),
    System("modAL, uncertainty", "modal", installed=True),
    System("ALiPy, AUDI", "audi", installed=True),
)
FORMULAS = (
    System("explicit gradients in NumPy", "explicit_numpy", floor="Bagwise as the paper"),
    System("torch autograd", "torch_autograd", floor="Bagwise as the paper"),
)


@dataclass(frozen=True)
class Size:
    """Data sets, how many of `folds` are run, the number of answers, and the compared systems."""

    data: tuple[str, ...]
    folds: int
    runs: int
    answers: int
    systems: tuple[System, ...] = LIBRARIES + FORMULAS


FULL = Size(("birds", "frost"), folds=5, runs=2, answers=60)
QUICK = Size(("frost",), folds=5, runs=1, answers=20)


@dataclass(frozen=True)
class Run:
    """One run: the seconds of every answer, the accuracy on held-out bags at the end, and the pairs asked about."""

    seconds: Array
    accuracy: float
    asked: Array


def measure(size: Size, log: Log) -> Report:
    """Measure every system on every data set."""
    systems = [system for system in size.systems if system.runner != "torch_autograd" or find_spec("torch")]
    skipped = [system.title for system in size.systems if system not in systems]
    needed = any(system.installed for system in systems)
    external = environment_python(REQUIREMENTS, log) if needed else Path(sys.executable)
    figures: list[Figure] = []
    for name in size.data:
        log(f"{name}: {', '.join(system.title for system in (*OURS, *systems))}")
        figures += _compared(name, size, systems, external)
    notes = tuple(f"{title} was skipped: torch is not installed." for title in skipped)
    what = f"{size.answers} answers, {size.runs} of {size.folds} folds, {SHARE_LABELLED:.0%} of the bags labelled first"
    return Report("peers", f"{', '.join(size.data)}: {what}", tuple(figures), "times as long as Bagwise", notes)


def _compared(name: str, size: Size, systems: Sequence[System], external: Path) -> list[Figure]:
    compared = (*OURS, *systems)
    tasks = [_task(datasets.load(name), size, fold) for fold in range(size.runs)]
    jobs = [
        (system, external if system.installed else Path(sys.executable), *task) for system in compared for task in tasks
    ]
    with ThreadPoolExecutor(thread_count()) as workers:
        found = list(workers.map(_run, *zip(*jobs, strict=True)))
    runs = {system.title: found[i * size.runs : (i + 1) * size.runs] for i, system in enumerate(compared)}
    return [_figure(name, system, runs[system.title], runs[system.floor]) for system in compared]


def _figure(name: str, system: System, runs: list[Run], floor: list[Run]) -> Figure:
    seconds, floor_seconds = (np.concatenate([run.seconds for run in some]) for some in (runs, floor))
    details: dict[str, float | str] = {"bag accuracy": float(np.mean([run.accuracy for run in runs]))}
    if system in FORMULAS:
        details["same questions"] = f"{np.mean([_same(a, b) for a, b in zip(runs, floor, strict=True)]):.0%}"
    return peer_figure(f"{name}: {system.title}", system.floor, seconds, floor_seconds, details)


def _same(run: Run, floor: Run) -> float:
    return float(np.mean((run.asked == floor.asked).all(axis=1)))


def _task(data: Dataset, size: Size, fold: int) -> tuple[dict[str, Array], Dataset]:
    """Return the task of a runner, and the held-out bags for its accuracy."""
    training, held_out = split(data, size.folds, fold, SEED)
    labelled = first_labelled(training.labels, SHARE_LABELLED, SEED + fold)
    known = training.labels.hide(np.setdiff1d(np.arange(len(training.bags)), labelled))
    start = MIMLClassifier(penalty=PENALTY, background=False).fit(training.bags, known)
    arrays = {
        "x": training.bags.instances,
        "offsets": training.bags.offsets,
        "truth": training.labels.value,
        "labelled": labelled,
        "held_out_x": held_out.bags.instances,
        "held_out_offsets": held_out.bags.offsets,
        "answers": np.array(size.answers),
        "start_weights": start.weights_,
        "penalty": np.array(PENALTY),
    }
    return arrays, held_out


def _run(system: System, python: Path, task: dict[str, Array], held_out: Dataset) -> Run:
    found = run_external(python, system.runner, task, *filter(None, [system.argument]))
    accuracy = bag_accuracy(held_out.labels.value, found["predicted"].astype(float))
    return Run(found["seconds"], accuracy, found["asked"])
