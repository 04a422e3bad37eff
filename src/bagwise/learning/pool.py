"""Holding: the bags that a learner asks about, wherever they are.

`Here` has them in this process; `cluster` has others. What a learner needs of them is little: the best questions under
a model, the bags that something is known of, to learn from, and the transformer fitted to all of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.data.label_store import Ledger, Totals
from bagwise.kernels import Array, Instances
from bagwise.learning import class_discovery as scouting
from bagwise.learning import criteria, granularity
from bagwise.learning.class_discovery import Landmarks
from bagwise.learning.cold_start import opening
from bagwise.learning.granularity import Choice, Seconds
from bagwise.learning.top_k import Selection, Statistics
from bagwise.model import MIMLClassifier, Pool
from bagwise.model.objective import Counts, Objective


@dataclass(frozen=True)
class Manner:
    """How questions are chosen, besides by which criterion; `last` is the bag asked about last."""

    granularity: str = "pair"
    scouting: bool = False
    seconds: Seconds | None = None
    last: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class Want:
    """So many of the best questions by this criterion."""

    criterion: str
    count: int


class Chosen(NamedTuple):
    """The best questions for every want; `partial` where not all bags were looked at."""

    choices: list[list[Choice]]
    partial: bool = False


class Holding(ABC):
    """Bags, somewhere."""

    bags: Bags
    """What can be said of them here: their number, and any few of them."""

    @abstractmethod
    def ledger(self, labels: Any, classes: int) -> Ledger:
        """What is known at the start."""

    @abstractmethod
    def prepare(self, model: MIMLClassifier, classes: int, seed: int) -> None:
        """Fit the model's transformer and see the bags through it."""

    @abstractmethod
    def choose(self, model: MIMLClassifier, ledger: Ledger, manner: Manner, wants: Sequence[Want]) -> Chosen:
        """The best questions under the model."""

    def bring(self, bags: Sequence[int]) -> None:  # noqa: ARG002
        """Have these bags at hand: they are about to be looked at."""
        return

    @abstractmethod
    def instances(self, bag: int) -> Instances:
        """One bag, as the model sees it."""

    @abstractmethod
    def objective(
        self, model: MIMLClassifier, ledger: Ledger, bags: Array, alone: bool = False
    ) -> tuple[Objective, Array]:
        """What learning minimises, and the places of these bags in it; `alone`, no other bags are needed in it."""

    @property
    @abstractmethod
    def statistics(self) -> Statistics:
        """What finding the questions has cost."""

    def close(self) -> None:
        """Let go of what is held elsewhere, if anything is."""
        return


class Place:
    """Bags that lie together: the best questions among them, given what is known of all bags."""

    def __init__(self, instances: Instances, keys: Array, selection: Selection) -> None:
        self.instances, self.keys, self.selection = instances, keys, selection
        self.largest_bag = int(np.diff(instances.offsets).max())
        self._landmarks: Landmarks | None = None

    def clusters(self, landmarks: Landmarks) -> Array:
        """Which clusters every bag has."""
        if self._landmarks is not landmarks:
            self._landmarks, self._clusters = landmarks, landmarks.clusters(self.instances)
        return self._clusters

    def pool(self, model: MIMLClassifier, ledger: Ledger, totals: Totals, seed: int) -> Pool:
        """What a criterion sees of these bags, given the totals of all."""
        return model.pool_of(
            model.scorer(self.instances),
            ledger.labels,
            withdrawn=ledger.withdrawn,
            askable=ledger.askable,
            touched=ledger.touched,
            totals=totals,
            keys=self.keys,
            seed=seed,
        )

    def choose(self, pool: Pool, want: Want, manner: Manner, scout: Callable[[Pool], Array]) -> list[Choice]:
        """The best questions of the pool over these bags."""
        criterion, count = want.criterion, want.count
        if count == 0:
            return []
        if criterion == "random":
            return granularity.random_choice(manner.granularity, pool, count)
        first = opening(pool, scout) if manner.scouting else None
        if first is None and manner.granularity == "pair":
            return self.selection.best(pool, criterion, count)
        scores = criteria.get(criterion)(pool) if first is None else first
        if manner.granularity == "best_value":
            return granularity.best_value(pool, scores, count, manner.seconds, manner.last)
        return granularity.get(manner.granularity)(pool, scores, count)


class Here(Holding):
    """All bags, in this process."""

    def __init__(self, bags: Bags, device: str = "cpu") -> None:
        self.bags = bags
        self._selection = selection_on(device)

    def ledger(self, labels: Any, classes: int) -> Ledger:
        """What is known at the start."""
        return Ledger.of(labels, len(self.bags), classes)

    def prepare(self, model: MIMLClassifier, classes: int, seed: int) -> None:
        """Fit the model's transformer and see the bags through it."""
        model.prepare(self.bags, classes)
        self._classes, self._seed = classes, seed
        self.place = Place(model.instances(self.bags), self.bags.keys, self._selection)

    def pool(self, model: MIMLClassifier, ledger: Ledger, seed: int) -> Pool:
        """What a criterion sees."""
        return self.place.pool(model, ledger, ledger.totals, seed)

    def choose(self, model: MIMLClassifier, ledger: Ledger, manner: Manner, wants: Sequence[Want]) -> Chosen:
        """The best questions under the model."""
        pool = self.pool(model, ledger, manner.seed)
        return Chosen([self.place.choose(pool, want, manner, self._scout) for want in wants])

    def instances(self, bag: int) -> Instances:
        """One bag, as the model sees it."""
        return self.place.instances.between(bag, bag + 1)

    def objective(
        self,
        model: MIMLClassifier,
        ledger: Ledger,
        bags: Array,
        alone: bool = False,  # noqa: ARG002
    ) -> tuple[Objective, Array]:
        """What learning minimises, and the places of these bags in it."""
        counted = Counts(ledger.totals.n_known, ledger.labelled, self.place.largest_bag)
        return model.objective_of(self.place.instances, ledger.labels, counted), bags

    @property
    def statistics(self) -> Statistics:
        """What finding the questions has cost."""
        return self._selection.statistics

    @cached_property
    def landmarks(self) -> Landmarks:
        """Clusters of the instances, to find the first bags of every class by."""
        return Landmarks.of(scouting.sample(self.place.instances), self._classes, self._seed)

    def _scout(self, pool: Pool) -> Array:
        clusters, told = self.place.clusters(self.landmarks), np.flatnonzero(pool.known.any(axis=1))
        is_class = scouting.suspicion(clusters[told], pool.labels.select(told))
        return scouting.scores(clusters, is_class, scouting.unfound(pool.totals))


def selection_on(device: str) -> Selection:
    """Selection with what a device can do for it: "cpu", "cuda", or "auto" for a card where there is one."""
    if device == "cpu":
        return Selection()
    try:
        from bagwise.kernels.gpu import device_called
        from bagwise.learning.top_k_gpu import DeviceSelection
    except ImportError:
        raise BagwiseError(f"device={device!r} needs torch: pip install 'bagwise[gpu]'.") from None
    found = device_called(device)
    return Selection() if found == "cpu" else DeviceSelection(found)
