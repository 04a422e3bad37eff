"""One projected gradient step on the pair just answered; an epoch visits every known pair once."""

import numpy as np

from bagwise.kernels import Array
from bagwise.model.objective import Objective
from bagwise.model.solvers import Capabilities, OnEpoch, Settings, State
from bagwise.model.solvers._stochastic import Targets, epochs, take

CAPABILITIES = Capabilities(
    joint_objective=False, distributed=False, answered_bags_only=True, step_size=True, scores=False
)


def _known_pairs(objective: Objective) -> Targets:
    bags, classes = np.nonzero(objective.labels.known)
    return bags, classes


def fit(objective: Objective, weights: Array, settings: Settings, on_epoch: OnEpoch) -> State:
    """Epochs over the known pairs."""
    return epochs(objective, weights, settings, on_epoch, _known_pairs)


def update(objective: Objective, state: State, bags: Array, classes: Array, settings: Settings) -> State:
    """One step for each pair."""
    return take(objective, state, (bags, classes), settings)
