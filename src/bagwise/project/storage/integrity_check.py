"""`bagwise check`: is a project complete and consistent, and does its model equal a replay of all answers?"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sqlalchemy import select, text

from bagwise.core.errors import FileError
from bagwise.data.bags import VALUES_PER_CHUNK, Bags
from bagwise.partitions import Partitions, partitions_of
from bagwise.project.answers import replay
from bagwise.project.answers.events import ANSWERS, KINDS
from bagwise.project.classes import examples
from bagwise.project.imports import media, scores
from bagwise.project.imports.importing import Progress, quiet
from bagwise.project.project import Project
from bagwise.project.storage import queries, schema


@dataclass(frozen=True)
class Found:
    """The result of one check; `wrong` is empty where it passed."""

    what: str
    wrong: str = ""


def check(project: Project, progress: Progress = quiet) -> list[Found]:
    """Check a project; stop at the first check that fails.

    Parameters
    ----------
    project : Project
        An open project.
    progress : callable
        Called with the number of answers replayed since the last call.

    Returns
    -------
    list of Found
        One result for each check that ran.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> from bagwise.formats import Source
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0]]), np.array([[1.0]])], ["a", "b"])
    >>> with TemporaryDirectory() as folder, Project.create(f"{folder}/p", source, classes=["wren"]) as project:
    ...     found = check(project)
    >>> found[0].what, [one.what for one in found if one.wrong]
    ('the database is intact', [])
    """
    steps: list[tuple[str, Callable[[], str]]] = [
        ("the database is intact", lambda: _database(project)),
        ("answers are numbered without a gap and name bags and classes that exist", lambda: _events(project)),
        ("every feature is a number, and the one that was imported", lambda: _features(project)),
        ("pictures, sounds and texts are files of this folder", lambda: _media(project)),
        ("the scores of a classifier are those that were imported", lambda: _scores(project)),
        ("the trained model is one of this project", lambda: project.model_file.wrong(project.contents)),
        ("the model equals a fresh replay of all answers, bit for bit", lambda: _replay(project, progress)),
    ]
    found = []
    for what, look in steps:
        found.append(Found(what, look()))
        if found[-1].wrong:
            break
    return found


def _database(project: Project) -> str:
    if not project.database.is_sqlite:
        return ""
    with project.database.reading() as connection:
        result = [str(row[0]) for row in connection.execute(text("PRAGMA integrity_check"))]
        foreign = connection.execute(text("PRAGMA foreign_key_check")).all()
    if result != ["ok"]:
        return f"SQLite reports: {result[0]}"
    return f"{len(foreign)} rows refer to something that does not exist" if foreign else ""


def _events(project: Project) -> str:
    project.catch_up()
    with project.database.reading() as connection:
        if queries.last_event(connection) != len(project.events):
            return f"{queries.last_event(connection)} were saved, {len(project.events)} exist"
    bags, classes = project.contents.given.shape
    at: dict[int, tuple[int, int]] = {}
    for expected, event in enumerate(project.events, start=1):
        if event.number != expected:
            return f"number {expected} is missing"
        if event.kind not in KINDS or event.answer not in ANSWERS:
            return f"number {event.number} has an unknown kind or answer"
        if not (0 <= event.bag < bags and 0 <= event.label_class < classes):
            return f"number {event.number} names a bag or a class that does not exist"
        size = int(project.contents.offsets[event.bag + 1] - project.contents.offsets[event.bag])
        pointed = (*event.where, *event.elsewhere)
        if pointed and (event.answer != "present" or not all(0 <= instance < size for instance in pointed)):
            return f"number {event.number} points at instances that do not exist, or without saying present"
        if event.instance is not None and not 0 <= event.instance < size:
            return f"number {event.number} is about an instance that does not exist"
        if event.probability is not None and not (event.audit and 0 < event.probability <= 1):
            return f"number {event.number} has a probability that no audit is drawn with"
        of_import = event.kind == "correction" and project.contents.imported[event.pair] != queries.UNKNOWN
        if event.replaces is None and not (event.kind == "answer" or of_import):
            return f"number {event.number} replaces nothing, or replaces without saying so"
        if event.replaces is not None and event.kind == "answer":
            return f"number {event.number} replaces nothing, or replaces without saying so"
        if event.replaces is not None and at.get(event.replaces) != event.pair:
            return f"number {event.number} replaces an answer about something else"
        at[event.number] = event.pair
    return ""


def _features(project: Project) -> str:
    with project.database.reading() as connection:
        made = connection.execute(select(schema.imports).order_by(schema.imports.c.number)).all()
    total = sum(row.instances for row in made)
    if total != project.bags.n_instances:
        return f"{total} instances were imported, {project.bags.n_instances} exist"
    bags = project.bags
    if (partitions := partitions_of(bags)) is not None and (wrong := _partitions(bags, partitions)):
        return wrong
    first = 0
    for row in made:
        if _checksum(bags, first, first + row.instances) != row.checksum:
            return f"those of import {row.number} ({row.file}) are not what was imported"
        first += row.instances
    for start, rows in bags.chunks():
        if not np.isfinite(rows).all():
            return f"instance {start + int(np.argwhere(~np.isfinite(rows))[0][0])} has a value that is not finite"
    return ""


def _media(project: Project) -> str:
    return media.wrong(project.folder) or examples.wrong(project.folder, project.contents.class_list)


def _scores(project: Project) -> str:
    return scores.wrong(project.folder, project.contents)


def _partitions(bags: Bags, partitions: Partitions) -> str:
    """What is wrong with the partitions: their bytes, or the bags in them."""
    first_bags = partitions.first_bags
    try:
        for number in range(len(partitions)):
            if partitions.entries[number].is_mapped:
                partitions.verify(number)
            found, first, last = partitions.read(number), *first_bags[number : number + 2]
            sizes, ids = bags.sizes[first:last], bags.ids[first:last]
            if not (np.array_equal(found.ids, ids) and np.array_equal(found.sizes, sizes)):
                return f"{partitions.entries[number].file} holds other bags than the database says"
    except FileError as error:
        return str(error)
    return ""


def _checksum(bags: Bags, first: int, last: int) -> int:
    found, rows = 0, max(1, VALUES_PER_CHUNK // bags.n_features)
    for start in range(first, last, rows):
        found = zlib.crc32(np.ascontiguousarray(bags.rows(start, min(start + rows, last))).data, found)
    return found


def _replay(project: Project, progress: Progress) -> str:
    live = project.snapshot()
    fresh = replay.full(project.contents, project.bags, project.settings, project.events, progress)
    for name, expected in fresh.snapshot().items():
        if not np.array_equal(live[name], expected):
            return f"{name} differ"
    return ""
