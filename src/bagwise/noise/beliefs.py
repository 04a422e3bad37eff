"""What the model believes about a bag when it does not know the bag's labels."""

import numpy as np
from sklearn.base import clone

from bagwise.bags import Bags
from bagwise.kernels import Array, keyed_uniform
from bagwise.labels import Labels
from bagwise.model import MIMLClassifier

FOLDS = 5
FOLD = 0xF01D


def out_of_fold(model: MIMLClassifier, bags: Bags, labels: Labels) -> Array:
    """P(class in bag) of every labelled bag by a model that learned from the other folds; NaN for the other bags.

    Which fold a bag is in depends on its id alone, but for an equal size of the folds.
    """
    belief = np.full(labels.known.shape, np.nan)
    labelled = np.flatnonzero(labels.known.any(axis=1))
    order = np.argsort(keyed_uniform(model.random_state or 0, bags.keys[labelled], np.array(FOLD)), kind="stable")
    folds = min(FOLDS, len(labelled))
    for fold in range(folds if folds > 1 else 0):
        held_out = np.sort(labelled[order[fold::folds]])
        others = np.setdiff1d(labelled, held_out)
        fitted = clone(model).fit(bags.select(others), labels.select(others))
        belief[held_out] = fitted.predict_proba(bags.select(held_out))
    return belief
