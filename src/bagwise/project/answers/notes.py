"""Notes: what a person wants to remember about a bag or a question. Nothing is learned from them."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, insert, select

from bagwise.core.errors import BagwiseError
from bagwise.project.access.names import validate_name
from bagwise.project.access.roles import NotAllowed
from bagwise.project.state import ProjectState
from bagwise.project.storage import queries, schema
from bagwise.project.storage.statements import Parameters, Statement, one_of

LONGEST = 5000

IN_ORDER = select(schema.notes).order_by(schema.notes.c.number)
EVERY, ABOUT = Statement(IN_ORDER), Statement(IN_ORDER.where(one_of(schema.notes.c.bag, "bags")))


@dataclass(frozen=True)
class Note:
    """A note.

    Parameters
    ----------
    number : int
        Position among the notes of the project, from 1.
    key : str
        Unique key, so that a note that is sent again is saved once.
    at : str
        When it was saved (ISO 8601, UTC).
    annotator : str
        Who wrote it.
    bag : int
        Position of the bag.
    label_class : int or None
        Position of the class that was asked about.
    text : str
        The note.

    Examples
    --------
    >>> Note(1, "key", "2026-01-01T00:00:00.000+00:00", "ann", 3, 0, "or a chiffchaff?").text
    'or a chiffchaff?'
    """

    number: int
    key: str
    at: str
    annotator: str
    bag: int
    label_class: int | None
    text: str


class Notes:
    """The notes of an open project; `Project.notes` is one.

    Parameters
    ----------
    state : ProjectState
        The state of the project.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from bagwise.formats import Source
    >>> from bagwise.project import Project
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0]]), np.array([[1.0]])], ["a", "b"])
    >>> with TemporaryDirectory() as folder, Project.create(f"{folder}/p", source, classes=["wren"]) as project:
    ...     _ = project.notes.add("ann", 1, "wind")
    ...     [one.text for one in project.notes.of(1)]
    ['wind']
    """

    def __init__(self, state: ProjectState) -> None:
        self.state = state

    def add(self, annotator: str, bag: int, text: str, label_class: int | None = None, key: str | None = None) -> Note:
        """Save a note; with the same key, only once.

        Parameters
        ----------
        annotator : str
            Who writes it.
        bag : int
            Position of the bag.
        text : str
            The note.
        label_class : int, optional
            The class that was asked about.
        key : str, optional
            Unique key.

        Returns
        -------
        Note

        Raises
        ------
        BagwiseError
            Where the bag or class does not exist, or the text is empty or too long.
        """
        validate_name(annotator)
        self.state.validate_pair((bag, label_class or 0))
        found = text.strip()
        if not found or len(found) > LONGEST or "\0" in found:
            raise BagwiseError(f"A note has 1 to {LONGEST} characters.")
        used = key or uuid.uuid4().hex
        with self.state.database.writing() as connection:
            saved = _with_key(connection, used)
            if saved is None:
                number = connection.execute(select(func.count()).select_from(schema.notes)).scalar_one() + 1
                saved = Note(number, used, queries.now(), annotator, bag, label_class, found)
                queries.ensure_annotator(connection, annotator)
                row: dict[str, Any] = {**vars(saved), "class": label_class}
                del row["label_class"]
                connection.execute(insert(schema.notes), [row])
        if saved.annotator != annotator:
            raise NotAllowed(f"This key belongs to what {saved.annotator} sent: use another.")
        return saved

    def of(self, bag: int) -> list[Note]:
        """Return the notes about a bag, in order.

        Parameters
        ----------
        bag : int
            Position of the bag.

        Returns
        -------
        list of Note
        """
        return self.about([bag])[bag]

    def about(self, bags: Collection[int]) -> dict[int, list[Note]]:
        """Return the notes about several bags, in order.

        Parameters
        ----------
        bags : collection of int
            Positions of bags.

        Returns
        -------
        dict of int to list of Note
            By bag, also where there is none.
        """
        found: dict[int, list[Note]] = {bag: [] for bag in bags}
        for note in self._read(ABOUT, {"bags": list(found)}):
            found[note.bag].append(note)
        return found

    def all(self) -> list[Note]:
        """Return all notes, in order."""
        return self._read(EVERY)

    def _read(self, statement: Statement, parameters: Parameters | None = None) -> list[Note]:
        with self.state.database.reading() as connection:
            return [Note(*row) for row in statement.rows(connection, parameters)]


def _with_key(connection: Connection, key: str) -> Note | None:
    row = connection.execute(select(schema.notes).where(schema.notes.c.key == key)).one_or_none()
    return None if row is None else Note(*row)
