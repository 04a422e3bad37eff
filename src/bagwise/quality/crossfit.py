"""Out-of-fold probabilities: what the model says of a bag when it has not seen that bag's own labels.

A bag without any label is already new to the model, so the model itself predicts it. The others are dealt into folds
by their ids, and a fit without the labels of a fold predicts its bags. Cost: FOLDS fits that touch labelled bags only;
where that would take longer than `MOST_WORK`, only some folds are held out, and NaN marks the bags of the others.

Every fit starts from nothing. F is not convex, and a refit from the present weights stays in the valley that the
hidden labels led to: on labels drawn at random such predictions still correlate 0.15 with what they have not seen.
"""

import numpy as np

from bagwise.bags import Bags
from bagwise.kernels import Array, Instances, keyed_uniform
from bagwise.kernels.blocks import single_threaded_blas
from bagwise.labels import Labels
from bagwise.model import MIMLClassifier
from bagwise.model.pool import Scorer
from bagwise.model.solvers import Settings, lbfgs

FOLDS = 10
FOLD_KEY = 0xF01D
ITERATIONS, TOLERANCE = 200, 1e-4
MOST_WORK = 250_000_000
"""Labelled instances times features times classes, over all folds: some ten seconds on one core."""


def fold_of(bags: Bags) -> Array:
    """The fold of every bag, by its id."""
    return np.asarray(np.floor(FOLDS * keyed_uniform(FOLD_KEY, bags.keys, np.zeros(1))), np.int64)


def crossfit(model: MIMLClassifier, bags: Bags, labels: Labels) -> Array:
    """P(class in bag) of every bag under `model`, refitted without the bag's own labels where it has some."""
    instances = model.instances(bags)
    probability = model.scorer(instances).probabilities()[0].astype(float)
    labelled = labels.known.any(axis=1)
    fold = fold_of(bags)
    affordable = MOST_WORK // max(int(bags.sizes[labelled].sum()) * model.weights_.size, 1)
    probability[labelled] = np.nan
    with single_threaded_blas():
        for one in range(max(1, min(FOLDS, affordable))):
            held_out = np.flatnonzero(labelled & (fold == one))
            if len(held_out):
                probability[held_out] = _without(model, instances, labels, held_out)
    return probability


def _without(model: MIMLClassifier, instances: Instances, labels: Labels, held_out: Array) -> Array:
    """Predictions of these bags by a model that knows none of their labels."""
    kept = labels.hide(held_out)
    weights = np.zeros_like(model.weights_)
    if kept.n_known:
        settings = Settings(max_iter=ITERATIONS, tolerance=TOLERANCE)
        weights = lbfgs.fit(model.objective_of(instances, kept), weights, settings, lambda *_: None).weights
    return Scorer(instances.select(held_out), weights, model.n_classes_).probabilities()[0]
