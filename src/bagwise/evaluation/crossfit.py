"""Out-of-fold probabilities of every bag.

A bag without any label is already new to the model, so the model itself predicts it; the others are held out fold by
fold (`model/held_out.py`). Cost: FOLDS fits that touch labelled bags only; where that would take longer than
`MOST_WORK`, only some folds are held out, and NaN marks the bags of the others.
"""

from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.kernels import Array
from bagwise.model import MIMLClassifier, out_of_fold
from bagwise.model.cross_validation import FOLDS

MOST_WORK = 250_000_000
"""Labelled instances times features times classes, over all folds: some ten seconds on one core."""


def crossfit(model: MIMLClassifier, bags: Bags, labels: Labels) -> Array:
    """P(class in bag) of every bag under `model`, refitted without the bag's own labels where it has some."""
    probability = model.predict_proba(bags).astype(float)
    labelled = labels.known.any(axis=1)
    affordable = MOST_WORK // max(int(bags.sizes[labelled].sum()) * model.weights_.size, 1)
    most = max(1, min(FOLDS, affordable))
    probability[labelled] = out_of_fold(model, bags, labels, most=most)[labelled]
    return probability
