"""A project's instances are put into parts: those that it has, or those that files bring.

Parts are made apart from everything, each read back as soon as it is written. Only when all are there and their rows
are those that were imported does the project know of them, by one file that takes the place of another; so whoever is
interrupted has the project as it was.
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
from bagwise.project.instances.partition_writer import FromRows, Job, Made, edges, make_partitions
from bagwise.project.instances.worker_pool import Each
from bagwise.project.settings import FILE as SETTINGS
from bagwise.project.settings import Settings
from bagwise.project.storage import queries, schema
from bagwise.project.storage.database import Database


def partition(
    folder: Path, database: Database, count: int, to: str | Path | None, each: Each, progress: Progress
) -> None:
    """From one file in the project's folder to `count` parts in the folder `to`, and the project uses these."""
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
            made = make(_jobs(folder.resolve() / instance_file.FILE, contents, count, unfinished), each, progress)
            width = features * dtype.itemsize
            if partitions.checksum_of(made) != checksums.together((crc, number * width) for crc, number in imported):
                raise FileError(folder / instance_file.FILE, "is not what was imported: see `bagwise check`.")
            Partitions(unfinished, features, dtype, tuple(one.part for one in made), contents.project).save()
            _put(unfinished, place)
        _use(folder, settings, place)


def make(jobs: Sequence[Job], each: Each, progress: Progress) -> list[Made]:
    """All parts of some jobs, in their order."""
    found: dict[int, list[Made]] = {}
    for number, made in each(make_partitions, jobs):
        found[number] = made
        progress(sum(one.part.instances for one in made))
    return [one for number in range(len(jobs)) for one in found[number]]


def _validate_not_partitioned(folder: Path, settings: Settings) -> None:
    if settings.data.parts:
        # Whoever partitioned it may have been interrupted at the very end.
        (folder / instance_file.FILE).unlink(missing_ok=True)
        place = partitions.place_of(folder, settings.data)
        raise BagwiseError(f"{folder} is in parts already, in {place}: further bags become further parts.")


def _validate_only_own_files(place: Path, project: str) -> None:
    """The folder must be new, or what an interrupted run of this project left."""
    if not place.exists() or (place.is_dir() and not any(place.iterdir())):
        return
    if not (place / partitions.LIST).is_file() or Partitions.open(place).owner != project:
        raise BagwiseError(f"{place} is there already: choose another folder with --to.")


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


def _put(unfinished: Path, place: Path) -> None:
    try:
        shutil.rmtree(place, ignore_errors=True)
        unfinished.replace(place)
        partitions.on_the_disk(place, place.parent)
    except OSError as error:
        raise BagwiseError(f"{place} cannot be made: {error.strerror or error}.") from error


def _use(folder: Path, settings: Settings, place: Path) -> None:
    here = folder.resolve()
    where = place.relative_to(here).as_posix() if place.is_relative_to(here) else str(place)
    replace(settings, data=replace(settings.data, parts=where)).write(folder)
    partitions.on_the_disk(folder / SETTINGS, folder)
    (folder / instance_file.FILE).unlink()
