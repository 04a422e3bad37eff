"""The true quality of the online model, on held-out bags with all their labels in `truth.npz` of the project's folder.

The file is in the npz format of `bagwise.formats`. Its bags are neither asked about nor learned from. Demos and
simulations have one; a project gets one from bags that were labelled completely and held out.
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

MOST_REPLAYED_AT_ONCE = 200


class TrueQuality:
    """The quality of the online model after each event, on the held-out bags, by a replay of its own.

    So no answer waits for it, the curve is the same after a restart, and a request never replays more than a few
    hundred answers.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self._lock = threading.Lock()
        self._restart()

    def _restart(self) -> None:
        self._contents = self.project.contents
        class_list = self._contents.class_list
        keys = class_list.keys
        imported = [key for key, one in zip(keys, class_list, strict=True) if not one.is_added]
        self._bags, truth = read_truth(self.project.folder / TRUTH, imported)
        self._columns = [c for c in class_list.active.tolist() if keys[c] in truth]
        self._labels = np.stack([truth[keys[c]] for c in self._columns], axis=1)
        self._replay = replay.Replay(self._contents, self.project.settings, self.project.bags)
        self._replay.begin()
        self._quality = {0: self._measured()}

    def at(self, counts: Sequence[int]) -> dict[int, float]:
        """Return the true quality after those of the numbers of events that the replay has reached."""
        with self._lock:
            if self._contents is not self.project.contents:
                self._restart()
            done, needed = self._replay.applied, set(counts)
            for event in self.project.events[done : min(done + MOST_REPLAYED_AT_ONCE, counts[-1])]:
                self._replay.apply(event)
                if event.number in needed:
                    self._quality[event.number] = self._measured()
            return {n_events: self._quality[n_events] for n_events in counts if n_events in self._quality}

    def _measured(self) -> float:
        assert self._replay.learner is not None
        metric = self.project.settings.stopping.metric
        predicted = self._replay.learner.predict_proba(self._bags)
        return goodness(self._labels, predicted[:, self._columns], metric)


def goodness(truth: Array, probability: Array, metric: str) -> float:
    """Return the metric that is estimated, on a scale where more is better."""
    measured = metrics.get(metric)
    return measured.goodness(measured(truth, probability))


def read_truth(path: Path, classes: Sequence[str]) -> tuple[Bags, dict[str, Array]]:
    """Return held-out bags and whether each of the classes is in them, (bags,), by name.

    Raises
    ------
    FileError
        Where a label of one of the classes is missing.
    """
    source = formats.read(path)
    table = source.labels
    if table is None or not set(classes) <= set(table.classes) or np.isnan(table.values).any():
        raise FileError(path, "must have a label for each of the project's classes in each of its bags.")
    found = {name: table.values[:, c].astype(bool) for c, name in enumerate(table.classes) if name in classes}
    return source.to_bags(), found


def write_truth(folder: Path, bags: Bags, labels: Array, classes: Sequence[str]) -> None:
    """Write held-out bags with their labels, (bags, classes), to a project's folder."""
    with (folder / TRUTH).open("wb") as file:
        np.savez_compressed(
            file,
            instances=np.asarray(bags.instances),
            offsets=bags.offsets,
            ids=np.array(bags.ids, str),
            labels=labels.astype(np.int8),
            classes=np.array(classes, str),
        )
