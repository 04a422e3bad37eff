"""Time of `tell` + `ask`, learning one answer and selecting the next question: the default, then every other way.

The floor is the bare product X @ W.T over the whole pool. Every learner gets `warm` answers before the measurement. The
median is what a labeller usually waits; `replay` and `lbfgs` refit at intervals, so the mean of `replay` over one whole
interval, with its refit, is reported as well. With instance labels, `replay` is compared with itself without them.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from bagwise.model import solvers
from bagwise.model.solvers.replay import REFIT_EVERY
from bagwise.research.bench.figures import Figure, Report
from bagwise.research.bench.pools import CRITERIA, SMALL, STANDARD, AskTellLoop, PoolSize, RandomPool
from bagwise.research.bench.timing import Log, one_thread, ratios_to, seconds

DESCRIPTION = "tell + ask by default and with every update, relative to the bare product X @ W.T"
FLOOR = "bare product X @ W.T"
DEFAULT = "tell + ask, the default criterion and update"
OF_DEFAULT, WITH_INSTANCE_LABELS = 1.0, 1.1


@dataclass(frozen=True)
class Size:
    """The pool, the rounds, and the answers before the first round."""

    pool: PoolSize
    rounds: int
    warm: int


FULL, QUICK = Size(STANDARD, rounds=15, warm=50), Size(SMALL, rounds=5, warm=10)


def measure(size: Size, log: Log) -> Report:
    """Measure every update with every criterion."""
    pool = RandomPool(size.pool)
    names = {(criterion, update): _name(update, criterion) for update in solvers.available() for criterion in CRITERIA}
    loops = {DEFAULT: AskTellLoop(pool), **{name: AskTellLoop(pool, *how) for how, name in names.items()}}
    for name in loops:
        log(f"{size.warm} answers to {name}")
        for _ in range(size.warm):
            loops[name]()
    log(f"{size.rounds} rounds in alternation, on all cores and on one")
    found, notes = ratios_to(FLOOR, {FLOOR: pool.product, **loops}, size.rounds)
    figures = [replace(found[DEFAULT], goal=OF_DEFAULT), *(found[name] for name in names.values())]
    log("the same with instance labels")
    figures += [
        _with_instance_labels(loops[_name("replay", criterion)], pool, criterion, size) for criterion in CRITERIA
    ]
    log("a refit of replay and the answers before it")
    figures.insert(1, between_refits(loops[DEFAULT], pool, f"{DEFAULT}, mean with a refit"))
    return Report("learner", str(size.pool), tuple(figures), notes=notes)


def _name(update: str, criterion: str) -> str:
    return f"tell + ask, {update}, {CRITERIA[criterion]}"


def _with_instance_labels(without: AskTellLoop, pool: RandomPool, criterion: str, size: Size) -> Figure:
    """Measure `replay` where every yes names an instance, relative to answers about bags."""
    pointing, plain = AskTellLoop(pool, criterion, pointing=True), _name("replay", criterion)
    for _ in range(size.warm):
        pointing()
    name = f"{plain}, with instance labels"
    found, _ = ratios_to(plain, {plain: without, name: pointing}, size.rounds)
    return replace(found[name], goal=WITH_INSTANCE_LABELS)


def between_refits(loop: AskTellLoop, pool: RandomPool, name: str) -> Figure:
    """Measure the mean over REFIT_EVERY consecutive answers of `replay`, one of which refits, on one thread."""
    with one_thread():
        times = [seconds(loop, time.process_time) for _ in range(REFIT_EVERY)]
        floor_times = [seconds(pool.product, time.process_time) for _ in range(REFIT_EVERY)]
    mean, floor = float(np.mean(times)), float(np.median(floor_times))
    return Figure.of(name, FLOOR, [mean / floor], seconds=mean, floor_seconds=floor, one_thread=mean / floor)
