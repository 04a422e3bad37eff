"""Where the instances of a project lie: in one file of its folder, or in parts."""

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
    """The settings with the place where the instances lie now: another process may have put them into parts."""
    try:
        now = Settings.read(folder).data.parts
    except BagwiseError:
        # Somebody is editing the file: what it says counts at the next start.
        return settings
    return replace(settings, data=replace(settings.data, parts=now))


def open_bags(folder: Path, data: Data, contents: Contents) -> Bags:
    """The bags of a project, mapped, or read from the parts when they are wanted."""
    if data.parts:
        return partitions.open_bags(folder, data, contents)
    rows = instance_file.open_instances(folder, int(contents.offsets[-1]), data.features, data.dtype)
    return Bags.trusted(rows, contents.offsets, contents.ids)


def append(
    folder: Path, data: Data, before: Contents, source: Source, progress: Callable[[int], None]
) -> tuple[Array, int]:
    """Write the instances of the source behind those that count: sizes of the bags, a checksum of the rows."""
    if data.parts:
        return partitions.append(folder, data, before, source, progress)
    return instance_file.append(folder, int(before.offsets[-1]), source, data.dtype, progress)


def discard(folder: Path, data: Data, contents: Contents) -> None:
    """Remove the instances that do not count: those of an import that failed or was killed."""
    if data.parts:
        partitions.discard(folder, data, contents)
    else:
        instance_file.discard(folder, int(contents.offsets[-1]), data.features, data.dtype)


def copy(folder: Path, data: Data, target: Path) -> Data:
    """To another project; how its settings say it."""
    if data.parts:
        return replace(data, parts=partitions.copy(folder, data, target))
    shutil.copyfile(folder / instance_file.FILE, target / instance_file.FILE)
    return data
