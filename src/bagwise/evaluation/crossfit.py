"""Out-of-fold probabilities of every bag.

A bag without any label is already new to the model, so the model itself predicts it; the others are held out fold by
fold (`model/cross_validation.py`). Cost: FOLDS fits that touch labelled bags only; where that would take longer than
`MOST_WORK`, only some folds are held out, and NaN marks the bags of the others.
"""

from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.kernels import Array
from bagwise.model import MIMLClassifier, out_of_fold
from bagwise.model.cross_validation import FOLDS

MOST_WORK = 250_000_000
"""Labelled instances times features times classes, over all folds: about ten seconds on one core."""


def crossfit(model: MIMLClassifier, bags: Bags, labels: Labels) -> Array:
    """Return P(class in bag) of every bag by `model`, refitted without the labels of the bag where it has some.

    Parameters
    ----------
    model : MIMLClassifier
        Fitted.
    bags : Bags
        The bags to predict.
    labels : Labels
        The labels that the model was fitted to.

    Returns
    -------
    ndarray, shape (B, C)
        NaN for bags of folds that were left out to limit the time.

    Examples
    --------
    >>> import numpy as np
    >>> bags = Bags.from_list([[[float(x)]] for x in range(8)])
    >>> labels = Labels.from_array([[x < 4] for x in range(8)])
    >>> crossfit(MIMLClassifier().fit(bags, labels), bags, labels).shape
    (8, 1)
    """
    probability = model.predict_proba(bags).astype(float)
    labelled = labels.known.any(axis=1)
    affordable = MOST_WORK // max(int(bags.sizes[labelled].sum()) * model.weights_.size, 1)
    most = max(1, min(FOLDS, affordable))
    probability[labelled] = out_of_fold(model, bags, labels, most=most)[labelled]
    return probability
