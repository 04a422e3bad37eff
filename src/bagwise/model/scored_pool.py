"""Scored pool: the input of a criterion, that is, the model's probabilities and gradients and the labels.

Everything is computed once, when it is first used.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bagwise.data.label_store import LabelCounts
from bagwise.data.labels import Labels
from bagwise.kernels import (
    Array,
    Instances,
    absent_gradients,
    bag_probabilities,
    gradient_lengths,
    hashed_uniform,
    instance_probabilities,
    mix,
    slopes,
)


@dataclass(frozen=True)
class Scorer:
    """Fixed weights on instances: probabilities and gradients of the classes.

    Parameters
    ----------
    instances : Instances
        The instances of the bags, with the transformer of the model.
    weights : ndarray, shape (n_classes [+ 1], width)
        Weights on transformed instances; a row more than there are classes is that of the background.
    n_classes : int
        Number of classes.
    remembers : bool
        Whether what it computes of all bags is kept, for who asks again.

    Examples
    --------
    >>> from bagwise import Bags, MIMLClassifier
    >>> model = MIMLClassifier.from_weights([[1.0], [0.0]])
    >>> scorer = Scorer(model.instances(Bags.from_list([[[0.0], [0.0]]])), model.weights_, n_classes=2)
    >>> scorer.probabilities()
    (array([[0.75, 0.75]]), array([[0.25, 0.25]]))
    """

    instances: Instances
    weights: Array
    n_classes: int
    remembers: bool = False

    @cached_property
    def folded(self) -> tuple[Array, Array]:
        """Weights and bias that act on raw rows."""
        return self.instances.fold(self.weights)

    @property
    def uses_scores(self) -> bool:
        """Whether scores of a classifier count: not where there are none, or where all their slopes are 0."""
        classes, own = self.instances.n_scores, self.instances.n_features
        return bool(classes and slopes(self.weights[:classes, own]).any())

    def on(self, instances: Instances) -> "Scorer":
        """The same weights on some of the same instances.

        Parameters
        ----------
        instances : Instances
            Of some of the bags.

        Returns
        -------
        Scorer
        """
        other = Scorer(instances, self.weights, self.n_classes)
        other.__dict__["folded"] = self.folded
        return other

    def probabilities(self) -> tuple[Array, Array]:
        """P(present) and P(absent), (bags, classes)."""
        return self._remembered("probabilities", self._probabilities)

    def _probabilities(self) -> tuple[Array, Array]:
        instances = self.instances
        return bag_probabilities(instances.x, instances.offsets, *self.folded, self.n_classes, instances.evidence)

    def instance_probabilities(self) -> Array:
        """P(class) of instances, given what is known of them, (instances, classes)."""
        return instance_probabilities(self.instances.x, *self.folded, self.n_classes, self.instances.evidence)

    def gradient_lengths(self) -> tuple[Array, Array]:
        """Norm of the gradient of log P(absent), and P(absent), in one pass."""
        return self._remembered("gradient_lengths", self._gradient_lengths)

    def _gradient_lengths(self) -> tuple[Array, Array]:
        return gradient_lengths(self.instances, *self.folded, self.n_classes)

    def _remembered(self, name: str, compute: Callable[[], tuple[Array, Array]]) -> tuple[Array, Array]:
        if not self.remembers:
            return compute()
        key = f"remembered {name}"
        if key not in self.__dict__:
            self.__dict__[key] = compute()
        first, second = self.__dict__[key]
        # A criterion may change what it gets.
        return first.copy(), second.copy()

    def gradients(self, bag: int) -> Array:
        """Gradient of log P(absent) of one bag by all weights.

        Parameters
        ----------
        bag : int
            Position of the bag.

        Returns
        -------
        ndarray, shape (n_classes, weights.size)
            One flat row per class.
        """
        return absent_gradients(self.instances, bag, *self.folded, self.n_classes).reshape(self.n_classes, -1)


class ScoredPool:
    """Probabilities, known labels and gradient norms of all bags under one model.

    Parameters
    ----------
    present : array-like, shape (B, C), optional
        P(class is in bag). Either these or a `scorer` is needed; with probabilities only there are no gradients.
    labels : Labels, optional
        The known labels (default: none).
    withdrawn : ndarray of bool, shape (B, C), optional
        Pairs answered *unsure*.
    askable : ndarray of bool, shape (B, C), optional
        Pairs that are neither known nor withdrawn.
    candidates : ndarray of bool, shape (B,), optional
        Bags of which pairs may be asked; by default all.
    touched : sequence of int, optional
        Bags whose labels changed since they were loaded, in order, where a label store counts them.
    label_counts : LabelCounts, optional
        Counts over the whole pool, of which these bags may be a shard.
    keys : ndarray of uint64, shape (B,), optional
        Hashed ids of the bags, for random numbers.
    seed : int
    prior : float
        Precision of the prior of the weights.
    scorer : Scorer, optional
        The weights on the instances of the bags.

    Examples
    --------
    >>> pool = ScoredPool([[0.25, 0.5]])
    >>> pool.absent, pool.nearest_side
    (array([[0.75, 0.5 ]]), array([[0.25, 0.5 ]]))
    """

    def __init__(
        self,
        present: Any = None,
        *,
        labels: Labels | None = None,
        withdrawn: Array | None = None,
        askable: Array | None = None,
        candidates: Array | None = None,
        touched: Sequence[int] | None = None,
        label_counts: LabelCounts | None = None,
        keys: Array | None = None,
        seed: int = 0,
        prior: float = 1.0,
        scorer: Scorer | None = None,
    ) -> None:
        if present is not None:
            self.present = np.asarray(present, dtype=float)
            self.absent = 1 - self.present
            shape = self.present.shape
        elif scorer is not None:
            shape = (len(scorer.instances.offsets) - 1, scorer.n_classes)
        else:
            raise ValueError("A pool needs `present` or a `scorer`.")
        self.shape: tuple[int, int] = (shape[0], shape[1])
        self.labels = Labels.unknown(*self.shape) if labels is None else labels
        self.withdrawn = np.zeros(self.shape, bool) if withdrawn is None else withdrawn
        self.candidates, self.touched = candidates, touched
        if askable is not None:
            self.open_pairs = askable
        if label_counts is not None:
            self.label_counts = label_counts
        self.keys = np.arange(self.shape[0], dtype=np.uint64) if keys is None else keys
        self.seed = seed
        self.prior = prior
        self._scorer = scorer

    @property
    def scorer(self) -> Scorer:
        """The weights and instances that the pool is computed from."""
        if self._scorer is None:
            raise ValueError("This pool was made from probabilities only: it has no gradients. Use `model.pool(bags)`.")
        return self._scorer

    @cached_property
    def present(self) -> Array:
        """P(class is in bag), (bags, classes)."""
        present, self.absent = self.scorer.probabilities()
        return present

    @cached_property
    def absent(self) -> Array:
        """P(class is not in bag), to full relative precision where it is small."""
        self.present, absent = self.scorer.probabilities()
        return absent

    @cached_property
    def nearest_side(self) -> Array:
        """min(P(present), P(absent)), (bags, classes)."""
        nearest: Array = np.minimum(self.present, self.absent)
        return nearest

    def like(self, values: Array, dtype: npt.DTypeLike | None = None) -> Array:
        """Return numbers of bags or classes that can be combined with the arrays of the pool, on its device.

        Parameters
        ----------
        values : ndarray
            The numbers.
        dtype : dtype, optional
            The type they get (default: their own).

        Returns
        -------
        ndarray
        """
        return values if dtype is None else values.astype(dtype)

    @cached_property
    def gradient_norm(self) -> Array:
        """||d log P(absent) / d weights||, (bags, classes). Computes P(absent) as well."""
        norm, self.absent = self.scorer.gradient_lengths()
        return norm

    def gradients(self, bag: int) -> Array:
        """Return d log P(absent) / d weights of one bag.

        Parameters
        ----------
        bag : int
            Position of the bag.

        Returns
        -------
        ndarray, shape (C, number of weights)
        """
        return self.scorer.gradients(bag)

    @property
    def uses_scores(self) -> bool:
        """Whether the probabilities come from scores of a classifier too."""
        return self._scorer is not None and self.scorer.uses_scores

    @property
    def known(self) -> Array:
        """Which pairs have a label."""
        return self.labels.known

    @cached_property
    def label_counts(self) -> LabelCounts:
        """Counts of known labels over the whole pool."""
        return LabelCounts.of(self.labels, self.withdrawn)

    @cached_property
    def open_pairs(self) -> Array:
        """Which pairs are neither known nor withdrawn."""
        return np.asarray(~(self.labels.known | self.withdrawn))

    @cached_property
    def askable(self) -> Array:
        """Which pairs may be asked: open ones of the candidates."""
        return self.open_pairs if self.candidates is None else self.open_pairs & self.candidates[:, None]

    @property
    def positions(self) -> Array | slice:
        """Where the bags are in the whole pool."""
        return slice(None)

    @property
    def known_in_bag(self) -> Array:
        """Number of known labels of every bag, (bags,)."""
        return np.asarray(self.known.sum(axis=1))

    def uniform(self, number: int) -> Array:
        """Return a random number in [0, 1) for every bag.

        Parameters
        ----------
        number : int
            Which of the random numbers of a bag: the same one is the same again.

        Returns
        -------
        ndarray, shape (B,)
        """
        return hashed_uniform(self.seed, self.keys, np.array(number))

    def imagined(self, **values: Array) -> "ScoredPool":
        """Return the same pool with other values of some of its properties.

        Parameters
        ----------
        **values : ndarray
            New values of properties, as `present` or `askable`.

        Returns
        -------
        ScoredPool
        """
        other = copy(self)
        other.__dict__.update(values)
        return other

    def instance(self, row: int) -> "ScoredPool":
        """Return the pool of one instance as a bag of its own, without what is known of it.

        Parameters
        ----------
        row : int
            Position of the instance among those of all bags.

        Returns
        -------
        ScoredPool
        """
        plain = self.scorer.instances.with_evidence(None)
        alone = replace(plain, x=plain.x[row : row + 1], offsets=np.array([0, 1]))
        return ScoredPool(scorer=self.scorer.on(alone), seed=self.seed, prior=self.prior)

    def of_instances(self) -> "ScoredPool":
        """Return the pool in which every instance is a bag of its own, with the label counts of this one.

        A pair of an instance and a class may be asked where the class is open in its bag, and nothing is known of the
        instance about it.
        """
        instances, sizes = self.scorer.instances, np.diff(self.scorer.instances.offsets)
        alone = replace(instances, offsets=np.arange(len(instances.x) + 1), plain=None)
        askable = np.repeat(self.askable, sizes, axis=0)
        for bag, label in self.labels.instances:
            askable[instances.offsets[bag] + label.instance, label.label_class] = False
        places = np.arange(len(instances.x)) - np.repeat(instances.offsets[:-1], sizes)
        return ScoredPool(
            scorer=self.scorer.on(alone),
            askable=askable,
            label_counts=self.label_counts,
            keys=mix(np.repeat(self.keys, sizes) ^ mix(places.astype(np.uint64))),
            seed=self.seed,
            prior=self.prior,
        )

    def select(self, bags: Array) -> "ScoredPart":
        """Some of the bags.

        Parameters
        ----------
        bags : ndarray of int, shape (n,)
            Positions of bags.

        Returns
        -------
        ScoredPool
            Scored as in the whole; its labels are counted over the whole pool.
        """
        return ScoredPart(self, bags)

    def between(self, first: int, last: int) -> "ScoredPart":
        """Consecutive bags, without a copy of their instances.

        Parameters
        ----------
        first, last : int
            Positions of the first bag, and of the one after the last.

        Returns
        -------
        ScoredPool
            Scored as in the whole; its labels are counted over the whole pool.
        """
        return ScoredPart(self, slice(first, last))


class ScoredPart(ScoredPool):
    """Some bags of a pool, scored as in the whole."""

    def __init__(self, whole: ScoredPool, bags: Array | slice) -> None:
        self._whole, self._bags = whole, bags
        self.keys, self.seed, self.prior = whole.keys[bags], whole.seed, whole.prior
        self.shape = (len(self.keys), whole.shape[1])
        self.candidates = None if whole.candidates is None else whole.candidates[bags]

    @property
    def label_counts(self) -> LabelCounts:
        """Counts of known labels over the whole pool."""
        return self._whole.label_counts

    @property
    def positions(self) -> Array | slice:
        """Where the bags are in the whole pool, which is not itself a part."""
        return self._bags

    @cached_property
    def scorer(self) -> Scorer:
        """The model behind the pool, on these bags."""
        bags, scorer = self._bags, self._whole.scorer
        if isinstance(bags, slice):
            return scorer.on(scorer.instances.between(bags.start, bags.stop))
        return scorer.on(scorer.instances.select(bags))

    @cached_property
    def labels(self) -> Labels:  # type: ignore[override]
        """The labels of these bags."""
        return self._whole.labels.select(np.arange(self._whole.shape[0])[self._bags])

    @cached_property
    def open_pairs(self) -> Array:
        """Which pairs are neither known nor withdrawn."""
        return np.asarray(self._whole.open_pairs[self._bags])
