"""A curved map of the instances: standardised features beside a Gaussian kernel of them (Nystroem 1930).

    z = (x - mean)/deviation,   k(z) = [exp(-gamma |z - l|^2) for landmarks l],   gamma = 1/(2 features)
    map(x) = [z, sqrt(features) L^-1 k(z)],   L L' = kernel matrix of the landmarks

so that the products of the second part are those of the kernel, where landmarks are. Landmarks that others explain are
left out. Unlike scikit-learn's, which takes a root by LAPACK, it is the same on every processor; the two differ by a
rotation, which the prior on the weights does not see. The kernel's columns together have length 1, the standardised
ones sqrt(features): one prior for both would hardly let the former count, so they are made longer.
"""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from bagwise.kernels import Array
from bagwise.kernels.arithmetic.cholesky import inverse_of_lower, pivoted_cholesky
from bagwise.kernels.arithmetic.clustering import ROWS_AT_A_TIME, squared_distances
from bagwise.kernels.arithmetic.elementary import exp
from bagwise.kernels.arithmetic.product import Linear

LANDMARKS = 300
EXPLAINED = 1e-8


class NystroemMap(BaseEstimator):  # type: ignore[misc]
    """Standardised features, and up to `LANDMARKS` columns of a Gaussian kernel of them."""

    def fit(self, instances: Array, scaler: StandardScaler) -> Self:
        """Choose the landmarks among the instances; `scaler` is fitted to them."""
        self.mean_, self.scale_ = scaler.mean_, scaler.scale_
        chosen = np.random.default_rng(0).permutation(len(instances))[:LANDMARKS]
        landmarks = self._scaled(instances[np.sort(chosen)])
        pivots, lower = pivoted_cholesky(self._kernel(landmarks, landmarks), EXPLAINED)
        self.landmarks_: Array = landmarks[pivots]
        self.whitening_: Array = inverse_of_lower(lower)
        return self

    def transform(self, instances: Array) -> Array:
        """(instances x (features + landmarks))."""
        width = instances.shape[1]
        mapped = np.empty((len(instances), width + len(self.landmarks_)))
        linear = Linear(self.whitening_, np.zeros(len(self.whitening_)))
        for start in range(0, len(instances), ROWS_AT_A_TIME):
            rows, out = self._scaled(instances[start : start + ROWS_AT_A_TIME]), mapped[start : start + ROWS_AT_A_TIME]
            out[:, :width] = rows
            curved, *_ = linear.logits(self._kernel(rows, self.landmarks_))
            np.multiply(curved[:, : len(self.landmarks_)], np.sqrt(width), out=out[:, width:])
        return mapped

    def _scaled(self, rows: Array) -> Array:
        return np.asarray((np.asarray(rows, np.float64) - self.mean_) / self.scale_)

    def _kernel(self, rows: Array, landmarks: Array) -> Any:
        return exp(squared_distances(rows, landmarks) * (-0.5 / rows.shape[1]))
