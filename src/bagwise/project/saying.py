"""Saving what people say: it is durable before it is acknowledged.

Everything said at the same time is saved in one transaction, and each of it is refused or saved for itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection

from bagwise.errors import BagwiseError
from bagwise.project import store
from bagwise.project.events import ANSWERS, Event, Pair
from bagwise.project.names import refuse_bad_name
from bagwise.project.record import Record

Result = TypeVar("Result")


class AlreadyAnswered(BagwiseError):
    """Another answer to this question was saved before."""


@dataclass(frozen=True)
class Said:
    """An answer to the question with this key; `pair` saves an answer whose question is long forgotten."""

    key: str
    annotator: str
    answer: str
    seconds: float | None = None
    shown: str | None = None
    pair: Pair | None = None


class Saying:
    """Adds events to the record."""

    def __init__(self, record: Record) -> None:
        self.record = record

    def answer(self, said: Sequence[Said]) -> list[Event | BagwiseError]:
        """Save each of these, or say why not. The same answer sent again is the same event."""
        return self.saving(lambda connection: self._answers(connection, said))

    def _answers(self, connection: Connection, said: Sequence[Said]) -> tuple[list[Event], list[Event | BagwiseError]]:
        keys = [one.key for one in said if one.key.isprintable()]
        saved, leases = store.events_with(connection, keys), store.leases_with(connection, keys)
        new: list[Event] = []
        found: list[Event | BagwiseError] = []
        for one in said:
            try:
                event = saved.get(one.key)
                if event is None:
                    event = self._event(one, leases.get(one.key), new)
                    new.append(event)
                    saved[one.key] = event
                elif (event.annotator, event.answer) != (one.annotator, one.answer):
                    what = f"This question was answered before, by {event.annotator}: {event.answer}."
                    raise AlreadyAnswered(what)
                found.append(event)
            except BagwiseError as error:
                found.append(error)
        if new:
            store.end_leases(connection, [event.key for event in new])
        return new, found

    def _event(self, said: Said, lease: store.Lease | None, new: Sequence[Event]) -> Event:
        refuse_bad_answer(said.answer)
        refuse_bad_name(said.annotator)
        if lease is not None and lease.annotator != said.annotator:
            raise BagwiseError(f"This question was put to {lease.annotator}, not to {said.annotator}.")
        about = lease.pair if lease is not None else said.pair
        if about is None:
            raise BagwiseError("This question is not known, or was asked too long ago: ask again.")
        self.record.refuse_unknown(about)
        self._refuse_second_answer(about, said.annotator, new)
        return Event(
            self.number(new),
            said.key,
            "answer",
            said.annotator,
            store.now(),
            *about,
            said.answer,
            said.seconds,
            audit=lease.audit if lease is not None else False,
            score=lease.score if lease is not None else None,
            belief=lease.belief if lease is not None else None,
            asked_after=lease.asked_after if lease is not None else None,
            shown=said.shown,
        )

    def say(self, annotator: str, answer: str, pairs: Sequence[Pair], key: str) -> list[Event]:
        """One answer about several pairs that were not asked, all or none; with the same key, only once."""
        refuse_bad_answer(answer)
        refuse_bad_name(annotator)
        with self.record.lock:
            self.record.catch_up()
            beliefs = self._beliefs(pairs)
            return self.saving(lambda connection: self._said(connection, annotator, answer, pairs, key, beliefs))

    def _said(
        self,
        connection: Connection,
        annotator: str,
        answer: str,
        pairs: Sequence[Pair],
        key: str,
        beliefs: Sequence[float],
    ) -> tuple[list[Event], list[Event]]:
        keys = [f"{key}:{number}" for number in range(len(pairs))]
        saved = store.events_with(connection, keys)
        if saved:
            return [], _same_again([saved[one] for one in keys if one in saved], annotator, answer, pairs)
        asked_after, new = len(self.record.events), list[Event]()
        for one, pair, belief in zip(keys, pairs, beliefs, strict=True):
            self._refuse_given(pair)
            self._refuse_second_answer(pair, annotator, new)
            new.append(
                Event(
                    self.number(new),
                    one,
                    "answer",
                    annotator,
                    store.now(),
                    *pair,
                    answer,
                    belief=belief,
                    asked_after=asked_after,
                    shown="list",
                )
            )
        store.end_leases_of(connection, annotator, pairs)
        return new, new

    def _beliefs(self, pairs: Sequence[Pair]) -> list[float]:
        for pair in pairs:
            self.record.refuse_unknown(pair)
        if len(set(pairs)) != len(pairs) or not pairs:
            raise BagwiseError("Name each pair once, and at least one.")
        of_bags = self.record.teaching.newest().predict_proba(self.record.bags.select([bag for bag, _ in pairs]))
        return [float(row[label_class]) for row, (_, label_class) in zip(of_bags, pairs, strict=True)]

    def saving(self, work: Callable[[Connection], tuple[list[Event], Result]]) -> Result:
        """Let `work` make events that know everything said before, save them, and count them once they are durable."""
        record = self.record
        with record.lock:
            while True:
                with record.database.writing() as connection:
                    current = record.catch_up_in(connection)
                    if current:
                        new, result = work(connection)
                        if new:
                            store.ensure_annotators(connection, {event.annotator for event in new})
                            store.add_events(connection, new)
                if current:
                    record.count(new)
                    return result
                record.load_anew()

    def number(self, new: Sequence[Event] = ()) -> int:
        """What comes after everything saved and these."""
        return len(self.record.events) + len(new) + 1

    def _refuse_second_answer(self, pair: Pair, annotator: str, new: Sequence[Event]) -> None:
        now = any(event.pair == pair and event.annotator == annotator for event in new)
        if now or self.record.votes.has_spoken(pair, annotator):
            raise AlreadyAnswered(f"{annotator} has answered this before: correct that answer instead.")

    def _refuse_given(self, pair: Pair) -> None:
        contents = self.record.contents
        if contents.is_given(pair):
            bag, name = contents.ids[pair[0]], contents.classes[pair[1]]
            raise BagwiseError(f"{name} in {bag} was imported as known: there is nothing to say.")


def _same_again(saved: list[Event], annotator: str, answer: str, pairs: Sequence[Pair]) -> list[Event]:
    said = [(event.annotator, event.answer, event.pair) for event in saved]
    if said != [(annotator, answer, pair) for pair in pairs]:
        raise AlreadyAnswered(f"This was saved before as something else, from number {saved[0].number} on.")
    return saved


def or_refused(found: Event | BagwiseError) -> Event:
    """The event, or the refusal raised."""
    if isinstance(found, BagwiseError):
        raise found
    return found


def refuse_bad_answer(answer: str) -> None:
    """An answer is one of four."""
    if answer not in ANSWERS:
        raise BagwiseError(f"{answer!r} is no answer: say one of {', '.join(ANSWERS)}.")
