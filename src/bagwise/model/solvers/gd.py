"""Gradient descent on all known labels, step by backtracking (the paper's batch update).

A step is accepted when F falls by at least a ten-thousandth of what the slope promises (Armijo); the next search
starts at twice the accepted step.
"""

import numpy as np

from bagwise.kernels import Array
from bagwise.kernels.arithmetic.sums import inner
from bagwise.model.objective import Objective
from bagwise.model.solvers import OnEpoch, Settings, State

EPOCHS = 1500
EPOCHS_AFTER_AN_ANSWER = 10
SUFFICIENT = 1e-4
SMALLEST_STEP = 1e-12


def fit(objective: Objective, weights: Array, settings: Settings, on_epoch: OnEpoch) -> State:
    """Descend until the gradient is below the tolerance, no step helps, or the epochs are used up."""
    value, gradient = objective(weights)
    step = 1.0
    for _ in range(settings.max_iter or EPOCHS):
        slope = inner(gradient, gradient)
        if np.abs(gradient).max() <= settings.tolerance:
            break
        step *= 2
        while step > SMALLEST_STEP:
            candidate = weights - step * gradient
            candidate_value, candidate_gradient = objective(candidate)
            if candidate_value <= value - SUFFICIENT * step * slope:
                break
            step /= 2
        else:
            break
        weights, value, gradient = candidate, candidate_value, candidate_gradient
        on_epoch(weights, value)
    return State(weights)


def update(objective: Objective, state: State, bags: Array, classes: Array, settings: Settings) -> State:
    """A few more steps from where it stands, on everything known."""
    few = Settings(max_iter=EPOCHS_AFTER_AN_ANSWER, tolerance=settings.tolerance)
    start = objective.with_useful_scores(state.weights)
    return state.advanced(fit(objective, start, few, lambda *_: None).weights, 1)
