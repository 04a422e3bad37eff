"""Pool: the bags that a learner asks about, wherever they are stored.

A learner needs three things of a pool: the best questions under a model, the objective over the labelled bags to learn
from, and the transformer fitted to all bags. `LocalPool` has the bags in this process, whatever `BagStore` they are in
(memory, a memory-mapped file, partitions) and whatever finds the best pairs (`TopK` on the CPU, `GpuTopK`);
`cluster.RayPool` has them on a cluster. All pools ask the same questions, bit for bit: `tests/checks/test_pools.py`
holds each to it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.data.label_store import LabelCounts, LabelStore
from bagwise.kernels import Array, Instances
from bagwise.learning import class_discovery, criteria, granularity
from bagwise.learning.class_discovery import Discovery, InstanceClusters
from bagwise.learning.cold_start import ColdStart
from bagwise.learning.granularity import Seconds
from bagwise.learning.questions import Question
from bagwise.learning.top_k import Statistics, TopK, scan
from bagwise.model import MIMLClassifier, ScoredPool
from bagwise.model.objective import Counts, Objective
from bagwise.model.scored_pool import Scorer

MOST_KEPT_PAIRS = 1 << 18
"""Of larger pools, what the model thinks is computed for every question, even where the model has not changed."""


@dataclass(frozen=True)
class QueryOptions:
    """How questions are chosen, besides by which criterion.

    Parameters
    ----------
    granularity
        Name of a granularity: what one question asks about.
    cold_start
        How long to look for a first bag of every class, and to complete a few bags, before the criterion decides; None
        for not at all.
    seconds
        Seconds that answers take, for `granularity="best_value"`.
    last
        Position of the bag that was asked about last.
    seed
        Seed of ties and of random questions.
    candidates
        Which bags of the pool may be asked about, (B,) of bool; None: all.
    """

    granularity: str = "pair"
    cold_start: ColdStart | None = None
    seconds: Seconds | None = None
    last: int | None = None
    seed: int = 0
    candidates: Array | None = None


@dataclass(frozen=True)
class Request:
    """The `count` best questions by a criterion; "random" draws them instead."""

    criterion: str | criteria.Criterion
    count: int


class Choices(NamedTuple):
    """The best questions for every request, best first; `partial` where some bags were left out."""

    choices: list[list[Question]]
    partial: bool = False


class Pool(Protocol):
    """The bags that a learner asks about.

    A learner calls `label_store`, then `prepare`, then `choose` and `objective` in turn, and `close` at the end. The
    label store it got is the one that it changes and passes on.
    """

    bags: Bags
    """The bags; at least their number and any few of them are available."""

    def label_store(self, labels: Any, classes: int) -> LabelStore:
        """Return the label store of a new learner.

        Parameters
        ----------
        labels
            What is known at the start: Labels, an array (B, C) with NaN for unknown, or None.
        classes
            Number of classes C.
        """
        ...

    def prepare(self, model: MIMLClassifier, classes: int, seed: int) -> None:
        """Fit the transformer of the model to all bags, and transform them.

        Parameters
        ----------
        model
            Its transformer is fitted in place.
        classes
            Number of classes C.
        seed
            Seed of class discovery.
        """
        ...

    def choose(
        self, model: MIMLClassifier, label_store: LabelStore, options: QueryOptions, requests: Sequence[Request]
    ) -> Choices:
        """Return the best questions under the model for every request."""
        ...

    def prefetch(self, bags: Sequence[int]) -> None:
        """Fetch bags that `instances` is about to be called for."""
        ...

    def instances(self, bag: int) -> Instances:
        """Return the instances of one bag as the transformer of the model gives them."""
        ...

    def present(self, model: MIMLClassifier, label_store: LabelStore, bags: Array) -> Array:
        """Return P(class in bag) of the bags at some positions, (n, C), given what is known of their instances."""
        ...

    def objective(
        self, model: MIMLClassifier, label_store: LabelStore, bags: Array, alone: bool = False
    ) -> tuple[Objective, Array]:
        """Return the objective of learning, and the positions of some bags in it.

        Parameters
        ----------
        model
            Gives the form of the objective.
        label_store
            The labels to learn from.
        bags
            Positions of bags in the pool, for instance of those just answered.
        alone
            Whether the objective need not contain any other bags.

        Returns
        -------
        objective
            F over the labelled bags, or over `bags`.
        positions
            Positions of `bags` in the objective, of the same length.
        """
        ...

    @property
    def statistics(self) -> Statistics:
        """The cost of finding the questions."""
        ...

    def close(self) -> None:
        """Release processes and memory elsewhere; the pool cannot be used any more."""
        ...


class QuestionChooser:
    """Finds the best questions among bags of one process, given the label counts of all bags of the pool.

    Parameters
    ----------
    instances
        The transformed instances of the bags.
    keys
        64 random bits for every bag, (B,).
    top_k
        Finds the best pairs.
    """

    def __init__(self, instances: Instances, keys: Array, top_k: TopK) -> None:
        self.instances, self.keys, self.top_k = instances, keys, top_k
        self.largest_bag = int(np.diff(instances.offsets).max())
        self._scorer: Scorer | None = None
        self._instance_clusters: InstanceClusters | None = None

    def clusters(self, instance_clusters: InstanceClusters) -> Array:
        """Return which clusters occur in every bag; cached for the latest clusters."""
        if self._instance_clusters is not instance_clusters:
            self._instance_clusters, self._clusters = instance_clusters, instance_clusters.clusters(self.instances)
        return self._clusters

    def pool(
        self,
        model: MIMLClassifier,
        label_store: LabelStore,
        label_counts: LabelCounts,
        seed: int,
        candidates: Array | None = None,
    ) -> ScoredPool:
        """Return what a criterion gets of these bags; `label_counts` are those of the whole pool.

        Of bags that are not among the `candidates`, (B,) of bool, no pair may be asked.
        """
        return model.pool_of(
            self._scorer_of(model, label_store),
            label_store.labels,
            withdrawn=label_store.withdrawn,
            askable=label_store.askable,
            candidates=candidates,
            touched=label_store.touched,
            label_counts=label_counts,
            keys=self.keys,
            seed=seed,
        )

    def _scorer_of(self, model: MIMLClassifier, label_store: LabelStore) -> Scorer:
        """All bags under the model; of a small pool the same as before, as long as the weights are."""
        evidence = label_store.labels.evidence(self.instances.offsets, len(model.weights_))
        if evidence is not None or (len(self.keys) * model.n_classes_ > MOST_KEPT_PAIRS):
            return model.scorer(self.instances.with_evidence(evidence))
        known = self._scorer
        if known is None or known.weights is not model.weights_ or known.n_classes != model.n_classes_:
            known = self._scorer = Scorer(self.instances, model.weights_, model.n_classes_, remembers=True)
        return known

    def present(self, model: MIMLClassifier, label_store: LabelStore, bags: Array) -> Array:
        """Return P(class in bag) of some of these bags, (n, C), given what is known of their instances."""
        instances, labels = self.instances.select(bags), label_store.labels_of(bags.tolist())
        evidence = labels.evidence(instances.offsets, len(model.weights_))
        return model.scorer(instances.with_evidence(evidence)).probabilities()[0]

    def choose(
        self, pool: ScoredPool, request: Request, options: QueryOptions, discover: Callable[[ScoredPool], Discovery]
    ) -> list[Question]:
        """Return the best questions for one request; `discover` returns the criterion of class discovery."""
        criterion, count = request.criterion, request.count
        if count == 0:
            return []
        if criterion == "random":
            return self.top_k.draw(options.granularity, pool, count)
        first = options.cold_start.criterion(pool, discover) if options.cold_start else None
        if first is None and options.granularity == "instance" and (found := self._of_instances(pool, request)):
            return found
        options = replace(options, granularity="pair") if options.granularity == "instance" else options
        criterion = criterion if first is None else first
        if options.granularity == "pair":
            return self.top_k.best(pool, criterion, count)
        scores = criteria.get(criterion)(pool)
        if options.granularity == "best_value":
            return granularity.best_value(pool, scores, count, options.seconds, options.last)
        return granularity.get(options.granularity)(pool, scores, count)

    def _of_instances(self, pool: ScoredPool, request: Request) -> list[Question]:
        """The best questions about single instances."""
        if criteria.rises_with(request.criterion) is None:
            raise BagwiseError(
                f"granularity='instance' scores every instance as a bag of its own, which {request.criterion!r} does "
                "not support: use a criterion that declares RISES_WITH."
            )
        offsets = pool.scorer.instances.offsets
        found = []
        for question in scan(pool.of_instances(), request.criterion, request.count):
            bag = int(np.searchsorted(offsets, question.bag, side="right")) - 1
            found.append(replace(question, bag=bag, instance=question.bag - int(offsets[bag])))
        return found


class LocalPool:
    """A `Pool` whose bags are in this process: in memory, in a memory-mapped file, or in partitions.

    Parameters
    ----------
    bags
        The bags.
    top_k
        Finds the best pairs: by default on the CPU; `top_k_on` returns one for a device.

    Examples
    --------
    >>> pool = LocalPool(Bags.from_list([[[-2.0]], [[2.0]], [[0.1]]]))
    >>> store = pool.label_store([[1, 0], [0, 1], [np.nan, np.nan]], classes=2)
    >>> model = MIMLClassifier()
    >>> pool.prepare(model, classes=2, seed=0)
    >>> _ = model.learn(pool.objective(model, store, np.empty(0, int))[0])
    >>> (best,), partial = pool.choose(model, store, QueryOptions(), [Request("uncertainty", 1)])
    >>> best[0].bag, partial
    (2, False)
    """

    def __init__(self, bags: Bags, top_k: TopK | None = None) -> None:
        self.bags = bags
        self._top_k = TopK() if top_k is None else top_k

    def label_store(self, labels: Any, classes: int) -> LabelStore:
        """Return the label store of a new learner, with a row for every bag."""
        return LabelStore.of(labels, len(self.bags), classes)

    def prepare(self, model: MIMLClassifier, classes: int, seed: int) -> None:
        """Fit the transformer of the model to all bags, and transform them."""
        model.prepare(self.bags, classes)
        self._classes, self._seed = classes, seed
        self._instance_clusters: InstanceClusters | None = None
        self.chooser = QuestionChooser(model.instances(self.bags), self.bags.keys, self._top_k)

    def pool(
        self, model: MIMLClassifier, label_store: LabelStore, seed: int, candidates: Array | None = None
    ) -> ScoredPool:
        """Return what a criterion gets."""
        return self.chooser.pool(model, label_store, label_store.label_counts, seed, candidates)

    def choose(
        self, model: MIMLClassifier, label_store: LabelStore, options: QueryOptions, requests: Sequence[Request]
    ) -> Choices:
        """Return the best questions under the model for every request."""
        pool = self.pool(model, label_store, options.seed, options.candidates)
        discover = partial(self._discover, label_store.labelled)
        return Choices([self.chooser.choose(pool, request, options, discover) for request in requests])

    def prefetch(self, bags: Sequence[int]) -> None:
        """Do nothing: all instances are in this process."""

    def instances(self, bag: int) -> Instances:
        """Return the instances of one bag as the transformer of the model gives them."""
        return self.chooser.instances.between(bag, bag + 1)

    def present(self, model: MIMLClassifier, label_store: LabelStore, bags: Array) -> Array:
        """Return P(class in bag) of the bags at some positions, (n, C), given what is known of their instances."""
        return self.chooser.present(model, label_store, bags)

    def objective(
        self,
        model: MIMLClassifier,
        label_store: LabelStore,
        bags: Array,
        alone: bool = False,  # noqa: ARG002
    ) -> tuple[Objective, Array]:
        """Return the objective over all bags, in which they keep their positions."""
        counted = Counts(label_store.label_counts.n_known, label_store.labelled, self.chooser.largest_bag)
        return self._top_k.objective(model.objective_of(self.chooser.instances, label_store.labels, counted)), bags

    @property
    def statistics(self) -> Statistics:
        """The cost of finding the questions."""
        return self._top_k.statistics

    def close(self) -> None:
        """Do nothing: all is in this process."""

    @property
    def instance_clusters(self) -> InstanceClusters:
        """Clusters of the instances, computed at first use, for class discovery."""
        if self._instance_clusters is None:
            sampled = class_discovery.sample(self.chooser.instances)
            self._instance_clusters = InstanceClusters.of(sampled, self._classes, self._seed)
        return self._instance_clusters

    def _discover(self, labelled: Array, pool: ScoredPool) -> Discovery:
        clusters = self.chooser.clusters(self.instance_clusters)
        pointed = self.instance_clusters.known_instances(self.chooser.instances, pool.labels)
        is_class = class_discovery.suspicion(clusters[labelled], pool.labels.select(labelled), pointed)
        return Discovery(clusters, is_class, class_discovery.unfound(pool.label_counts))


def top_k_on(device: str) -> TopK:
    """Return what finds the best pairs on a device.

    Parameters
    ----------
    device
        "cpu", "cuda", or "auto" for a GPU where there is one.

    Raises
    ------
    BagwiseError
        If torch is not installed, or there is no such device.
    """
    if device == "cpu":
        return TopK()
    try:
        from bagwise.kernels.gpu import device_called
        from bagwise.learning.top_k_gpu import GpuTopK
    except ImportError as error:
        raise BagwiseError(f"device={device!r} needs torch: pip install 'bagwise[gpu]'.") from error
    found = device_called(device)
    return TopK() if found == "cpu" else GpuTopK(found)
