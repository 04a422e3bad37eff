"""Updates that the experiments need and the library does not offer: each is a solver (`bagwise.model.solvers`).

The constants of the stochastic steps are found by `best_constants` on the labels of the training fold, the same for
every strategy that is compared; nothing here sees a held-out bag.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bagwise.datasets import Dataset
from bagwise.kernels import Array
from bagwise.kernels.arithmetic.minimise import minimise
from bagwise.model import MIMLClassifier, solvers
from bagwise.model.objective import Objective
from bagwise.model.solvers import Capabilities, OnEpoch, Settings, Solver, State, lbfgs

FINER, COARSER = 3.0, 10.0
BETTER = 1e-4
FARTHEST = 12


@dataclass(frozen=True)
class Steps:
    """The stochastic steps of the paper on the answered bag or pair, step_size / (penalty k / offset + 1).

    `penalised` is whether a step includes the gradient of the penalty, which the paper's does not.
    """

    solver: str
    penalised: bool = False
    offset: float = 1.0

    @property
    def capabilities(self) -> Capabilities:
        """Those of the solver."""
        return solvers.capabilities(self.solver)

    def _settings(self, settings: Settings) -> Settings:
        return replace(settings, penalised=self.penalised, offset=self.offset)

    def fit(self, objective: Objective, weights: Array, settings: Settings, on_epoch: OnEpoch) -> State:
        """Epochs over what is known."""
        return solvers.get(self.solver).fit(objective, weights, self._settings(settings), on_epoch)

    def update(self, objective: Objective, state: State, bags: Array, classes: Array, settings: Settings) -> State:
        """One step for the answered bag, or for every pair of it."""
        return solvers.get(self.solver).update(objective, state, bags, classes, self._settings(settings))


@dataclass(frozen=True)
class Refits:
    """Warm L-BFGS refits after every so many labels, whatever number of labels an answer has.

    A question about a whole bag brings all its labels at once: refits after a number of *answers* would give its labels
    less of the minimiser's work than the labels of pairs.
    """

    labels: int = 25
    iterations: int = 100
    tolerance: float = 1e-4

    def fit(self, objective: Objective, weights: Array, settings: Settings, on_epoch: OnEpoch) -> State:
        """Minimise F from scratch."""
        return lbfgs.fit(objective, weights, settings, on_epoch)

    def update(self, objective: Objective, state: State, bags: Array, classes: Array, settings: Settings) -> State:
        """Minimise F from where it stands, if enough labels came since the last time."""
        count = len(bags)
        if (state.steps + count) // self.labels == state.steps // self.labels:
            return state.advanced(state.weights, count)
        few = replace(settings, max_iter=self.iterations, tolerance=self.tolerance)
        return state.advanced(lbfgs.minimise(objective, state.weights, few), count)


@dataclass(frozen=True)
class ExpectationMaximisation:
    """The joint likelihood by expectation maximisation (Pham, Raich & Fern 2017).

    The model is an exponential family in W, so the expected sufficient statistics of the instances' classes are all
    that the E-step has to find; by Fisher's identity they are

        T = sum_i E[y_i | known labels] x_i' = gradient of log P(known labels) + sum_i p_i x_i'

    The M-step minimises -(<W, T> - sum_i log sum_c exp(w_c x_i))/|L| + penalty/2 ||W||^2, which is convex.
    """

    rounds: int = 200
    tolerance: float = 1e-6
    iterations: int = 50

    def fit(self, objective: Objective, weights: Array, settings: Settings, on_epoch: OnEpoch) -> State:
        """Alternate until F falls by less than `tolerance` of itself."""
        known = objective.about(objective.counts.labelled)
        value = known(weights)[0]
        for _ in range(self.rounds):
            weights = self._maximised(known, weights, self._expected(known, weights))
            before, value = value, known(weights)[0]
            on_epoch(weights, value)
            if before - value < self.tolerance * abs(before):
                break
        return State(weights)

    def update(self, objective: Objective, state: State, bags: Array, classes: Array, settings: Settings) -> State:
        """Alternate from where it stands."""
        return state.advanced(self.fit(objective, state.weights, settings, lambda *_: None).weights, 1)

    def _expected(self, objective: Objective, weights: Array) -> Array:
        return objective.log_likelihood_and_gradient(weights)[1] + self._partition(objective, weights)[1]

    @staticmethod
    def _partition(objective: Objective, weights: Array) -> tuple[float, Array]:
        """sum_i log sum_c exp(w_c x_i) and its gradient, sum_i p_i x_i'."""
        instances = objective.instances
        by_raw, bias = instances.fold(weights)
        logits = instances.x @ by_raw.T + bias
        largest = logits.max(axis=1, keepdims=True)
        exponents = np.exp(logits - largest)
        sums = exponents.sum(axis=1, keepdims=True)
        p = exponents / sums
        return float((np.log(sums) + largest).sum()), instances.unfold(p.T @ instances.x, p.sum(axis=0))

    def _maximised(self, objective: Objective, weights: Array, expected: Array) -> Array:
        known, penalty = max(objective.counts.n_known, 1), objective.penalty

        def bound(flat: Array) -> tuple[float, Array]:
            point = flat.reshape(weights.shape)
            partition, gradient = self._partition(objective, point)
            value = (partition - float((point * expected).sum())) / known + penalty / 2 * float((point**2).sum())
            return value, ((gradient - expected) / known + penalty * point).ravel()

        return minimise(bound, weights.ravel(), self.iterations, self.tolerance)[0].reshape(weights.shape)


UPDATES: dict[str, Solver] = {
    "refits": Refits(),
    "online_bag": Steps("bag_sgd"),
    "online_pair": Steps("pair_sgd"),
    "online_bag_penalised": Steps("bag_sgd", penalised=True),
    "online_pair_penalised": Steps("pair_sgd", penalised=True),
}
"""The updates by the names that simulations use."""


def get(name: str) -> str | Solver:
    """Return the update of this name, or the name itself where it is a solver of the library."""
    if name in UPDATES:
        return UPDATES[name]
    solvers.get(name)
    return name


@dataclass(frozen=True)
class Constants:
    """The constants of the stochastic steps: the first step, and how slowly the steps shrink."""

    step_size: float
    offset: float


def best_constants(steps: Steps, training: Dataset, epochs: int, seed: int, **model: Any) -> Constants:
    """Return the constants with the highest log-likelihood of the training labels after some epochs from W = 0.

    The grid has no edge: the search moves to the best neighbour until there is none better.
    """

    def reached(place: tuple[int, ...]) -> float:
        constants = Constants(0.1 * FINER ** place[0], COARSER ** place[1])
        return trained(replace(steps, offset=constants.offset), training, epochs, constants.step_size, seed, **model)

    finer, coarser = climb(reached, (0, 0))
    return Constants(0.1 * FINER**finer, COARSER**coarser)


def trained(steps: Steps, training: Dataset, epochs: int, step_size: float, seed: int, **model: Any) -> float:
    """Return the log-likelihood of all training labels after some epochs."""
    fitted = MIMLClassifier(
        steps, max_iter=epochs, step_size=step_size, random_state=seed, transformer=training.transformer, **model
    ).fit(training.bags, training.labels)
    return float(fitted.log_likelihood_[-1])


def climb(function: Callable[[tuple[int, ...]], float], start: tuple[int, ...]) -> tuple[int, ...]:
    """Return a place on the grid of whole numbers none of whose neighbours is clearly better.

    >>> climb(lambda place: -(place[0] - 3) ** 2 - (place[1] + 2) ** 2, (0, 0))
    (3, -2)
    """
    values: dict[tuple[int, ...], float] = {}

    def value(place: tuple[int, ...]) -> float:
        if place not in values:
            found = function(place)
            values[place] = found if math.isfinite(found) else -math.inf
        return values[place]

    here = start
    while True:
        around = [
            tuple(one + step * (axis == moved) for axis, one in enumerate(here))
            for moved in range(len(here))
            for step in (-1, 1)
        ]
        best = max((place for place in around if max(map(abs, place)) <= FARTHEST), key=value)
        if not value(best) > value(here) + BETTER * abs(value(here)):
            return here
        here = best
