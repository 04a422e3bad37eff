"""The files of a folder: those to segment, those that cannot be used, and those of another medium."""

import os
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bagwise.core.errors import FileError
from bagwise.formats import NOT_IN_NAMES
from bagwise.ingest import media

BAD_NAME = "its name holds a control character, a line break or bytes that are not UTF-8: rename it."
OUTSIDE = "is a link that leads out of the folder or nowhere."
DUPLICATE = "another file has the same name except for the encoding of an accent: rename one."


@dataclass(frozen=True)
class Listing:
    """The files of a folder that can become bags.

    Parameters
    ----------
    folder : Path
        The folder.
    medium : str
        The medium of the files.
    files : mapping of str to Path
        The files by the ids of their bags: their paths in the folder, with `/` between.
    skipped : mapping of str to str
        Files that cannot be used, with the reason.
    others : int
        The number of files of another kind.

    Examples
    --------
    >>> listing = Listing(Path("talks"), "text", {"a.txt": Path("talks/a.txt")}, skipped={}, others=2)
    >>> list(listing.files), listing.others
    (['a.txt'], 2)
    """

    folder: Path
    medium: str
    files: Mapping[str, Path]
    skipped: Mapping[str, str]
    others: int


def list_files(folder: Path, medium: str | Any | None = None) -> Listing:
    """List the files of a folder and its subfolders.

    Parameters
    ----------
    folder : Path
        The folder.
    medium : str or module, optional
        The medium, by name, by alias or as a member; the default is the medium of most files.

    Returns
    -------
    Listing

    Raises
    ------
    FileError
        If there is no such folder, or no file of the medium in it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "a.txt").write_text("a wren")
    ...     _ = (Path(folder) / "notes.xyz").write_text("")
    ...     listing = list_files(Path(folder))
    >>> listing.medium, list(listing.files), listing.others
    ('text', ['a.txt'], 1)
    """
    if not folder.is_dir():
        raise FileError(folder, "is not a folder: give the one with your recordings, pictures or documents.")
    wanted = None if medium is None else media.name_of(medium)
    root = folder.resolve()
    medium_of = {path: _medium_of(path) for path in _walk(root)}
    counts = Counter(name for name in medium_of.values() if name is not None)
    if not counts or (wanted is not None and wanted not in counts):
        known = media.available()[wanted].DESCRIPTION if wanted else _all_media()
        raise FileError(folder, f"contains no file that can be segmented. Known: {known}.")
    chosen = wanted or counts.most_common(1)[0][0]
    return _listing(folder, root, chosen, [path for path, name in medium_of.items() if name == chosen], len(medium_of))


def _listing(folder: Path, root: Path, medium: str, paths: list[Path], total: int) -> Listing:
    files, skipped = dict[str, Path](), dict[str, str]()
    for path in paths:
        name = unicodedata.normalize("NFC", path.relative_to(root).as_posix())
        if NOT_IN_NAMES.search(name):
            skipped[name] = BAD_NAME
        elif not path.is_file() or not path.resolve().is_relative_to(root):
            skipped[name] = OUTSIDE
        elif name in files:
            skipped[path.relative_to(root).as_posix()] = DUPLICATE
        else:
            files[name] = path
    return Listing(folder, medium, files, skipped, total - len(paths))


def _walk(root: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent) / name for name in sorted(names) if not name.startswith("."))


def _medium_of(path: Path) -> str | None:
    suffix = path.suffix.lower()
    return media.medium_of(suffix) if suffix in media.suffixes() else None


def _all_media() -> str:
    return "; ".join(member.DESCRIPTION for member in media.available().values())
