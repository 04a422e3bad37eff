"""Changing what was said: it is taken back, corrected or decided, and all of it stays in the record."""

import contextlib
import uuid

from sqlalchemy import Connection

from bagwise.errors import BagwiseError
from bagwise.project import store
from bagwise.project.database import DatabaseError
from bagwise.project.events import Event, Pair
from bagwise.project.handing import Handing
from bagwise.project.names import refuse_bad_name
from bagwise.project.record import Record
from bagwise.project.saying import AlreadyAnswered, Said, Saying, or_refused, refuse_bad_answer


class Changing:
    """Adds events that replace others."""

    def __init__(self, record: Record, saying: Saying, handing: Handing) -> None:
        self.record, self._saying, self._handing = record, saying, handing

    def undo(self, annotator: str, key: str | None = None) -> Event:
        """Take back the last that this person said; the pair is open again. With the same key, only once."""
        record = self.record
        with record.lock:
            record.catch_up()
            last = record.votes.last_of(annotator)
            done = next((event for event in reversed(record.events) if event.key == key), None) if key else None
            if done is not None:
                return done
            if last is None:
                raise BagwiseError(f"{annotator} has said nothing that could be taken back.")
            event = self._replaced(last.number, annotator, "retraction", last.answer, key)
            with contextlib.suppress(DatabaseError):
                self._handing.ask_again(event)
            return event

    def correct(self, number: int, annotator: str, answer: str, key: str | None = None) -> Event:
        """Say anew what event `number` said; both stay in the record."""
        return self._replaced(number, annotator, "correction", answer, key)

    def adjudicate(self, pair: Pair, annotator: str, answer: str) -> Event:
        """Decide a pair alone; only an adjudicator may."""
        record = self.record
        if answer == "skipped":
            raise BagwiseError("An adjudicator decides: say present, absent or unsure.")
        refuse_bad_answer(answer)
        with record.lock:
            record.catch_up()
            if record.contents.is_given(pair):
                raise BagwiseError("This was imported as known: there is nothing to decide.")
            if annotator not in record.contents.adjudicators:
                raise BagwiseError(
                    f"{annotator} is no adjudicator: make one with `bagwise annotator DIR NAME --adjudicator`."
                )
            before = [event for event in record.votes.said_about(pair) if event.annotator == annotator]
            if before:
                return self._replaced(before[-1].number, annotator, "correction", answer)
            return or_refused(*self._saying.answer([Said(uuid.uuid4().hex, annotator, answer, pair=pair)]))

    def _replaced(self, number: int, annotator: str, kind: str, answer: str, key: str | None = None) -> Event:
        refuse_bad_name(annotator)
        refuse_bad_answer(answer)
        return self._saying.saving(
            lambda connection: self._replacing(connection, number, annotator, kind, answer, key or uuid.uuid4().hex)
        )

    def _replacing(
        self, connection: Connection, number: int, annotator: str, kind: str, answer: str, key: str
    ) -> tuple[list[Event], Event]:
        saved = store.events_with(connection, [key]).get(key)
        if saved is not None:
            if (saved.replaces, saved.kind, saved.answer) != (number, kind, answer):
                raise AlreadyAnswered(f"This was saved before as something else, number {saved.number}.")
            return [], saved
        old = store.event_at(connection, number)
        if old is None or old.kind == "retraction":
            raise BagwiseError(f"There is no answer number {number} to replace.")
        newer = store.replacement_of(connection, number)
        if newer is not None:
            raise AlreadyAnswered(f"Answer {number} was replaced by number {newer} before: replace that one.")
        event = Event(
            self._saying.number(),
            key,
            kind,
            annotator,
            store.now(),
            *old.pair,
            answer,
            audit=old.audit,
            score=old.score,
            belief=old.belief,
            asked_after=old.asked_after,
            replaces=number,
        )
        return [event], event
