"""Roles and permissions: people may replace their own answers, and those of others with the role for it.

The roles are annotator and adjudicator; the owner of a project is the account that owns its folder.
"""

import getpass
import os
from pathlib import Path

from sqlalchemy import Connection

from bagwise.core.errors import BagwiseError
from bagwise.project.answers.events import Event
from bagwise.project.state import ProjectState
from bagwise.project.storage import queries

APPOINT = "`bagwise annotator DIR NAME --adjudicator`"


class NotAllowed(BagwiseError):
    """The person does not have the role for this change.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from bagwise.formats import Source
    >>> from bagwise.project import Project
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0]]), np.array([[1.0]])], ["a", "b"])
    >>> with TemporaryDirectory() as folder, Project.create(f"{folder}/p", source, classes=["wren"]) as project:
    ...     (event,) = project.answer_listed("ann", "present", [(0, 0)], key="1")
    ...     try:
    ...         project.correct(event.number, "bob", "absent")
    ...     except NotAllowed as error:
    ...         print(str(error).partition(".")[0])
    bob cannot replace it: answer 1 is by ann
    """


def owner_of(folder: Path) -> str:
    """Return the name of the account that owns the folder; its number where it has no name.

    Where accounts have no numbers (Windows), the owner is the account that runs this process.
    """
    try:
        import pwd
    except ImportError:
        return getpass.getuser()
    number = folder.stat().st_uid
    try:
        # In their own folder people go by the name that commands take them for.
        return getpass.getuser() if number == os.getuid() else pwd.getpwuid(number).pw_name
    except (KeyError, OSError):
        return str(number)


def validate_may_replace(state: ProjectState, effective: Event, annotator: str) -> None:
    """Raise an error where this person may not replace the answer `effective`.

    Raises
    ------
    NotAllowed
        Where it is the answer of another person and this one has no role for it.
    """
    adjudicators = state.contents.adjudicators
    if annotator == effective.annotator or annotator in adjudicators:
        return
    whose = f"answer {effective.number} is by {effective.annotator}"
    if effective.annotator in adjudicators:
        raise NotAllowed(
            f"{annotator} cannot replace it: {whose}, an adjudicator. Another adjudicator can ({APPOINT})."
        )
    owner = owner_of(state.folder)
    if annotator != owner:
        raise NotAllowed(
            f"{annotator} cannot replace it: {whose}. An adjudicator can ({APPOINT}), or {owner}, the project's owner."
        )


def validate_may_replace_imported(state: ProjectState, connection: Connection, annotator: str) -> None:
    """Raise an error where this person may not replace an imported label.

    Raises
    ------
    NotAllowed
        Unless the person is an adjudicator, the owner, or the only person of the project.
    """
    _validate_may(state, connection, annotator, "replace an imported label")


def validate_may_change_classes(state: ProjectState, connection: Connection, annotator: str) -> None:
    """Raise an error where this person may not add, rename, describe, merge or retire classes.

    Raises
    ------
    NotAllowed
        Unless the person is an adjudicator, the owner, or the only person of the project.
    """
    _validate_may(state, connection, annotator, "change classes")


def _validate_may(state: ProjectState, connection: Connection, annotator: str, what: str) -> None:
    owner = owner_of(state.folder)
    if annotator in state.contents.adjudicators or annotator == owner:
        return
    if set(queries.annotators(connection)) - {annotator}:
        raise NotAllowed(f"{annotator} cannot {what}: an adjudicator can ({APPOINT}), or {owner}, the project's owner.")
