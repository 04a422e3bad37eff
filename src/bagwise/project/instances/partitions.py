"""The instances of a project in partitions: in a folder of the project, or on shared storage where the settings say.

Partitions belong to the project when the database counts their bags, as rows of `instances.bin` do: what `parts.json`
lists beyond that (an import that failed or was killed) does not count and is removed.
"""

import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from bagwise.core import checksums
from bagwise.core.errors import BagwiseError, FileError
from bagwise.data.bags import Bags
from bagwise.formats import Source
from bagwise.kernels import Array
from bagwise.partitions import Partitions, partitions_of
from bagwise.project.instances.partition_writer import WrittenPartition, divided, write_verified
from bagwise.project.settings import Data
from bagwise.project.storage.queries import Contents

FOLDER = "instances"
LIST = "parts.json"
NUMBERED = re.compile(r"part-(\d{5,})\.(parquet|npy|bags\.parquet)")


def place_of(folder: Path, data: Data) -> Path:
    """Return the folder of the partitions; a relative path starts in the project's folder."""
    return folder.resolve() / data.parts


def open_bags(folder: Path, data: Data, contents: Contents) -> Bags:
    """Return the bags of the project, of which no instances are read yet."""
    place = place_of(folder, data)
    partitions = Partitions.open(place)
    if partitions.owner not in ("", contents.project):
        raise FileError(place / LIST, "holds the instances of another project: correct `parts` in bagwise.toml.")
    if (partitions.n_features, partitions.dtype.name) != contents.shape:
        what = f"has {partitions.n_features} features of {partitions.dtype} where the project has {contents.shape}."
        raise FileError(place / LIST, f"{what} Correct `parts` in bagwise.toml.")
    bags = partitions.bags(contents.ids, contents.offsets)
    counted = partitions_of(bags)
    assert counted is not None
    counted.validate_present()
    return bags


def open_partitions(folder: Path, data: Data, contents: Contents) -> Partitions:
    """Return the partitions of the project that count."""
    partitions = partitions_of(open_bags(folder, data, contents))
    assert partitions is not None
    return partitions


def append(
    folder: Path, data: Data, before: Contents, source: Source, progress: Callable[[int], None]
) -> tuple[Array, int]:
    """Write the instances of a source as partitions of the usual size: sizes of the bags, and a checksum."""
    partitions = open_partitions(folder, data, before)
    usual = partitions.n_instances / len(partitions)
    count = max(1, round(len(source.codes) / usual))
    with unfinished(partitions.folder) as place:
        written = []
        for number, bags in enumerate(divided(source, partitions.dtype, count, place), start=len(partitions)):
            written.append(write_verified(place, number, bags))
            progress(bags.n_instances)
        add(partitions, place, written)
    return np.bincount(source.codes, minlength=len(source.ids)), checksum_of(written)


def discard(folder: Path, data: Data, contents: Contents) -> None:
    """Remove the partitions after those that count."""
    counted = open_partitions(folder, data, contents)
    if Partitions.open(counted.folder).entries != counted.entries:
        counted.save()
    for path in counted.folder.iterdir():
        number = NUMBERED.fullmatch(path.name)
        if number is not None and int(number[1]) >= len(counted):
            path.unlink()


def add(partitions: Partitions, place: Path, written: Sequence[WrittenPartition]) -> Partitions:
    """Move what was written in the folder `place` after the partitions that count."""
    try:
        for one in written:
            for name in one.entry.files:
                (place / name).replace(partitions.folder / name)
        sync_to_disk(partitions.folder)
    except OSError as error:
        raise BagwiseError(f"{partitions.folder} cannot be written: {error.strerror or error}.") from error
    return partitions.extended([one.entry for one in written]).save()


def checksum_of(written: Sequence[WrittenPartition]) -> int:
    """Return the checksum of all rows, one partition after the other."""
    return checksums.together((one.rows_checksum, one.n_bytes) for one in written)


@contextmanager
def unfinished(folder: Path, name: str = "unfinished") -> Iterator[Path]:
    """Yield a folder in this one for what is being written; those of interrupted runs are removed."""
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


def sync_to_disk(*paths: Path) -> None:
    """Wait until these files, or the names in these folders, are on disk; Windows has no way to do it."""
    for path in paths if os.name != "nt" else ():
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def copy(folder: Path, data: Data, target: Path) -> str:
    """Copy all partitions into a folder of another project, and return its name.

    Partitions never change, so on the same disk a hard link is a copy that takes no room.
    """
    partitions, place = Partitions.open(place_of(folder, data)), target / FOLDER
    place.mkdir()
    for name in (name for entry in partitions.entries for name in entry.files):
        try:
            os.link(partitions.folder / name, place / name)
        except OSError:
            shutil.copyfile(partitions.folder / name, place / name)
    replace(partitions, folder=place).save()
    return FOLDER


def bytes_elsewhere(folder: Path, data: Data) -> dict[str, int]:
    """Return the bytes of the partitions by their folder, where that is outside of the project's folder."""
    place = place_of(folder, data)
    if not data.parts or place.is_relative_to(folder.resolve()):
        return {}
    with suppress(BagwiseError):
        return {str(place): Partitions.open(place).n_bytes}
    return {}
