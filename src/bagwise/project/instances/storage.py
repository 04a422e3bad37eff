"""Where the instances of a project are stored: in one file of its folder, or in partitions."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.formats import Source
from bagwise.kernels import Array
from bagwise.project.instances import instance_file, partitions
from bagwise.project.settings import Data, Settings
from bagwise.project.storage.queries import Contents


def settled(folder: Path, settings: Settings) -> Settings:
    """Return the settings with where the instances are stored now: another process may have partitioned them."""
    try:
        now = Settings.read(folder).data.parts
    except BagwiseError:
        # The file is being edited: it counts at the next start.
        return settings
    return replace(settings, data=replace(settings.data, parts=now))


def open_bags(folder: Path, data: Data, contents: Contents) -> Bags:
    """Return the bags of a project, memory-mapped, or in partitions that are read where they are needed."""
    if data.parts:
        return partitions.open_bags(folder, data, contents)
    rows = instance_file.open_instances(folder, int(contents.offsets[-1]), data.features, data.dtype)
    return Bags.trusted(rows, contents.offsets, contents.ids)


def append(
    folder: Path, data: Data, before: Contents, source: Source, progress: Callable[[int], None]
) -> tuple[Array, int]:
    """Append the instances of a source to those that count: sizes of the bags, and a checksum of the rows."""
    if data.parts:
        return partitions.append(folder, data, before, source, progress)
    return instance_file.append(folder, int(before.offsets[-1]), source, data.dtype, progress)


def discard(folder: Path, data: Data, contents: Contents) -> None:
    """Remove instances that do not count: those of an import that failed or was killed."""
    if data.parts:
        partitions.discard(folder, data, contents)
    else:
        instance_file.discard(folder, int(contents.offsets[-1]), data.features, data.dtype)


def copy(folder: Path, data: Data, target: Path) -> Data:
    """Copy the instances to another project, and return its `[data]` settings."""
    if data.parts:
        return replace(data, parts=partitions.copy(folder, data, target))
    shutil.copyfile(folder / instance_file.FILE, target / instance_file.FILE)
    return data
