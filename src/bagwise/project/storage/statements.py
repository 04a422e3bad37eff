"""Statements of every answer and question: written with SQLAlchemy, executed by the driver.

SQLAlchemy takes 12 µs to execute a statement that SQLite executes in one, and four times as long as the driver to read
a row (`python -m benchmarks.load`). So the few statements that fifty people need a hundred times a second are compiled
once for each dialect, and executed in the transaction of the caller without it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ARRAY, Boolean, Column, ColumnElement, Connection, Executable, String, Text, bindparam
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.compiler import compiles

Parameters = Mapping[str, Any]
Row = tuple[Any, ...]


class Statement:
    """A statement that is compiled once.

    Parameters
    ----------
    clause : Executable
        The statement; every value in it is a parameter with a name.

    Examples
    --------
    >>> from sqlalchemy import MetaData, String, Table, create_engine, insert, select
    >>> birds = Table("birds", MetaData(), Column("name", String), Column("heard", Boolean))
    >>> with create_engine("sqlite://").begin() as connection:
    ...     birds.create(connection)
    ...     Statement(insert(birds)).run_many(
    ...         connection, [{"name": "wren", "heard": True}, {"name": "rail", "heard": False}]
    ...     )
    ...     Statement(select(birds).where(one_of(birds.c.name, "names"))).rows(connection, {"names": ["wren"]})
    [('wren', 1)]
    """

    def __init__(self, clause: Executable) -> None:
        self._clause = clause
        self._compiled: dict[str, str] = {}

    def rows(self, connection: Connection, parameters: Parameters | None = None) -> list[Row]:
        """Return all rows, with the values of the driver: in SQLite true is 1.

        Parameters
        ----------
        connection : Connection
            In a transaction.
        parameters : mapping of str to object
            The parameters; of `one_of` a list.

        Returns
        -------
        list of tuple
        """
        found: list[Row] = self._executed(connection, parameters).fetchall()
        return found

    def run(self, connection: Connection, parameters: Parameters | None = None) -> None:
        """Execute it.

        Parameters
        ----------
        connection, parameters
            As for `rows`.
        """
        self._executed(connection, parameters)

    def run_many(self, connection: Connection, parameters: Sequence[Parameters]) -> None:
        """Execute it once for each of these.

        Parameters
        ----------
        connection : Connection
            In a transaction.
        parameters : sequence of mapping
            The parameters, without any of `one_of`.
        """
        connection.connection.cursor().executemany(self.sql(connection), parameters)

    def _executed(self, connection: Connection, parameters: Parameters | None) -> Any:
        given = parameters or {}
        if connection.dialect.name == "sqlite":
            given = {name: json.dumps(one) if isinstance(one, list) else one for name, one in given.items()}
        cursor = connection.connection.cursor()
        cursor.execute(self.sql(connection), given)
        return cursor

    def sql(self, connection: Connection) -> str:
        """Return the text that the driver gets.

        Parameters
        ----------
        connection : Connection
            Its dialect says which.

        Returns
        -------
        str
        """
        dialect = connection.dialect
        found = self._compiled.get(dialect.name)
        if found is None:
            named = sqlite.dialect(paramstyle="named") if dialect.name == "sqlite" else dialect
            compiled = self._clause.compile(dialect=named)  # type: ignore[attr-defined]
            unnamed = [name for name, value in compiled.params.items() if value is not None]
            assert not unnamed, f"values without a name: {unnamed}"
            found = self._compiled[dialect.name] = str(compiled)
        return found


class OneOf(ColumnElement[bool]):
    """Whether a column is in a list that is one parameter: the text of the statement is the same for every length."""

    inherit_cache = False
    type = Boolean()

    def __init__(self, column: Column[Any], name: str) -> None:
        # Without a length: PostgreSQL would cut what is longer.
        of_list = Text() if isinstance(column.type, String) else column.type
        self.column, self.values = column, bindparam(name, type_=ARRAY(of_list))

    def self_group(self, against: object = None) -> "OneOf":  # noqa: ARG002
        """Return it as it is: compared with 1, as SQLite gets other conditions, it would use no index."""
        return self


def one_of(column: Column[Any], name: str) -> OneOf:
    """Return the condition that a column is one of the values of the parameter with this name."""
    return OneOf(column, name)


@compiles(OneOf, "sqlite")
def _in_json(element: OneOf, compiler: Any, **options: Any) -> str:
    # No value is put into the text: the name of a parameter is.
    values = f"SELECT value FROM json_each(:{element.values.key})"  # noqa: S608
    return f"{compiler.process(element.column, **options)} IN ({values})"


@compiles(OneOf, "postgresql")
def _in_array(element: OneOf, compiler: Any, **options: Any) -> str:
    return f"{compiler.process(element.column, **options)} = ANY ({compiler.process(element.values, **options)})"
