"""Predicts every class with its frequency among the labelled bags: the least that a model must beat."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.kernels import Array


class ClassFrequency(BaseEstimator):  # type: ignore[misc]
    """Predicts from the labels alone.

    Examples
    --------
    >>> bags = Bags.from_list([[[0.0]], [[1.0]]])
    >>> ClassFrequency().fit(bags, [[1, 0], [0, np.nan]]).predict_proba(bags)
    array([[0.5, 0. ],
           [0.5, 0. ]])
    """

    def fit(self, bags: Bags, labels: Any) -> Self:
        """Count how often each class is present where that is known; a class never known counts as absent.

        Parameters
        ----------
        bags : Bags
            The bags; only their number is used.
        labels : Labels, or array-like of shape (B, C) with NaN for unknown
            The known labels.

        Returns
        -------
        ClassFrequency
            This model.
        """
        known = Labels.of(labels, len(bags))
        present = (known.value & known.known).sum(axis=0)
        self.frequency_: Array = present / np.maximum(known.known.sum(axis=0), 1)
        return self

    def predict_proba(self, bags: Bags) -> Array:
        """Return the same row for every bag.

        Parameters
        ----------
        bags : Bags
            The bags; only their number is used.

        Returns
        -------
        ndarray, shape (B, C)
        """
        return np.tile(self.frequency_, (len(bags), 1))
