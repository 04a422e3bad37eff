"""Backups: a complete copy of a project, made while it is in use, which can be opened as a project itself."""

import contextlib
import shutil
import uuid
from dataclasses import replace
from pathlib import Path

from bagwise.core.errors import BagwiseError
from bagwise.project.answers import snapshots
from bagwise.project.classes import examples
from bagwise.project.imports import media, scores
from bagwise.project.instances import storage
from bagwise.project.settings import Settings
from bagwise.project.storage.creation import DATABASE, TRUTH, TUNED
from bagwise.project.storage.database import Database
from bagwise.project.training import model_file


def back_up(folder: Path, settings: Settings, database: Database, place: Path) -> Path:
    """Copy a project to a folder that does not exist yet; on failure it still does not.

    Parameters
    ----------
    folder, settings, database
        The project.
    place : Path
        The folder to create.

    Returns
    -------
    Path
        `place`.

    Raises
    ------
    BagwiseError
        Where the folder exists or cannot be written.
    """
    if place.exists():
        raise BagwiseError(f"{place} exists already: a backup never overwrites anything.")
    unfinished = place.resolve().with_name(f".{place.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        unfinished.mkdir(parents=True)
        database.copy_to(unfinished / DATABASE)
        data = storage.copy(folder, settings.data, unfinished)
        for extra in (TRUTH, TUNED, model_file.FILE):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(folder / extra, unfinished / extra)
        with contextlib.suppress(FileNotFoundError):
            shutil.copytree(folder / snapshots.FOLDER, unfinished / snapshots.FOLDER)
        media.copy(folder, unfinished)
        scores.copy(folder, unfinished)
        examples.copy(folder, unfinished)
        replace(settings, database="", data=data).write(unfinished)
        unfinished.replace(place)
    except OSError as error:
        raise BagwiseError(f"The backup {place} cannot be written: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return place
