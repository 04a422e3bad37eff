"""A pool on a cluster: its bags lie in shards, and a learner with it asks what it would ask with all bags here.

A question takes one message to every shard and one back: the weights and what was answered since go out, the best
questions of every shard come back, with the instances of their bags. So an answer is learned here, from bags that are
here already, by the very arithmetic of a learner in one process.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np

from bagwise.cluster.bag_cache import MOST_KEPT, BagCache, RemoteBags
from bagwise.cluster.connection import HERE, begin_shards, connect, number_of
from bagwise.cluster.distributed_objective import DistributedObjective
from bagwise.cluster.messages import ShardMessages
from bagwise.cluster.shard import (
    GivenOrigin,
    Origin,
    PartitionOrigin,
    Shard,
    ShardInfo,
    ShardReply,
    ShardRequest,
    ShardSetup,
    added,
)
from bagwise.cluster.shard_state import ShardStates
from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.data.label_store import LabelStore, SparseLabelStore
from bagwise.kernels import Array, Instances
from bagwise.learning import class_discovery, criteria
from bagwise.learning.class_discovery import InstanceClusters
from bagwise.learning.cold_start import is_discovering
from bagwise.learning.granularity import merged
from bagwise.learning.pool import Choices, Pool, QueryOptions, Request
from bagwise.learning.top_k import Statistics
from bagwise.model import MIMLClassifier, solvers
from bagwise.model.objective import Counts, Objective
from bagwise.partitions import Partitions


class RayPool(Pool):
    """Bags in shards, one for each of the `origins`, or `handed` to them; close it, or use it in a `with` statement.

    With `timeout`, a question is chosen after so many seconds from the shards that replied, and marked as partial;
    without, all are waited for. The instances of bags that were asked about are cached here, up to `cache_bytes`;
    when more bags are labelled than fit, gradients are summed up where the bags lie.
    """

    shard: type[Shard] = Shard

    def __init__(
        self,
        origins: Sequence[Origin],
        cpus: float | None = None,
        gpus: float | None = None,
        timeout: float | None = None,
        cache_bytes: int = MOST_KEPT,
        handed: Sequence[Bags] = (),
    ) -> None:
        self.timeout, self._most = timeout, cache_bytes
        self._memory = ShardStates(len(origins))
        shards = begin_shards(origins, cpus, gpus, self.shard)
        names = [f"shard {number} ({origin.name})" for number, origin in enumerate(origins)]
        self.messages = ShardMessages(shards, names, self._memory, handed)
        try:
            self._about: list[ShardInfo] = list(self.messages.everywhere("about").values())
            self._validate_alike()
        except BaseException:
            self.close()
            raise
        self._first_bags = np.cumsum([0, *(about.bags for about in self._about)])
        self._first_rows = np.cumsum([0, *(about.instances for about in self._about)])
        self.n_instances = int(self._first_rows[-1])
        self.bags = RemoteBags(int(self._first_bags[-1]), self._about[0].features, self._rows_of, self._names_of)
        self._bag_cache = BagCache(self._rows_of, cache_bytes)
        self._sums: dict[tuple[bytes, bytes, bool], Array] = {}

    @classmethod
    def open(
        cls, parts: Partitions | str | Path, address: str = "auto", shards: int | None = None, **options: Any
    ) -> Self:
        """The parts of a folder that every machine of the cluster can read; by default a shard for every processor."""
        parts = parts if isinstance(parts, Partitions) else Partitions.open(parts)
        connect(address)
        most = shards or max(1, int(number_of("CPU")))
        edges = np.linspace(0, parts.n_instances, min(most, len(parts.parts)) + 1)
        dealt = np.searchsorted(edges, (parts.first_rows[:-1] + parts.first_rows[1:]) / 2) - 1
        groups = [np.flatnonzero(dealt == number).tolist() for number in range(len(edges) - 1)]
        place = str(parts.folder.resolve())
        shares = [tuple(numbers) for numbers in groups if numbers]
        return cls(
            [PartitionOrigin(place, some, tuple(parts.parts[number] for number in some)) for some in shares], **options
        )

    @classmethod
    def of(cls, bags: Bags, shards: int | Sequence[int] | None = None, address: str = HERE, **options: Any) -> Self:
        """Bags that are here, dealt to so many shards (by default one for every processor), or as many bags to each."""
        connect(address)
        shards = max(1, min(int(number_of("CPU")), len(bags))) if shards is None else shards
        edges = (
            np.linspace(0, len(bags), shards + 1).astype(int) if isinstance(shards, int) else np.cumsum([0, *shards])
        )
        if edges[-1] != len(bags) or (np.diff(edges) < 1).any():
            raise BagwiseError(f"{len(bags)} bags cannot be dealt to the shards {shards}: each needs at least one.")
        origins = [GivenOrigin(f"bags {first} to {last - 1}") for first, last in pairwise(edges)]
        return cls(origins, handed=[_part(bags, first, last) for first, last in pairwise(edges)], **options)

    def close(self) -> None:
        """End the shards."""
        self.messages.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise BagwiseError("A pool on a cluster cannot be copied or pickled: its shards are processes. Open another.")

    def _validate_alike(self) -> None:
        for name, about in zip(self.messages.names, self._about, strict=True):
            if (about.features, about.dtype) != (self._about[0].features, self._about[0].dtype):
                raise BagwiseError(
                    f"{name} has {about.features} features of type {about.dtype}, the first shard "
                    f"{self._about[0].features} of type {self._about[0].dtype}: all must be alike."
                )

    # What is spread over the shards

    @cached_property
    def _largest(self) -> Array:
        return np.asarray(np.max(list(self.messages.everywhere("largest").values()), axis=0))

    def largest(self) -> Array:
        """The largest absolute value of every feature."""
        return self._largest

    def sums(self, split_by: Array, centre: Array, squared: bool) -> Array:
        """Of x - centre or of its square, over all instances; what was asked before is remembered."""
        asked = split_by.tobytes(), centre.tobytes(), squared
        if asked not in self._sums:
            replies = self.messages.everywhere("sums", split_by, centre, squared)
            self._sums[asked] = np.asarray(added(list(replies.values())))
        return self._sums[asked]

    @property
    def largest_bag(self) -> int:
        """Instances of the largest bag."""
        return max(about.largest_bag for about in self._about)

    def _rows_of(self, bags: Sequence[int]) -> dict[int, Array]:
        return self._of_each("rows", bags)

    def _names_of(self, bags: Sequence[int]) -> list[str]:
        named = self._of_each("names", bags)
        return [named[bag] for bag in bags]

    def _of_each(self, method: str, bags: Sequence[int]) -> dict[int, Any]:
        """What shards say of each of their bags among these."""
        dealt: dict[int, list[int]] = {}
        for bag, shard in zip(bags, np.searchsorted(self._first_bags, bags, side="right") - 1, strict=True):
            dealt.setdefault(int(shard), []).append(int(bag))
        firsts = self._first_bags.tolist()
        wanted = {shard: ([bag - firsts[shard] for bag in some],) for shard, some in dealt.items()}
        found = self.messages.each(method, wanted) if dealt else {}
        return {bag: said for shard, some in dealt.items() for bag, said in zip(some, found[shard], strict=True)}

    # What a learner needs

    def label_store(self, labels: Any, classes: int) -> SparseLabelStore:
        """What is known at the start: Labels of all bags, an array with NaN for unknown, or `KnownLabels`."""
        return self._memory.label_store(labels, self._first_bags, classes)

    def prepare(self, model: MIMLClassifier, classes: int, seed: int) -> None:
        """Fit the model's transformer to all instances and let the shards see them through it."""
        model.prepare(self._first_bag, classes, spread=self)
        self._classes, self._seed = classes, seed
        self.__dict__.pop("instance_clusters", None)
        self._memory.begin([self._setting(model, shard) for shard in range(len(self._about))])
        self.messages.begin()

    def _setting(self, model: MIMLClassifier, shard: int) -> ShardSetup:
        return ShardSetup(model, int(self._first_bags[shard]), int(self._first_rows[shard]), self.n_instances)

    def choose(
        self, model: MIMLClassifier, label_store: LabelStore, options: QueryOptions, requests: Sequence[Request]
    ) -> Choices:
        """The best questions under the model."""
        self._validate_serves(label_store)
        for request in requests:
            _validate_distributable(request.criterion)
        is_class = (
            self._suspected(model, label_store)
            if options.cold_start and is_discovering(label_store.label_counts)
            else None
        )
        asked = ShardRequest(model.weights_, label_store.label_counts, options, tuple(requests), is_class)
        found = self.messages.everywhere("choose", asked, timeout=self.timeout)
        for one in found.values():
            self._bag_cache.add(one.rows)
        self._validate_choices(label_store, requests, found)
        choices = [
            merged([one.choices[number] for one in found.values()], request.count)
            for number, request in enumerate(requests)
        ]
        return Choices(choices, partial=len(found) < len(self._about))

    def _validate_choices(
        self, label_store: LabelStore, requests: Sequence[Request], found: dict[int, ShardReply]
    ) -> None:
        for number, request in enumerate(requests):
            if (
                request.count
                and label_store.label_counts.n_open
                and not any(one.choices[number] for one in found.values())
            ):
                raise BagwiseError(
                    "All that is left to ask lies in shards that did not reply in time: increase `timeout`."
                )

    def prefetch(self, bags: Sequence[int]) -> None:
        """Have these bags at hand, in one message to each shard."""
        self._bag_cache.rows(bags)

    def instances(self, bag: int) -> Instances:
        """One bag, as the model sees it."""
        return self._memory.model.instances(self._bag_cache.bags([bag]))

    def objective(
        self, model: MIMLClassifier, label_store: LabelStore, bags: Array, alone: bool = False
    ) -> tuple[Objective, Array]:
        """What learning minimises, and the places of these bags in it."""
        self._validate_serves(label_store)
        labelled = label_store.labelled
        if not alone and self._bag_cache.bytes_of(labelled.tolist(), self._bytes_per_bag) > self._most:
            return self._spread(model, label_store), bags
        wanted = np.unique(bags) if alone else labelled
        return self._at_home(model, label_store, wanted), np.searchsorted(wanted, bags)

    def _validate_serves(self, label_store: LabelStore) -> None:
        if not self._memory.serves(label_store):
            raise BagwiseError(
                "This pool serves another learner now: shards serve one at a time. Open a pool for each."
            )

    def _at_home(self, model: MIMLClassifier, label_store: LabelStore, bags: Array) -> Objective:
        """F over bags that are fetched where they are not here."""
        counted = Counts(label_store.label_counts.n_known, np.arange(len(bags)), self.largest_bag, bags)
        return model.objective_of(
            model.instances(self._bag_cache.bags(bags.tolist())), label_store.labels_of(bags.tolist()), counted
        )

    def _spread(self, model: MIMLClassifier, label_store: LabelStore) -> Objective:
        """F over bags that stay where they are."""
        if not solvers.capabilities(model.solver).distributed:
            able = [name for name in solvers.available() if solvers.capabilities(name).distributed]
            raise BagwiseError(
                f"solver={model.solver!r} needs the labelled bags on one machine: use one of {', '.join(able)}."
            )
        labelled = label_store.labelled
        plain = model.objective_of(
            model.instances(self._first_bag),
            label_store.labels_of(labelled.tolist()),
            Counts(label_store.label_counts.n_known, labelled, self.largest_bag),
        )
        return DistributedObjective(
            **vars(plain),
            gradient=lambda weights: self.messages.summed("gradient", weights),
            fetched=lambda bags: self._at_home(model, label_store, np.asarray(bags)),
        )

    @cached_property
    def _first_bag(self) -> Bags:
        return Bags(self._about[0].first, [0, len(self._about[0].first)])

    @property
    def _bytes_per_bag(self) -> float:
        return float(self.n_instances / len(self.bags) * self._first_bag.instances[0].nbytes)

    @property
    def statistics(self) -> Statistics:
        """What finding the questions has cost, over all shards."""
        found: list[Statistics] = list(self.messages.everywhere("statistics").values())
        last = min(len(one.looked_at) for one in found)
        shares = [one.looked_at[len(one.looked_at) - last :] for one in found]
        looked_at = np.average(shares, axis=0, weights=[about.bags for about in self._about])
        return Statistics(
            max(one.questions for one in found),
            max(one.scans for one in found),
            sum(one.products for one in found),
            looked_at.tolist(),
        )

    # Scouting

    @cached_property
    def instance_clusters(self) -> InstanceClusters:
        """Clusters of the instances, which every shard gets to know."""
        sampled = np.concatenate(list(self.messages.everywhere("sample").values()))
        found = InstanceClusters.of(sampled, self._classes, self._seed)
        self._memory.settings = [replace(setting, instance_clusters=found) for setting in self._memory.settings]
        self.messages.begin()
        return found

    def _suspected(self, model: MIMLClassifier, label_store: LabelStore) -> Array:
        labelled = label_store.labelled.tolist()
        if not labelled:
            clusters = np.empty((0, len(self.instance_clusters.centres)), np.float32)
        else:
            clusters = self.instance_clusters.clusters(model.instances(self._bag_cache.bags(labelled)))
        return class_discovery.suspicion(clusters, label_store.labels_of(labelled))


def _part(bags: Bags, first: int, last: int) -> Bags:
    rows = bags.instances[bags.offsets[first] : bags.offsets[last]]
    return Bags.trusted(rows, bags.offsets[first : last + 1] - bags.offsets[first], bags.ids[first:last])


def _validate_distributable(criterion: str | criteria.Criterion) -> None:
    if criterion != "random" and criteria.rises_with(criterion) is None:
        criteria.get(criterion)
        raise BagwiseError(
            f"{criterion} scores a pair by what is known of other bags, which lie elsewhere: on a cluster use "
            "uncertainty, widening_uncertainty, balanced_uncertainty or expected_gradient_length."
        )
