"""What the two stochastic solvers share: epochs and single updates are the same steps in another order."""

from collections.abc import Callable

import numpy as np

from bagwise.kernels import Array, sgd_steps
from bagwise.model.objective import Objective
from bagwise.model.solvers import OnEpoch, Settings, State

EPOCHS = 100

Targets = tuple[Array, Array]


def take(objective: Objective, state: State, targets: Targets, settings: Settings) -> State:
    """One step for each (bag, class) of `targets`."""
    bags, classes = targets
    weights = sgd_steps(
        objective.instances,
        objective.labels.value,
        objective.learnable,
        bags,
        classes,
        state.weights,
        state.steps,
        settings.step_size,
        objective.penalty if settings.penalised else 0.0,
        objective.radius,
        objective.labels.flip,
        objective.penalty / settings.offset,
    )
    return state.advanced(weights, len(bags))


def epochs(
    objective: Objective,
    weights: Array,
    settings: Settings,
    on_epoch: OnEpoch,
    targets_of: Callable[[Objective], Targets],
) -> State:
    """Visit every target once an epoch, each epoch in another random order."""
    rng = np.random.default_rng(settings.random_state)
    bags, classes = targets_of(objective)
    state = State(weights)
    for _ in range(settings.max_iter or EPOCHS):
        order = rng.permutation(len(bags))
        state = take(objective, state, (bags[order], classes[order]), settings)
        on_epoch(state.weights, None)
    return state
