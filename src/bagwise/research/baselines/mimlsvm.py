"""MIMLSVM (Zhou & Zhang, NIPS 2006): a bag becomes its distances to medoid bags, a label one support vector machine."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.kernels import Array
from bagwise.kernels.arithmetic.elementary import exp
from bagwise.model.features import fit_transformer, instances_of
from bagwise.research.baselines.hausdorff import hausdorff
from bagwise.research.baselines.mimlfast import as_predictions

ROUNDS = 100


def k_medoids(distances: Array, count: int, rng: np.random.Generator, deal_first: bool = False) -> Array:
    """Return `count` bags, each with the least summed distance to the bags of its cluster.

    Starts from random bags; with `deal_first`, as published, from the medoids of random clusters.
    """
    bags = len(distances)
    medoids = rng.permutation(bags)[:count]
    if deal_first:
        cluster = rng.integers(0, count, size=bags)
        cluster[medoids] = np.arange(count)
        medoids = _medoids_of(distances, cluster, count)
    for _ in range(ROUNDS):
        cluster = distances[:, medoids].argmin(axis=1)
        cluster[medoids] = np.arange(count)
        moved = _medoids_of(distances, cluster, count)
        if set(moved) == set(medoids):
            break
        medoids = moved
    return medoids


def _medoids_of(distances: Array, cluster: Array, count: int) -> Array:
    chosen = []
    for c in range(count):
        members = np.flatnonzero(cluster == c)
        chosen.append(members[distances[np.ix_(members, members)].sum(axis=1).argmin()])
    return np.array(chosen)


class _Machine(NamedTuple):
    """One label's machine, the width of its kernel, and the training bags that it learned from."""

    svc: SVC
    gamma: float
    bags: Array


class MIMLSVM(BaseEstimator):  # type: ignore[misc]
    """One SVM per label on the distances of a bag to the medoids of the training bags.

    Parameters
    ----------
    distance : str
        "average", "max", "median" or "min" Hausdorff distance of standardised instances.
    medoids : float
        Their number as a share of the training bags. The published 0.2 costs 0.05 of bag accuracy on letters and
        nothing on bird song; 0.5 favours this system.
    gamma, cost : float
        Of the radial kernel.
    allow_empty : bool, optional
        Predict no label where no machine is positive. None: only if the training data hold such a bag.
    deal_first : bool
        Start the medoids as the published code does.
    random_state : int
        Seed of the first medoids.

    Examples
    --------
    >>> bags = Bags.from_list([[[-2.0]], [[2.0]], [[-2.1]], [[1.9]]])
    >>> MIMLSVM().fit(bags, [[1, 0], [0, 1], [1, 0], [0, 1]]).predict(bags)
    array([[1, 0],
           [0, 1],
           [1, 0],
           [0, 1]])
    """

    def __init__(
        self,
        distance: str = "average",
        medoids: float = 0.5,
        gamma: float | str = "scale",
        cost: float = 10.0,
        allow_empty: bool | None = None,
        deal_first: bool = False,
        random_state: int = 0,
    ) -> None:
        self.distance = distance
        self.medoids = medoids
        self.gamma = gamma
        self.cost = cost
        self.allow_empty = allow_empty
        self.deal_first = deal_first
        self.random_state = random_state

    @classmethod
    def released(cls, **rest: Any) -> "MIMLSVM":
        """Return a model with the parameters of the published code.

        Parameters
        ----------
        **rest
            Further parameters of `MIMLSVM`.

        Returns
        -------
        MIMLSVM
        """
        return cls(distance="max", medoids=0.2, gamma=0.2, cost=1.0, allow_empty=False, deal_first=True, **rest)

    def fit(self, bags: Bags | Sequence[npt.ArrayLike], labels: Any) -> Self:
        """Find the medoids among all bags, labelled or not, and train on the known labels.

        Parameters
        ----------
        bags : Bags, or sequence of array-like, each of shape (n_b, d)
            The bags.
        labels : Labels, or array-like of shape (B, C) with NaN for unknown
            The known labels.

        Returns
        -------
        MIMLSVM
            This model.
        """
        bags = Bags.of(bags)
        return self.degenerate(bags).train(Labels.of(labels, len(bags)))

    def degenerate(self, bags: Bags) -> Self:
        """Fit scaling, medoids and the representation of `bags`; no label is needed, so once is enough.

        All kernels are functions of the squared distances between representations, which are computed here.

        Parameters
        ----------
        bags : Bags
            The bags.

        Returns
        -------
        MIMLSVM
            This model.
        """
        self.transformer_ = fit_transformer(StandardScaler(), bags)
        scaled = self._scaled(bags)
        distances = hausdorff(scaled, scaled, self.distance)
        count = max(1, int(self.medoids * len(bags)))
        chosen = k_medoids(distances, count, np.random.default_rng(self.random_state), self.deal_first)
        self.medoid_bags_ = scaled.select(chosen)
        self.representation_ = distances[:, chosen]
        self.squared_distances_ = cdist(self.representation_, self.representation_, "sqeuclidean")
        self._latest: tuple[Bags, Array] | None = None
        return self

    def train(self, labels: Labels) -> Self:
        """Fit one machine per label on the bags whose label is known; a constant if only one value is known.

        Parameters
        ----------
        labels : Labels
            The known labels, one row for each of the bags that were given to `degenerate`.

        Returns
        -------
        MIMLSVM
            This model.
        """
        self.machines_: list[_Machine | float] = []
        kernels: dict[bytes, tuple[float, Array]] = {}
        for c in range(labels.n_classes):
            known = np.flatnonzero(labels.known[:, c])
            values = labels.value[known, c]
            if values.all() or not values.any():
                self.machines_.append(1.0 if len(values) and values.all() else -1.0)
                continue
            if known.tobytes() not in kernels:
                gamma = self._gamma_of(known)
                kernels[known.tobytes()] = gamma, exp(-gamma * self.squared_distances_[np.ix_(known, known)])
            gamma, kernel = kernels[known.tobytes()]
            self.machines_.append(_Machine(SVC(C=self.cost, kernel="precomputed").fit(kernel, values), gamma, known))
        empty = labels.known.all(axis=1) & ~labels.value.any(axis=1)
        self.may_be_empty_ = bool(empty.any()) if self.allow_empty is None else self.allow_empty
        return self

    def _gamma_of(self, bags: Array) -> float:
        """`gamma`; where it is "scale", that of scikit-learn's SVC on these bags."""
        if self.gamma != "scale":
            return float(self.gamma)
        represented = self.representation_[bags]
        spread = float(represented.var())
        return 1 / (represented.shape[1] * spread) if spread > 0 else 1.0

    @property
    def constant_(self) -> Array:
        """Return which labels have a constant instead of a machine."""
        return np.array([isinstance(machine, float) for machine in self.machines_])

    def decide(self, squared_distances: Array) -> Array:
        """Return decision values of represented bags.

        Parameters
        ----------
        squared_distances : ndarray, shape (n, B)
            Between the representations of these bags and of those given to `degenerate`.

        Returns
        -------
        ndarray, shape (n, C)
        """
        kernels: dict[bytes, Array] = {}
        columns = []
        for machine in self.machines_:
            if isinstance(machine, float):
                columns.append(np.full(len(squared_distances), machine))
                continue
            learned_from = machine.bags.tobytes()
            if learned_from not in kernels:
                kernels[learned_from] = exp(-machine.gamma * squared_distances[:, machine.bags])
            columns.append(machine.svc.decision_function(kernels[learned_from]))
        return np.column_stack(columns)

    def decision_function(self, bags: Bags | Sequence[npt.ArrayLike]) -> Array:
        """Return decision values; above 0 where a label is present.

        Parameters
        ----------
        bags : Bags, or sequence of array-like, each of shape (n_b, d)
            The bags.

        Returns
        -------
        ndarray, shape (B, C)
        """
        check_is_fitted(self, "machines_")
        bags = Bags.of(bags)
        # The medoids stay while machines are trained: held-out bags of an experiment are represented once.
        if self._latest is None or self._latest[0] is not bags:
            represented = hausdorff(self._scaled(bags), self.medoid_bags_, self.distance)
            self._latest = bags, cdist(represented, self.representation_, "sqeuclidean")
        return self.decide(self._latest[1])

    def predict_proba(self, bags: Bags | Sequence[npt.ArrayLike]) -> Array:
        """Return scores in (0, 1), above 0.5 where a label is predicted; they are not probabilities.

        Parameters
        ----------
        bags : Bags, or sequence of array-like, each of shape (n_b, d)
            The bags.

        Returns
        -------
        ndarray, shape (B, C)
        """
        return as_predictions(self.decision_function(bags), force_top=not self.may_be_empty_)

    def predict(self, bags: Bags | Sequence[npt.ArrayLike]) -> Array:
        """Return 1 where a machine is positive, and for the best label where none is (T-criterion), else 0.

        Parameters
        ----------
        bags : Bags, or sequence of array-like, each of shape (n_b, d)
            The bags.

        Returns
        -------
        ndarray of int, shape (B, C)
        """
        return (self.predict_proba(bags) > 0.5).astype(int)

    def _scaled(self, bags: Bags) -> Bags:
        instances = instances_of(bags, self.transformer_, intercept=False)
        return Bags(instances.transformed(0, len(instances.x)), bags.offsets, bags.ids)
