"""Create, fill and upgrade the database of a project."""

import contextlib
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from bagwise.core.errors import BagwiseError
from bagwise.formats import LabelTable, Source
from bagwise.project.imports.importing import Progress, exclusive, import_into
from bagwise.project.imports.media import Media
from bagwise.project.imports.regions import Placement
from bagwise.project.settings import Settings
from bagwise.project.storage import queries
from bagwise.project.storage.database import Database, DatabaseError, is_newer
from bagwise.project.storage.schema import VERSION

DATABASE = "bagwise.db"
TRUTH = "truth.npz"
TUNED = "tuned.jsonl"
BACKUPS = "backups"


def database_of(folder: Path, settings: Settings) -> Database:
    """Return the database of a project: the one that the settings name, else the SQLite file in the folder."""
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
) -> Placement:
    """Fill an empty database with everything a new project starts with; on failure it is empty again."""
    project = str(uuid.uuid4())
    with database.creating() as connection:
        queries.begin(connection, project, *settings.shape, source.features or ())
    try:
        settings.write(folder)
        return import_into(folder, settings, database, source, labels, classes, progress, media)
    except BaseException:
        # Where the database cannot be reached any more, the first error is the one to show.
        with contextlib.suppress(DatabaseError):
            database.clear(project)
        raise


def version_of(folder: Path, database: Database) -> str:
    """Return the schema version of a project; raise an error where it is none, or a newer Bagwise wrote it."""
    version = database.version()
    if version is None:
        raise DatabaseError(f"The database {database.where} holds no Bagwise project.")
    if is_newer(version):
        raise BagwiseError(f"{folder} was written by a newer Bagwise (schema {version}): upgrade Bagwise to open it.")
    return version


def upgrade_if_older(folder: Path, database: Database) -> None:
    """Upgrade an older database, after a backup of it; of several processes that open it, one does."""
    if version_of(folder, database) != VERSION:
        if database.is_read_only:
            what = "was written by an older Bagwise and must be upgraded, but is read-only: copy it and open the copy."
            raise BagwiseError(f"{folder} {what}")
        with exclusive(folder):
            _upgrade(folder, database)


def _upgrade(folder: Path, database: Database) -> None:
    version = version_of(folder, database)
    if version == VERSION:
        return
    try:
        (folder / BACKUPS).mkdir(exist_ok=True)
    except OSError as error:
        what = f"{folder / BACKUPS} cannot be created: {error.strerror}. An upgrade needs a backup first."
        raise BagwiseError(what) from error
    name = f"schema-{version}-{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:4]}.db"
    copy = folder / BACKUPS / name
    try:
        database.copy_to(copy)
        database.upgrade()
    except BaseException:
        # All steps are one transaction: after a failure the database is unchanged, and the copy is not needed.
        with contextlib.suppress(DatabaseError, OSError):
            if database.version() == version:
                copy.unlink(missing_ok=True)
        raise
