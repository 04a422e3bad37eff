"""Held-out bags with all their labels, in `truth.npz` of the project's folder, tell how good the model really is.

The file is in the npz format of `bagwise.formats`. Nobody is asked about its bags and nothing is learned from them.
Demos and simulations have one, and so has whoever labelled some bags completely and keeps them apart.
"""

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bagwise import formats
from bagwise.core.errors import FileError
from bagwise.data import metrics
from bagwise.data.bags import Bags
from bagwise.kernels import Array
from bagwise.project.answers import replay
from bagwise.project.project import Project
from bagwise.project.storage.creation import TRUTH

LEARNED_AT_ONCE = 200


class TrueQuality:
    """The model of any moment on the held-out bags. It learns all answers again, beside the one that asks.

    So no answer waits for it, the curve is the same after a restart, and what it lacks then it makes up for a few
    hundred answers at a time.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._contents = self.project.contents
        self._bags, self._labels = read_truth(self.project.folder / TRUTH, self._contents.classes)
        self._replay = replay.Replay(self._contents, self.project.settings, self.project.bags)
        self._replay.begin()
        self._found = {0: self._measured()}

    def at(self, places: Sequence[int]) -> dict[int, float]:
        """The true quality at those of the places that were reached so far."""
        with self._lock:
            if self._contents is not self.project.contents:
                self._begin()
            done, wanted = self._replay.applied, set(places)
            for event in self.project.events[done : min(done + LEARNED_AT_ONCE, places[-1])]:
                self._replay.apply(event)
                if event.number in wanted:
                    self._found[event.number] = self._measured()
            return {place: self._found[place] for place in places if place in self._found}

    def _measured(self) -> float:
        assert self._replay.learner is not None
        metric = self.project.settings.stopping.metric
        return goodness(self._labels, self._replay.learner.predict_proba(self._bags), metric)


def goodness(truth: Array, probability: Array, metric: str) -> float:
    """The same measure as is estimated, on a scale where more is better."""
    measured = metrics.get(metric)
    return measured.goodness(measured(truth, probability))


def read_truth(path: Path, classes: Sequence[str]) -> tuple[Bags, Array]:
    """Held-out bags and whether each of the classes is in them."""
    source = formats.read(path)
    table = source.labels
    if table is None or not set(classes) <= set(table.classes) or np.isnan(table.values).any():
        raise FileError(path, "must have a label for each of the project's classes in each of its bags.")
    columns = [list(table.classes).index(name) for name in classes]
    return source.to_bags(), table.values[:, columns].astype(bool)


def write_truth(folder: Path, bags: Bags, labels: Array, classes: Sequence[str]) -> None:
    """Hold these bags out of a project."""
    with (folder / TRUTH).open("wb") as file:
        np.savez_compressed(
            file,
            instances=np.asarray(bags.instances),
            offsets=bags.offsets,
            ids=np.array(bags.ids, str),
            labels=labels.astype(np.int8),
            classes=np.array(classes, str),
        )
