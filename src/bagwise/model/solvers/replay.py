"""An Adam step on the bag just answered and a few labelled bags replayed, with a warm L-BFGS refit now and then.

    g = gradient of F over {answered bag} and REPLAYED bags drawn from all labelled ones
    m <- b1 m + (1 - b1) g,   v <- b2 v + (1 - b2) g^2,   W <- W - step m' / (sqrt(v') + e)      (m', v' unbiased)

The cost of a step does not grow with the number of labels; every `REFIT_EVERY`th answer is a refit instead, after which
the moments start from zero again. F is not convex, and the first answers can lead into a local minimum: the first,
second, fourth, eighth, ... refit is also tried from scratch, and the lower of the two minima is kept.
"""

import math
from dataclasses import replace
from functools import cache

import numpy as np

from bagwise.kernels import Array
from bagwise.model.objective import Objective
from bagwise.model.solvers import OnEpoch, Settings, State, lbfgs

REPLAYED = 16
REFIT_EVERY = 25
SCORES_CHECKED_EVERY, SCORES_CHECKED_UNTIL = 5, 50
STEP, FIRST_DECAY, SECOND_DECAY, TINY = 0.02, 0.9, 0.99, 1e-8


def fit(objective: Objective, weights: Array, settings: Settings, on_epoch: OnEpoch) -> State:
    """As `lbfgs`."""
    return lbfgs.fit(objective, weights, settings, on_epoch)


def update(objective: Objective, state: State, bags: Array, classes: Array, settings: Settings) -> State:
    """A step, or at every `REFIT_EVERY`th answer a refit."""
    refit_every = settings.refit_every or REFIT_EVERY
    refits, steps_since = divmod(state.steps + 1, refit_every)
    if steps_since == 0 or len(bags) == 0 or _scores_turned_out(objective, state):
        from_scratch = steps_since == 0 and refits & (refits - 1) == 0
        return State(_refitted(objective, state.weights, settings, from_scratch), state.steps + 1)
    batch = _batch(objective, state, bags, settings)
    _, gradient = batch(state.weights)
    first, second = (np.zeros_like(state.weights),) * 2 if state.moments is None else state.moments
    first = FIRST_DECAY * first + (1 - FIRST_DECAY) * gradient
    second = SECOND_DECAY * second + (1 - SECOND_DECAY) * gradient**2
    unbiased = first / _share_seen(FIRST_DECAY, steps_since), second / _share_seen(SECOND_DECAY, steps_since)
    step = STEP * unbiased[0] / (np.sqrt(unbiased[1]) + TINY)
    return State(state.weights - step, state.steps + 1, np.stack([first, second]))


def _scores_turned_out(objective: Objective, state: State) -> bool:
    """Whether the first answers have shown that the scores are useless, or useful after all."""
    steps = state.steps + 1
    due = objective.instances.n_scores and steps % SCORES_CHECKED_EVERY == 0 and steps <= SCORES_CHECKED_UNTIL
    return bool(due and objective.with_useful_scores(state.weights) is not state.weights)


def _share_seen(decay: float, steps: int) -> float:
    """1 - decay^steps, by products: the C library's power differs between processors."""
    return 1 - math.prod([decay] * steps)


def _refitted(objective: Objective, weights: Array, settings: Settings, from_scratch: bool) -> Array:
    start = objective.with_useful_scores(weights)
    warm = lbfgs.minimise(objective, start, replace(settings, max_iter=lbfgs.ITERATIONS_AFTER_SEVERAL))
    if not from_scratch and start is weights:
        return warm
    fresh = lbfgs.fit(objective, objective.start_like(start), settings, lambda *_: None).weights
    return min(warm, fresh, key=lambda found: objective(found)[0])


@cache
def _seed_of_draws(random_state: int) -> int:
    return int(np.random.default_rng(random_state).integers(1 << 32))


def _batch(objective: Objective, state: State, answered: Array, settings: Settings) -> Objective:
    """F over the answered bags and some others; which, depends on the seed and the number of the step alone."""
    labelled = objective.counts.labelled
    rng = np.random.default_rng([_seed_of_draws(settings.random_state), state.steps])
    drawn = rng.choice(labelled, min(REPLAYED, len(labelled)), replace=False)
    return objective.about(np.unique(np.concatenate([answered, drawn])))
