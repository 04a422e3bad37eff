"""New databases get their tables by the statements that the first one got them by, without Alembic.

All migrations one after the other are nearly half of what it takes to make a small project, and they send the same
statements to every empty database. `tests/project/test_trouble.py` is about the migrations: it runs them.
"""

import contextlib

import pytest
from sqlalchemy import event

from bagwise.project.storage import database

CHANGING = ("ALTER", "CREATE", "DELETE", "DROP", "INSERT", "UPDATE")


@contextlib.contextmanager
def repeated():
    """Record what the first database of each kind is sent, and send it to the others."""
    migrated, recorded = database._create_tables, {}

    def create(connection):
        statements = recorded.get(connection.dialect.name)
        if statements is None:
            recorded[connection.dialect.name] = _sent(connection, migrated)
            return
        for statement, parameters in statements:
            connection.exec_driver_sql(statement, parameters)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "_create_tables", create)
        yield


def _sent(connection, migrated):
    """What changes the database, of all that a migration of it sends."""
    statements = []

    def record(_connection, _cursor, statement, parameters, _context, _many):
        if statement.lstrip().upper().startswith(CHANGING):
            statements.append((statement, parameters))

    event.listen(connection, "before_cursor_execute", record)
    try:
        migrated(connection)
    finally:
        event.remove(connection, "before_cursor_execute", record)
    return statements
