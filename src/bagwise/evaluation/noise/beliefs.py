"""Predictions of pairs by a model that does not know the labels of their bags."""

from collections.abc import Sequence

import numpy as np

from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.kernels import Array
from bagwise.model import MIMLClassifier, out_of_fold

FOLDS = 5


def beliefs(model: MIMLClassifier, bags: Bags, labels: Labels, pairs: Sequence[tuple[int, int]]) -> Array:
    """Return P(class in bag) of each (bag, class), out of fold; 1/2 where nothing else is known.

    Parameters
    ----------
    model : MIMLClassifier
        Fitted. Its settings are used; it is not changed.
    bags : Bags
        The bags.
    labels : Labels
        The known labels, one row per bag.
    pairs : sequence of (int, int)
        The position of the bag and of the class of each pair.

    Returns
    -------
    ndarray of float, shape (n_pairs,)

    Examples
    --------
    >>> bags = Bags.from_list([[[float(x)]] for x in range(8)])
    >>> labels = Labels.from_array([[x < 4] for x in range(8)])
    >>> found = beliefs(MIMLClassifier().fit(bags, labels), bags, labels, [(0, 0), (7, 0)])
    >>> bool(found[0] > found[1])
    True
    """
    of_all = out_of_fold(model, bags, labels, FOLDS)
    found: Array = np.nan_to_num(of_all[tuple(np.transpose(list(pairs)))], nan=0.5)
    return found
