"""How the files of a project were segmented: stored with it and with its models, so that later files are treated alike.

recipe.json     version, medium, `way` (the segmenter), the fingerprint of the embedder, and `clip`, where recordings
                are cut into clips: their seconds and overlap
state.npz       what the segmenter was fitted to, where it is fitted
"""

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.ingest import embedders, media, segmenters
from bagwise.ingest.clips import Clipping
from bagwise.ingest.embedders._registry import Embedding
from bagwise.ingest.types import SegmentFunction, State

RECIPE = "recipe.json"
STATE = "state.npz"
VERSION = 1


@dataclass(frozen=True)
class Recipe:
    """A segmenter, what it was fitted to, and the embedder that replaces its features.

    Parameters
    ----------
    medium : str
        The name of the medium.
    segmenter : str, module or callable
        The name of the segmenter, or the segmenter itself.
    embedder : str or callable, optional
        What is typed after `--embed`, or a function. It is never stored: it runs programs.
    fingerprint : str, optional
        Of the embedder.
    state : dict of str to ndarray, optional
        What the segmenter was fitted to.
    clipping : Clipping, optional
        How long recordings are cut into clips, each of which is a bag.

    Examples
    --------
    >>> recipe = Recipe.of("text", "paragraphs")
    >>> recipe.needs_fitting()
    True
    """

    medium: str
    segmenter: str | Any
    embedder: Embedding = ""
    fingerprint: str = ""
    state: State | None = None
    clipping: Clipping | None = None

    @classmethod
    def of(
        cls,
        medium: str,
        segmenter: str | Any | None = None,
        embedder: Embedding = "",
        clipping: Clipping | None = None,
    ) -> "Recipe":
        """Return a new recipe; the default segmenter is the one that the medium declares.

        Parameters
        ----------
        medium : str
            The name of the medium.
        segmenter : str, module or callable, optional
            Its name, or the segmenter itself.
        embedder : str or callable, optional
            What is typed after `--embed`, or a function.
        clipping : Clipping, optional
            How recordings are cut into clips.

        Returns
        -------
        Recipe

        Raises
        ------
        BagwiseError
            If there is no such segmenter or embedder, the segmenter is for another medium, or clips are not of sound.
        """
        chosen = segmenters.for_medium(medium, segmenter)
        if clipping is not None and media.renderer_of(medium) != "sound":
            raise BagwiseError(f"Only recordings are cut into clips, and these files are {medium}.")
        if not embedder:
            return cls(medium, chosen, clipping=clipping)
        embedders.validate_medium(embedder, medium)
        return cls(medium, chosen, embedder, embedders.fingerprint(embedder), clipping=clipping)

    def same_method(self, other: "Recipe") -> bool:
        """Return whether both segment and embed alike, whatever they were fitted to.

        Parameters
        ----------
        other : Recipe
            Another recipe.

        Returns
        -------
        bool
        """
        return self._method == other._method

    @property
    def _method(self) -> tuple[str, str, str, Clipping | None]:
        return self.medium, segmenters.name_of(self.segmenter), self.fingerprint, self.clipping

    def with_embedder(self, embedder: Embedding) -> "Recipe":
        """Return the recipe with the embedder that a person gives again; it must be the one of the first files.

        An embedder runs a program, so it is never taken from a file.

        Parameters
        ----------
        embedder : str or callable
            What is typed after `--embed`, or a function; empty for none.

        Returns
        -------
        Recipe

        Raises
        ------
        BagwiseError
            If the first files were embedded differently.
        """
        if self.fingerprint and not embedder:
            raise BagwiseError("These instances are embeddings: say again with --embed how they are made.")
        if embedder and embedders.fingerprint(embedder) != self.fingerprint:
            what = f"--embed {embedder}: the first files were embedded differently"
            raise BagwiseError(f"{what}, and all files of a project must be embedded alike.")
        return replace(self, embedder=embedder)

    def needs_fitting(self) -> bool:
        """Return whether the segmenter must still be fitted to the files."""
        return not self.embedder and self.state is None and hasattr(self._member, "fit")

    def fitted(self, paths: Sequence[Path]) -> "Recipe":
        """Return the recipe with its segmenter fitted to these files.

        Parameters
        ----------
        paths : sequence of Path
            The files.

        Returns
        -------
        Recipe
        """
        return replace(self, state=self._member.fit(paths))

    def segment_function(self) -> SegmentFunction:
        """Return the function that segments one file."""
        if self.embedder:
            return embedders.embed_function(self.embedder, self._member)
        function: SegmentFunction = self._member.segment if self.state is None else self._member.segmenter(self.state)
        return function

    def features(self, width: int) -> list[str]:
        """Return the names of `width` features.

        Parameters
        ----------
        width : int
            The number of features, for a segmenter or embedder that does not name them.

        Returns
        -------
        list of str
        """
        names = getattr(self._member, "FEATURES", None)
        if self.embedder or names is None:
            kind = "embedding" if self.embedder else "feature"
            return [f"{kind} {number}" for number in range(1, width + 1)]
        return list(names(self.state) if callable(names) else names)

    def scored_classes(self) -> list[str]:
        """Return the names of the classes whose scores the embedder keeps; empty without any."""
        return embedders.classes_of(self.embedder) if self.embedder else []

    @property
    def _member(self) -> Any:
        return segmenters.member_of(self.segmenter, self.medium)

    # Storing

    def as_tree(self) -> dict[str, Any]:
        """Return plain values and arrays, for the file of a model."""
        medium, segmenter, fingerprint, clipping = self._method
        return {
            "version": VERSION,
            "medium": medium,
            "way": segmenter,
            "fingerprint": fingerprint,
            "clip": None if clipping is None else [clipping.seconds, clipping.overlap],
            "state": self.state,
        }

    @classmethod
    def from_tree(cls, tree: dict[str, Any]) -> "Recipe":
        """Return the recipe that `as_tree` was called on, without its embedder.

        Parameters
        ----------
        tree : dict of str to any
            What `as_tree` returned.

        Returns
        -------
        Recipe

        Raises
        ------
        BagwiseError
            If a newer version wrote it.
        """
        if tree["version"] > VERSION:
            raise BagwiseError("These files were segmented by a newer Bagwise: upgrade to add more files.")
        clip = tree.get("clip")
        clipping = None if clip is None else Clipping(*clip)
        return cls(tree["medium"], tree["way"], fingerprint=tree["fingerprint"], state=tree["state"], clipping=clipping)

    def write(self, folder: Path) -> None:
        """Write the recipe into a folder, which is made if it does not exist.

        Parameters
        ----------
        folder : Path
            The folder.
        """
        folder.mkdir(parents=True, exist_ok=True)
        if self.state is not None:
            with (folder / f"{STATE}.part").open("wb") as file:
                np.savez(file, **self.state)  # type: ignore[arg-type]
            (folder / f"{STATE}.part").replace(folder / STATE)
        values = {name: value for name, value in self.as_tree().items() if name != "state"}
        (folder / f"{RECIPE}.part").write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
        (folder / f"{RECIPE}.part").replace(folder / RECIPE)

    @classmethod
    def read(cls, folder: Path) -> "Recipe | None":
        """Return the recipe in a folder, or None if there is none.

        Parameters
        ----------
        folder : Path
            The folder that `write` wrote it into.

        Returns
        -------
        Recipe or None
            Without its embedder.

        Raises
        ------
        FileError
            If it is damaged.
        """
        try:
            values = json.loads((folder / RECIPE).read_text(encoding="utf-8"))
            return cls.from_tree({**values, "state": _read_state(folder / STATE)})
        except FileNotFoundError:
            return None
        except (OSError, KeyError, TypeError, json.JSONDecodeError, UnicodeDecodeError, zipfile.BadZipFile) as error:
            raise FileError(folder / RECIPE, "is damaged: restore it from a backup.") from error


def _read_state(path: Path) -> State | None:
    if not path.exists():
        return None
    with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}
