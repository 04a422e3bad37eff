"""One database per project, SQLite or PostgreSQL: connecting, upgrading, and errors as sentences."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, Engine, create_engine, event, insert, inspect, select, text, update
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from bagwise.errors import BagwiseError
from bagwise.project import schema

WAIT_FOR_LOCK = 15.0
ROWS_AT_ONCE = 5_000
MIGRATIONS = Path(__file__).parent / "migrations"

SENTENCES = (
    (
        ("database is locked", "lock timeout"),
        "is in use by another process that does not let go: close it and try again",
    ),
    (
        ("disk is full", "no space left"),
        "cannot be written, the disk is full: nothing of this was saved",
    ),
    (("disk i/o error",), "cannot be read or written: the disk reports an error"),
    (("readonly", "read-only"), "cannot be written: the folder or the file is read-only"),
    (("unable to open",), "cannot be opened: is the folder there, and may you write in it?"),
    (("malformed", "not a database", "file is encrypted"), "is damaged: restore the newest copy from `bagwise backup`"),
    (("does not exist",), "is not there: create the database and its user first"),
    (("password", "authentication"), "does not accept this user and password"),
    (
        ("connection", "could not connect", "server closed", "terminating", "starting up", "shutting down", "refused"),
        "cannot be reached: is the server running? Try again when it is",
    ),
)


class DatabaseError(BagwiseError):
    """The database said no; nothing was saved."""


class Database:
    """A connection to the database of a project; `where` is what a person calls it."""

    def __init__(self, url: str | URL, where: str) -> None:
        self.where = where
        try:
            parsed = make_url(url)
        except ArgumentError:
            raise BagwiseError("This is no database address: write postgresql://USER:PASSWORD@HOST/DATABASE.") from None
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        if not self.is_sqlite and parsed.get_backend_name() != "postgresql":
            raise BagwiseError(f"Databases are SQLite or PostgreSQL, not {parsed.get_backend_name()}.")
        if not self.is_sqlite:
            parsed = parsed.set(drivername="postgresql+psycopg")
        try:
            self.engine: Engine = create_engine(parsed, pool_pre_ping=not self.is_sqlite, **self._options())
        except (NoSuchModuleError, ImportError):
            raise BagwiseError(
                "PostgreSQL needs a driver: install it with `pip install 'bagwise[postgres]'`."
            ) from None
        if self.is_sqlite:
            event.listen(self.engine, "connect", _configure_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)

    def _options(self) -> dict[str, Any]:
        if self.is_sqlite:
            return {"connect_args": {"timeout": WAIT_FOR_LOCK}}
        return {"connect_args": {"connect_timeout": 10, "options": f"-c lock_timeout={int(WAIT_FOR_LOCK * 1000)}"}}

    @classmethod
    def in_file(cls, path: Path) -> "Database":
        """A SQLite database."""
        return cls(URL.create("sqlite", database=str(path)), str(path))

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of everything."""
        with self._sentences(), self.engine.connect() as connection:
            if not self.is_sqlite:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that nobody else writes beside; it is durable when this returns."""
        with self.first_writing() as connection:
            connection.execute(update(schema.changes).values(last_event=schema.changes.c.last_event))
            yield connection

    @contextmanager
    def leasing(self) -> Iterator[Connection]:
        """The same for what may be forgotten if the power fails in the next moment: it does not wait for the disk."""
        with self.first_writing(durable=False) as connection:
            connection.execute(update(schema.changes).values(last_event=schema.changes.c.last_event))
            yield connection

    @contextmanager
    def first_writing(self, durable: bool = True) -> Iterator[Connection]:
        """A transaction before there is a row to take for writing."""
        with self._sentences(), self.engine.connect() as connection:
            if self.is_sqlite:
                connection = connection.execution_options(bagwise_writes="FULL" if durable else "NORMAL")
            with connection.begin():
                if not self.is_sqlite and not durable:
                    connection.execute(text("SET LOCAL synchronous_commit TO OFF"))
                yield connection

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise DatabaseError(f"The database {self.where} {_sentence(error)}.") from error
        except SQLAlchemyError as error:
            raise DatabaseError(f"The database {self.where} failed: {error}.") from error

    def version(self) -> str | None:
        """The schema it has, None if it has none."""
        with self._sentences(), self.engine.connect() as connection:
            try:
                return MigrationContext.configure(connection).get_current_revision()
            except (KeyError, UnicodeDecodeError):
                # What a file with bytes in the wrong places provokes inside the libraries.
                raise DatabaseError(f"The database {self.where} is damaged: restore the newest copy.") from None

    def is_newer(self) -> bool:
        """Whether it was written by a Bagwise that knows more."""
        script = ScriptDirectory(str(MIGRATIONS))
        known = {revision.revision for revision in script.walk_revisions()}
        version = self.version()
        return version is not None and version not in known

    def upgrade(self, to: str = schema.VERSION) -> None:
        """Take every step to the schema `to`."""
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        with self.first_writing() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, to)

    def is_empty(self) -> bool:
        """Whether it holds nothing at all."""
        with self._sentences(), self.engine.connect() as connection:
            return not inspect(connection).get_table_names()

    def clear(self) -> None:
        """Take away all tables of a project that was begun and not finished."""
        with self.first_writing() as connection:
            schema.metadata.drop_all(connection)
            connection.execute(text("DROP TABLE IF EXISTS alembic_version"))

    def copy_to(self, path: Path) -> None:
        """Everything as it is at one moment, in a new SQLite file: the same project, whatever database it was in."""
        copy = Database.in_file(path)
        copy.upgrade(self.version() or schema.VERSION)
        with self.reading() as source, copy.first_writing() as target:
            made = inspect(source).get_table_names()
            for table in (table for table in schema.metadata.sorted_tables if table.name in made):
                there = {column["name"] for column in inspect(source).get_columns(table.name)}
                rows = source.execute(select(*(column for column in table.columns if column.name in there)))
                for part in rows.mappings().partitions(ROWS_AT_ONCE):
                    target.execute(insert(table), [dict(row) for row in part])
        copy.close()

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()


def _sentence(error: DBAPIError) -> str:
    said = str(error.orig).lower()
    for words, sentence in SENTENCES:
        if any(word in said for word in words):
            return sentence
    return f"said: {str(error.orig).splitlines()[0]}"


def _configure_sqlite(connection: Any, _: object) -> None:
    # The driver begins transactions by itself, too late and never for reading; `_begin_sqlite` does it instead.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    synchronous = connection.get_execution_options().get("bagwise_writes")
    if synchronous is None:
        connection.exec_driver_sql("BEGIN")
    else:
        connection.exec_driver_sql(f"PRAGMA synchronous={synchronous}")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
