"""What the shards of a pool have to know, kept in the learner's process, so that any of them can be restored."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bagwise.cluster.shard import ShardSetup, Version
from bagwise.core.errors import BagwiseError
from bagwise.data.label_store import KnownLabels, LabelChange, LabelStore
from bagwise.kernels import Array
from bagwise.model import MIMLClassifier


class ShardStates:
    """The set-up of all shards, the label store, and the changes of it that were sent to every shard.

    It listens to the label store of the one learner that the shards serve.
    """

    def __init__(self, shards: int) -> None:
        self.setups: list[ShardSetup] = []
        self._setup = self._history = 0
        self._changes: list[list[LabelChange]] = [[] for _ in range(shards)]
        self._sent = [0] * shards
        self._label_store: LabelStore | None = None

    @property
    def model(self) -> MIMLClassifier:
        """The model whose transformer the shards use."""
        return self.setups[0].model

    def label_store(self, labels: Any, first_bags: Array, classes: int) -> LabelStore:
        """Return the label store of a new learner; shards no longer serve the one before."""
        if self._label_store is not None:
            self._label_store.listener = None
        bags = int(first_bags[-1])
        self._first_bags, self.setups = first_bags, []
        self._label_store = LabelStore.sparse(bags, classes, listener=self)
        if labels is not None:
            self._label_store.load(_known_labels(labels, bags, classes))
        return self._label_store

    def begin(self, setups: Sequence[ShardSetup]) -> None:
        """Use another set-up from now on."""
        self.setups = list(setups)
        self._setup += 1
        self.loaded()

    def next_version(self, shard: int) -> Version | None:
        """Return the version that a shard has, with the changes to send with the next message.

        Messages reach a shard in the order in which they are sent, so what was sent counts as received.
        """
        if not self.setups:
            return None
        before, self._sent[shard] = self._sent[shard], len(self._changes[shard])
        return Version(self._setup, self._history, before, tuple(self._changes[shard][before:]))

    def everything(self, shard: int) -> tuple[ShardSetup, Version, KnownLabels] | None:
        """Return the arguments of `Shard.begin`, or None before the first set-up."""
        if not self.setups:
            return None
        self._sent[shard] = len(self._changes[shard])
        assert self._label_store is not None
        known = self._label_store.known_labels(*self._first_bags[shard : shard + 2].tolist())
        return self.setups[shard], Version(self._setup, self._history, self._sent[shard]), known

    def serves(self, label_store: LabelStore) -> bool:
        """Whether the shards serve the learner with this label store."""
        return self._label_store is label_store

    def loaded(self) -> None:
        """Start a new history: what shards received before may be wrong."""
        self._history += 1
        self._changes = [[] for _ in self._changes]
        self._sent = [0] * len(self._changes)

    def changed(self, change: LabelChange) -> None:
        """Send a change to its shard with the next message."""
        self._changes[int(np.searchsorted(self._first_bags, change.bag, side="right")) - 1].append(change)


def _known_labels(labels: Any, bags: int, classes: int) -> KnownLabels:
    known = labels if isinstance(labels, KnownLabels) else LabelStore.of(labels, bags, classes).known_labels()
    if known.labels.n_classes != classes:
        raise BagwiseError(f"The labels have {known.labels.n_classes} columns for {classes} classes.")
    outside = known.bags[(known.bags < 0) | (known.bags >= bags)]
    if len(outside):
        raise BagwiseError(f"There are labels for bag {outside[0]}, but there are {bags} bags, counted from 0.")
    order = np.argsort(known.bags)
    ordered = known.bags[order]
    if (np.diff(ordered) == 0).any():
        twice = ordered[:-1][np.diff(ordered) == 0][0]
        raise BagwiseError(f"Bag {twice} has two rows of labels: give one row for each bag.")
    return KnownLabels(ordered, known.labels.select(order), known.withdrawn[order])
