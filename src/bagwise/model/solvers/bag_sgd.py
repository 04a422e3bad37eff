"""One projected gradient step on all known labels of the bag just answered; an epoch visits every such bag once."""

import numpy as np

from bagwise.kernels import EVERY_KNOWN_CLASS, Array
from bagwise.model.objective import Objective
from bagwise.model.solvers import Capabilities, OnEpoch, Settings, State
from bagwise.model.solvers._stochastic import Targets, epochs, take

CAPABILITIES = Capabilities(
    joint_objective=False, distributed=False, answered_bags_only=True, step_size=True, scores=False
)


def _every_known_class(bags: Array) -> Targets:
    return bags, np.full(len(bags), EVERY_KNOWN_CLASS)


def _labelled_bags(objective: Objective) -> Targets:
    return _every_known_class(objective.counts.labelled)


def fit(objective: Objective, weights: Array, settings: Settings, on_epoch: OnEpoch) -> State:
    """Epochs over the labelled bags."""
    return epochs(objective, weights, settings, on_epoch, _labelled_bags)


def update(objective: Objective, state: State, bags: Array, classes: Array, settings: Settings) -> State:
    """One step for each bag that got an answer."""
    return take(objective, state, _every_known_class(np.unique(bags)), settings)
