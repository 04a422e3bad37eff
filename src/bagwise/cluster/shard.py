"""A shard: consecutive bags of a pool, in a process of their own, perhaps on another machine.

It is told what is known of its bags and asked for its best questions; only weights come in and a few candidates go
out. All that it knows can be told again: a shard that was begun anew says that it is `OutOfDate`, and is told.
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
from bagwise.data.label_store import KnownLabels, LabelCounts, LabelStore
from bagwise.data.labels import Labels
from bagwise.kernels import Array
from bagwise.kernels.arithmetic.blocks import use_threads
from bagwise.learning import class_discovery
from bagwise.learning.class_discovery import InstanceClusters
from bagwise.learning.pool import QueryOptions, QuestionChooser, Request, top_k_on
from bagwise.learning.questions import Question
from bagwise.model import MIMLClassifier, ScoredPool
from bagwise.model.features import largest_of, sums_of
from bagwise.model.objective import Counts
from bagwise.model.solvers import State
from bagwise.partitions import Partition, Partitions

MOST_ROWS_SENT = 1 << 16
"""Bytes of instances that go along with candidates, so that an answer can be learned without asking for them."""

OPEN, ABSENT, PRESENT, WITHDRAWN = range(4)


class OutOfDate(Exception):
    """The shard does not know what it is taken to know."""


class Origin(Protocol):
    """Where a shard has its bags from, also when it is begun anew."""

    @property
    def name(self) -> str:
        """For messages."""
        ...

    def read(self) -> Bags:
        """Its bags."""
        ...


@dataclass(frozen=True)
class PartitionOrigin:
    """Some of the parts of a partitioned data set."""

    folder: str
    numbers: tuple[int, ...]
    parts: tuple[Partition, ...]

    @property
    def name(self) -> str:
        """For messages."""
        first, last = self.numbers[0], self.numbers[-1]
        return (
            f"{'part' if first == last else 'parts'} {first}{'' if first == last else f' to {last}'} of {self.folder}"
        )

    def read(self) -> Bags:
        """The bags of these parts, one after the other."""
        parts = Partitions.open(self.folder)
        if any(
            parts.parts[number : number + 1] != (part,) for number, part in zip(self.numbers, self.parts, strict=True)
        ):
            raise BagwiseError(f"The parts in {self.folder} are not those that the pool was opened with: open it anew.")
        read = [parts.read(number) for number in self.numbers]
        return read[0] if len(read) == 1 else joined(read)


def joined(parts: Sequence[Bags]) -> Bags:
    """All of these bags."""
    sizes = np.concatenate([part.sizes for part in parts])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    instances = np.concatenate([part.instances for part in parts])
    return Bags.trusted(instances, offsets, np.concatenate([part.ids for part in parts]))


@dataclass(frozen=True)
class GivenOrigin:
    """Bags that are handed over, and again to a shard that was begun anew."""

    name: str

    def read(self) -> Bags:
        """They have to be handed over."""
        raise OutOfDate


@dataclass(frozen=True)
class ShardInfo:
    """What a shard has, and its first bag."""

    bags: int
    instances: int
    features: int
    dtype: str
    largest_bag: int
    first: Array


@dataclass(frozen=True)
class ShardSetup:
    """What a shard has to know to take part: how the model sees instances, and where its bags are among all."""

    model: MIMLClassifier
    first_bag: int
    first_row: int
    all_rows: int
    instance_clusters: InstanceClusters | None = None


@dataclass(frozen=True)
class Change:
    """What became of a pair: `OPEN`, `ABSENT`, `PRESENT` or `WITHDRAWN`."""

    bag: int
    label_class: int
    became: int
    flip: float = 0.0

    def apply(self, label_store: LabelStore) -> None:
        """Have it in the ledger."""
        if self.became == OPEN:
            label_store.forget(self.bag, self.label_class)
        elif self.became == WITHDRAWN:
            label_store.withdraw(self.bag, self.label_class)
        else:
            label_store.record(self.bag, self.label_class, self.became == PRESENT, self.flip)


@dataclass(frozen=True)
class Knowing:
    """Which setting, which history and how many changes of it a shard is taken to know; and the changes after them."""

    setting: int
    history: int
    known: int
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class ShardRequest:
    """A search for the best questions under these weights; `is_class` is what scouting suspects."""

    weights: Array
    label_counts: LabelCounts
    options: QueryOptions
    requests: tuple[Request, ...]
    is_class: Array | None = None


@dataclass(frozen=True)
class ShardReply:
    """The best questions of a shard for every want, and the instances of the first few bags of these."""

    choices: list[list[Question]]
    rows: dict[int, Array]


class Shard:
    """The bags of an origin, read when they are needed for the first time."""

    def __init__(self, origin: Origin, threads: int, device: str) -> None:
        self._origin, self._device = origin, device
        use_threads(threads)
        self._setting: ShardSetup | None = None
        self._knows = 0, 0, 0

    def call(self, head: bytes, body: bytes) -> bytes:
        """Do what the message says: (method, what is known), arguments."""
        method, knowing = pickle.loads(head)  # noqa: S301 -- from the process that began this one
        try:
            if knowing is not None:
                self._learn(knowing)
            return pickle.dumps(getattr(self, method)(*pickle.loads(body)), 5)  # noqa: S301
        except BagwiseError as error:
            return pickle.dumps(BagwiseError(str(error)), 5)

    def take(self, instances: Array, offsets: Array, ids: Array) -> None:
        """Have these bags."""
        self.bags = Bags.trusted(instances, offsets, ids)

    def combined(self, *messages: bytes) -> bytes:
        """The sums of what others found: a knot of a tree."""
        found = [pickle.loads(message) for message in messages]  # noqa: S301 -- from shards of the same pool
        refused = [one for one in found if isinstance(one, BagwiseError)]
        return pickle.dumps(refused[0] if refused else added(found), 5)

    # What it has

    @cached_property
    def bags(self) -> Bags:
        """All of its bags."""
        return self._origin.read()

    def about(self) -> ShardInfo:
        """How much it has."""
        bags = self.bags
        largest = int(bags.sizes.max())
        return ShardInfo(
            len(bags), int(bags.offsets[-1]), bags.n_features, bags.instances.dtype.name, largest, np.array(bags[0])
        )

    def rows(self, bags: Sequence[int]) -> list[Array]:
        """The instances of some bags, by their positions here."""
        return [np.array(self.bags[bag]) for bag in bags]

    def names(self, bags: Sequence[int]) -> list[str]:
        """The ids of some bags."""
        return [self.bags.name(bag) for bag in bags]

    def largest(self) -> Array:
        """The largest absolute value of every feature."""
        return largest_of(self.bags)

    def sums(self, split_by: Array, centre: Array, squared: bool) -> Array:
        """Of x - centre or of its square."""
        return sums_of(self.bags, split_by, centre, squared)

    # What it is told

    def begin(self, setting: ShardSetup, knowing: Knowing, told: KnownLabels) -> None:
        """Take part from here on, knowing what so many changes led to."""
        if self._setting is None or knowing.setting != self._knows[0]:
            instances = setting.model.instances(self.bags)
            self._chooser = QuestionChooser(instances, self.bags.keys, top_k_on(self._device))
        self._setting, self._knows = setting, (knowing.setting, knowing.history, knowing.known)
        labels = Labels.unknown(len(self.bags), setting.model.n_classes_)
        self._label_store = LabelStore(labels)
        self._label_store.remember(replace(told, bags=told.bags - setting.first_bag))

    def _learn(self, knowing: Knowing) -> None:
        if self._setting is None or self._knows != (knowing.setting, knowing.history, knowing.known):
            raise OutOfDate
        for change in knowing.changes:
            replace(change, bag=change.bag - self._first).apply(self._label_store)
        self._knows = knowing.setting, knowing.history, knowing.known + len(knowing.changes)

    @property
    def _first(self) -> int:
        assert self._setting is not None
        return self._setting.first_bag

    def _model(self, weights: Array) -> MIMLClassifier:
        assert self._setting is not None
        return self._setting.model.set_state(State(weights))

    # What it is asked

    def sample(self) -> Array:
        """Its part of an even sample of all instances."""
        assert self._setting is not None
        return class_discovery.sample(self._chooser.instances, self._setting.first_row, self._setting.all_rows)

    def choose(self, asked: ShardRequest) -> ShardReply:
        """The best questions among its bags."""
        pool = self._chooser.pool(self._model(asked.weights), self._label_store, asked.label_counts, asked.options.seed)
        options = replace(asked.options, last=self._here(asked.options.last))
        found = [
            self._chooser.choose(pool, request, options, partial(self._discover, asked.is_class))
            for request in asked.requests
        ]
        choices = [[replace(choice, bag=choice.bag + self._first) for choice in some] for some in found]
        return ShardReply(choices, self._first_rows(choices))

    def _here(self, bag: int | None) -> int | None:
        """The position of a bag among those here, if it is here."""
        return bag - self._first if bag is not None and 0 <= bag - self._first < len(self.bags) else None

    def _discover(self, is_class: Array | None, pool: ScoredPool) -> Array:
        assert self._setting is not None
        assert self._setting.instance_clusters is not None
        assert is_class is not None
        clusters = self._chooser.clusters(self._setting.instance_clusters)
        return class_discovery.scores(clusters, is_class, class_discovery.unfound(pool.label_counts))

    def _first_rows(self, choices: list[list[Question]]) -> dict[int, Array]:
        rows: dict[int, Array] = {}
        left = MOST_ROWS_SENT
        in_turn = zip_longest(*choices)
        for choice in (choice for some in in_turn for choice in some if choice is not None):
            if choice.bag not in rows:
                rows[choice.bag] = self.rows([choice.bag - self._first])[0]
                left -= rows[choice.bag].nbytes
            if left <= 0:
                break
        return rows

    def gradient(self, weights: Array) -> tuple[float, Array]:
        """The log-likelihood of what is known of its bags, and its gradient."""
        model = self._model(weights)
        labelled = self._label_store.labelled
        counted = Counts(
            self._label_store.label_counts.n_known, labelled, self._chooser.largest_bag, labelled + self._first
        )
        if not counted.n_known:
            return 0.0, np.zeros_like(weights)
        objective = model.objective_of(self._chooser.instances, self._label_store.labels, counted)
        return objective.log_likelihood_and_gradient(weights)

    def statistics(self) -> Any:
        """What finding the questions has cost here."""
        return self._chooser.top_k.statistics


def added(found: Sequence[Any]) -> Any:
    """Sums of numbers, of arrays, or of pairs of these, in this order."""
    total = found[0]
    for one in found[1:]:
        total = tuple(a + b for a, b in zip(total, one, strict=True)) if isinstance(total, tuple) else total + one
    return total
