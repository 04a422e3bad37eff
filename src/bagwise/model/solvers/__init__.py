"""Solvers: ONE FILE = ONE SOLVER, found by its name. Each has the same two functions:
    fit(objective, weights, settings, record) -> State           from scratch; record(weights, F) after every epoch
update(objective, state, bags, classes, settings) -> State   after these pairs became known
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Protocol, cast

import numpy as np

from bagwise.core.plugins import choose, discover
from bagwise.kernels import Array
from bagwise.model.objective import Objective


@dataclass(frozen=True)
class Settings:
    """What a solver may be told; `refit_every` answers, those that refit online do so (None: as they think best)."""

    max_iter: int | None = None
    tolerance: float = 1e-6
    step_size: float = 0.1
    rng: np.random.Generator | None = None
    refit_every: int | None = None


@dataclass(frozen=True)
class State:
    """Where an online run stands: never changed, only replaced, so keeping one is a snapshot.

    `moments` (2, classes, features) are what some solvers remember of past gradients.
    """

    weights: Array
    steps: int = 0
    moments: Array | None = None

    def advanced(self, weights: Array, steps: int) -> "State":
        """The state after `steps` more steps."""
        return replace(self, weights=weights, steps=self.steps + steps)


OnEpoch = Callable[[Array, float | None], None]


class Solver(Protocol):
    """The two functions of a solver's file."""

    def fit(self, objective: Objective, weights: Array, settings: Settings, on_epoch: OnEpoch) -> State:
        """Learn everything known, from `weights`."""
        ...

    def update(self, objective: Objective, state: State, bags: Array, classes: Array, settings: Settings) -> State:
        """Go on from `state` after these pairs became known."""
        ...


@cache
def available() -> dict[str, ModuleType]:
    """Every solver by name."""
    return discover(__name__, "bagwise.solvers")


def uses_answered_bags_only(name: str) -> bool:
    """Whether an update needs no bags but those that were answered."""
    return bool(getattr(available().get(name), "ANSWERED_BAGS_ONLY", False))


def get(name: str) -> Solver:
    """The solver called `name`."""
    return cast(Solver, choose("solver", name, available()))
