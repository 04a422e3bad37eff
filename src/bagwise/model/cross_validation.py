"""Cross validation by bags: predictions of each bag by a model that has not seen the labels of that bag.

Labelled bags are assigned to folds by their ids, and a fit without the labels of a fold predicts its bags. Every fit
starts from zero weights. F is not convex, and a refit from the current weights stays in the local minimum that the
hidden labels led to: on labels drawn at random such predictions still correlate 0.15 with the hidden labels.
"""

import numpy as np
from sklearn.base import clone

from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.kernels import Array, Instances, hashed_uniform
from bagwise.kernels.arithmetic.blocks import single_threaded_blas
from bagwise.model.classifier import MIMLClassifier
from bagwise.model.scored_pool import Scorer
from bagwise.model.solvers import Settings, lbfgs

FOLDS = 10
FOLD_KEY = 0xF01D
ITERATIONS, TOLERANCE = 200, 1e-4


def fold_of(bags: Bags, folds: int = FOLDS) -> Array:
    """Return the fold of every bag, which depends on its id only."""
    return np.asarray(np.floor(folds * hashed_uniform(FOLD_KEY, bags.keys, np.zeros(1))), np.int64)


def out_of_fold(
    model: MIMLClassifier, bags: Bags, labels: Labels, folds: int = FOLDS, most: int | None = None
) -> Array:
    """P(class in bag) of every labelled bag by a fit that knows none of its labels; NaN for the other bags.

    Parameters
    ----------
    model : MIMLClassifier
        Its settings are used, and its transformer where it is fitted; it is not changed.
    bags : Bags
        The bags; the fold of each depends on its id only.
    labels : Labels
        The known labels, one row per bag.
    folds : int
        Number of folds.
    most : int, optional
        The most folds that are held out (default: all).

    Returns
    -------
    ndarray of float, shape (B, C)
        NaN, too, for bags of folds that are not held out, and where nothing is known of the other folds.

    Examples
    --------
    >>> bags = Bags.from_list([[[float(x)]] for x in range(8)])
    >>> labels = Labels.from_array([[x < 4] for x in range(7)] + [[np.nan]])
    >>> probability = out_of_fold(MIMLClassifier(), bags, labels, folds=3)
    >>> bool(probability[0, 0] > probability[6, 0]), bool(np.isnan(probability[7, 0]))
    (True, True)
    """
    if not hasattr(model, "weights_"):
        model = clone(model).prepare(bags, labels.n_classes)
    labelled = np.flatnonzero(labels.known.any(axis=1))
    probability = np.full(labels.known.shape, np.nan)
    bags, labels = bags.select(labelled), labels.select(labelled)
    instances, fold = model.instances(bags), fold_of(bags, folds)
    with single_threaded_blas():
        for one in range(folds if most is None else most):
            held_out = np.flatnonzero(fold == one)
            kept = labels.hide(held_out)
            if len(held_out) and kept.n_known:
                probability[labelled[held_out]] = _learned_from(kept, model, instances, held_out)
    return probability


def _learned_from(labels: Labels, model: MIMLClassifier, instances: Instances, asked: Array) -> Array:
    """Predictions of the bags `asked` by a model fitted to these labels."""
    settings = Settings(max_iter=ITERATIONS, tolerance=TOLERANCE)
    objective = model.objective_of(instances, labels)
    start = objective.with_useful_scores(objective.start)
    weights = lbfgs.fit(objective, start, settings, lambda *_: None).weights
    return Scorer(instances.select(asked), weights, model.n_classes_).probabilities()[0]
