"""L-BFGS on all known labels: the accurate reference, and practical because it touches labelled bags only."""

import numpy as np
from scipy.optimize import minimize

from bagwise.kernels import Array
from bagwise.model.objective import Objective
from bagwise.model.solvers import Record, Settings, State

ITERATIONS = 1000
ITERATIONS_AFTER_AN_ANSWER = 10
MEMORY = 20


def fit(objective: Objective, weights: Array, settings: Settings, record: Record) -> Array:
    """Minimise F from `weights` until the largest entry of the gradient is below the tolerance."""

    def flat(point: Array) -> tuple[float, Array]:
        value, gradient = objective(point.reshape(weights.shape))
        return value, gradient.ravel()

    def callback(intermediate_result: object) -> None:
        record(np.reshape(intermediate_result.x, weights.shape))  # type: ignore[attr-defined]

    options = {
        "maxiter": settings.max_iter or ITERATIONS,
        "gtol": settings.tolerance,
        "ftol": 1e-12,
        "maxcor": MEMORY,
        "maxfun": 10**9,
    }
    found = minimize(flat, weights.ravel(), jac=True, method="L-BFGS-B", callback=callback, options=options)
    return np.asarray(found.x, dtype=float).reshape(weights.shape)


def update(objective: Objective, state: State, bags: Array, classes: Array, settings: Settings) -> State:
    """A few iterations from where it stands, on everything known."""
    few = Settings(max_iter=ITERATIONS_AFTER_AN_ANSWER, tolerance=settings.tolerance)
    return state.advanced(fit(objective, state.weights, few, lambda _: None), 1)
