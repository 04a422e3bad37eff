"""A project's database at the beginning of its life and at each opening: made, filled, upgraded."""

import contextlib
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from bagwise.core.errors import BagwiseError
from bagwise.formats import LabelTable, Source
from bagwise.project.imports.importing import Progress, alone, import_into
from bagwise.project.imports.media import Media
from bagwise.project.settings import Settings
from bagwise.project.storage import queries
from bagwise.project.storage.database import Database, DatabaseError
from bagwise.project.storage.schema import VERSION

DATABASE = "bagwise.db"
TRUTH = "truth.npz"
TUNED = "tuned.jsonl"
BACKUPS = "backups"


def database_of(folder: Path, settings: Settings) -> Database:
    """Where the answers are: in the folder, or where the settings say."""
    if settings.database:
        return Database(settings.database)
    return Database.in_file(folder / DATABASE)


def fill(
    folder: Path,
    settings: Settings,
    database: Database,
    source: Source,
    labels: LabelTable | None,
    classes: Sequence[str],
    progress: Progress,
    media: Media | None = None,
) -> None:
    """Everything a new project begins with, in a database that is empty; on failure it is empty again."""
    project = str(uuid.uuid4())
    with database.making() as connection:
        queries.begin(connection, project, *settings.shape, source.features or ())
    try:
        settings.write(folder)
        import_into(folder, settings, database, source, labels, classes, progress, media)
    except BaseException:
        # Where the database cannot be reached any more, what went wrong before says more.
        with contextlib.suppress(DatabaseError):
            database.clear(project)
        raise


def version_of(folder: Path, database: Database) -> str:
    """The schema of the database; refuses what is no project and what is newer than this Bagwise."""
    version = database.version()
    if version is None:
        raise DatabaseError(f"The database {database.where} holds no Bagwise project.")
    if database.is_newer():
        raise BagwiseError(f"{folder} was written by a newer Bagwise (schema {version}): upgrade Bagwise to open it.")
    return version


def upgraded(folder: Path, database: Database) -> None:
    """Bring an older database up to date, after a copy of it; of several who open it, one does."""
    if version_of(folder, database) != VERSION:
        if database.is_read_only:
            what = "is from an older Bagwise and has to be upgraded, but cannot be written: copy it and open the copy."
            raise BagwiseError(f"{folder} {what}")
        with alone(folder):
            _upgrade(folder, database)


def _upgrade(folder: Path, database: Database) -> None:
    version = version_of(folder, database)
    if version == VERSION:
        return
    try:
        (folder / BACKUPS).mkdir(exist_ok=True)
    except OSError as error:
        what = f"{folder / BACKUPS} cannot be made: {error.strerror}. An older project needs a backup first."
        raise BagwiseError(what) from error
    name = f"schema-{version}-{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:4]}.db"
    copy = folder / BACKUPS / name
    try:
        database.copy_to(copy)
        database.upgrade()
    except BaseException:
        # All steps are one transaction: a database that failed is as it was, and the copy adds nothing to it.
        with contextlib.suppress(DatabaseError, OSError):
            if database.version() == version:
                copy.unlink(missing_ok=True)
        raise
