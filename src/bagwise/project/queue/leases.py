"""Handing out questions: each to one person for a time, as the published ranking has them. Nobody waits for learning.

Everybody who asks at the same time is served in one transaction.
"""

import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.learning.questions import diversify
from bagwise.model import MIMLClassifier
from bagwise.project.access.names import validate_name
from bagwise.project.answers.events import Event, Pair
from bagwise.project.queue.ranking import Ranking, Turn, Wait, wait_for
from bagwise.project.state import ProjectState
from bagwise.project.storage import queries

SPARE_CANDIDATES = 60
IN_STORE, LEAST_IN_STORE = 100, 2000
"""For each question that is out, and at least: while everything is fitted anew, for seconds, no newer ranking comes."""
PRUNE_AFTER = 64
TRIES = 30


class NoQuestion(BagwiseError):
    """There are questions, but none that could be handed out now."""

    def __init__(self) -> None:
        super().__init__("No question could be handed out, since others took them all: ask again.")


@dataclass(frozen=True)
class Asked:
    """A question handed to one person: *is the class in the bag?* `key` answers it."""

    key: str
    bag: int
    bag_id: str
    label_class: int
    class_name: str
    evidence: int
    belief: float
    score: float
    audit: bool
    until: float


@dataclass(frozen=True)
class Asker:
    """Somebody who wants so many questions."""

    annotator: str
    count: int = 1


class Leases:
    """Who has which question, and what comes next."""

    def __init__(self, state: ProjectState) -> None:
        self.state = state
        self._out = 0
        self._ranking: Ranking | None = None
        self._left: list[Turn] = []
        self._pruned_at = 0

    def ask(self, annotator: str, count: int) -> list[Asked]:
        """Those still open from before, then the best that nobody has; wait where there is nothing to hand out yet."""
        for tried in range(TRIES):
            for published, seconds in self.waits(count, tried):
                wait_for(published, seconds)
            (asked,) = self.lease_questions([Asker(annotator, count)])
            if asked is not None:
                return asked
        raise NoQuestion

    def waits(self, wanted: int, tried: int = 0) -> Iterator[Wait]:
        """What is worth waiting for before questions are handed out, after there were too few `tried` times."""
        state = self.state
        needed = wanted + (1 + IN_STORE) * self._out + state.votes.half_asked + SPARE_CANDIDATES
        needed = max(needed, LEAST_IN_STORE)
        return state.trainer.rankings.waits(len(state.events), needed << tried, patiently=tried > 0)

    def lease_questions(self, asking: Sequence[Asker]) -> list[list[Asked] | None]:
        """Questions for each of them; None for whoever has to wait until there is a newer or a longer ranking."""
        for one in asking:
            validate_name(one.annotator)
        state = self.state
        with state.lock:
            while True:
                with state.database.leasing() as connection:
                    if state.catch_up_in(connection):
                        leases = queries.leases(connection)
                        until = queries.clock(connection) + state.settings.asking.lease_seconds
                        hand = _Hand(state, self._current(), leases, until)
                        found = [hand.deal(one) for one in asking]
                        if hand.granted:
                            queries.grant(connection, hand.granted)
                        break
                state.reload()
            self._out = len(hand.leases)
            return [None if one is None else [self._asked(lease) for lease in one] for one in found]

    def _current(self) -> tuple[Ranking, list[Turn]] | None:
        """The published ranking and what is left of it."""
        ranking, said = self.state.trainer.rankings.newest, len(self.state.events)
        if ranking is None:
            return None
        if ranking is not self._ranking:
            self._ranking, self._left, self._pruned_at = ranking, list(ranking.turns), 0
        if said >= self._pruned_at + PRUNE_AFTER:
            decided = self.state.votes.decisions
            self._left, self._pruned_at = [turn for turn in self._left if turn.pair not in decided], said
        return ranking, self._left

    def _asked(self, lease: queries.Lease) -> Asked:
        contents = self.state.contents
        return Asked(
            lease.key,
            lease.bag,
            str(contents.ids[lease.bag]),
            lease.label_class,
            contents.classes[lease.label_class],
            lease.evidence or 0,
            float("nan") if lease.belief is None else lease.belief,
            float("nan") if lease.score is None else lease.score,
            lease.audit,
            lease.until,
        )

    def ask_again(self, undone: Sequence[Event]) -> None:
        """Whoever takes answers back is asked these questions next."""
        if not undone:
            return
        state = self.state
        model = state.trainer.newest()
        evidence = [evidence_of(state, model, event.pair)[0] for event in undone]
        with state.database.writing() as connection:
            until = queries.clock(connection) + state.settings.asking.lease_seconds
            leases = [
                queries.Lease(
                    uuid.uuid4().hex,
                    *event.pair,
                    event.annotator,
                    until,
                    event.audit,
                    event.score,
                    event.belief,
                    one,
                    event.number,
                )
                for event, one in zip(undone, evidence, strict=True)
            ]
            queries.grant(connection, leases)


class _Hand:
    """The questions of one moment, dealt to one person after the other."""

    def __init__(
        self,
        state: ProjectState,
        current: tuple[Ranking, list[Turn]] | None,
        leases: list[queries.Lease],
        until: float,
    ) -> None:
        self.state, self.current, self.leases, self.until = state, current, leases, until
        self.granted: list[queries.Lease] = []
        self._taken = Counter(lease.pair for lease in leases)
        since = state.events[current[0].applied :] if current is not None else []
        self._answered = sum(event.answer != "skipped" for event in since)

    def deal(self, asking: Asker) -> list[queries.Lease] | None:
        """The person's own, newest first, and as many more as it takes."""
        mine = [one for one in self.leases if one.annotator == asking.annotator]
        still = [one for one in mine if self.state.wants(one.pair, asking.annotator)]
        still.sort(key=lambda one: -one.asked_after)
        wanted = asking.count - len(still)
        if wanted <= 0:
            return still[: asking.count]
        if self.current is None:
            return None
        ranking, left = self.current
        free = self._free(left, asking.annotator, {one.pair for one in mine}, wanted + SPARE_CANDIDATES)
        if len(free) < wanted and not (ranking.complete and ranking.applied >= len(self.state.events)):
            return None
        chosen = self._in_turn(ranking, free, wanted)
        return still + [self._grant(turn, asking.annotator, ranking) for turn in chosen]

    def _free(self, left: list[Turn], annotator: str, own: set[Pair], count: int) -> list[Turn]:
        """The best that this person may be asked."""
        taken, wants = self._taken, self.state.wants
        fitting = (
            turn for turn in left if (pair := turn.pair) not in own and wants(pair, annotator) > taken.get(pair, 0)
        )
        return list(islice(fitting, count))

    def _in_turn(self, ranking: Ranking, free: list[Turn], wanted: int) -> list[Turn]:
        """One drawn at random wherever it is an audit's turn, and nowhere else; among the others, varied ones first."""
        # Every question that was handed out, answered since or not, has had its turn.
        turn = len(self.leases) + self._answered
        audits = [one.audit for one in ranking.turns[turn : turn + wanted]]
        drawn = [one for one in free if one.audit]
        out = [one.pair for one in self.leases] + [one.pair for one in drawn[: sum(audits)]]
        chosen = diversify([one for one in free if not one.audit], out, wanted)
        ordered = [(drawn if audit and drawn else chosen or drawn).pop(0) for audit in audits[: len(free)]]
        return (ordered + chosen + drawn)[:wanted]

    def _grant(self, turn: Turn, annotator: str, ranking: Ranking) -> queries.Lease:
        evidence, belief = evidence_of(self.state, ranking.model, turn.pair)
        lease = queries.Lease(
            uuid.uuid4().hex,
            *turn.pair,
            annotator,
            self.until,
            turn.audit,
            float(turn.score),
            belief,
            evidence,
            ranking.applied,
        )
        self.granted.append(lease)
        self.leases.append(lease)
        self._taken[lease.pair] += 1
        return lease


def evidence_of(state: ProjectState, model: MIMLClassifier, pair: Pair) -> tuple[int, float]:
    """The instance of the bag that the model believes the class in, and P(class in bag)."""
    bag, label_class = pair
    of_instances = model.predict_instance_proba(state.bags.select([bag]))[:, label_class].astype(float)
    return int(of_instances.argmax()), float(1 - np.prod(1 - of_instances))
