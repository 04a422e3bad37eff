"""One answer learned and the next question chosen, `tell` + `ask`, with every update and both criteria.

The floor is the bare product X @ W.T over the whole pool. Every learner has answered WARM questions before the clock
runs. The median tells what a labeller usually waits; `replay` and `lbfgs` refit now and then, so the mean of `replay`
over a whole interval between two refits, the refit included, stands beside it.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from bagwise.model import solvers
from bagwise.model.solvers.replay import REFIT_EVERY
from bagwise.research.bench._figures import Figure, Report
from bagwise.research.bench._measuring import Say, against, one_thread, seconds
from bagwise.research.bench._pools import CRITERIA, SMALL, STANDARD, Conversation, PoolSize, RandomPool

DESCRIPTION = "tell + ask with every update and criterion, beside the bare product X @ W.T"
FLOOR = "bare product X @ W.T"
GOALS = {("bag_sgd", "uncertainty"): 0.5, ("bag_sgd", "expected_gradient_length"): 1.5}


@dataclass(frozen=True)
class Size:
    """The pool, the rounds, and the answers given before."""

    pool: PoolSize
    rounds: int
    warm: int


FULL, QUICK = Size(STANDARD, rounds=15, warm=50), Size(SMALL, rounds=5, warm=10)


def measure(size: Size, say: Say) -> Report:
    """Every update with every criterion."""
    pool = RandomPool(size.pool)
    names = {(update, criterion): _name(update, criterion) for update in solvers.available() for criterion in CRITERIA}
    talks = {}
    for (update, criterion), name in names.items():
        say(f"{size.warm} answers to {name}")
        talks[name] = Conversation(pool, criterion, update)
        for _ in range(size.warm):
            talks[name]()
    say(f"{size.rounds} rounds side by side, on all cores and on one")
    found, notes = against(FLOOR, {FLOOR: pool.product, **talks}, size.rounds)
    figures = [replace(found[name], goal=GOALS.get(which)) for which, name in names.items()]
    say("a refit of replay and the answers before it")
    figures.append(_between_refits(talks[_name("replay", "uncertainty")], pool))
    return Report("learner", str(size.pool), tuple(figures), notes=notes)


def _name(update: str, criterion: str) -> str:
    return f"tell + ask, {update}, {CRITERIA[criterion]}"


def _between_refits(talk: Conversation, pool: RandomPool) -> Figure:
    """The mean over REFIT_EVERY answers in a row, one of which refits, on one thread."""
    with one_thread():
        times = [seconds(talk, time.process_time) for _ in range(REFIT_EVERY)]
        floor_times = [seconds(pool.product, time.process_time) for _ in range(REFIT_EVERY)]
    mean, floor = float(np.mean(times)), float(np.median(floor_times))
    name = f"{_name('replay', 'uncertainty')}, mean with a refit"
    return Figure.of(name, FLOOR, [mean / floor], seconds=mean, floor_seconds=floor, one_thread=mean / floor)
