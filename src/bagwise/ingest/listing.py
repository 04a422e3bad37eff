"""What there is in a folder: files to cut, files that cannot be, and files that are something else."""

import os
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bagwise.core.errors import FileError
from bagwise.formats import NOT_IN_NAMES
from bagwise.ingest import media

BAD_NAME = "its name holds a control character, a line break or bytes that are not UTF-8: rename it."
OUTSIDE = "is a link that leads out of the folder or nowhere."
TWICE = "another file is called the same but for how an accent is spelled: rename one."


@dataclass(frozen=True)
class Listing:
    """Files to cut by the ids of their bags, in order; names that are skipped, with the reason; how many are others."""

    folder: Path
    medium: str
    files: Mapping[str, Path]
    skipped: Mapping[str, str]
    others: int


def list_files(folder: Path, medium: str | None = None) -> Listing:
    """All of the folder and the folders in it; the medium is that of most of its files, if it is not said."""
    if not folder.is_dir():
        raise FileError(folder, "is no folder: give the one with your recordings, pictures or documents.")
    root = folder.resolve()
    mediums = {path: _medium_of(path) for path in _walk(root)}
    counted = Counter(name for name in mediums.values() if name is not None)
    if not counted or (medium is not None and medium not in counted):
        known = media.available()[medium].DESCRIPTION if medium else _all_media()
        raise FileError(folder, f"there is nothing in it that can be cut. Known: {known}.")
    wanted = medium or counted.most_common(1)[0][0]
    return _sorted_out(folder, root, wanted, [path for path, name in mediums.items() if name == wanted], len(mediums))


def _sorted_out(folder: Path, root: Path, medium: str, paths: list[Path], total: int) -> Listing:
    files, skipped = dict[str, Path](), dict[str, str]()
    for path in paths:
        name = unicodedata.normalize("NFC", path.relative_to(root).as_posix())
        if NOT_IN_NAMES.search(name):
            skipped[name] = BAD_NAME
        elif not path.is_file() or not path.resolve().is_relative_to(root):
            skipped[name] = OUTSIDE
        elif name in files:
            skipped[path.relative_to(root).as_posix()] = TWICE
        else:
            files[name] = path
    return Listing(folder, medium, files, skipped, total - len(paths))


def _walk(root: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place) / name for name in sorted(names) if not name.startswith("."))


def _medium_of(path: Path) -> str | None:
    suffix = path.suffix.lower()
    return media.medium_of(suffix) if suffix in media.suffixes() else None


def _all_media() -> str:
    return "; ".join(module.DESCRIPTION for module in media.available().values())
