"""Predictions of pairs by a model that does not know the labels of their bags."""

from collections.abc import Sequence

import numpy as np

from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.kernels import Array
from bagwise.model import MIMLClassifier, out_of_fold

FOLDS = 5


def beliefs(model: MIMLClassifier, bags: Bags, labels: Labels, pairs: Sequence[tuple[int, int]]) -> Array:
    """Return P(class in bag) of each (bag, class), out of fold; 1/2 where nothing else is known."""
    of_all = out_of_fold(model, bags, labels, FOLDS)
    found: Array = np.nan_to_num(of_all[tuple(np.transpose(list(pairs)))], nan=0.5)
    return found
