"""A shard: consecutive bags of a pool, in a process of their own, perhaps on another machine.

It receives what is known of its bags and returns its best questions: only weights come in and a few candidates go out.
All of its state can be sent again: a shard that was restarted raises `OutOfDate`, and is restored.
"""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import zip_longest
from typing import Any, Protocol

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.data.label_store import KnownLabels, LabelChange, LabelCounts, LabelStore
from bagwise.data.labels import Labels
from bagwise.kernels import Array
from bagwise.kernels.arithmetic.blocks import use_threads
from bagwise.learning import class_discovery
from bagwise.learning.class_discovery import Discovery, InstanceClusters
from bagwise.learning.pool import QueryOptions, QuestionChooser, Request, top_k_on
from bagwise.learning.questions import Question
from bagwise.model import MIMLClassifier, ScoredPool
from bagwise.model.features import largest_of, sums_of
from bagwise.model.objective import Counts
from bagwise.model.solvers import State
from bagwise.partitions import Partition, Partitions

MAX_BYTES_WITH_CHOICES = 1 << 16
"""Bytes of instances that are sent along with candidates, so that an answer is learned without fetching them."""


class OutOfDate(Exception):
    """The shard has not the version that the message expects."""


class Origin(Protocol):
    """Where a shard reads its bags from, also after a restart."""

    @property
    def name(self) -> str:
        """Description for messages."""
        ...

    def read(self) -> Bags:
        """Return its bags."""
        ...


@dataclass(frozen=True)
class PartitionOrigin:
    """Some partitions of a folder: their numbers, and their entries when the pool was opened."""

    folder: str
    numbers: tuple[int, ...]
    entries: tuple[Partition, ...]

    @property
    def name(self) -> str:
        """Description for messages."""
        first, last = self.numbers[0], self.numbers[-1]
        return (
            f"partition {first} of {self.folder}" if first == last else f"partitions {first} to {last} of {self.folder}"
        )

    def read(self) -> Bags:
        """Return the bags of these partitions, one after the other."""
        partitions = Partitions.open(self.folder)
        found = [partitions.entries[number : number + 1] for number in self.numbers]
        if found != [(entry,) for entry in self.entries]:
            raise BagwiseError(f"The partitions in {self.folder} changed since the pool was opened: open it again.")
        read = [partitions.read(number) for number in self.numbers]
        return read[0] if len(read) == 1 else _concatenated(read)


def _concatenated(chunks: Sequence[Bags]) -> Bags:
    sizes = np.concatenate([bags.sizes for bags in chunks])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    instances = np.concatenate([bags.instances for bags in chunks])
    return Bags.trusted(instances, offsets, np.concatenate([bags.ids for bags in chunks]))


@dataclass(frozen=True)
class GivenOrigin:
    """Bags that the learner's process sends, and sends again after a restart."""

    name: str

    def read(self) -> Bags:
        """Have them sent."""
        raise OutOfDate


@dataclass(frozen=True)
class ShardInfo:
    """Sizes of a shard, and the instances of its first bag."""

    bags: int
    instances: int
    features: int
    dtype: str
    largest_bag: int
    first: Array


@dataclass(frozen=True)
class ShardSetup:
    """What a shard needs before questions: the model with its transformer, and where its bags are among all."""

    model: MIMLClassifier
    first_bag: int
    first_row: int
    all_rows: int
    instance_clusters: InstanceClusters | None = None


@dataclass(frozen=True)
class Version:
    """The state that a shard is expected to have, and the changes that follow it.

    `setup` and `history` count set-ups and label histories; `applied` is the number of changes of the history that the
    shard applied.
    """

    setup: int
    history: int
    applied: int
    changes: tuple[LabelChange, ...] = ()


@dataclass(frozen=True)
class ShardRequest:
    """A search for the best questions under these weights; `is_class` is the state of class discovery."""

    weights: Array
    label_counts: LabelCounts
    options: QueryOptions
    requests: tuple[Request, ...]
    is_class: Array | None = None


@dataclass(frozen=True)
class ShardReply:
    """The best questions of a shard for every request, and the instances of the first few bags of these."""

    choices: list[list[Question]]
    rows: dict[int, Array]


class Shard:
    """A Ray actor with the bags of an origin, which are read at first use.

    Parameters
    ----------
    origin
        Where to read the bags.
    threads
        Number of threads to use.
    device
        "cpu", or "auto" for a GPU where there is one.
    """

    def __init__(self, origin: Origin, threads: int, device: str) -> None:
        self._origin, self._device = origin, device
        use_threads(threads)
        self._setup: ShardSetup | None = None
        self._version = 0, 0, 0

    def call(self, head: bytes, body: bytes) -> bytes:
        """Call a method: `head` has its name and the expected version, `body` its arguments; both pickled."""
        method, version = pickle.loads(head)  # noqa: S301 -- from the process that started this one
        try:
            if version is not None:
                self._update(version)
            return pickle.dumps(getattr(self, method)(*pickle.loads(body)), 5)  # noqa: S301
        except BagwiseError as error:
            return pickle.dumps(BagwiseError(str(error)), 5)

    def take(self, instances: Array, offsets: Array, ids: Array) -> None:
        """Use these bags."""
        self.bags = Bags.trusted(instances, offsets, ids)

    def combined(self, *messages: bytes) -> bytes:
        """Return the sum of the replies of other shards: a node of a tree."""
        found = [pickle.loads(message) for message in messages]  # noqa: S301 -- from shards of the same pool
        errors = [one for one in found if isinstance(one, BagwiseError)]
        return pickle.dumps(errors[0] if errors else total(found), 5)

    # Bags

    @cached_property
    def bags(self) -> Bags:
        """All of its bags."""
        return self._origin.read()

    def about(self) -> ShardInfo:
        """Return its sizes."""
        bags = self.bags
        largest = int(bags.sizes.max())
        return ShardInfo(
            len(bags), int(bags.offsets[-1]), bags.n_features, bags.instances.dtype.name, largest, np.array(bags[0])
        )

    def rows(self, bags: Sequence[int]) -> list[Array]:
        """Return the instances of some bags, by their positions in this shard."""
        return [np.array(self.bags[bag]) for bag in bags]

    def names(self, bags: Sequence[int]) -> list[str]:
        """Return the ids of some bags as text."""
        return self.bags.store.names(bags)

    def largest(self) -> Array:
        """Return the largest absolute value of every feature, (d,)."""
        return largest_of(self.bags)

    def sums(self, split_by: Array, centre: Array, squared: bool) -> Array:
        """Return the sums of x - centre, or of its square."""
        return sums_of(self.bags, split_by, centre, squared)

    # State

    def begin(self, setup: ShardSetup, version: Version, known: KnownLabels) -> None:
        """Start with a set-up and with what is known of its bags at a version."""
        if self._setup is None or version.setup != self._version[0]:
            instances = setup.model.instances(self.bags)
            self._chooser = QuestionChooser(instances, self.bags.keys, top_k_on(self._device))
        self._setup, self._version = setup, (version.setup, version.history, version.applied)
        self._label_store = LabelStore(Labels.unknown(len(self.bags), setup.model.n_classes_))
        self._label_store.load(replace(known, bags=known.bags - setup.first_bag))

    def _update(self, version: Version) -> None:
        if self._setup is None or self._version != (version.setup, version.history, version.applied):
            raise OutOfDate
        for change in version.changes:
            self._label_store.apply(replace(change, bag=change.bag - self._first))
        self._version = version.setup, version.history, version.applied + len(version.changes)

    @property
    def _first(self) -> int:
        assert self._setup is not None
        return self._setup.first_bag

    def _model(self, weights: Array) -> MIMLClassifier:
        assert self._setup is not None
        return self._setup.model.set_state(State(weights))

    # Questions and learning

    def sample(self) -> Array:
        """Return its share of an even sample of all instances."""
        assert self._setup is not None
        return class_discovery.sample(self._chooser.instances, self._setup.first_row, self._setup.all_rows)

    def choose(self, asked: ShardRequest) -> ShardReply:
        """Return the best questions among its bags."""
        of_all = asked.options.candidates
        candidates = None if of_all is None else of_all[self._first : self._first + len(self.bags)]
        pool = self._chooser.pool(
            self._model(asked.weights), self._label_store, asked.label_counts, asked.options.seed, candidates
        )
        options = replace(asked.options, last=self._local(asked.options.last))
        found = [
            self._chooser.choose(pool, request, options, partial(self._discover, asked.is_class))
            for request in asked.requests
        ]
        choices = [[replace(choice, bag=choice.bag + self._first) for choice in some] for some in found]
        return ShardReply(choices, self._first_rows(choices))

    def present(self, bags: Sequence[int], weights: Array) -> Array:
        """Return P(class in bag) of some bags, by their positions in this shard, (n, C)."""
        return self._chooser.present(self._model(weights), self._label_store, np.asarray(bags))

    def _local(self, bag: int | None) -> int | None:
        """The position of a bag in this shard, if it is in it."""
        return bag - self._first if bag is not None and 0 <= bag - self._first < len(self.bags) else None

    def _discover(self, is_class: Array | None, pool: ScoredPool) -> Discovery:
        assert self._setup is not None
        assert self._setup.instance_clusters is not None
        assert is_class is not None
        clusters = self._chooser.clusters(self._setup.instance_clusters)
        return Discovery(clusters, is_class, class_discovery.unfound(pool.label_counts))

    def _first_rows(self, choices: list[list[Question]]) -> dict[int, Array]:
        rows: dict[int, Array] = {}
        left = MAX_BYTES_WITH_CHOICES
        by_rank = zip_longest(*choices)
        for choice in (choice for some in by_rank for choice in some if choice is not None):
            if choice.bag not in rows:
                rows[choice.bag] = self.rows([choice.bag - self._first])[0]
                left -= rows[choice.bag].nbytes
            if left <= 0:
                break
        return rows

    def gradient(self, weights: Array) -> tuple[float, Array]:
        """Return the log-likelihood of the known labels of its bags, and its gradient."""
        model = self._model(weights)
        labelled = self._label_store.labelled
        counted = Counts(
            self._label_store.label_counts.n_known, labelled, self._chooser.largest_bag, labelled + self._first
        )
        if not len(labelled):
            return 0.0, np.zeros_like(weights)
        objective = model.objective_of(self._chooser.instances, self._label_store.labels, counted)
        return self._chooser.top_k.objective(objective).log_likelihood_and_gradient(weights)

    def statistics(self) -> Any:
        """Return the cost of finding the questions in this shard."""
        return self._chooser.top_k.statistics


def total(found: Sequence[Any]) -> Any:
    """Return the sum of numbers, of arrays, or of tuples of these, added in this order."""
    result = found[0]
    for one in found[1:]:
        result = tuple(a + b for a, b in zip(result, one, strict=True)) if isinstance(result, tuple) else result + one
    return result
