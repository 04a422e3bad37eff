"""A picture or sound of a class, shown with its questions: a file in the folder `examples`, named by its content."""

import hashlib
import os
import shutil
from pathlib import Path

from bagwise.core.errors import BagwiseError, FileError
from bagwise.ingest import media
from bagwise.project.storage.class_list import ClassList

FOLDER = "examples"
LARGEST = 10_000_000
RENDERERS = ("picture", "sound")


def keep(folder: Path, example: Path) -> str:
    """Copy a picture or sound into a project and return its name there.

    Parameters
    ----------
    folder : Path
        The project's folder.
    example : Path
        The file.

    Raises
    ------
    BagwiseError
        Where it is neither picture nor sound, too large, or cannot be copied.
    """
    medium = media.medium_of(example.suffix.lower()) if example.suffix.lower() in media.suffixes() else None
    if medium is None or media.renderer_of(medium) not in RENDERERS:
        raise FileError(example, "cannot be an example of a class: give a picture or a sound.")
    try:
        if example.stat().st_size > LARGEST:
            raise FileError(example, f"has more than {LARGEST // 10**6} MB: give a few seconds, or a smaller picture.")
        media.validate_media_file(example)
        content = example.read_bytes()
        name = _name(content, example.suffix.lower())
        (folder / FOLDER).mkdir(exist_ok=True)
        unfinished = folder / FOLDER / f".{name}.{os.getpid()}.part"
        unfinished.write_bytes(content)
        unfinished.replace(folder / FOLDER / name)
    except OSError as error:
        raise BagwiseError(f"{example} cannot be kept as an example: {error.strerror or error}.") from error
    return name


def _name(content: bytes, suffix: str) -> str:
    return f"{hashlib.sha256(content).hexdigest()[:32]}{suffix}"


def path_of(folder: Path, name: str) -> Path:
    """Return the file with this name in a project's folder."""
    return folder / FOLDER / name


def wrong(folder: Path, class_list: ClassList) -> str:
    """Return what is wrong with the examples of classes, for `bagwise check`; empty where nothing is."""
    for one in class_list:
        path = path_of(folder, one.example)
        if one.example and not path.is_file():
            return f"the example of {one.name}, {path.name}, is missing"
        if one.example and not one.example.startswith(_name(path.read_bytes(), "")):
            return f"the example of {one.name}, {path.name}, is not what was given"
    return ""


def copy(folder: Path, target: Path) -> None:
    """Copy all examples to another project."""
    if (folder / FOLDER).is_dir():
        shutil.copytree(folder / FOLDER, target / FOLDER)
