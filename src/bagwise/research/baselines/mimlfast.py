"""MIMLfast (Huang, Gao & Zhou, AAAI 2014): labels ranked by their best instance, a dummy label as the threshold."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.kernels import Array
from bagwise.model.features import fit_transformer, instances_of
from bagwise.research.baselines._mimlfast_kernel import NO_KEY, ranking_pass

BARELY_PRESENT = np.nextafter(0.5, 1)


class MIMLfast(BaseEstimator):  # type: ignore[misc]
    """Stochastic ranking of labels through a shared map V and sub-concepts w.

    Parameters
    ----------
    subspace : int
        Rows of the shared map V.
    sub_concepts : int
        Vectors per label.
    norm : float
        Bound on every sub-concept and on every column of V.
    step_size, decay : float
        Step t is step_size / (1 + decay step_size t).
    passes : int
        Passes over all (bag, relevant label) pairs.
    average_every : int
        Pairs between two models that enter the average; prediction uses the average.
    force_top : bool, optional
        Always predict the best label. None: unless the training data hold a bag known to have no class.
    key_mode : str
        "off", "anchor" (a positive label is scored at its key instance) or "rank" (and that instance is ranked above
        the others); matters only where key instances are given.
    random_state : int
        Seed of the first V and w and of the order of the pairs.

    Examples
    --------
    >>> bags = Bags.from_list([[[-2.0]], [[2.0]], [[-2.0], [2.0]]])
    >>> model = MIMLfast(subspace=4, passes=2).fit(bags, [[1, 0], [0, 1], [1, 1]])
    >>> model.predict(bags).shape
    (3, 2)
    """

    def __init__(
        self,
        subspace: int = 100,
        sub_concepts: int = 1,
        norm: float = 10.0,
        step_size: float = 0.005,
        decay: float = 1e-5,
        passes: int = 50,
        average_every: int = 10,
        force_top: bool | None = None,
        key_mode: str = "anchor",
        random_state: int = 0,
    ) -> None:
        self.subspace = subspace
        self.sub_concepts = sub_concepts
        self.norm = norm
        self.step_size = step_size
        self.decay = decay
        self.passes = passes
        self.average_every = average_every
        self.force_top = force_top
        self.key_mode = key_mode
        self.random_state = random_state

    @classmethod
    def released(cls, **rest: Any) -> "MIMLfast":
        """Return a model with the parameters of the published code.

        Parameters
        ----------
        **rest
            Further parameters of `MIMLfast`.

        Returns
        -------
        MIMLfast
        """
        return cls(sub_concepts=5, passes=10, **rest)

    def fit(self, bags: Bags | Sequence[npt.ArrayLike], labels: Any, keys: Array | None = None) -> Self:
        """Fit to every known label.

        Parameters
        ----------
        bags : Bags, or sequence of array-like, each of shape (n_b, d)
            The bags.
        labels : Labels, or array-like of shape (B, C) with NaN for unknown
            The known labels.
        keys : ndarray of int, shape (B, C), optional
            The key instance of each pair, as its position in the bag; -1 for none.

        Returns
        -------
        MIMLfast
            This model.
        """
        bags = Bags.of(bags)
        labels = Labels.of(labels, len(bags))
        self.start(bags, labels.n_classes)
        return self.learn(bags, labels, self.passes, keys)

    def start(self, bags: Bags, n_classes: int) -> Self:
        """Fit the scaling and draw V and w, every column and vector of norm `norm`.

        Parameters
        ----------
        bags : Bags
            The bags that the scaling is fitted to.
        n_classes : int
            Number of classes C.

        Returns
        -------
        MIMLfast
            This model.
        """
        if self.key_mode not in ("off", "anchor", "rank"):
            raise BagwiseError(f"`key_mode` is {self.key_mode!r}: choose off, anchor or rank.")
        self.transformer_ = fit_transformer(StandardScaler(), bags)
        width = bags.n_features + 1
        rng = np.random.default_rng(self.random_state)
        shared = rng.normal(size=(self.subspace, width))
        concepts = rng.normal(size=(n_classes + 1, self.sub_concepts, self.subspace))
        self.shared_ = self.norm * shared / np.linalg.norm(shared, axis=0)
        self.concepts_ = self.norm * concepts / np.linalg.norm(concepts, axis=2, keepdims=True)
        self._stream = np.array([rng.integers(0, 2**63)], np.uint64)
        self._rng = rng
        self._updates = 0
        self.forced_ = bool(self.force_top)
        self.reset_average()
        return self

    def reset_average(self) -> None:
        """Reset the average of models."""
        self._shared_sum, self._concepts_sum = np.zeros_like(self.shared_), np.zeros_like(self.concepts_)
        self._averaged = 0

    def learn(
        self, bags: Bags, labels: Labels, passes: int, keys: Array | None = None, only: Array | None = None
    ) -> Self:
        """Make more passes over the known labels.

        Parameters
        ----------
        bags : Bags
            The bags.
        labels : Labels
            The known labels, one row per bag.
        passes : int
            Number of passes.
        keys : ndarray of int, shape (B, C), optional
            The key instance of each pair, as its position in the bag; -1 for none.
        only : ndarray of int, optional
            Positions of the bags to learn from (default: all).

        Returns
        -------
        MIMLfast
            This model.
        """
        instances = instances_of(bags, self.transformer_, intercept=True)
        seen = instances.transformed(0, len(instances.x)).astype(float)
        known_keys = np.full(labels.known.shape, NO_KEY) if keys is None or self.key_mode == "off" else keys
        chosen = np.ones(len(bags), bool) if only is None else np.isin(np.arange(len(bags)), only)
        pair_bags, pair_labels = _relevant_pairs(labels, chosen)
        harmonic = _harmonic(max(labels.n_classes + 1, int(bags.sizes.max())))
        for _ in range(passes):
            order = self._rng.permutation(len(pair_bags))
            counts = np.array([self._updates, self._averaged])
            ranking_pass(
                seen,
                bags.offsets,
                labels.value,
                labels.known,
                known_keys,
                self.key_mode == "rank",
                pair_bags[order],
                pair_labels[order],
                self.shared_,
                self.concepts_,
                self._shared_sum,
                self._concepts_sum,
                counts,
                harmonic,
                self._stream,
                self.step_size,
                self.decay,
                self.norm,
                self.average_every,
            )
            self._updates, self._averaged = (int(count) for count in counts)
        if self.force_top is None:
            self.forced_ = not (labels.known.all(axis=1) & ~labels.value.any(axis=1)).any()
        return self

    def decision_function(self, bags: Bags | Sequence[npt.ArrayLike]) -> Array:
        """Return how far each label ranks above the dummy, f_c - f_dummy.

        Parameters
        ----------
        bags : Bags, or sequence of array-like, each of shape (n_b, d)
            The bags.

        Returns
        -------
        ndarray, shape (B, C)
        """
        check_is_fitted(self, "shared_")
        bags = Bags.of(bags)
        shared, concepts = self.shared_, self.concepts_
        if self._averaged:
            shared, concepts = self._shared_sum / self._averaged, self._concepts_sum / self._averaged
        instances = instances_of(bags, self.transformer_, intercept=True)
        mapped = instances.transformed(0, len(instances.x)) @ shared.T
        best = (mapped @ concepts.reshape(-1, self.subspace).T).reshape(len(mapped), *concepts.shape[:2]).max(axis=2)
        scores = np.maximum.reduceat(best, bags.offsets[:-1], axis=0)
        return np.asarray(scores[:, :-1] - scores[:, -1:])

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
        return as_predictions(self.decision_function(bags), self.forced_)

    def predict(self, bags: Bags | Sequence[npt.ArrayLike]) -> Array:
        """Return 1 where a label ranks above the dummy (or is the forced best), else 0.

        Parameters
        ----------
        bags : Bags, or sequence of array-like, each of shape (n_b, d)
            The bags.

        Returns
        -------
        ndarray of int, shape (B, C)
        """
        return (self.predict_proba(bags) > 0.5).astype(int)


def as_predictions(decision: Array, force_top: bool) -> Array:
    """Map decision values monotonically into (0, 1), 0 to 0.5; `force_top` lifts the best label above 0.5."""
    squeezed = 0.5 + decision / (2 * (1 + np.abs(decision)))
    if force_top:
        rows, top = np.arange(len(decision)), decision.argmax(axis=1)
        squeezed[rows, top] = np.maximum(squeezed[rows, top], BARELY_PRESENT)
    return np.asarray(squeezed)


def _relevant_pairs(labels: Labels, chosen: Array) -> tuple[Array, Array]:
    """Return every known relevant label of the chosen bags, and the dummy (index C) of those with a known label."""
    relevant = labels.value & labels.known & chosen[:, None]
    touched = labels.known.any(axis=1) & chosen
    pairs = np.column_stack([relevant, touched])
    bags, label = np.nonzero(pairs)
    return bags, label


def _harmonic(largest: int) -> Array:
    """Return H(r) = 1 + 1/2 + ... + 1/r for r = 0 .. largest."""
    return np.concatenate([[0.0], np.cumsum(1 / np.arange(1, largest + 1))])
