"""RayPool: bags in shards on a Ray cluster; a learner asks the same questions as with a `LocalPool`.

A question takes one message to every shard and one reply: the weights and the answers since the last one are sent, the
best questions of every shard come back, with the instances of their bags. So an answer is learned in the learner's
process, from bags that were received already, by the same arithmetic as with a `LocalPool`.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np

from bagwise.cluster.bag_cache import DEFAULT_BYTES, BagCache, RemoteStore
from bagwise.cluster.connection import LOCAL, connect, number_of, start_shards
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
    total,
)
from bagwise.cluster.shard_state import ShardStates
from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.data.label_store import LabelStore
from bagwise.data.labels import Labels
from bagwise.kernels import Array, Instances
from bagwise.learning import class_discovery, criteria
from bagwise.learning.class_discovery import InstanceClusters
from bagwise.learning.granularity import merged
from bagwise.learning.pool import Choices, QueryOptions, Request
from bagwise.learning.top_k import Statistics
from bagwise.model import MIMLClassifier, solvers
from bagwise.model.objective import Counts, Objective
from bagwise.partitions import Partitions


class RayPool:
    """A `Pool` whose bags are in shards on a Ray cluster; close it, or use it in a `with` statement.

    It serves one learner at a time. `RayPool.open` opens partitions on shared storage, `RayPool.of` sends bags of this
    process.

    Parameters
    ----------
    origins
        Where each shard reads its bags.
    cpus, gpus
        CPUs and GPUs of each shard; None divides what the cluster has.
    timeout
        Seconds after which a question is chosen from the shards that replied and marked as partial; None waits for all.
    cache_bytes
        Size of the cache of fetched bags in this process. When the labelled bags are larger, gradients are summed in
        the shards.
    given
        The bags of every shard, where they are sent by this process.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from bagwise import ActiveLearner
    >>> def first_question(folder, address):
    ...     with RayPool.open(folder, address) as pool:
    ...         return ActiveLearner(classes=["wren"], pool=pool).ask()
    >>> with TemporaryDirectory() as folder:
    ...     _ = Partitions.write(folder, [Bags.from_list([[[0.0]], [[1.0]]])])
    ...     try:
    ...         first_question(folder, "localhost:1")
    ...     except BagwiseError:
    ...         print("no cluster there")
    no cluster there
    """

    shard: type[Shard] = Shard

    def __init__(
        self,
        origins: Sequence[Origin],
        cpus: float | None = None,
        gpus: float | None = None,
        timeout: float | None = None,
        cache_bytes: int = DEFAULT_BYTES,
        given: Sequence[Bags] = (),
    ) -> None:
        self.timeout, self._cache_bytes = timeout, cache_bytes
        self._states = ShardStates(len(origins))
        shards = start_shards(origins, cpus, gpus, self.shard)
        names = [f"shard {number} ({origin.name})" for number, origin in enumerate(origins)]
        self.messages = ShardMessages(shards, names, self._states, given)
        try:
            self._about: list[ShardInfo] = list(self.messages.broadcast("about").values())
            self._validate_alike()
        except BaseException:
            self.close()
            raise
        self._first_bags = np.cumsum([0, *(about.bags for about in self._about)])
        self._first_rows = np.cumsum([0, *(about.instances for about in self._about)])
        self.n_instances = int(self._first_rows[-1])
        n_bags, n_features = int(self._first_bags[-1]), self._about[0].features
        self.bags = Bags.over(RemoteStore(n_bags, self.n_instances, n_features, self._rows_of, self._names_of))
        self._bag_cache = BagCache(self._rows_of, cache_bytes)
        self._sums: dict[tuple[bytes, bytes, bool], Array] = {}
        self._instance_clusters: InstanceClusters | None = None

    @classmethod
    def open(
        cls, partitions: Partitions | str | Path, address: str = "auto", shards: int | None = None, **options: Any
    ) -> Self:
        """Return a pool over partitions that every machine of the cluster can read.

        Parameters
        ----------
        partitions
            The partitions, or their folder.
        address
            Address of the cluster, as for `connect`.
        shards
            Number of shards; by default one for every CPU, at most one for every partition.
        **options
            As for `RayPool`.

        Returns
        -------
        RayPool
        """
        partitions = partitions if isinstance(partitions, Partitions) else Partitions.open(partitions)
        connect(address)
        most = shards or max(1, int(number_of("CPU")))
        edges = np.linspace(0, partitions.n_instances, min(most, len(partitions)) + 1)
        shard_of = np.searchsorted(edges, (partitions.first_rows[:-1] + partitions.first_rows[1:]) / 2) - 1
        groups = [tuple(np.flatnonzero(shard_of == number).tolist()) for number in range(len(edges) - 1)]
        folder = str(partitions.folder.resolve())
        origins = [
            PartitionOrigin(folder, numbers, tuple(partitions.entries[number] for number in numbers))
            for numbers in groups
            if numbers
        ]
        return cls(origins, **options)

    @classmethod
    def of(cls, bags: Bags, shards: int | Sequence[int] | None = None, address: str = LOCAL, **options: Any) -> Self:
        """Return a pool over bags of this process, which are sent to the shards.

        Parameters
        ----------
        bags
            The bags.
        shards
            Number of shards, or the number of bags of each; by default one for every CPU.
        address
            Address of the cluster, as for `connect`.
        **options
            As for `RayPool`.

        Returns
        -------
        RayPool
        """
        connect(address)
        shards = max(1, min(int(number_of("CPU")), len(bags))) if shards is None else shards
        edges = (
            np.linspace(0, len(bags), shards + 1).astype(int) if isinstance(shards, int) else np.cumsum([0, *shards])
        )
        if edges[-1] != len(bags) or (np.diff(edges) < 1).any():
            raise BagwiseError(f"{len(bags)} bags cannot be divided into shards of {shards}: each needs at least one.")
        origins = [GivenOrigin(f"bags {first} to {last - 1}") for first, last in pairwise(edges)]
        return cls(origins, given=[_between(bags, first, last) for first, last in pairwise(edges)], **options)

    def close(self) -> None:
        """End the shards; the pool cannot be used any more."""
        self.messages.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise BagwiseError(
            "A pool on a cluster cannot be copied or pickled, since its shards are processes: open another."
        )

    def _validate_alike(self) -> None:
        for name, about in zip(self.messages.names, self._about, strict=True):
            if (about.features, about.dtype) != (self._about[0].features, self._about[0].dtype):
                raise BagwiseError(
                    f"{name} has {about.features} features of type {about.dtype}, the first shard "
                    f"{self._about[0].features} of type {self._about[0].dtype}: all must be alike."
                )

    # Sums over all shards

    @cached_property
    def _largest(self) -> Array:
        return np.asarray(np.max(list(self.messages.broadcast("largest").values()), axis=0))

    def largest(self) -> Array:
        """Return the largest absolute value of every feature, (d,)."""
        return self._largest

    def sums(self, split_by: Array, centre: Array, squared: bool) -> Array:
        """Return the sums of x - centre, or of its square, over all instances; cached.

        Parameters
        ----------
        split_by : ndarray, shape (3, d)
            The numbers that make the sums exact, from `kernels.arithmetic.exact_sums.splitters`.
        centre : ndarray, shape (d,)
            What is subtracted from every instance.
        squared : bool
            Whether to sum squares.

        Returns
        -------
        ndarray, shape (3, d)
            Parts of the sums, which `kernels.arithmetic.exact_sums.total` adds up.
        """
        asked = split_by.tobytes(), centre.tobytes(), squared
        if asked not in self._sums:
            replies = self.messages.broadcast("sums", split_by, centre, squared)
            self._sums[asked] = np.asarray(total(list(replies.values())))
        return self._sums[asked]

    @property
    def largest_bag(self) -> int:
        """Number of instances of the largest bag."""
        return max(about.largest_bag for about in self._about)

    def _rows_of(self, bags: Sequence[int]) -> dict[int, Array]:
        return self._of_each("rows", bags)

    def _names_of(self, bags: Sequence[int]) -> list[str]:
        named = self._of_each("names", bags)
        return [named[bag] for bag in bags]

    def _of_each(self, method: str, bags: Sequence[int], *arguments: Any) -> dict[int, Any]:
        """The replies of the shards about each of these bags."""
        by_shard: dict[int, list[int]] = {}
        for bag, shard in zip(bags, np.searchsorted(self._first_bags, bags, side="right") - 1, strict=True):
            by_shard.setdefault(int(shard), []).append(int(bag))
        firsts = self._first_bags.tolist()
        wanted = {shard: ([bag - firsts[shard] for bag in some], *arguments) for shard, some in by_shard.items()}
        found = self.messages.send(method, wanted) if by_shard else {}
        return {bag: one for shard, some in by_shard.items() for bag, one in zip(some, found[shard], strict=True)}

    # The protocol

    def label_store(self, labels: Any, classes: int) -> LabelStore:
        """Return the label store of a new learner, the only one that the shards serve from now on.

        Parameters
        ----------
        labels
            What is known at the start: Labels of all bags, an array (B, C) with NaN for unknown, `KnownLabels` of some
            bags, or None.
        classes
            Number of classes C.

        Returns
        -------
        LabelStore
        """
        return self._states.label_store(labels, self._first_bags, classes)

    def prepare(self, model: MIMLClassifier, classes: int, seed: int) -> None:
        """Fit the transformer of the model to all instances, and send it to the shards.

        Parameters
        ----------
        model
            Its transformer is fitted in place.
        classes
            Number of classes C.
        seed
            Seed of class discovery.
        """
        model.prepare(self._first_bag, classes, spread=self)
        self._classes, self._seed = classes, seed
        self._instance_clusters = None
        self._states.begin([self._setup(model, shard) for shard in range(len(self._about))])
        self.messages.begin()

    def _setup(self, model: MIMLClassifier, shard: int) -> ShardSetup:
        return ShardSetup(model, int(self._first_bags[shard]), int(self._first_rows[shard]), self.n_instances)

    def choose(
        self, model: MIMLClassifier, label_store: LabelStore, options: QueryOptions, requests: Sequence[Request]
    ) -> Choices:
        """Return the best questions under the model for every request.

        Parameters
        ----------
        model
            The model, prepared by this pool.
        label_store
            The label store that this pool gave.
        options
            How questions are chosen.
        requests
            By which criteria, and how many.

        Returns
        -------
        Choices
            Partial where a shard did not reply within `timeout`.
        """
        self._validate_serves(label_store)
        for request in requests:
            _validate_distributable(request.criterion)
        is_class = (
            self._suspected(model, label_store)
            if options.cold_start and options.cold_start.is_discovering(label_store.label_counts)
            else None
        )
        asked = ShardRequest(model.weights_, label_store.label_counts, options, tuple(requests), is_class)
        found = self.messages.broadcast("choose", asked, timeout=self.timeout)
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
        if len(found) == len(self._about):
            return
        for number, request in enumerate(requests):
            if (
                request.count
                and label_store.label_counts.n_open
                and not any(one.choices[number] for one in found.values())
            ):
                raise BagwiseError("All open questions are in shards that did not reply in time: increase `timeout`.")

    def prefetch(self, bags: Sequence[int]) -> None:
        """Fetch these bags into the cache, with one message to each shard.

        Parameters
        ----------
        bags
            Positions of bags in the pool.
        """
        self._bag_cache.rows(bags)

    def instances(self, bag: int) -> Instances:
        """Return the instances of one bag as the transformer of the model gives them.

        Parameters
        ----------
        bag
            Position of the bag in the pool.

        Returns
        -------
        Instances
        """
        return self._states.model.instances(self._bag_cache.bags([bag]))

    def present(self, model: MIMLClassifier, label_store: LabelStore, bags: Array) -> Array:
        """Return P(class in bag) of some bags, given what is known of their instances; all shards are waited for.

        Parameters
        ----------
        model
            The model, prepared by this pool.
        label_store
            The label store that this pool gave.
        bags
            Positions of bags in the pool.

        Returns
        -------
        ndarray, shape (n, C)
        """
        self._validate_serves(label_store)
        found = self._of_each("present", bags.tolist(), model.weights_)
        return np.array([found[bag] for bag in bags.tolist()])

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
        objective : Objective
            F over the labelled bags, or over `bags`.
        positions : ndarray of int
            Positions of `bags` in the objective, of the same length.
        """
        self._validate_serves(label_store)
        labelled = label_store.labelled
        if not alone and self._bag_cache.n_bytes(labelled.tolist(), self._bytes_per_bag) > self._cache_bytes:
            return self._distributed_objective(model, label_store), bags
        wanted = np.unique(bags) if alone else labelled
        return self._fetched_objective(model, label_store, wanted), np.searchsorted(wanted, bags)

    def _validate_serves(self, label_store: LabelStore) -> None:
        if not self._states.serves(label_store):
            raise BagwiseError(
                "This pool serves another learner now, and it serves only one at a time: open a pool for each."
            )

    def _fetched_objective(self, model: MIMLClassifier, label_store: LabelStore, bags: Array) -> Objective:
        """F over bags that are fetched where they are not cached."""
        counted = Counts(label_store.label_counts.n_known, np.arange(len(bags)), self.largest_bag, bags)
        return model.objective_of(
            model.instances(self._bag_cache.bags(bags.tolist())), label_store.labels_of(bags.tolist()), counted
        )

    def _distributed_objective(self, model: MIMLClassifier, label_store: LabelStore) -> Objective:
        """F over all labelled bags, which stay in their shards."""
        if not solvers.capabilities(model.solver).distributed:
            able = [name for name in solvers.available() if solvers.capabilities(name).distributed]
            raise BagwiseError(
                f"solver={model.solver!r} needs the labelled bags on one machine: use one of {', '.join(able)}."
            )
        labelled = label_store.labelled
        labels = label_store.labels_of(labelled.tolist())
        plain = model.objective_of(
            model.instances(self._first_bag),
            # What is known of instances is with them, in the shards.
            Labels(labels.value, labels.known, labels.flip),
            Counts(label_store.label_counts.n_known, labelled, self.largest_bag),
        )
        return DistributedObjective(
            **vars(plain),
            gradient=lambda weights: self.messages.reduce("gradient", weights),
            fetched=lambda bags: self._fetched_objective(model, label_store, np.asarray(bags)),
        )

    @cached_property
    def _first_bag(self) -> Bags:
        return Bags(self._about[0].first, [0, len(self._about[0].first)])

    @property
    def _bytes_per_bag(self) -> float:
        return float(self.n_instances / len(self.bags) * self._first_bag.instances[0].nbytes)

    @property
    def statistics(self) -> Statistics:
        """The cost of finding the questions, over all shards."""
        found: list[Statistics] = list(self.messages.broadcast("statistics").values())
        last = min(len(one.looked_at) for one in found)
        shares = [one.looked_at[len(one.looked_at) - last :] for one in found]
        looked_at = np.average(shares, axis=0, weights=[about.bags for about in self._about])
        return Statistics(
            max(one.questions for one in found),
            max(one.scans for one in found),
            looked_at.tolist(),
        )

    # Class discovery

    @property
    def instance_clusters(self) -> InstanceClusters:
        """Clusters of the instances, computed at first use and sent to every shard."""
        if self._instance_clusters is None:
            sampled = np.concatenate(list(self.messages.broadcast("sample").values()))
            found = InstanceClusters.of(sampled, self._classes, self._seed)
            self._states.setups = [replace(setup, instance_clusters=found) for setup in self._states.setups]
            self.messages.begin()
            self._instance_clusters = found
        return self._instance_clusters

    def _suspected(self, model: MIMLClassifier, label_store: LabelStore) -> Array:
        labelled, found = label_store.labelled.tolist(), self.instance_clusters
        labels = label_store.labels_of(labelled)
        if not labelled:
            clusters = np.empty((0, len(found.centres)), np.float32)
            return class_discovery.suspicion(clusters, labels, np.zeros((len(found.centres), self._classes), np.int64))
        instances = model.instances(self._bag_cache.bags(labelled))
        return class_discovery.suspicion(found.clusters(instances), labels, found.known_instances(instances, labels))


def _between(bags: Bags, first: int, last: int) -> Bags:
    rows = bags.instances[bags.offsets[first] : bags.offsets[last]]
    return Bags.trusted(rows, bags.offsets[first : last + 1] - bags.offsets[first], bags.ids[first:last])


def _validate_distributable(criterion: str | criteria.Criterion) -> None:
    if criterion != "random" and criteria.rises_with(criterion) is None:
        criteria.get(criterion)
        raise BagwiseError(
            f"`{criterion}` scores a pair by the labels of other bags, which are in other shards: on a cluster use "
            "`uncertainty`, `widening_uncertainty`, `balanced_uncertainty` or `expected_gradient_length`."
        )
