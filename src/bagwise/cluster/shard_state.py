"""What the shards of a pool are to know, kept where the learner is: so that any of them can be told again."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bagwise.cluster.shard import ABSENT, OPEN, PRESENT, WITHDRAWN, Change, Knowing, ShardSetup
from bagwise.core.errors import BagwiseError
from bagwise.data.label_store import KnownLabels, LabelStore, SparseLabelStore
from bagwise.kernels import Array
from bagwise.model import MIMLClassifier


class LoggedLabelStore(SparseLabelStore):
    """A ledger that says what becomes of every pair, as long as the shards serve it."""

    def __init__(self, bags: int, classes: int, memory: "ShardStates") -> None:
        super().__init__(bags, classes)
        self._memory = memory

    def _changed(self, change: Change) -> None:
        if self._memory.serves(self):
            self._memory.change(change)

    def record(self, bag: int, label_class: int, present: bool, flip: float = 0.0) -> None:
        """Make one pair known; `flip` is the rate at which such a label is wrong."""
        super().record(bag, label_class, present, flip)
        self._changed(Change(bag, label_class, PRESENT if present else ABSENT, flip))

    def withdraw(self, bag: int, label_class: int) -> None:
        """Nobody can tell: the pair is not asked again."""
        super().withdraw(bag, label_class)
        self._changed(Change(bag, label_class, WITHDRAWN))

    def forget(self, bag: int, label_class: int) -> None:
        """Open one pair again."""
        super().forget(bag, label_class)
        self._changed(Change(bag, label_class, OPEN))

    def remember(self, told: KnownLabels) -> None:
        """Have exactly this told."""
        super().remember(told)
        if self._memory.serves(self):
            self._memory.start()


class ShardStates:
    """The settings of all shards, the ledger, and of every change whether its shard was told."""

    def __init__(self, shards: int) -> None:
        self.settings: list[ShardSetup] = []
        self._setting = self._history = 0
        self._changes: list[list[Change]] = [[] for _ in range(shards)]
        self._told = [0] * shards
        self._label_store: SparseLabelStore | None = None

    @property
    def model(self) -> MIMLClassifier:
        """How bags are seen."""
        return self.settings[0].model

    def label_store(self, labels: Any, first_bags: Array, classes: int) -> SparseLabelStore:
        """The ledger of a new learner; shards that served another before begin anew."""
        bags = int(first_bags[-1])
        self._first_bags, self.settings = first_bags, []
        self._label_store = LoggedLabelStore(bags, classes, self)
        if labels is not None:
            self._label_store.remember(_told(labels, bags, classes))
        return self._label_store

    def begin(self, settings: Sequence[ShardSetup]) -> None:
        """See the bags in another way from here on."""
        self.settings = list(settings)
        self._setting += 1
        self.start()

    def newest(self, shard: int) -> Knowing | None:
        """What a shard is taken to know, and what it is to learn with the next message.

        Messages reach a shard in the order in which they are sent: what was sent counts as told.
        """
        if not self.settings:
            return None
        before, self._told[shard] = self._told[shard], len(self._changes[shard])
        return Knowing(self._setting, self._history, before, tuple(self._changes[shard][before:]))

    def everything(self, shard: int) -> tuple[ShardSetup, Knowing, KnownLabels] | None:
        """All of it, for `Shard.begin`, once there is something."""
        if not self.settings:
            return None
        self._told[shard] = len(self._changes[shard])
        assert self._label_store is not None
        told = self._label_store.told_between(*self._first_bags[shard : shard + 2].tolist())
        return self.settings[shard], Knowing(self._setting, self._history, self._told[shard]), told

    def serves(self, label_store: LabelStore) -> bool:
        """Whether it is this ledger that the shards go by."""
        return self._label_store is label_store

    def start(self) -> None:
        """What shards were told may have become wrong."""
        self._history += 1
        self._changes = [[] for _ in self._changes]
        self._told = [0] * len(self._changes)

    def change(self, change: Change) -> None:
        """Tell a shard with the next message."""
        self._changes[int(np.searchsorted(self._first_bags, change.bag, side="right")) - 1].append(change)


def _told(labels: Any, bags: int, classes: int) -> KnownLabels:
    told = labels if isinstance(labels, KnownLabels) else LabelStore.of(labels, bags, classes).told()
    if told.labels.n_classes != classes:
        raise BagwiseError(f"The labels have {told.labels.n_classes} columns for {classes} classes.")
    outside = told.bags[(told.bags < 0) | (told.bags >= bags)]
    if len(outside):
        raise BagwiseError(f"Something is told of bag {outside[0]}: there are {bags} bags, counted from 0.")
    order = np.argsort(told.bags)
    ordered = told.bags[order]
    if (np.diff(ordered) == 0).any():
        raise BagwiseError(f"Bag {ordered[:-1][np.diff(ordered) == 0][0]} is told of twice: give one row for each.")
    return KnownLabels(ordered, told.labels.select(order), told.withdrawn[order])
