"""Runs and times a learner that asks and is told the answers; task and result are files of arrays."""

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Task:
    """Training bags with true labels, the bags labelled at the start, the held-out bags, and the number of answers.

    `start_weights` (K x features + 1) on standardised features and `penalty` are for systems that start from a model.
    """

    x: Array
    offsets: Array
    truth: Array
    labelled: Array
    held_out_x: Array
    held_out_offsets: Array
    answers: Array
    start_weights: Array
    penalty: Array

    @classmethod
    def read(cls, path: str) -> "Task":
        """Read the file that the suite wrote."""
        with np.load(path, allow_pickle=False) as file:
            return cls(**{field.name: file[field.name] for field in fields(cls)})

    @cached_property
    def known(self) -> Array:
        """Return which labels are known at the start, (bags x classes)."""
        known = np.zeros(self.truth.shape, bool)
        known[self.labelled] = True
        return known

    @cached_property
    def standardised(self) -> tuple[list[Array], list[Array]]:
        """Return training and held-out bags, one array each: standardised features and a constant."""
        mean, deviation = self.x.mean(axis=0), self.x.std(axis=0)
        deviation = np.where(deviation == 0, 1, deviation)
        rows = [np.column_stack([(x - mean) / deviation, np.ones(len(x))]) for x in (self.x, self.held_out_x)]
        training = np.split(rows[0], self.offsets[1:-1])
        return training, np.split(rows[1], self.held_out_offsets[1:-1])

    @cached_property
    def bag_means(self) -> tuple[Array, Array]:
        """Return training and held-out bags, each as the mean of its standardised instances, without the constant."""
        training, held_out = ([bag.mean(axis=0)[:-1] for bag in bags] for bags in self.standardised)
        return np.array(training), np.array(held_out)


class Peer(Protocol):
    """The interface of a compared system."""

    def ask(self) -> tuple[int, int]:
        """Return the bag and the class to ask about."""
        ...

    def tell(self, bag: int, label_class: int, present: bool) -> None:
        """Learn the answer."""
        ...

    def predict(self) -> Array:
        """Return P(present), or 0 and 1, of the held-out bags (bags x classes)."""
        ...


def run(make: Callable[[Task], Peer]) -> None:
    """Run the peer on the task; write the seconds per answer, the pairs asked about, and the final predictions."""
    task = Task.read(sys.argv[1])
    peer = make(task)
    seconds, asked = [], []
    for _ in range(int(task.answers)):
        start = time.process_time()
        bag, label_class = peer.ask()
        peer.tell(bag, label_class, bool(task.truth[bag, label_class]))
        seconds.append(time.process_time() - start)
        asked.append((bag, label_class))
    np.savez(sys.argv[2], seconds=np.array(seconds), asked=np.array(asked), predicted=peer.predict())


class BinaryProblems(ABC):
    """Base of peers with one problem per class: the scores of all pairs, recomputed for the class that changed."""

    def __init__(self, task: Task) -> None:
        self.x, self.held_out = task.bag_means
        self.labels = np.where(task.known, task.truth, np.nan).astype(float)
        self.scores = np.full(task.truth.shape, -np.inf)
        for label_class in range(task.truth.shape[1]):
            self.refresh(label_class)

    def ask(self) -> tuple[int, int]:
        """Return the best pair over all classes."""
        bag, label_class = np.unravel_index(int(np.argmax(self.scores)), self.scores.shape)
        return int(bag), int(label_class)

    def tell(self, bag: int, label_class: int, present: bool) -> None:
        """Record the answer; only the problem of its class changes."""
        self.labels[bag, label_class] = present
        self.refresh(label_class)

    def refresh(self, label_class: int) -> None:
        """Refit the class and score its open pairs."""
        y = self.labels[:, label_class]
        self.scores[:, label_class] = -np.inf
        open_bags = np.flatnonzero(np.isnan(y))
        if len(open_bags):
            self.scores[open_bags, label_class] = self.learn_and_score(label_class, y, open_bags)

    @abstractmethod
    def learn_and_score(self, label_class: int, y: Array, open_bags: Array) -> Array:
        """Fit the class to the known values of `y` and score the open bags; larger is asked sooner."""
