"""Searches for similar bags: the files that were dropped on the page, and the last results.

A search reads the whole pool. Its result is kept, so that its next page, another class or an answer costs nothing. A
dropped file is kept as the instances that it became, in memory: it is searched for, and then forgotten.
"""

import hashlib
import tempfile
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TypeVar

from bagwise.core.errors import BagwiseError
from bagwise.kernels import Array
from bagwise.project import Project
from bagwise.project.imports import segmentation
from bagwise.project.search.nearest import Similar
from bagwise.project.storage.bag_filter import EVERYTHING, BagFilter

FILES_KEPT, RESULTS_KEPT = 32, 8

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True)
class DroppedFile:
    """The instances of a file that was dropped on the page, its name, and the key that it is searched for with."""

    key: str
    name: str
    instances: Array


class Searches:
    """Searches in one project, shared by all requests."""

    def __init__(self, project: Project, embed: str = "") -> None:
        self.project, self.embed = project, embed
        self._lock, self._searching = threading.Lock(), threading.Lock()
        self._files: OrderedDict[str, DroppedFile] = OrderedDict()
        self._results: OrderedDict[tuple[object, ...], Similar] = OrderedDict()

    @property
    def accepts_files(self) -> bool:
        """Whether a file can become instances as those of the project did."""
        recipe = segmentation.recipe_of(self.project.folder)
        return recipe is not None and bool(self.embed or not recipe.fingerprint)

    def add_file(self, name: str, content: bytes) -> DroppedFile:
        """Segment a file as those of the project were; the same content gets the same key."""
        # The name chooses how it is decoded and nothing else; a path in it leads nowhere.
        suffix = PurePosixPath(PureWindowsPath(name).name).suffix.lower()
        key = hashlib.sha256(suffix.encode() + b"\0" + content).hexdigest()[:32]
        with self._lock:
            if key in self._files:
                return _used(self._files, key, FILES_KEPT)
        # Without the lock: a file may take minutes, and others search meanwhile.
        found = DroppedFile(key, name, self._segmented(name, suffix, content))
        with self._lock:
            self._files[key] = found
            return _used(self._files, key, FILES_KEPT)

    def _segmented(self, name: str, suffix: str, content: bytes) -> Array:
        with tempfile.TemporaryDirectory(prefix="bagwise-") as folder:
            path = Path(folder) / f"file{suffix}"
            try:
                path.write_bytes(content)
                return self.project.instances_of_file(path, self.embed)
            except BagwiseError as error:
                raise BagwiseError(str(error).replace(str(path), name)) from error
            except (OSError, ValueError) as error:
                raise BagwiseError(f"{name} cannot be used as the name of a file.") from error

    def similar(
        self, bag: int | None, instance: int | None, file: str | None, wanted: BagFilter = EVERYTHING
    ) -> Similar:
        """Return all bags, the nearest first, as `Project.similar`, from a bag or a file that was added."""
        with self._lock:
            if file is not None and file not in self._files:
                raise BagwiseError("This file is no longer known to the server: drop it on the page again.")
            instances = None if file is None else _used(self._files, file, FILES_KEPT).instances
        key = (self.project.contents.version, bag, instance, file, wanted)
        # One at a time: a search keeps a processor busy as it is.
        with self._searching:
            if key not in self._results:
                self._results[key] = self.project.similar(bag, instance, instances, wanted)
            return _used(self._results, key, RESULTS_KEPT)


def _used(kept: OrderedDict[Key, Value], key: Key, most: int) -> Value:
    """The value of a key, which is the last now to be forgotten."""
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)
    return kept[key]
