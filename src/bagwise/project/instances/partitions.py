"""The instances of a project in parts: in a folder of its own, or wherever on shared storage the settings say.

Parts become part of the project when the database says so, as rows of `instances.bin` do: what `parts.json` names
beyond that (an import that failed or was killed) does not count and is removed.
"""

import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from bagwise.core import checksums
from bagwise.core.errors import BagwiseError, FileError
from bagwise.formats import Source
from bagwise.kernels import Array
from bagwise.partitions import PartitionedBags, Partitions
from bagwise.project.instances.partition_writer import Made, make_partition, pieces_of
from bagwise.project.settings import Data
from bagwise.project.storage.queries import Contents

FOLDER = "instances"
LIST = "parts.json"
NUMBERED = re.compile(r"part-(\d{5,})\.(parquet|npy|bags\.parquet)")


def place_of(folder: Path, data: Data) -> Path:
    """Where the parts lie; a path that is not absolute begins in the project's folder."""
    return folder.resolve() / data.parts


def open_bags(folder: Path, data: Data, contents: Contents) -> PartitionedBags:
    """The bags of the project, none of their instances read yet."""
    place = place_of(folder, data)
    parts = Partitions.open(place)
    if parts.owner not in ("", contents.project):
        raise FileError(place / LIST, "holds the instances of another project: correct parts in bagwise.toml.")
    if (parts.n_features, parts.dtype.name) != contents.shape:
        what = f"has {parts.n_features} features of {parts.dtype} where the project has {contents.shape}."
        raise FileError(place / LIST, f"{what} Correct parts in bagwise.toml.")
    bags = parts.bags(contents.ids, contents.offsets)
    bags.parts.validate_present()
    return bags


def append(
    folder: Path, data: Data, before: Contents, source: Source, progress: Callable[[int], None]
) -> tuple[Array, int]:
    """Write the instances of the source as parts like those that are there: sizes of the bags, a checksum."""
    there = open_bags(folder, data, before).parts
    usual = there.n_instances / len(there.parts)
    count = max(1, round(len(source.codes) / usual))
    with unfinished(there.folder) as place:
        made = []
        for number, bags in enumerate(pieces_of(source, there.dtype, count, place), start=len(there.parts)):
            made.append(make_partition(place, number, bags))
            progress(bags.n_instances)
        add(there, place, made)
    return np.bincount(source.codes, minlength=len(source.ids)), checksum_of(made)


def discard(folder: Path, data: Data, contents: Contents) -> None:
    """Remove the parts that lie behind those that count."""
    counted = open_bags(folder, data, contents).parts
    if Partitions.open(counted.folder).parts != counted.parts:
        counted.save()
    for path in counted.folder.iterdir():
        number = NUMBERED.fullmatch(path.name)
        if number is not None and int(number[1]) >= len(counted.parts):
            path.unlink()


def add(there: Partitions, place: Path, made: Sequence[Made]) -> Partitions:
    """Put what was made in the folder `place` behind the parts that count."""
    try:
        for one in made:
            for name in one.part.files:
                (place / name).replace(there.folder / name)
        on_the_disk(there.folder)
    except OSError as error:
        raise BagwiseError(f"{there.folder} cannot be written: {error.strerror or error}.") from error
    return there.with_parts([one.part for one in made]).save()


def checksum_of(made: Sequence[Made]) -> int:
    """Of all rows, one part after the other."""
    return checksums.together((one.rows_checksum, one.n_bytes) for one in made)


@contextmanager
def unfinished(folder: Path, name: str = "unfinished") -> Iterator[Path]:
    """A folder in this one for what is being made; those of interrupted runs go."""
    place = folder / f".{name}.{uuid.uuid4().hex[:8]}.part"
    try:
        for old in folder.iterdir() if folder.is_dir() else ():
            if old.name.startswith(f".{name}.") and old.name.endswith(".part"):
                shutil.rmtree(old, ignore_errors=True)
        place.mkdir(parents=True)
    except OSError as error:
        raise BagwiseError(f"{folder} cannot be written: {error.strerror or error}.") from error
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def on_the_disk(*paths: Path) -> None:
    """Wait until the disk has these files, or the names in these folders."""
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def copy(folder: Path, data: Data, target: Path) -> str:
    """All parts into a folder of another project; what it is called there.

    Parts never change, so on the same disk another name for the same file is a copy that takes no room.
    """
    there, place = Partitions.open(place_of(folder, data)), target / FOLDER
    place.mkdir()
    for name in (name for part in there.parts for name in part.files):
        try:
            os.link(there.folder / name, place / name)
        except OSError:
            shutil.copyfile(there.folder / name, place / name)
    Partitions(place, there.n_features, there.dtype, there.parts, there.owner).save()
    return FOLDER


def bytes_elsewhere(folder: Path, data: Data) -> dict[str, int]:
    """What the parts take where they do not lie in the project's folder."""
    place = place_of(folder, data)
    if not data.parts or place.is_relative_to(folder.resolve()):
        return {}
    with suppress(BagwiseError):
        return {str(place): Partitions.open(place).n_bytes}
    return {}
