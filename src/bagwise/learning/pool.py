"""Pool: the bags that a learner asks about, wherever they are stored.

`LocalPool` has them in this process, `cluster.RayPool` on a cluster. A learner needs three things of a pool: the best
questions under a model, the labelled bags to learn from, and the transformer fitted to all bags.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.data.label_store import LabelCounts, LabelStore
from bagwise.kernels import Array, Instances
from bagwise.learning import class_discovery, criteria, granularity
from bagwise.learning.class_discovery import InstanceClusters
from bagwise.learning.cold_start import cold_start_scores
from bagwise.learning.granularity import Choice, Seconds
from bagwise.learning.top_k import Statistics, TopK
from bagwise.model import MIMLClassifier, ScoredPool
from bagwise.model.objective import Counts, Objective


@dataclass(frozen=True)
class QueryOptions:
    """How questions are chosen, besides by which criterion; `last` is the bag asked about last."""

    granularity: str = "pair"
    cold_start: bool = False
    seconds: Seconds | None = None
    last: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class Request:
    """So many of the best questions by this criterion."""

    criterion: str
    count: int


class Choices(NamedTuple):
    """The best questions for every want; `partial` where not all bags were looked at."""

    choices: list[list[Choice]]
    partial: bool = False


class Pool(ABC):
    """Bags, somewhere."""

    bags: Bags
    """What can be said of them here: their number, and any few of them."""

    @abstractmethod
    def label_store(self, labels: Any, classes: int) -> LabelStore:
        """What is known at the start."""

    @abstractmethod
    def prepare(self, model: MIMLClassifier, classes: int, seed: int) -> None:
        """Fit the model's transformer and see the bags through it."""

    @abstractmethod
    def choose(
        self, model: MIMLClassifier, label_store: LabelStore, options: QueryOptions, requests: Sequence[Request]
    ) -> Choices:
        """The best questions under the model."""

    def prefetch(self, bags: Sequence[int]) -> None:  # noqa: ARG002
        """Have these bags at hand: they are about to be looked at."""
        return

    @abstractmethod
    def instances(self, bag: int) -> Instances:
        """One bag, as the model sees it."""

    @abstractmethod
    def objective(
        self, model: MIMLClassifier, label_store: LabelStore, bags: Array, alone: bool = False
    ) -> tuple[Objective, Array]:
        """What learning minimises, and the places of these bags in it; `alone`, no other bags are needed in it."""

    @property
    @abstractmethod
    def statistics(self) -> Statistics:
        """What finding the questions has cost."""

    def close(self) -> None:
        """Let go of what is held elsewhere, if anything is."""
        return


class QuestionChooser:
    """Bags that lie together: the best questions among them, given what is known of all bags."""

    def __init__(self, instances: Instances, keys: Array, top_k: TopK) -> None:
        self.instances, self.keys, self.top_k = instances, keys, top_k
        self.largest_bag = int(np.diff(instances.offsets).max())
        self._instance_clusters: InstanceClusters | None = None

    def clusters(self, instance_clusters: InstanceClusters) -> Array:
        """Which clusters every bag has."""
        if self._instance_clusters is not instance_clusters:
            self._instance_clusters, self._clusters = instance_clusters, instance_clusters.clusters(self.instances)
        return self._clusters

    def pool(self, model: MIMLClassifier, label_store: LabelStore, label_counts: LabelCounts, seed: int) -> ScoredPool:
        """What a criterion sees of these bags, given the totals of all."""
        return model.pool_of(
            model.scorer(self.instances),
            label_store.labels,
            withdrawn=label_store.withdrawn,
            askable=label_store.askable,
            touched=label_store.touched,
            label_counts=label_counts,
            keys=self.keys,
            seed=seed,
        )

    def choose(
        self, pool: ScoredPool, request: Request, options: QueryOptions, discover: Callable[[ScoredPool], Array]
    ) -> list[Choice]:
        """The best questions of the pool over these bags."""
        criterion, count = request.criterion, request.count
        if count == 0:
            return []
        if criterion == "random":
            return granularity.random_choice(options.granularity, pool, count)
        first = cold_start_scores(pool, discover) if options.cold_start else None
        if first is None and options.granularity == "pair":
            return self.top_k.best(pool, criterion, count)
        scores = criteria.get(criterion)(pool) if first is None else first
        if options.granularity == "best_value":
            return granularity.best_value(pool, scores, count, options.seconds, options.last)
        return granularity.get(options.granularity)(pool, scores, count)


class LocalPool(Pool):
    """All bags, in this process."""

    def __init__(self, bags: Bags, device: str = "cpu") -> None:
        self.bags = bags
        self._top_k = top_k_on(device)

    def label_store(self, labels: Any, classes: int) -> LabelStore:
        """What is known at the start."""
        return LabelStore.of(labels, len(self.bags), classes)

    def prepare(self, model: MIMLClassifier, classes: int, seed: int) -> None:
        """Fit the model's transformer and see the bags through it."""
        model.prepare(self.bags, classes)
        self._classes, self._seed = classes, seed
        self.chooser = QuestionChooser(model.instances(self.bags), self.bags.keys, self._top_k)

    def pool(self, model: MIMLClassifier, label_store: LabelStore, seed: int) -> ScoredPool:
        """What a criterion sees."""
        return self.chooser.pool(model, label_store, label_store.label_counts, seed)

    def choose(
        self, model: MIMLClassifier, label_store: LabelStore, options: QueryOptions, requests: Sequence[Request]
    ) -> Choices:
        """The best questions under the model."""
        pool = self.pool(model, label_store, options.seed)
        return Choices([self.chooser.choose(pool, request, options, self._discover) for request in requests])

    def instances(self, bag: int) -> Instances:
        """One bag, as the model sees it."""
        return self.chooser.instances.between(bag, bag + 1)

    def objective(
        self,
        model: MIMLClassifier,
        label_store: LabelStore,
        bags: Array,
        alone: bool = False,  # noqa: ARG002
    ) -> tuple[Objective, Array]:
        """What learning minimises, and the places of these bags in it."""
        counted = Counts(label_store.label_counts.n_known, label_store.labelled, self.chooser.largest_bag)
        return model.objective_of(self.chooser.instances, label_store.labels, counted), bags

    @property
    def statistics(self) -> Statistics:
        """What finding the questions has cost."""
        return self._top_k.statistics

    @cached_property
    def instance_clusters(self) -> InstanceClusters:
        """Clusters of the instances, to find the first bags of every class by."""
        return InstanceClusters.of(class_discovery.sample(self.chooser.instances), self._classes, self._seed)

    def _discover(self, pool: ScoredPool) -> Array:
        clusters, told = self.chooser.clusters(self.instance_clusters), np.flatnonzero(pool.known.any(axis=1))
        is_class = class_discovery.suspicion(clusters[told], pool.labels.select(told))
        return class_discovery.scores(clusters, is_class, class_discovery.unfound(pool.label_counts))


def top_k_on(device: str) -> TopK:
    """Selection with what a device can do for it: "cpu", "cuda", or "auto" for a card where there is one."""
    if device == "cpu":
        return TopK()
    try:
        from bagwise.kernels.gpu import device_called
        from bagwise.learning.top_k_gpu import GpuTopK
    except ImportError as error:
        raise BagwiseError(f"device={device!r} needs torch: pip install 'bagwise[gpu]'.") from error
    found = device_called(device)
    return TopK() if found == "cpu" else GpuTopK(found)
