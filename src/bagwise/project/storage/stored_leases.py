"""Leases as they are stored: read, added and ended in the transaction of the caller."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select

from bagwise.learning.questions import Pair, Question
from bagwise.project.storage import queries, schema
from bagwise.project.storage.statements import Row, Statement, one_of

KEEP_LATE_LEASES = 24 * 3600.0
"""Seconds for which the answer to a lease that has expired is still known to be one to it."""
LEASES = Statement(select(schema.leases).where(schema.leases.c.until > bindparam("now")))
LEASES_WITH = Statement(select(schema.leases).where(one_of(schema.leases.c.key, "keys")))
ADD_LEASES = Statement(insert(schema.leases))
END_LEASES = Statement(delete(schema.leases).where(one_of(schema.leases.c.key, "keys")))
END_SAME_LEASES = Statement(
    delete(schema.leases).where(
        schema.leases.c.bag == bindparam("bag"),
        schema.leases.c["class"] == bindparam("class"),
        schema.leases.c.annotator == bindparam("annotator"),
    )
)
SAME = ("bag", "class", "annotator")
END_LATE_LEASES = Statement(delete(schema.leases).where(schema.leases.c.until < bindparam("late")))


@dataclass(frozen=True)
class Lease:
    """A question that one person may answer until a time; no other person is asked about its pairs meanwhile.

    Parameters
    ----------
    key : str
        Unique key that an answer is sent with.
    question : Question
        What is asked, with evidence and belief; its likeliest class first.
    annotator : str
        Name of the person.
    until : float
        When it expires, in seconds since 1970 by the clock of the database.
    asked_after : int
        Number of events that the model which asked had learned.

    Examples
    --------
    >>> lease = Lease("key", Question(bag=3, classes=(0,)), "ann", until=1798761600.0, asked_after=12)
    >>> lease.bag, lease.pair
    (3, (3, 0))
    """

    key: str
    question: Question
    annotator: str
    until: float
    asked_after: int

    @property
    def bag(self) -> int:
        """Position of the bag."""
        return self.question.bag

    @property
    def label_class(self) -> int:
        """The class that is asked about, or of several the first."""
        return self.question.classes[0]

    @property
    def pair(self) -> Pair:
        """(bag, class)."""
        return self.question.pairs[0]


def open_leases(connection: Connection, known: Mapping[str, Lease] | None = None) -> dict[str, Lease]:
    """Return the leases that have not expired, by key; `known` are leases as they were read before."""
    known = known or {}
    rows = LEASES.rows(connection, {"now": queries.clock(connection)})
    return {row[0]: known.get(row[0]) or _lease(row) for row in rows}


def with_keys(connection: Connection, keys: Sequence[str]) -> dict[str, Lease]:
    """Return the leases with these keys, expired or not, by key."""
    return {row[0]: _lease(row) for row in LEASES_WITH.rows(connection, {"keys": list(keys)})}


def _lease(row: Row) -> Lease:
    key, bag, label_class, annotator, until, audit, score, belief, evidence, after, stored, instance, probability = row
    others = json.loads(stored) if stored else []
    nothing = float("nan")
    question = Question(
        bag,
        (label_class, *(another for another, _, _ in others)),
        (evidence or 0, *(of_it for _, of_it, _ in others)),
        nothing if score is None else score,
        bool(audit),
        (nothing if belief is None else belief, *(of_it for _, _, of_it in others)),
        instance=instance,
        probability=probability,
    )
    return Lease(key, question, annotator, until, after)


def _lease_row(lease: Lease) -> dict[str, Any]:
    question = lease.question
    (label_class, evidence, belief), *others = zip(question.classes, question.evidence, question.belief, strict=True)
    return {
        "key": lease.key,
        "bag": lease.bag,
        "class": label_class,
        "annotator": lease.annotator,
        "until": lease.until,
        "audit": question.audit,
        "score": None if math.isnan(question.score) else question.score,
        "belief": None if math.isnan(belief) else belief,
        "evidence": evidence,
        "asked_after": lease.asked_after,
        "others": json.dumps(others) if others else None,
        "instance": question.instance,
        "probability": question.probability,
    }


def add(connection: Connection, leases: Sequence[Lease]) -> None:
    """Save leases; an older one of the same person about the same pair ends."""
    rows = [_lease_row(lease) for lease in leases]
    END_SAME_LEASES.run_many(connection, [{name: row[name] for name in SAME} for row in rows])
    END_LATE_LEASES.run(connection, {"late": queries.clock(connection) - KEEP_LATE_LEASES})
    ADD_LEASES.run_many(connection, rows)


def end(connection: Connection, keys: Sequence[str]) -> None:
    """End these leases."""
    END_LEASES.run(connection, {"keys": list(keys)})


def end_of(connection: Connection, annotator: str, pairs: Sequence[Pair]) -> None:
    """End the leases of this person for these pairs."""
    rows = [{"bag": bag, "class": label_class, "annotator": annotator} for bag, label_class in pairs]
    END_SAME_LEASES.run_many(connection, rows)
