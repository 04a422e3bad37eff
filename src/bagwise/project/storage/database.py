"""The database of a project, SQLite or PostgreSQL: connections, transactions, migrations, and errors as sentences."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, insert, inspect, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from bagwise.core.errors import BagwiseError
from bagwise.project.storage import schema
from bagwise.project.storage.sqlite_file import SQLiteFile

WAIT_FOR_LOCK = 15.0
ROWS_AT_ONCE = 5_000
MIGRATIONS = Path(__file__).parent / "migrations"
ADDRESS = "write postgresql://USER:PASSWORD@HOST/DATABASE, a password with @ or : in it percent-encoded"
READ_ONLY = "cannot be written: the folder or the file is read-only. It can be read, but answers cannot be saved"
TABLES_LOCK = 0xBA6
"""The key of PostgreSQL's advisory lock for processes that create or drop the tables of a project."""

SENTENCES = (
    (
        ("database is locked", "lock timeout"),
        "is locked by another process: close that process and retry",
    ),
    (
        ("disk is full", "no space left"),
        "cannot be written, the disk is full: nothing was saved",
    ),
    (("disk i/o error",), "cannot be read or written: the disk reports an error"),
    (("readonly", "read-only"), READ_ONLY),
    (("unable to open",), "cannot be opened: check that the folder exists and that you may write in it"),
    (("malformed", "not a database", "file is encrypted"), "is damaged: restore the newest copy from `bagwise backup`"),
    (("does not exist",), "does not exist: create the database and its user first"),
    (("password", "authentication"), "does not accept this user and password"),
    (
        ("connection", "could not connect", "server closed", "terminating", "starting up", "shutting down", "refused"),
        "cannot be reached: check that the server is running, then retry",
    ),
)


class DatabaseError(BagwiseError):
    """A statement failed in the database; nothing was saved.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     database = Database.in_file(Path(folder) / "missing" / "bagwise.db")
    ...     try:
    ...         with database.reading():
    ...             pass
    ...     except DatabaseError:
    ...         print("nothing was saved")
    ...     database.close()
    nothing was saved
    """


class Database:
    """The database of a project.

    Parameters
    ----------
    url : str or URL
        Address of the database, with user and password where it needs them.

    Attributes
    ----------
    where : str
        What messages call it: the file, or host and database without user and password.
    is_sqlite : bool
        Whether it is a SQLite file.
    """

    def __init__(self, url: str | URL) -> None:
        parsed = _parsed(url)
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        self._file = SQLiteFile(Path(parsed.database or "")) if self.is_sqlite else None
        self.where = str(parsed.database) if self.is_sqlite else _host_and_database(parsed)
        self._password = str(parsed.password or parsed.query.get("password") or "")
        if not self.is_sqlite:
            parsed = parsed.set(drivername="postgresql+psycopg")
        try:
            self.engine: Engine = create_engine(parsed, pool_pre_ping=not self.is_sqlite, **self._options())
        except (NoSuchModuleError, ImportError) as error:
            raise BagwiseError(
                "PostgreSQL needs a driver: install it with `pip install 'bagwise[postgres]'`."
            ) from error
        if self._file is not None:
            event.listen(self.engine, "do_connect", self._file.connect)
            event.listen(self.engine, "connect", _read_sqlite if self.is_read_only else _configure_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)

    def _options(self) -> dict[str, Any]:
        if self.is_read_only:
            # Another process may start to write the file at any time: each connection checks again how it can be read.
            return {"connect_args": {"timeout": WAIT_FOR_LOCK}, "poolclass": NullPool}
        if self.is_sqlite:
            return {"connect_args": {"timeout": WAIT_FOR_LOCK}}
        options = {"connect_timeout": 10, "options": f"-c lock_timeout={int(WAIT_FOR_LOCK * 1000)}"}
        # Who waited for another transaction that writes has to see what it wrote, whatever the server's default is.
        return {"connect_args": options, "isolation_level": "READ COMMITTED"}

    @classmethod
    def in_file(cls, path: Path) -> "Database":
        """Return the database in a SQLite file."""
        return cls(URL.create("sqlite", database=str(path)))

    @property
    def is_read_only(self) -> bool:
        """Whether the database is read-only."""
        return self._file is not None and self._file.is_read_only

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that reads one consistent state."""
        with self._connected() as connection:
            if not self.is_sqlite:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open the one transaction that writes; it is durable when the context ends."""
        with self.first_writing() as connection:
            self._lock_changes(connection)
            yield connection

    @contextmanager
    def leasing(self) -> Iterator[Connection]:
        """Open a transaction as `writing` does, which does not wait for the disk: a power failure may undo it."""
        with self.first_writing(durable=False) as connection:
            self._lock_changes(connection)
            yield connection

    def _lock_changes(self, connection: Connection) -> None:
        """Wait until no other transaction writes. In SQLite it has begun by waiting."""
        if not self.is_sqlite:
            connection.execute(select(schema.changes).with_for_update())

    @contextmanager
    def settled(self) -> Iterator[Connection]:
        """Open a transaction that reads after every earlier one of this process has been committed or rolled back."""
        if self.is_sqlite:
            with self.reading() as connection:
                yield connection
            return
        with self.first_writing() as connection:
            # A server whose reply to a commit was lost may still be committing: until then it holds this row.
            self._lock_changes(connection)
            yield connection

    @contextmanager
    def first_writing(self, durable: bool = True) -> Iterator[Connection]:
        """Open a transaction that writes, also before the row exists that `writing` locks."""
        if self.is_read_only:
            raise DatabaseError(f"The database {self.where} {READ_ONLY}.")
        with self._connected() as connection:
            if self.is_sqlite:
                connection = connection.execution_options(bagwise_writes="FULL" if durable else "NORMAL")
            with connection.begin():
                if not self.is_sqlite and not durable:
                    connection.execute(text("SET LOCAL synchronous_commit TO OFF"))
                yield connection
                self._validate_same_file()
            # What was committed to a file that does not exist any more must not be acknowledged.
            self._validate_same_file()

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        with self._errors_as_sentences():
            self._validate_same_file()
            with self.engine.connect() as connection:
                self._validate_same_file()
                yield connection

    def _validate_same_file(self) -> None:
        trouble = self._file.trouble() if self._file is not None else ""
        if trouble:
            raise DatabaseError(f"The database {self.where} {trouble}.")

    @contextmanager
    def _errors_as_sentences(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise DatabaseError(f"The database {self.where} {self._sentence(error.orig)}.") from error
        except self.engine.dialect.loaded_dbapi.Error as error:
            raise DatabaseError(f"The database {self.where} {self._sentence(error)}.") from error
        except SQLAlchemyError as error:
            raise DatabaseError(f"The database {self.where} failed: {self._without_password(str(error))}.") from error

    def _sentence(self, error: BaseException | None) -> str:
        """What went wrong in the driver."""
        message = str(error)
        for words, sentence in SENTENCES:
            if any(word in message.lower() for word in words):
                return sentence
        return f"failed: {self._without_password(message.splitlines()[0])}"

    def _without_password(self, message: str) -> str:
        return message.replace(self._password, "***") if self._password else message

    def version(self) -> str | None:
        """Return its schema version, None where it has none."""
        with self._connected() as connection:
            try:
                return MigrationContext.configure(connection).get_current_revision()
            except (KeyError, UnicodeDecodeError) as error:
                # What a damaged file provokes inside the libraries.
                raise DatabaseError(f"The database {self.where} is damaged: restore the newest copy.") from error

    def upgrade(self, to: str = schema.VERSION) -> None:
        """Run all migrations up to the schema `to`, or none of them."""
        with self.first_writing() as connection:
            _migrate(connection, to)

    @contextmanager
    def creating(self) -> Iterator[Connection]:
        """Open a transaction that creates the tables of a project in an empty database; one process at a time."""
        with self.first_writing() as connection:
            self._lock_tables(connection)
            if inspect(connection).get_table_names():
                raise BagwiseError(f"The database {self.where} is not empty: a project needs its own.")
            _create_tables(connection)
            yield connection

    def clear(self, project: str) -> None:
        """Drop all tables of `project`, whose creation failed; those of another project are left alone."""
        with self.first_writing() as connection:
            self._lock_tables(connection)
            if "identity" not in inspect(connection).get_table_names():
                return
            if connection.execute(select(schema.identity.c.project)).scalar() == project:
                schema.metadata.drop_all(connection)
                connection.execute(text("DROP TABLE IF EXISTS alembic_version"))

    def _lock_tables(self, connection: Connection) -> None:
        if not self.is_sqlite:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({TABLES_LOCK})"))

    def copy_to(self, path: Path) -> None:
        """Copy one consistent state to a new SQLite file, from SQLite or PostgreSQL.

        The file has its name only when it is complete.
        """
        unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
        copy = Database.in_file(unfinished)
        try:
            copy.upgrade(self.version() or schema.VERSION)
            with self.reading() as source, copy.first_writing() as target:
                _copy_rows(source, target)
            copy.close()
            unfinished.replace(path)
        finally:
            copy.close()
            for suffix in ("", "-wal", "-shm"):
                with suppress(OSError):
                    unfinished.with_name(f"{unfinished.name}{suffix}").unlink(missing_ok=True)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def is_newer(version: str) -> bool:
    """Whether a newer Bagwise wrote a database of this schema version."""
    if version == schema.VERSION:
        # Nearly always: the migrations need not be read.
        return False
    script = ScriptDirectory(str(MIGRATIONS))
    return version not in {revision.revision for revision in script.walk_revisions()}


def _parsed(url: str | URL) -> URL:
    try:
        parsed = make_url(url)
        known = parsed.get_backend_name()
    except (ArgumentError, ValueError):
        # The cause may quote a part of the password.
        raise BagwiseError(f"This is not a database address: {ADDRESS}.") from None
    if known not in ("sqlite", "postgresql"):
        raise BagwiseError(f"Databases are SQLite or PostgreSQL, not {known}.")
    if "@" in (parsed.host or ""):
        # A part of the password was taken for the host's name, which every error message would show.
        raise BagwiseError(f"This is not a database address: {ADDRESS}.")
    return parsed


def _host_and_database(url: URL) -> str:
    """HOST:PORT/DATABASE and nothing else of the address, which may hold a password."""
    host = url.host or url.query.get("host") or "localhost"
    return f"{host}{'' if url.port is None else f':{url.port}'}/{url.database or ''}"


def _create_tables(connection: Connection) -> None:
    _migrate(connection, schema.VERSION)


def _migrate(connection: Connection, to: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, to)


def _copy_rows(source: Connection, target: Connection) -> None:
    tables = inspect(source).get_table_names()
    for table in (table for table in schema.metadata.sorted_tables if table.name in tables):
        columns = {column["name"] for column in inspect(source).get_columns(table.name)}
        rows = source.execute(select(*(column for column in table.columns if column.name in columns)))
        for batch in rows.mappings().partitions(ROWS_AT_ONCE):
            target.execute(insert(table), [dict(row) for row in batch])


def _read_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None


def _configure_sqlite(connection: Any, _: object) -> None:
    # The driver starts transactions itself, too late and never for reading; `_begin_sqlite` does it instead.
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
