"""The files of a folder by the ids of the bags they belong to.

Ids are looked up among the names of existing files; no path is ever made from one, so none can lead out of the folder.
"""

import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bagwise.core.errors import FileError
from bagwise.ingest.media import _registry as registry


@dataclass(frozen=True)
class Files:
    """The files of a folder that can be shown, by name with and without suffix.

    Parameters
    ----------
    folder : Path
        The folder.
    whole : mapping of str to Path
        Files by their path in the folder, with `/` between and in Unicode form NFC.
    stems : mapping of str to sequence of Path
        The same without the suffix; several files may share a stem.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "a.txt").write_text("a wren")
    ...     files = Files.in_folder(Path(folder))
    ...     {bag: path.name for bag, path in files.of(["b", "a"]).items()}
    {1: 'a.txt'}
    """

    folder: Path
    whole: Mapping[str, Path]
    stems: Mapping[str, Sequence[Path]]

    @classmethod
    def in_folder(cls, folder: Path) -> "Files":
        """Return all files of a folder and its subfolders that can be shown; links out of the folder are left out.

        Parameters
        ----------
        folder : Path
            The folder.

        Returns
        -------
        Files

        Raises
        ------
        FileError
            If it is not a folder, or contains no such file.
        """
        if not folder.is_dir():
            raise FileError(folder, "is not a folder: give the one with the bags' files.")
        whole, stems = dict[str, Path](), dict[str, list[Path]]()
        for path in _showable(folder.resolve()):
            inside = path.relative_to(folder.resolve())
            whole[_normalised(inside.as_posix())] = path
            stems.setdefault(_normalised(inside.with_suffix("").as_posix()), []).append(path)
        if not whole:
            known = "; ".join(member.DESCRIPTION for member in registry.available().values())
            raise FileError(folder, f"contains no file that can be shown. Known: {known}.")
        return cls(folder, whole, stems)

    def of(self, ids: Sequence[str]) -> dict[int, Path]:
        """Return the file of each bag that has one, by the bag's position; every file is validated.

        Parameters
        ----------
        ids : sequence of str
            The bags; a file has the id as its name, with or without suffix.

        Returns
        -------
        dict of int to Path

        Raises
        ------
        FileError
            If no bag has a file, a bag has several, or a file is not what its suffix says.
        """
        found = {position: path for position, name in enumerate(ids) if (path := self._file_of(name)) is not None}
        if not found:
            what = f"no file in it has the name of a bag, such as {ids[0]}, with or without suffix."
            raise FileError(self.folder, what)
        for path in found.values():
            validate_media_file(path)
        return found

    def _file_of(self, name: str) -> Path | None:
        if (exact := self.whole.get(_normalised(name))) is not None:
            return exact
        paths = self.stems.get(_normalised(name), [])
        if len(paths) > 1:
            both = " and ".join(path.name for path in paths[:2])
            raise FileError(self.folder, f"bag {name} has more than one file, {both}: leave one of them there.")
        return paths[0] if paths else None


def _showable(root: Path) -> Iterator[Path]:
    known = set(registry.suffixes())
    for parent, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(parent) / name
            if path.suffix.lower() in known and path.is_file() and path.resolve().is_relative_to(root):
                yield path


def validate_media_file(path: Path) -> None:
    """Raise a FileError for a file that no browser would show.

    Parameters
    ----------
    path : Path
        The file; its suffix must be one of `suffixes()`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     picture = Path(folder) / "a.png"
    ...     _ = picture.write_text("not a picture")
    ...     try:
    ...         validate_media_file(picture)
    ...     except FileError as error:
    ...         print(str(error).partition(": ")[2])
    is not what its name says (image/png): convert it, or leave it out.
    """
    suffix = path.suffix.lower()
    registry.type_of(suffix).validate_same(path)
    member = registry.available()[registry.medium_of(suffix)]
    if hasattr(member, "validate"):
        member.validate(path)


def _normalised(name: str) -> str:
    # Operating systems encode the same accented letter in two ways.
    return unicodedata.normalize("NFC", name)
