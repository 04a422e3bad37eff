"""Leases: which person is asked which question of the published ranking, and until when, without waiting for training.

What is asked is decided by the learner (`learning`); this module only leases its questions: each to as many people as
the settings want, none twice to one person. All people who ask at the same time are served in one transaction.
"""

import time
import uuid
from collections.abc import Iterable, Iterator, Sequence

from bagwise.core.errors import BagwiseError
from bagwise.learning.questions import Question
from bagwise.project.access.names import validate_name
from bagwise.project.answers.annotator_noise import AnnotatorRates
from bagwise.project.answers.events import Event
from bagwise.project.queue.explanation import explained
from bagwise.project.queue.granting import SPARE_CANDIDATES, Granting, Remaining
from bagwise.project.queue.ranking import FEW_PEOPLE, Wait, wait_for
from bagwise.project.queue.requests import LeaseRequest
from bagwise.project.state import ProjectState
from bagwise.project.storage import queries, stored_leases
from bagwise.project.storage.stored_leases import Lease

RANKED_PER_LEASE, RANKED_AT_LEAST = 200, 2000
"""Questions ranked for each that is leased, and at least: during a refit, for seconds, no newer ranking comes."""
RECENTLY = 2.0
"""Seconds: who asked within them is one of those who are answering now."""


class NoQuestion(BagwiseError):
    """There are open questions, but none could be leased now.

    Examples
    --------
    >>> try:
    ...     raise NoQuestion
    ... except NoQuestion as error:
    ...     print(error)
    All open questions are leased to others: retry.
    """

    def __init__(self) -> None:
        super().__init__("All open questions are leased to others: retry.")


class Leases:
    """Who has which question, and who gets which next."""

    def __init__(self, state: ProjectState) -> None:
        self.state = state
        self._leased = 0
        self._read: dict[str, Lease] = {}
        self._asked_at: dict[str, float] = {}
        self._remaining: Remaining | None = None

    def ask(self, request: LeaseRequest) -> list[Lease]:
        """The person's open leases, then the best questions that are free; waits where none is ranked yet."""
        for tried in range(request.tries):
            for published, seconds in self.waits(request.count, tried):
                wait_for(published, seconds)
            (leases,) = self.lease([request])
            if leases is not None:
                return leases
        return none_left(request)

    def waits(self, count: int, tried: int = 0) -> Iterator[Wait]:
        """Return what to wait for before questions are leased, after `tried` attempts found too few."""
        state = self.state
        people = self._people()
        # Who is between an answer and the next question has no lease.
        needed = count + (1 + RANKED_PER_LEASE) * max(self._leased, people) + state.votes.half_asked + SPARE_CANDIDATES
        # In steps: a ranking is not too short for whoever asks for one more.
        needed = -(-needed // RANKED_AT_LEAST) * RANKED_AT_LEAST
        return state.trainer.rankings.waits(len(state.events), needed << tried, people, require_newer=tried > 0)

    def _people(self) -> int:
        """How many people are answering: those who asked this process, or who gave the answers that a ranking lacks."""
        recently, newest = time.monotonic() - RECENTLY, self.state.trainer.rankings.newest
        asking, events = sum(asked > recently for asked in list(self._asked_at.values())), self.state.events
        if asking > FEW_PEOPLE:
            return asking
        lacking = range(len(events) if newest is None else newest.applied, len(events))
        return max(asking, _people_of(events[number] for number in lacking))

    def lease(self, requests: Sequence[LeaseRequest]) -> list[list[Lease] | None]:
        """Questions for each request; None where it must wait for a newer or a longer ranking."""
        for request in requests:
            validate_name(request.annotator)
        self._remember(requests)
        state = self.state
        with state.lock:
            while True:
                with state.database.leasing() as connection:
                    if state.catch_up_in(connection):
                        until = queries.clock(connection) + state.settings.asking.lease_seconds
                        self._read = stored_leases.open_leases(connection, self._read)
                        granting = Granting(state, self._current(), self._read, until)
                        found = [granting.grant(request) for request in requests]
                        granted = granting.explained()
                        if granted:
                            stored_leases.add(connection, list(granted.values()))
                            # As they will be read, if this is committed.
                            self._read = self._read | granted
                        break
                state.reload()
            self._leased = len(self._read)
        return [None if leases is None else [granted.get(lease.key, lease) for lease in leases] for leases in found]

    def _remember(self, requests: Sequence[LeaseRequest]) -> None:
        now = time.monotonic()
        recent = {name: asked for name, asked in self._asked_at.items() if asked > now - RECENTLY}
        self._asked_at = recent | dict.fromkeys((request.annotator for request in requests), now)

    def _current(self) -> Remaining | None:
        """Those questions of the published ranking that may still be asked."""
        ranking = self.state.trainer.rankings.newest
        if ranking is None:
            return None
        if self._remaining is None or ranking is not self._remaining.ranking:
            self._remaining = Remaining(ranking, self.state)
        return self._remaining

    def ask_again(self, undone: Sequence[Event]) -> None:
        """Lease the questions of undone answers to the people who undid them: one for each bag of each person."""
        if not undone:
            return
        state, model = self.state, self.state.trainer.newest()
        ranking = state.trainer.rankings.newest
        people = AnnotatorRates.before(state.settings.learning.noise) if ranking is None else ranking.people
        together: dict[tuple[str, int], list[Event]] = {}
        for event in undone:
            together.setdefault((event.annotator, event.bag), []).append(event)
        with state.database.writing() as connection:
            until = queries.clock(connection) + state.settings.asking.lease_seconds
            questions = explained(state, model, people, [_question_of(events) for events in together.values()])
            leases = [
                Lease(uuid.uuid4().hex, question, annotator, until, max(event.number for event in events))
                for question, ((annotator, _), events) in zip(questions, together.items(), strict=True)
            ]
            stored_leases.add(connection, leases)


def _people_of(events: Iterable[Event]) -> int:
    """How many people gave these answers, counted until they are more than a few."""
    people = set[str]()
    for event in events:
        people.add(event.annotator)
        if len(people) > FEW_PEOPLE:
            break
    return len(people)


def none_left(request: LeaseRequest) -> list[Lease]:
    """What a request gets that waited in vain: nothing where it is for some bags alone, else an error."""
    if request.among is None:
        raise NoQuestion
    return []


def _question_of(events: Sequence[Event]) -> Question:
    """The question that these events answered, as it was drawn, with the belief of then: by now the answer is known."""
    last = events[-1]
    score = float("nan") if last.score is None else last.score
    known = [event.belief for event in events if event.belief is not None]
    belief = tuple(known) if len(known) == len(events) else ()
    classes = tuple(event.label_class for event in events)
    return Question(
        last.bag, classes, (), score, last.audit, belief, instance=last.instance, probability=last.probability
    )
