"""One conversation with a learner of any kind, timed: arrays in a file in, arrays in a file out."""

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
    """Training bags with the truth, the bags labelled at the start, the held-out bags, and how many answers to give.

    `start_weights` (K x features + 1) on standardised features and `penalty` are for those who continue from one model.
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
        """From the file that the suite wrote."""
        with np.load(path, allow_pickle=False) as file:
            return cls(**{field.name: file[field.name] for field in fields(cls)})

    @cached_property
    def known(self) -> Array:
        """What is known at the start, (bags x classes)."""
        known = np.zeros(self.truth.shape, bool)
        known[self.labelled] = True
        return known

    @cached_property
    def standardised(self) -> tuple[list[Array], list[Array]]:
        """Training and held-out bags, one array each: features in deviations from the training mean, and a constant."""
        mean, deviation = self.x.mean(axis=0), self.x.std(axis=0)
        deviation = np.where(deviation == 0, 1, deviation)
        rows = [np.column_stack([(x - mean) / deviation, np.ones(len(x))]) for x in (self.x, self.held_out_x)]
        training = np.split(rows[0], self.offsets[1:-1])
        return training, np.split(rows[1], self.held_out_offsets[1:-1])

    @cached_property
    def bag_means(self) -> tuple[Array, Array]:
        """Training and held-out bags, each as the mean of its standardised instances, without the constant."""
        training, held_out = ([bag.mean(axis=0)[:-1] for bag in bags] for bags in self.standardised)
        return np.array(training), np.array(held_out)


class Peer(Protocol):
    """What every compared system does."""

    def ask(self) -> tuple[int, int]:
        """The bag and the class it wants to know about."""
        ...

    def tell(self, bag: int, label_class: int, present: bool) -> None:
        """Learn the answer."""
        ...

    def predict(self) -> Array:
        """P(present), or 0 and 1, of the held-out bags (bags x classes)."""
        ...


def converse(make: Callable[[Task], Peer]) -> None:
    """Let the peer ask and learn, and write seconds per answer, what it asked, and what it predicts in the end."""
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
    """What the one-problem-per-class peers share: scores kept for every pair, made anew for the class that changed."""

    def __init__(self, task: Task) -> None:
        self.x, self.held_out = task.bag_means
        self.labels = np.where(task.known, task.truth, np.nan).astype(float)
        self.scores = np.full(task.truth.shape, -np.inf)
        for label_class in range(task.truth.shape[1]):
            self.refresh(label_class)

    def ask(self) -> tuple[int, int]:
        """The best pair over all classes."""
        bag, label_class = np.unravel_index(int(np.argmax(self.scores)), self.scores.shape)
        return int(bag), int(label_class)

    def tell(self, bag: int, label_class: int, present: bool) -> None:
        """Only the problem of this class changes."""
        self.labels[bag, label_class] = present
        self.refresh(label_class)

    def refresh(self, label_class: int) -> None:
        """Learn the class anew and score its open pairs."""
        y = self.labels[:, label_class]
        self.scores[:, label_class] = -np.inf
        open_bags = np.flatnonzero(np.isnan(y))
        if len(open_bags):
            self.scores[open_bags, label_class] = self.learn_and_score(label_class, y, open_bags)

    @abstractmethod
    def learn_and_score(self, label_class: int, y: Array, open_bags: Array) -> Array:
        """Fit the class to the known of `y` and score the open bags: larger is asked sooner."""
