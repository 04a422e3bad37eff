"""Corrections, undo and adjudication: events that replace others, by the rules of docs/projects.md."""

import contextlib
import uuid
from dataclasses import dataclass

from sqlalchemy import Connection

from bagwise.core.errors import BagwiseError
from bagwise.learning.questions import Pair
from bagwise.project.access.names import validate_name
from bagwise.project.access.roles import APPOINT, NotAllowed, validate_may_replace, validate_may_replace_imported
from bagwise.project.answers.answers import (
    AlreadyAnswered,
    Answers,
    Submission,
    answered_together,
    is_part_of,
    pointing_of,
    raised,
    validate_answer,
)
from bagwise.project.answers.events import ANSWER_OF, NOWHERE, Event, Pointing
from bagwise.project.answers.votes import Chain
from bagwise.project.queue.leases import Leases
from bagwise.project.state import ProjectState
from bagwise.project.storage import queries
from bagwise.project.storage.database import DatabaseError

UNDOS = ("restoration", "retraction")


@dataclass(frozen=True)
class Replaced:
    """What a correction or an undo replaced: an event, or an imported label, which has neither number nor annotator.

    Parameters
    ----------
    answer : {"present", "absent", "unsure", "skipped"}
        What was in effect.
    number : int, optional
        The number of the event.
    annotator : str, optional
        Whose answer it was.

    Examples
    --------
    >>> Replaced("present", number=3, annotator="ann").answer
    'present'
    """

    answer: str
    number: int | None = None
    annotator: str | None = None


def replaced(state: ProjectState, event: Event) -> Replaced | None:
    """Return what was in effect before a correction or an undo; None for an answer."""
    if event.kind == "answer":
        return None
    before = state.votes.replaced_by(event.number)
    if before is None:
        return Replaced(_imported_answer(state, event.pair))
    return Replaced(before.answer, before.number, before.annotator)


class Corrections:
    """Adds events that replace others."""

    def __init__(self, state: ProjectState, answers: Answers, leases: Leases) -> None:
        self.state, self._answers, self._leases = state, answers, leases

    def undo(self, annotator: str, key: str | None, together: bool, number: int | None = None) -> list[Event]:
        """Undo this person's last answer that is in effect, or all answers of the whole bag that it belongs to.

        With `number` it is the answer with this number, which must be in effect and of this person.
        """
        validate_name(annotator)
        used = key or uuid.uuid4().hex
        with self.state.lock:
            before = len(self.state.events)
            events = self._answers.saving(
                lambda connection: self._undoing(connection, annotator, used, together, number)
            )
            now_open = [
                one for one in events if one.number > before and self.state.wants(one.pair, annotator, one.instance)
            ]
            with contextlib.suppress(DatabaseError):
                self._leases.ask_again(now_open)
            return events

    def _undoing(
        self, connection: Connection, annotator: str, key: str, together: bool, number: int | None
    ) -> tuple[list[Event], list[Event]]:
        done = queries.events_with(connection, [key]).get(key)
        if done is not None:
            _validate_own(done, annotator)
            if done.kind not in UNDOS:
                raise AlreadyAnswered(f"This was saved before as something else, number {done.number}.")
            return [], [one for one in self.state.events if one.kind in UNDOS and is_part_of(key, one)]
        votes = self.state.votes
        last = votes.last_of(annotator) if number is None else votes.effective(number)
        if last is None or last.annotator != annotator:
            raise BagwiseError(f"{annotator} has no answer{'' if number is None else f' {number}'} to undo.")
        several = answered_together(self.state, last) if together else [last]
        keys = [*(f"{key}-{place}" for place in range(len(several) - 1, 0, -1)), key]
        new: list[Event] = []
        for one, its_key in zip(reversed(several), keys, strict=True):
            new.append(self._undone(one, its_key, self._answers.number(new)))
        return new, new

    def _undone(self, event: Event, key: str, number: int) -> Event:
        chain = self.state.votes.chain_with(event.number)
        assert chain is not None
        restored = chain.under
        if restored is not None:
            back = restored.answer, restored.pointing, restored.instance
            return _replacing(restored, chain, number, key, "restoration", event.annotator, *back)
        if chain.voter is None:
            answer = _imported_answer(self.state, event.pair)
            return _replacing(event, chain, number, key, "restoration", event.annotator, answer)
        taken_back = event.answer, event.pointing, event.instance
        return _replacing(event, chain, number, key, "retraction", event.annotator, *taken_back)

    def correct(
        self,
        number: int,
        annotator: str,
        answer: str,
        key: str | None = None,
        pointing: Pointing = NOWHERE,
        about_bag: bool = False,
    ) -> Event:
        """Replace the answer with this number, and what it points at; both are kept.

        The correction of an answer about one instance is about that instance too, unless it is `about_bag`.
        """
        validate_name(annotator)
        validate_answer(answer)
        used = key or uuid.uuid4().hex
        return self._answers.saving(
            lambda connection: self._correcting(connection, number, annotator, answer, used, pointing, about_bag)
        )

    def _correcting(
        self,
        connection: Connection,
        number: int,
        annotator: str,
        answer: str,
        key: str,
        pointing: Pointing,
        about_bag: bool,
    ) -> tuple[list[Event], Event]:
        saved = queries.events_with(connection, [key]).get(key)
        votes = self.state.votes
        if saved is not None:
            before = votes.replaced_by(saved.number)
            same = saved.kind == "correction" and before is not None and before.number == number
            return [], _same_again(saved, annotator, answer, pointing_of(answer, pointing, saved.instance), same)
        chain = votes.chain_with(number)
        if chain is None or self.state.events[number - 1].kind in UNDOS:
            raise BagwiseError(f"There is no answer number {number} to replace.")
        old = chain.in_effect
        if old is None:
            raise AlreadyAnswered(f"Answer {number} was undone before, by number {chain.newest}.")
        if old.number != number:
            raise AlreadyAnswered(f"Answer {number} was replaced by number {old.number} before: replace that one.")
        validate_may_replace(self.state, old, annotator)
        instance = None if about_bag else old.instance
        pointing = pointing_of(answer, pointing, instance)
        self.state.validate_pointing(old.bag, answer, pointing)
        number = self._answers.number()
        event = _replacing(old, chain, number, key, "correction", annotator, answer, pointing, instance)
        if chain.voter is None:
            _validate_not_skipped(answer)
        elif event.labels_bag and any(one is not chain and one.votes for one in votes.chains_of(old.pair, chain.voter)):
            raise AlreadyAnswered(f"{chain.voter} has answered this again since: correct that answer instead.")
        return [event], event

    def correct_imported(
        self, pair: Pair, annotator: str, answer: str, key: str | None = None, pointing: Pointing = NOWHERE
    ) -> Event:
        """Replace an imported label, or its last correction; all are kept."""
        validate_name(annotator)
        validate_answer(answer)
        _validate_not_skipped(answer)
        used = key or uuid.uuid4().hex
        return self._answers.saving(
            lambda connection: self._correcting_import(connection, pair, annotator, answer, used, pointing)
        )

    def _correcting_import(
        self, connection: Connection, pair: Pair, annotator: str, answer: str, key: str, pointing: Pointing
    ) -> tuple[list[Event], Event]:
        state = self.state
        state.validate_pair(pair)
        state.validate_pointing(pair[0], answer, pointing)
        saved = queries.events_with(connection, [key]).get(key)
        chain = state.votes.imported(pair)
        if saved is not None:
            same = saved.kind == "correction" and state.votes.chain_with(saved.number) is chain
            return [], _same_again(saved, annotator, answer, pointing, same)
        if not state.contents.is_given(pair):
            bag, name = state.contents.ids[pair[0]], state.contents.classes[pair[1]]
            raise BagwiseError(f"{name} in {bag} was not imported: correct an answer to it, by its number.")
        if chain.in_effect is not None:
            validate_may_replace(state, chain.in_effect, annotator)
        validate_may_replace_imported(state, connection, annotator)
        event = Event(
            self._answers.number(),
            key,
            "correction",
            annotator,
            queries.now(),
            *pair,
            answer,
            replaces=chain.newest or None,
            where=pointing.where,
            elsewhere=pointing.elsewhere,
        )
        return [event], event

    def adjudicate(self, pair: Pair, annotator: str, answer: str, pointing: Pointing = NOWHERE) -> Event:
        """Decide a pair alone, and what is known of its instances; only an adjudicator may."""
        state = self.state
        if answer == "skipped":
            raise BagwiseError("An adjudicator decides: use present, absent or unsure.")
        validate_answer(answer)
        with state.lock:
            state.catch_up()
            if state.contents.is_given(pair):
                raise BagwiseError(
                    "This was imported as known: correct it with `bagwise correct DIR BAG CLASS ANSWER`."
                )
            if annotator not in state.contents.adjudicators:
                raise BagwiseError(f"{annotator} is not an adjudicator: make them one with {APPOINT}.")
            before = [event for event in state.votes.answers_about(pair) if event.annotator == annotator]
            if before:
                return self.correct(before[-1].number, annotator, answer, pointing=pointing, about_bag=True)
            bag, label_class = pair
            where, elsewhere = (pointing.where,), (pointing.elsewhere,)
            key = uuid.uuid4().hex
            decision = Submission(key, annotator, (answer,), (label_class,), bag, where=where, elsewhere=elsewhere)
            return raised(self._answers.submit([decision])[0])[0]


def _replacing(
    like: Event,
    chain: Chain,
    number: int,
    key: str,
    kind: str,
    annotator: str,
    answer: str,
    pointing: Pointing = NOWHERE,
    instance: int | None = None,
) -> Event:
    """The next event of a chain, with what is known of the question that `like` answered."""
    return Event(
        number,
        key,
        kind,
        annotator,
        queries.now(),
        *like.pair,
        answer,
        audit=like.audit,
        score=like.score,
        belief=like.belief,
        asked_after=like.asked_after,
        replaces=chain.newest,
        where=pointing.where,
        elsewhere=pointing.elsewhere,
        marked=like.marked,
        instance=instance,
        probability=like.probability,
    )


def _imported_answer(state: ProjectState, pair: Pair) -> str:
    return ANSWER_OF[bool(state.contents.imported[pair])]


def _same_again(saved: Event, annotator: str, answer: str, pointing: Pointing, same: bool) -> Event:
    _validate_own(saved, annotator)
    if not same or (saved.answer, saved.pointing) != (answer, pointing):
        raise AlreadyAnswered(f"This was saved before as something else, number {saved.number}.")
    return saved


def _validate_own(saved: Event, annotator: str) -> None:
    if saved.annotator != annotator:
        raise NotAllowed(f"This key belongs to what {saved.annotator} sent: use another.")


def _validate_not_skipped(answer: str) -> None:
    if answer == "skipped":
        raise BagwiseError("An imported label cannot be skipped: use present, absent or unsure.")
