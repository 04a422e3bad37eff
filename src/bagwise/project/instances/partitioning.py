"""Partitioning: the instances of a project are moved from one file into partitions.

Partitions are written into a folder of their own, each read back as soon as it is written. Only when all are complete
and their rows are those that were imported do the settings of the project name them, by replacing one file; an
interrupted run leaves the project as it was.
"""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from sqlalchemy import select

from bagwise.core import checksums
from bagwise.core.errors import BagwiseError, FileError
from bagwise.kernels import Array
from bagwise.partitions import Partitions
from bagwise.project.imports.importing import Progress, exclusive
from bagwise.project.instances import instance_file, partitions
from bagwise.project.instances.partition_writer import FromRows, Job, WrittenPartition, edges, run_job
from bagwise.project.instances.worker_pool import Each
from bagwise.project.settings import FILE as SETTINGS
from bagwise.project.settings import Settings
from bagwise.project.storage import queries, schema
from bagwise.project.storage.database import Database


def partition(
    folder: Path, database: Database, count: int, to: str | Path | None, each: Each, progress: Progress
) -> None:
    """Move the instances from the project's file to `count` partitions in the folder `to`."""
    with exclusive(folder):
        settings = Settings.read(folder)
        _validate_not_partitioned(folder, settings)
        with database.reading() as connection:
            contents = queries.contents(connection)
            rows = select(schema.imports.c.checksum, schema.imports.c.instances).order_by(schema.imports.c.number)
            imported = connection.execute(rows).all()
        place = Path(to if to is not None else folder / partitions.FOLDER).resolve()
        _validate_only_own_files(place, contents.project)
        features, dtype = contents.shape[0], np.dtype(contents.shape[1])
        with partitions.unfinished(place.parent, f"{place.name}.{contents.project}") as unfinished:
            written = write_partitions(
                _jobs(folder.resolve() / instance_file.FILE, contents, count, unfinished), each, progress
            )
            width = features * dtype.itemsize
            if partitions.checksum_of(written) != checksums.together((crc, number * width) for crc, number in imported):
                raise FileError(folder / instance_file.FILE, "is not what was imported: run `bagwise check`.")
            Partitions(unfinished, features, dtype, tuple(one.entry for one in written), contents.project).save()
            _move(unfinished, place)
        _use(folder, settings, place)


def write_partitions(jobs: Sequence[Job], each: Each, progress: Progress) -> list[WrittenPartition]:
    """Write the partitions of all jobs, and return them in order."""
    found: dict[int, list[WrittenPartition]] = {}
    for number, written in each(run_job, jobs):
        found[number] = written
        progress(sum(one.entry.instances for one in written))
    return [one for number in range(len(jobs)) for one in found[number]]


def _validate_not_partitioned(folder: Path, settings: Settings) -> None:
    if settings.data.parts:
        # The run that partitioned it may have been interrupted just before it removed the file.
        (folder / instance_file.FILE).unlink(missing_ok=True)
        place = partitions.place_of(folder, settings.data)
        raise BagwiseError(f"{folder} is partitioned already, in {place}: further bags become further partitions.")


def _validate_only_own_files(place: Path, project: str) -> None:
    """Raise unless the folder is new, or was left by an interrupted run of this project."""
    if not place.exists() or (place.is_dir() and not any(place.iterdir())):
        return
    if not (place / partitions.LIST).is_file() or Partitions.open(place).owner != project:
        raise BagwiseError(f"{place} exists already: choose another folder with `--to`.")


def _jobs(file: Path, contents: queries.Contents, count: int, unfinished: Path) -> list[FromRows]:
    offsets: Array = contents.offsets
    features, dtype = contents.shape[0], np.dtype(contents.shape[1])
    return [
        FromRows(
            unfinished,
            number,
            file,
            int(offsets[first]),
            dtype,
            features,
            contents.ids[first:last],
            offsets[first : last + 1] - offsets[first],
        )
        for number, (first, last) in enumerate(pairwise(edges(offsets, count)))
    ]


def _move(unfinished: Path, place: Path) -> None:
    try:
        shutil.rmtree(place, ignore_errors=True)
        unfinished.replace(place)
        partitions.sync_to_disk(place, place.parent)
    except OSError as error:
        raise BagwiseError(f"{place} cannot be written: {error.strerror or error}.") from error


def _use(folder: Path, settings: Settings, place: Path) -> None:
    home = folder.resolve()
    where = place.relative_to(home).as_posix() if place.is_relative_to(home) else str(place)
    replace(settings, data=replace(settings.data, parts=where)).write(folder)
    partitions.sync_to_disk(folder / SETTINGS, folder)
    (folder / instance_file.FILE).unlink()
