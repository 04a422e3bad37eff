"""The files of a folder by the ids of the bags they belong to.

Ids are looked up among the names that are there; no path is ever made from one, so none can lead out of the folder.
"""

import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bagwise.core.errors import FileError
from bagwise.ingest.media import _registry as known


@dataclass(frozen=True)
class Files:
    """Every file that can be shown, by its name in the folder, with and without its suffix."""

    folder: Path
    whole: Mapping[str, Path]
    stems: Mapping[str, Sequence[Path]]

    @classmethod
    def in_folder(cls, folder: Path) -> "Files":
        """All of the folder and the folders in it; links that lead elsewhere are left out."""
        if not folder.is_dir():
            raise FileError(folder, "is no folder: give the one with the bags' files.")
        whole, stems = dict[str, Path](), dict[str, list[Path]]()
        for path in _showable(folder.resolve()):
            inside = path.relative_to(folder.resolve())
            whole[_alike(inside.as_posix())] = path
            stems.setdefault(_alike(inside.with_suffix("").as_posix()), []).append(path)
        if not whole:
            media = "; ".join(module.DESCRIPTION for module in known.available().values())
            raise FileError(folder, f"there is nothing in it that can be shown. Known: {media}.")
        return cls(folder, whole, stems)

    def of(self, ids: Sequence[str]) -> dict[int, Path]:
        """The file of each bag that has one, by the bag's position; every file is what its name says."""
        found = {position: path for position, name in enumerate(ids) if (path := self._called(name)) is not None}
        if not found:
            raise FileError(self.folder, f"no file in it is called like a bag, as {ids[0]} is, with or without suffix.")
        for path in found.values():
            validate_media_file(path)
        return found

    def _called(self, name: str) -> Path | None:
        if (exact := self.whole.get(_alike(name))) is not None:
            return exact
        paths = self.stems.get(_alike(name), [])
        if len(paths) > 1:
            both = " and ".join(path.name for path in paths[:2])
            raise FileError(self.folder, f"bag {name} has more than one file, {both}: leave one of them there.")
        return paths[0] if paths else None


def _showable(root: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(place) / name
            if path.suffix.lower() in known.suffixes() and path.is_file() and path.resolve().is_relative_to(root):
                yield path


def validate_media_file(path: Path) -> None:
    """A file that no browser would show."""
    suffix = path.suffix.lower()
    known.type_of(suffix).validate_same(path)
    module = known.available()[known.medium_of(suffix)]
    if hasattr(module, "refuse"):
        module.refuse(path)


def _alike(name: str) -> str:
    # Systems spell the same accented letter in two ways.
    return unicodedata.normalize("NFC", name)
