"""Saving what people say: it is durable before it is acknowledged.

Everything said at the same time is saved in one transaction, and each of it is refused or saved for itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection

from bagwise.core.errors import BagwiseError
from bagwise.project.access.names import validate_name
from bagwise.project.access.roles import validate_may_replace
from bagwise.project.answers.events import ANSWERS, Chain, Event, Pair
from bagwise.project.state import ProjectState
from bagwise.project.storage import queries

WHOLE = "whole bag"
"""What was shown with the answer to a whole-bag question."""

Result = TypeVar("Result")


class AlreadyAnswered(BagwiseError):
    """Another answer to this question was saved before."""


@dataclass(frozen=True)
class Said:
    """An answer to the question with this key; with the `pair` it is saved also where the lease is gone."""

    key: str
    annotator: str
    answer: str
    seconds: float | None = None
    shown: str | None = None
    pair: Pair | None = None


@dataclass(frozen=True)
class SaidOfBag:
    """What was said about several classes of a bag, that of the lease with this key first."""

    key: str
    annotator: str
    bag: int
    answers: Sequence[tuple[int, str]]
    seconds: float | None = None

    def keyed(self) -> list[tuple[str, Pair, str]]:
        """(key, pair, answer) of each, the one of the lease last."""
        (leased, its_answer), *others = self.answers
        found = []
        for value in ANSWERS:
            pairs = [(self.bag, label_class) for label_class, answer in others if answer == value]
            found += [(f"{self.key}-{value}:{number}", pair, value) for number, pair in enumerate(pairs)]
        return [*found, (self.key, (self.bag, leased), its_answer)]


class Answers:
    """Adds events to the record."""

    def __init__(self, state: ProjectState) -> None:
        self.state = state

    def answer(self, said: Sequence[Said]) -> list[Event | BagwiseError]:
        """Save each of these, or say why not. The same answer sent again is the same event."""
        return self.saving(lambda connection: self._answers(connection, said))

    def _answers(self, connection: Connection, said: Sequence[Said]) -> tuple[list[Event], list[Event | BagwiseError]]:
        keys = [one.key for one in said if one.key.isprintable()]
        saved, leases = queries.events_with(connection, keys), queries.leases_with(connection, keys)
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
            queries.end_leases(connection, [event.key for event in new])
        return new, found

    def _event(self, said: Said, lease: queries.Lease | None, new: Sequence[Event]) -> Event:
        validate_answer(said.answer)
        validate_name(said.annotator)
        if lease is not None and lease.annotator != said.annotator:
            raise BagwiseError(f"This question was put to {lease.annotator}, not to {said.annotator}.")
        about = lease.pair if lease is not None else said.pair
        if about is None or not said.key.isprintable():
            raise BagwiseError("This question is not known, or was asked too long ago: ask again.")
        if said.pair not in (None, about):
            raise BagwiseError("This question was about another pair: ask again.")
        self.state.validate_pair(about)
        return self._answer(about, said, lease, new)

    def _answer(
        self,
        pair: Pair,
        said: Said,
        lease: queries.Lease | None,
        new: Sequence[Event],
        belief: float | None = None,
        asked_after: int | None = None,
    ) -> Event:
        """An answer; what the person skipped before is corrected by it, so that it never counts beside it."""
        skipped = self._skipped_before(pair, said.annotator, new)
        return Event(
            self.number(new),
            said.key,
            "answer" if skipped is None else "correction",
            said.annotator,
            queries.now(),
            *pair,
            said.answer,
            said.seconds,
            audit=lease.audit if lease is not None else False,
            score=lease.score if lease is not None else None,
            belief=lease.belief if lease is not None else belief,
            asked_after=lease.asked_after if lease is not None else asked_after,
            replaces=None if skipped is None else skipped.newest,
            shown=said.shown,
        )

    def answer_bag(self, said: SaidOfBag) -> list[Event]:
        """Save all of it, or nothing; with the same key, only once."""
        for _, answer in said.answers:
            validate_answer(answer)
        validate_name(said.annotator)
        with self.state.lock:
            self.state.catch_up()
            beliefs = self._beliefs([(said.bag, label_class) for label_class, _ in said.answers])
            of_class = {label_class: belief for (label_class, _), belief in zip(said.answers, beliefs, strict=True)}
            return self.saving(lambda connection: self._of_bag(connection, said, of_class))

    def _of_bag(
        self, connection: Connection, said: SaidOfBag, beliefs: dict[int, float]
    ) -> tuple[list[Event], list[Event]]:
        keyed = said.keyed()
        saved = queries.events_with(connection, [key for key, _, _ in keyed])
        lease = queries.leases_with(connection, [said.key]).get(said.key)
        if lease is not None and lease.annotator != said.annotator:
            raise BagwiseError(f"This question was put to {lease.annotator}, not to {said.annotator}.")
        done = saved.get(said.key)
        asked_after, new, found = len(self.state.events), list[Event](), list[Event]()
        for key, pair, answer in keyed:
            event = saved.get(key)
            if event is None and done is None:
                leased = lease if key == said.key else None
                seconds, shown = (said.seconds, WHOLE) if key == said.key else (None, "list")
                one = Said(key, said.annotator, answer, seconds, shown)
                event = self._answer(pair, one, leased, new, beliefs[pair[1]], asked_after)
                new.append(event)
            elif event is None or (event.annotator, event.pair, event.answer) != (said.annotator, pair, answer):
                raise AlreadyAnswered("Another answer to this question was saved before: correct that one.")
            found.append(event)
        if new:
            queries.end_leases(connection, [said.key])
            queries.end_leases_of(connection, said.annotator, [event.pair for event in new])
        return new, found

    def say(self, annotator: str, answer: str, pairs: Sequence[Pair], key: str) -> list[Event]:
        """One answer about several pairs that were not asked, all or none; with the same key, only once."""
        validate_answer(answer)
        validate_name(annotator)
        with self.state.lock:
            self.state.catch_up()
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
        saved = queries.events_with(connection, keys)
        if saved:
            return [], _same_again([saved[one] for one in keys if one in saved], annotator, answer, pairs)
        asked_after, new = len(self.state.events), list[Event]()
        for one, pair, belief in zip(keys, pairs, beliefs, strict=True):
            self._validate_not_imported(pair)
            said = Said(one, annotator, answer, shown="list")
            new.append(self._answer(pair, said, None, new, belief, asked_after))
        queries.end_leases_of(connection, annotator, pairs)
        return new, new

    def _beliefs(self, pairs: Sequence[Pair]) -> list[float]:
        for pair in pairs:
            self.state.validate_pair(pair)
        if len(set(pairs)) != len(pairs) or not pairs:
            raise BagwiseError("Name each pair once, and at least one.")
        of_bags = self.state.trainer.newest().predict_proba(self.state.bags.select([bag for bag, _ in pairs]))
        return [float(row[label_class]) for row, (_, label_class) in zip(of_bags, pairs, strict=True)]

    def saving(self, work: Callable[[Connection], tuple[list[Event], Result]]) -> Result:
        """Let `work` make events that know everything said before, save them, and count them once they are durable."""
        state = self.state
        with state.lock:
            while True:
                with state.database.writing() as connection:
                    current = state.catch_up_in(connection)
                    if current:
                        new, result = work(connection)
                        if new:
                            queries.ensure_annotators(connection, {event.annotator for event in new})
                            queries.add_events(connection, new)
                if current:
                    state.count(new)
                    return result
                state.reload()

    def number(self, new: Sequence[Event] = ()) -> int:
        """What comes after everything saved and these."""
        return len(self.state.events) + len(new) + 1

    def _skipped_before(self, pair: Pair, annotator: str, new: Sequence[Event]) -> Chain | None:
        """What this person skipped, if anything; whoever answered already does not answer again."""
        now = any(event.pair == pair and event.annotator == annotator for event in new)
        if now or self.state.votes.has_spoken(pair, annotator):
            raise AlreadyAnswered(f"{annotator} has answered this before: correct that answer instead.")
        skipped = self.state.votes.chains_of(pair, annotator)
        if skipped and (standing := skipped[-1].stands) is not None:
            validate_may_replace(self.state, standing, annotator)
        return skipped[-1] if skipped else None

    def _validate_not_imported(self, pair: Pair) -> None:
        contents = self.state.contents
        if contents.is_given(pair):
            bag, name = contents.ids[pair[0]], contents.classes[pair[1]]
            raise BagwiseError(f"{name} in {bag} was imported as known: correct that label instead.")


def _same_again(saved: list[Event], annotator: str, answer: str, pairs: Sequence[Pair]) -> list[Event]:
    said = [(event.annotator, event.answer, event.pair) for event in saved]
    if said != [(annotator, answer, pair) for pair in pairs]:
        raise AlreadyAnswered(f"This was saved before as something else, from number {saved[0].number} on.")
    return saved


def is_part_of(key: str, event: Event) -> bool:
    """Whether an event was saved with this key, alone or as one of several."""
    return event.key == key or event.key.startswith(f"{key}-")


def said_together(state: ProjectState, last: Event) -> list[Event]:
    """All that stands of what this person said about a whole bag in one go with `last`, by number."""
    leased = last.key.rpartition("-")[0] or last.key
    if not any(event.key == leased and event.shown == WHOLE for event in reversed(state.events)):
        return [last]
    standing = state.votes.all_effective()
    return [one for one in standing if one.annotator == last.annotator and is_part_of(leased, one)]


def or_refused(found: Event | BagwiseError) -> Event:
    """The event, or the refusal raised."""
    if isinstance(found, BagwiseError):
        raise found
    return found


def validate_answer(answer: str) -> None:
    """An answer is one of four."""
    if answer not in ANSWERS:
        raise BagwiseError(f"{answer!r} is no answer: say one of {', '.join(ANSWERS)}.")
