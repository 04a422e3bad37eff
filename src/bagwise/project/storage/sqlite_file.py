"""The SQLite file of a project: readable by its owner only, opened read-only where it cannot be written.

A connection keeps the file that it opened, even after another file took its place or the folder was removed: what is
written then is lost. So the file is identified by its device and inode.
"""

import contextlib
import os
from pathlib import Path
from typing import Any

PRIVATE = 0o600

Identity = tuple[int, int]


class SQLiteFile:
    """The one file behind all connections of a process to a project's database."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._folder_is_writable = os.access(self.path.parent, os.W_OK)
        self.is_read_only = self.path.exists() and not (self._folder_is_writable and os.access(self.path, os.W_OK))
        self._opened: Identity | None = None

    def connect(self, dialect: Any, _state: object, _arguments: object, options: dict[str, Any]) -> Any:
        """Return a connection of SQLAlchemy's dialect (its event `do_connect`)."""
        while True:
            before = self._identity() or self._create()
            connection = dialect.connect(f"{self.path.as_uri()}?{self._mode()}", uri=True, **options)
            # A file that was replaced in between is not the one that was opened: open the new one.
            if (now := self._identity()) == before or now is None:
                break
            connection.close()
        if self._opened is None:
            self._opened = now
        return connection

    def trouble(self) -> str:
        """Return what happened to the file since it was opened; empty where it is unchanged."""
        if self._opened is None or (now := self._identity()) == self._opened:
            return ""
        if now is None:
            return (
                "does not exist any more: the folder was removed or moved while it was in use. Nothing more is saved; "
                "bring the folder back, or stop this process"
            )
        return (
            "was replaced by another file while it was in use. Nothing more is saved; stop this process and start it "
            "again, so that it works on the new file"
        )

    def _mode(self) -> str:
        if not self.is_read_only:
            return "mode=rw"
        # Without the two files of the write-ahead log no process has it open, and SQLite could not create them in a
        # read-only folder; where they exist, they must be read.
        in_use = any(self.path.with_name(f"{self.path.name}{suffix}").exists() for suffix in ("-wal", "-shm"))
        return "mode=ro" if in_use or self._folder_is_writable else "mode=ro&immutable=1"

    def _identity(self) -> Identity | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _create(self) -> Identity | None:
        # Only a new file may be opened here: closing one that SQLite has open would end SQLite's locks on it.
        if self._opened is None and self._folder_is_writable:
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))
        return self._identity()
