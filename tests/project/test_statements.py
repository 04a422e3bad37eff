"""Statements that are executed by the driver, on both databases."""

import pytest
from sqlalchemy import Boolean, Column, Float, MetaData, String, Table, bindparam, create_engine, insert, select, update

from bagwise.project import DatabaseError
from bagwise.project.storage.statements import Statement, one_of

birds = Table(
    "birds",
    MetaData(),
    Column("name", String(20), primary_key=True),
    Column("heard", Boolean),
    Column("score", Float),
)
NAMED = select(birds).where(one_of(birds.c.name, "names")).order_by(birds.c.name)
ROWS = [
    {"name": "wren", "heard": True, "score": 0.5},
    {"name": "rail", "heard": False, "score": None},
    {"name": "o'\"; --", "heard": None, "score": 1.0},
]


@pytest.fixture
def stored(project):
    with project.database.first_writing() as connection:
        birds.create(connection)
        Statement(insert(birds)).run_many(connection, ROWS)
    return project.database


def test_rows_are_written_and_read(stored):
    with stored.reading() as connection:
        found = Statement(NAMED).rows(connection, {"names": ["wren", "o'\"; --", "owl"]})
        assert Statement(NAMED).rows(connection, {"names": []}) == []
    assert [(name, None if heard is None else bool(heard), score) for name, heard, score in found] == [
        ("o'\"; --", None, 1.0),
        ("wren", True, 0.5),
    ]


def test_it_is_in_the_transaction_of_the_caller(stored):
    heard = Statement(update(birds).where(birds.c.name == bindparam("which")).values(heard=bindparam("now")))

    def fail():
        with stored.writing() as connection:
            heard.run(connection, {"which": "rail", "now": True})
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with stored.reading() as connection:
        ((_, found, _),) = Statement(NAMED).rows(connection, {"names": ["rail"]})
    assert not found


def test_sqlite_looks_a_list_up_in_the_index():
    with create_engine("sqlite://").begin() as connection:
        birds.create(connection)
        planned = f"EXPLAIN QUERY PLAN {Statement(NAMED).sql(connection)}"
        plan = connection.connection.cursor().execute(planned, {"names": "[]"}).fetchall()
    assert any("SEARCH birds USING INDEX" in row[-1] for row in plan)


def test_what_goes_wrong_in_the_driver_is_a_sentence(stored):
    with pytest.raises(DatabaseError, match=r"The database .*failed"), stored.writing() as connection:
        Statement(insert(birds)).run_many(connection, ROWS[:1])


def test_every_value_is_a_named_parameter(stored):
    with stored.reading() as connection, pytest.raises(AssertionError, match="without a name"):
        Statement(select(birds).limit(1)).rows(connection)
