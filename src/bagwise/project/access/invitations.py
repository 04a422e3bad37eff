"""Invitations and sessions: who may sign in. Only hashes of tokens are stored, so a copy of a project has no secrets.

A token is 256 random bits and is shown once. A plain hash is enough for it: what cannot be guessed needs no slow one.
Invitations that were revoked or expired are kept, so that a project that once had some is never open to everyone.
"""

import hashlib
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from bagwise.core.errors import BagwiseError
from bagwise.project.access.names import validate_name
from bagwise.project.storage import queries, schema
from bagwise.project.storage.database import Database
from bagwise.project.storage.statements import Statement, one_of

DAY = 24 * 3600.0
SESSION_DAYS = 30
DEFAULT_DAYS = 365
MOST_DAYS = 10_000

# The statements of every request.
OF_INVITED = schema.invitations.c
INVITED = Statement(
    select(OF_INVITED.hash, OF_INVITED.name, OF_INVITED.until, OF_INVITED.revoked).where(
        one_of(OF_INVITED.hash, "hashes")
    )
)
IN_SESSIONS = Statement(
    select(schema.sessions.c.hash, schema.sessions.c.name)
    .join(schema.invitations, schema.invitations.c.name == schema.sessions.c.name)
    .where(one_of(schema.sessions.c.hash, "hashes"), ~schema.invitations.c.revoked)
    .where(schema.sessions.c.until > bindparam("now"), schema.invitations.c.until > bindparam("now"))
)
ANY_INVITED = Statement(select(select(schema.invitations.c.name).exists()))


class NotSignedIn(BagwiseError):
    """The token or session is missing, unknown, revoked or expired.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> from bagwise.formats import Source
    >>> from bagwise.project import Project
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0]]), np.array([[1.0]])], ["a", "b"])
    >>> with TemporaryDirectory() as folder, Project.create(f"{folder}/p", source, classes=["wren"]) as project:
    ...     try:
    ...         Invitations(project.database).with_token("guessed")
    ...     except NotSignedIn as error:
    ...         print(error)
    This token is unknown or revoked: ask for a new one (`bagwise invite`).
    """


@dataclass(frozen=True)
class Invitation:
    """The invitation of a person.

    Parameters
    ----------
    name : str
        The person.
    at : str
        When it was made (ISO 8601, UTC).
    until : float
        When it expires, in seconds since 1970.
    state : {"valid", "expired", "revoked"}
        Whether the person can sign in with it.

    Examples
    --------
    >>> Invitation("ann", at="2026-01-01T00:00:00.000+00:00", until=1798761600.0, state="valid").state
    'valid'
    """

    name: str
    at: str
    until: float
    state: str


@dataclass(frozen=True)
class Shown:
    """The credentials of a request: a token, a session, or none."""

    token: str | None = None
    session: str | None = None


class Invitations:
    """The invitations and sessions of one project.

    Parameters
    ----------
    database : Database
        The database of the project.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> from bagwise.formats import Source
    >>> from bagwise.project import Project
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0]]), np.array([[1.0]])], ["a", "b"])
    >>> with TemporaryDirectory() as folder, Project.create(f"{folder}/p", source, classes=["wren"]) as project:
    ...     invitations = Invitations(project.database)
    ...     token = invitations.invite("ann")
    ...     session = invitations.sign_in(token)
    ...     print(invitations.with_session(session))
    ...     invitations.revoke("ann")
    ...     print(invitations.with_session(session))
    ann
    None
    """

    def __init__(self, database: Database) -> None:
        self.database = database

    def invite(self, name: str, days: int = DEFAULT_DAYS, adjudicator: bool = False) -> str:
        """Invite a person; an earlier token and its sessions end.

        Parameters
        ----------
        name : str
            The person.
        days : int
            How long the token is valid.
        adjudicator : bool
            Whether the person becomes an adjudicator.

        Returns
        -------
        str
            The token to sign in with. It is not stored.
        """
        validate_name(name)
        if not 1 <= days <= MOST_DAYS:
            raise BagwiseError(f"An invitation is valid for 1 to {MOST_DAYS} days, not {days}.")
        token = secrets.token_urlsafe(32)
        with self.database.writing() as connection:
            queries.ensure_annotator(connection, name, "adjudicator" if adjudicator else None)
            _end_sessions(connection, name)
            table = schema.invitations
            row = {
                "hash": _hash(token),
                "at": queries.now(),
                "until": queries.clock(connection) + days * DAY,
                "revoked": False,
            }
            there = connection.execute(select(table.c.name).where(table.c.name == name)).first()
            statement = insert(table).values(name=name) if there is None else update(table).where(table.c.name == name)
            connection.execute(statement.values(**row))
        return token

    def revoke(self, name: str) -> None:
        """End the invitation and all sessions of a person; the answers stay.

        Parameters
        ----------
        name : str
            The person.

        Raises
        ------
        BagwiseError
            If the person was never invited.
        """
        table = schema.invitations
        with self.database.writing() as connection:
            done = connection.execute(update(table).where(table.c.name == name).values(revoked=True))
            _end_sessions(connection, name)
            if done.rowcount == 0:
                raise BagwiseError(f"{name} was never invited: `bagwise invite DIR --list` lists everyone who was.")

    def invitations(self) -> list[Invitation]:
        """Return all invitations ever made, by name."""
        table = schema.invitations
        with self.database.reading() as connection:
            now = queries.clock(connection)
            rows = connection.execute(select(table).order_by(table.c.name)).all()
        return [
            Invitation(
                row.name, row.at, row.until, "revoked" if row.revoked else "expired" if row.until <= now else "valid"
            )
            for row in rows
        ]

    def any_invited(self) -> bool:
        """Return whether anyone was ever invited: from then on everyone has to sign in."""
        with self.database.reading() as connection:
            return _any_invited(connection)

    def who(self, shown: Sequence[Shown]) -> list[str | NotSignedIn | None]:
        """Return the person with each of these credentials, or the error; None where no person was ever invited.

        Parameters
        ----------
        shown : sequence of Shown
            The token or the session of each request.

        Returns
        -------
        list of str, NotSignedIn or None
            One for each of `shown`; errors are returned, not raised.
        """
        with self.database.reading() as connection:
            return _who(connection, shown)

    def with_token(self, token: str) -> str:
        """Return the person whose token it is, or raise `NotSignedIn`.

        Parameters
        ----------
        token : str
            What `invite` returned.

        Returns
        -------
        str
            The name of the person.
        """
        with self.database.reading() as connection:
            return _holder(_invited(connection, [token]).get(token), queries.clock(connection))

    def sign_in(self, token: str) -> str:
        """Start a session and return its secret; it ends after `SESSION_DAYS`, at the latest with the invitation.

        Parameters
        ----------
        token : str
            What `invite` returned.

        Returns
        -------
        str
            The secret of the session. It is not stored.

        Raises
        ------
        NotSignedIn
            If the token is unknown, revoked or expired.
        """
        session = secrets.token_urlsafe(32)
        table = schema.sessions
        with self.database.writing() as connection:
            now = queries.clock(connection)
            name = _holder(_invited(connection, [token]).get(token), now)
            connection.execute(delete(table).where(table.c.until <= now))
            row = {"hash": _hash(session), "name": name, "at": queries.now(), "until": now + SESSION_DAYS * DAY}
            connection.execute(insert(table), [row])
        return session

    def with_session(self, session: str) -> str | None:
        """Return the person whose session it is; None where it has ended.

        Parameters
        ----------
        session : str
            What `sign_in` returned.

        Returns
        -------
        str or None
            The name of the person.
        """
        with self.database.reading() as connection:
            return _in_sessions(connection, [session]).get(session)

    def sign_out(self, session: str) -> None:
        """End the session, if it exists.

        Parameters
        ----------
        session : str
            What `sign_in` returned.
        """
        with self.database.writing() as connection:
            connection.execute(delete(schema.sessions).where(schema.sessions.c.hash == _hash(session)))

    def last_signed_in(self) -> dict[str, str]:
        """Return when each person with a session last signed in, by name."""
        table = schema.sessions
        with self.database.reading() as connection:
            found = select(table.c.name, func.max(table.c.at).label("at")).group_by(table.c.name)
            return {row.name: row.at for row in connection.execute(found)}


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


class _Held(NamedTuple):
    """Who holds an invitation, until when, and whether it was revoked."""

    name: str
    until: float
    revoked: bool


def _invited(connection: Connection, tokens: Collection[str]) -> dict[str, _Held]:
    """The invitations with these tokens, by token."""
    by_hash = {_hash(token): token for token in tokens}
    return {by_hash[row[0]]: _Held(*row[1:]) for row in INVITED.rows(connection, {"hashes": list(by_hash)})}


def _holder(invitation: _Held | None, now: float) -> str:
    """The person of an invitation, or the error; None stands for a token of no invitation."""
    if invitation is None or invitation.revoked:
        raise NotSignedIn("This token is unknown or revoked: ask for a new one (`bagwise invite`).")
    if invitation.until <= now:
        raise NotSignedIn("This token has expired: ask for a new one (`bagwise invite`).")
    return invitation.name


def _in_sessions(connection: Connection, sessions: Collection[str]) -> dict[str, str]:
    """The person with each of these sessions that has not ended, by session."""
    by_hash = {_hash(session): session for session in sessions}
    rows = IN_SESSIONS.rows(connection, {"hashes": list(by_hash), "now": queries.clock(connection)})
    return {by_hash[found]: name for found, name in rows}


def _any_invited(connection: Connection) -> bool:
    ((found,),) = ANY_INVITED.rows(connection)
    return bool(found)


def _who(connection: Connection, shown: Sequence[Shown]) -> list[str | NotSignedIn | None]:
    """The answer of `Invitations.who`, in as many statements for many requests as for one."""
    tokens = {one.token for one in shown if one.token is not None}
    sessions = {one.session for one in shown if one.token is None and one.session is not None}
    invited = _invited(connection, tokens) if tokens else {}
    signed_in = _in_sessions(connection, sessions) if sessions else {}
    now = queries.clock(connection)
    found: list[str | NotSignedIn | None] = []
    for one in shown:
        try:
            found.append(
                signed_in.get(one.session or "") if one.token is None else _holder(invited.get(one.token), now)
            )
        except NotSignedIn as error:
            found.append(error)
    if None in found and _any_invited(connection):
        sentence = "Sign in first, with the token that `bagwise invite` printed."
        found = [NotSignedIn(sentence) if one is None else one for one in found]
    return found


def _end_sessions(connection: Connection, name: str) -> None:
    connection.execute(delete(schema.sessions).where(schema.sessions.c.name == name))
