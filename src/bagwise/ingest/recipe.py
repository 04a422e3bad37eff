"""How the files of a project are cut: kept with it, and with its models, so that later files are cut the same way."""

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.core.plugins import choose
from bagwise.ingest.embedders import functions as embedding
from bagwise.ingest.segmenters._registry import available
from bagwise.ingest.types import Segmenter, State

RECIPE = "recipe.json"
STATE = "state.npz"
VERSION = 1


@dataclass(frozen=True)
class Recipe:
    """A way of cutting, what was fitted for it, and the embedding that takes the place of its features."""

    medium: str
    way: str
    embed: str = ""
    fingerprint: str = ""
    state: State | None = None

    @classmethod
    def of(cls, medium: str, way: str, embed: str = "") -> "Recipe":
        """As a person asks for it."""
        return cls(medium, way, embed, embedding.fingerprint(embed) if embed else "")

    def like(self, other: "Recipe") -> bool:
        """Whether both cut alike, whatever they were fitted to."""
        return (self.medium, self.way, self.fingerprint) == (other.medium, other.way, other.fingerprint)

    def with_embedding(self, embed: str) -> "Recipe":
        """What runs a program is never taken from a file: a person says it again, and it must be the same."""
        if self.fingerprint and not embed:
            raise BagwiseError("These instances are embeddings: say again with --embed how they are made.")
        if embed and embedding.fingerprint(embed) != self.fingerprint:
            raise BagwiseError(f"--embed {embed}: the first files were not cut with this, and all must be cut alike.")
        return replace(self, embed=embed)

    def needs_fitting(self) -> bool:
        """Whether it must see the files before it can cut them."""
        return not self.embed and self.state is None and hasattr(self._way, "fit")

    def fitted(self, paths: Sequence[Path]) -> "Recipe":
        """Having seen these files."""
        return replace(self, state=self._way.fit(paths))

    def segmenter(self) -> Segmenter:
        """What cuts one file."""
        if self.embed:
            return embedding.segmenter(self.embed, self._way)
        if self.state is not None:
            return _typed(self._way.segmenter(self.state))
        return _typed(self._way.segment)

    def features(self, width: int) -> list[str]:
        """The names of the features."""
        if self.embed:
            return [f"embedding {number}" for number in range(1, width + 1)]
        named = self._way.FEATURES
        return list(named(self.state) if callable(named) else named)

    @property
    def _way(self) -> Any:
        return choose("way of cutting", self.way, available())

    # Keeping

    def as_tree(self) -> dict[str, Any]:
        """Plain values and arrays, for the file of a model."""
        said = {"version": VERSION, "medium": self.medium, "way": self.way, "fingerprint": self.fingerprint}
        return {**said, "state": self.state}

    @classmethod
    def from_tree(cls, tree: dict[str, Any]) -> "Recipe":
        """What `as_tree` gave."""
        if tree["version"] > VERSION:
            raise BagwiseError("These files were cut by a newer Bagwise: upgrade to cut more of them.")
        return cls(tree["medium"], tree["way"], fingerprint=tree["fingerprint"], state=tree["state"])

    def write(self, folder: Path) -> None:
        """Into a folder of its own."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.state is not None:
            with (folder / f"{STATE}.part").open("wb") as file:
                np.savez(file, **self.state)  # type: ignore[arg-type]
            (folder / f"{STATE}.part").replace(folder / STATE)
        said = {name: value for name, value in self.as_tree().items() if name != "state"}
        (folder / f"{RECIPE}.part").write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")
        (folder / f"{RECIPE}.part").replace(folder / RECIPE)

    @classmethod
    def read(cls, folder: Path) -> "Recipe | None":
        """What is in the folder, or None where nothing was cut."""
        try:
            said = json.loads((folder / RECIPE).read_text(encoding="utf-8"))
            return cls.from_tree({**said, "state": _state(folder / STATE)})
        except FileNotFoundError:
            return None
        except (OSError, KeyError, TypeError, json.JSONDecodeError, UnicodeDecodeError, zipfile.BadZipFile) as error:
            raise FileError(folder / RECIPE, "is damaged: restore it from a backup.") from error


def _typed(segmenter: Segmenter) -> Segmenter:
    return segmenter


def _state(path: Path) -> State | None:
    if not path.exists():
        return None
    with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}
