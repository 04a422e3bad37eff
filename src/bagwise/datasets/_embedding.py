"""Data sets that are composed of real material, embedded by a trained model on first use, and kept in the user's cache.

What a model computes differs by rounding from one processor to another, so the cached numbers do as well.
"""

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from bagwise.core.caches import user_cache_folder
from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.datasets._types import Dataset
from bagwise.kernels import Array


@dataclass(frozen=True)
class Composed:
    """A file that becomes a bag, the classes in it, and the classes of its instances, maybe by their places."""

    path: Path
    present: Array
    instance_labels: Array | Callable[[Array], Array]


@dataclass(frozen=True)
class Composition:
    """How a data set is made.

    `compose` writes `bags` files into a folder, each when it is asked for; `version` changes with what it writes.
    `scored_as` names the classes as the model does, where it scores them.
    """

    name: str
    version: str
    preset: str
    classes: Sequence[str]
    bags: int
    compose: Callable[[Path, int], Iterable[Composed]]
    segmenter: Any = None
    scored_as: Sequence[str] = ()

    def path(self) -> Path:
        """Return the file of the cache."""
        preset = self._preset()
        if missing := preset.missing(self.preset):
            raise BagwiseError(f"The data set {self.name} needs {missing}.")
        key = f"{self.version} {self.bags} {preset.fingerprint(self.preset)} {' '.join(self.classes)}"
        digest = hashlib.sha256(key.encode()).hexdigest()[:12]
        return user_cache_folder("datasets") / f"{self.name}-{digest}.npz"

    def load(self) -> Dataset:
        """Return the data set, from the cache where it was built before."""
        path = self.path()
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{path}.lock"):
                if not path.exists():
                    self._build(path)
        with np.load(path, allow_pickle=False) as file:
            present = file["present"]
            return Dataset(
                self.name,
                Bags(file["instances"], file["offsets"]),
                Labels(present, np.ones_like(present)),
                list(self.classes),
                file["instance_labels"],
                scores=file["scores"] if self.scored_as else None,
            )

    def _preset(self) -> Any:
        from bagwise.ingest import embedders

        return embedders.available()[self.preset.partition(":")[0]]

    def _build(self, path: Path) -> None:
        preset = self._preset()
        embed = preset.embedder(self.preset, self.segmenter)
        names = {name: number for number, name in enumerate(preset.classes(self.preset))} if self.scored_as else {}
        columns = [names.get(name) for name in self.scored_as]
        parts: dict[str, list[Array]] = {"instances": [], "present": [], "instance_labels": [], "scores": []}
        with tempfile.TemporaryDirectory() as folder:
            for one in _shown(self.compose(Path(folder), self.bags), self.bags, f"Building {self.name} (only once)"):
                found = embed(one.path)
                one.path.unlink()
                parts["instances"].append(found.features.astype(np.float32))
                parts["present"].append(one.present[None])
                labels = one.instance_labels
                parts["instance_labels"].append(labels(found.places) if callable(labels) else labels)
                if columns:
                    parts["scores"].append(_dense(found.scores, len(found.features), columns))
        arrays = {name: np.concatenate(arrays) for name, arrays in parts.items() if arrays}
        arrays["offsets"] = np.concatenate([[0], np.cumsum([len(rows) for rows in parts["instances"]])])
        unfinished = path.with_suffix(".unfinished")
        with unfinished.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        unfinished.replace(path)


def _shown(items: Iterable[Composed], count: int, description: str) -> Iterable[Composed]:
    from rich.console import Console
    from rich.progress import track

    return track(items, description, total=count, console=Console(stderr=True))


def _dense(scores: Array | None, instances: int, columns: Sequence[int | None]) -> Array:
    found = np.zeros((instances, len(columns)), np.float32)
    assert scores is not None
    for place, column in enumerate(columns):
        if column is None:
            found[:, place] = np.nan
        else:
            of_class = scores[scores["class"] == column]
            found[of_class["instance"], place] = of_class["score"]
    return found
