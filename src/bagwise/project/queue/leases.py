"""Leases: which person is asked which question of the published ranking, and until when, without waiting for training.

What is asked is decided by the learner (`learning`); this module only leases its questions: each to as many people as
the settings want, none twice to one person. All people who ask at the same time are served in one transaction.
"""

import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.kernels import Array
from bagwise.learning.audits import next_questions
from bagwise.learning.evidence import explain, instance_probabilities
from bagwise.learning.questions import Overlap, Pair, Question
from bagwise.model import MIMLClassifier
from bagwise.project.access.names import validate_name
from bagwise.project.answers.annotator_noise import AnnotatorRates, labels_of_bag
from bagwise.project.answers.events import LISTED, Event
from bagwise.project.queue.ranking import FEW_PEOPLE, Ranking, Wait, wait_for
from bagwise.project.queue.spreading import GroupCounts, in_turns
from bagwise.project.state import ProjectState
from bagwise.project.storage import queries
from bagwise.project.storage.queries import Lease

SPARE_CANDIDATES = 60
RANKED_PER_LEASE, RANKED_AT_LEAST = 200, 2000
"""Questions ranked for each that is leased, and at least: during a refit, for seconds, no newer ranking comes."""
PRUNE_AFTER = 16
RECENTLY = 2.0
"""Seconds: who asked within them is one of those who are answering now."""
TRIES = 30
TRIES_AMONG = 7
"""Of a request for some bags alone: it gives up when none of the best 256,000 questions is about them."""


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


@dataclass(frozen=True)
class LeaseRequest:
    """A person's request for questions.

    Parameters
    ----------
    annotator : str
        Name of the person.
    count : int
        The most questions to lease; leases that the person has already are among them.
    among : frozenset of int, optional
        Only questions about these bags; none of them is an audit, since a person chose the bags.

    Examples
    --------
    >>> LeaseRequest("ann").count
    1
    """

    annotator: str
    count: int = 1
    among: frozenset[int] | None = None

    def allows(self, question: Question) -> bool:
        """Whether the question may be leased for this request.

        Parameters
        ----------
        question : Question
            A question of the ranking, or of a lease.

        Returns
        -------
        bool
        """
        return self.among is None or (question.bag in self.among and not question.audit)

    @property
    def tries(self) -> int:
        """How often a longer or newer ranking is waited for."""
        return TRIES if self.among is None else TRIES_AMONG


class Leases:
    """Who has which question, and who gets which next."""

    def __init__(self, state: ProjectState) -> None:
        self.state = state
        self._leased = 0
        self._asked_at: dict[str, float] = {}
        self._left: _Left | None = None
        self._pruned_at = 0

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
                        granting = _Granting(state, self._current(), queries.leases(connection), until)
                        found = [granting.grant(request) for request in requests]
                        explained = granting.explained()
                        if explained:
                            queries.add_leases(connection, list(explained.values()))
                        break
                state.reload()
            self._leased = len(granting.leases)
        return [None if leases is None else [explained.get(lease.key, lease) for lease in leases] for leases in found]

    def _remember(self, requests: Sequence[LeaseRequest]) -> None:
        now = time.monotonic()
        recent = {name: asked for name, asked in self._asked_at.items() if asked > now - RECENTLY}
        self._asked_at = recent | dict.fromkeys((request.annotator for request in requests), now)

    def _current(self) -> "_Left | None":
        """Those questions of the published ranking that are still open."""
        ranking, events = self.state.trainer.rankings.newest, len(self.state.events)
        if ranking is None:
            return None
        if self._left is None or ranking is not self._left.ranking:
            self._left, self._pruned_at = _Left(ranking), events
        if events >= self._pruned_at + PRUNE_AFTER:
            self._left.prune(self.state.votes.decisions)
            self._pruned_at = events
        return self._left

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
            questions = _explained(state, model, people, [_question_of(events) for events in together.values()])
            leases = [
                Lease(uuid.uuid4().hex, question, annotator, until, max(event.number for event in events))
                for question, ((annotator, _), events) in zip(questions, together.items(), strict=True)
            ]
            queries.add_leases(connection, leases)


class _Left:
    """The questions of a ranking without those that are decided by now; a question is made when it is first read."""

    def __init__(self, ranking: Ranking) -> None:
        self.ranking = ranking
        self._read: list[Question] = []
        self._unread = iter(ranking.questions)
        self._answered, self._counted = 0, ranking.applied

    def answered(self, events: Sequence[Event]) -> int:
        """How many of the `events` that the ranking lacks are answers to questions."""
        new = events[self._counted :]
        self._answered += sum(event.answer != "skipped" and event.shown != LISTED for event in new)
        self._counted = len(events)
        return self._answered

    def __iter__(self) -> Iterator[Question]:
        yield from self._read
        for question in self._unread:
            self._read.append(question)
            yield question

    def prune(self, decided: Container[Pair]) -> None:
        """Leave out what is decided, of what was read."""
        self._read = [one for one in self._read if not all(pair in decided for pair in one.pairs)]


class _Granting:
    """The questions of one moment, granted to one request after the other."""

    def __init__(self, state: ProjectState, left: _Left | None, leases: list[Lease], until: float) -> None:
        self.state, self.left, self.leases, self.until = state, left, leases, until
        self.granted: list[Lease] = []
        self._of_person = defaultdict[str, list[Lease]](list)
        for lease in leases:
            self._of_person[lease.annotator].append(lease)
        self._asked = Overlap(pair for lease in leases for pair in lease.question.pairs)
        self._most = state.votes.people
        self._untouched: dict[Pair, int] = {}
        self._answered = 0 if left is None else left.answered(state.events)

    def grant(self, request: LeaseRequest) -> list[Lease] | None:
        """The person's own leases, newest first, and as many more as are missing; these are explained later."""
        if self.left is None:
            # Not even an own lease: it cannot be shown without a model.
            return None
        own = self._of_person[request.annotator]
        still = [
            open_lease
            for lease in own
            if request.allows(lease.question) and (open_lease := self._still_open(lease)) is not None
        ]
        still.sort(key=lambda lease: -lease.asked_after)
        missing = request.count - len(still)
        if missing <= 0:
            return still[: request.count]
        ranking = self.left.ranking
        left = self.left if request.among is None else filter(request.allows, self.left)
        leased_to_them = {pair for lease in own for pair in lease.question.pairs}
        # Every question that was leased, answered since or not, has had its turn.
        turn = len(self.leases) + self._answered
        turns = ranking.questions[turn : turn + missing]
        audits = [question.audit and request.among is None for question in turns]
        free: Iterable[Question]
        if self.state.group_counts is None:
            free = islice(self._free(left, request.annotator, leased_to_them), missing + SPARE_CANDIDATES)
        else:
            free = self._in_turns(self.state.group_counts, left, request.annotator, leased_to_them, missing, audits)
        chosen = next_questions(audits, free, self._asked, missing)
        enough = len(chosen) >= missing if request.among is None else still or chosen
        if not enough and not (ranking.complete and self._is_current(ranking)):
            return None
        return still + [self._lease(question, request.annotator, ranking) for question in chosen]

    def _is_current(self, ranking: Ranking) -> bool:
        return self.state.trainer.rankings.is_current(ranking, len(self.state.events))

    def _in_turns(
        self,
        group_counts: GroupCounts,
        left: Iterable[Question],
        annotator: str,
        own: set[Pair],
        missing: int,
        audits: Sequence[bool],
    ) -> list[Question]:
        """Questions drawn at random for the turns of audits, and for the others as many that are spread over groups."""
        left = list(left)
        drawn = list(islice(self._free([one for one in left if one.audit], annotator, own), missing))
        taken = own.union(*(question.pairs for question in drawn))
        counts, groups = group_counts.after(self.state.events), group_counts.groups
        counts.update(int(groups[lease.bag]) for lease in self.leases for _ in lease.question.pairs)
        chosen = in_turns(
            [one for one in left if not one.audit],
            groups,
            counts,
            lambda some: self._free(some, annotator, taken),
            missing - min(sum(audits), len(drawn)),
        )
        return drawn + chosen

    def _still_open(self, lease: Lease) -> Lease | None:
        """The lease with the classes that its person may still be asked; None without the first."""
        if not self.state.may_ask(lease.bag):
            return None
        question, wants = lease.question, self.state.wants
        classes = [c for c in question.classes if wants((lease.bag, c), lease.annotator, question.instance)]
        if lease.label_class not in classes:
            return None
        return replace(lease, question=_with_classes(question, classes))

    def _free(self, left: Iterable[Question], annotator: str, own: set[Pair]) -> Iterator[Question]:
        """The questions that this person may be asked, with the classes that they may be asked about, best first.

        Of several questions about instances of one pair it is the first.
        """
        taken = set(own)
        for question in left:
            if not self.state.may_ask(question.bag):
                continue
            pairs = [
                pair
                for pair in question.pairs
                if pair not in taken and self._is_free(pair, annotator, question.instance)
            ]
            if pairs:
                taken.update(pairs)
                every = len(pairs) == len(question.classes)
                yield question if every else _with_classes(question, [label_class for _, label_class in pairs])

    def _is_free(self, pair: Pair, annotator: str, instance: int | None) -> bool:
        """Whether a pair is to be asked of this person besides those who are asked about it already."""
        already = self._asked.pairs.get(pair, 0)
        if already >= self._most:
            return False
        wanted = self._untouched.get(pair)
        if wanted is None:
            wanted = self.state.wants(pair, annotator, instance)
            if not self.state.votes.is_touched(pair):
                # Of a pair without any answer it is the same for every person.
                self._untouched[pair] = wanted
        return wanted > already

    def _lease(self, question: Question, annotator: str, ranking: Ranking) -> Lease:
        lease = Lease(uuid.uuid4().hex, question, annotator, self.until, ranking.applied)
        self.granted.append(lease)
        self.leases.append(lease)
        self._of_person[annotator].append(lease)
        self._asked.add(question.pairs)
        return lease

    def explained(self) -> dict[str, Lease]:
        """The granted leases with evidence and belief, by key."""
        if self.left is None or not self.granted:
            return {}
        ranking = self.left.ranking
        questions = _explained(self.state, ranking.model, ranking.people, [lease.question for lease in self.granted])
        return {
            lease.key: replace(lease, question=question)
            for lease, question in zip(self.granted, questions, strict=True)
        }


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


def _with_classes(question: Question, classes: Sequence[int]) -> Question:
    """The question about some of its classes."""
    if len(classes) == len(question.classes):
        return question
    places = [question.classes.index(label_class) for label_class in classes]
    return replace(
        question,
        classes=tuple(classes),
        evidence=tuple(question.evidence[place] for place in places) if question.evidence else (),
        belief=tuple(question.belief[place] for place in places) if question.belief else (),
    )


def _explained(
    state: ProjectState, model: MIMLClassifier, people: AnnotatorRates, questions: Sequence[Question]
) -> list[Question]:
    """The questions with evidence and belief given what is known of the instances, their likeliest class first.

    Where a bag does not show its instances, a question about one of them is asked about the bag.
    """
    shown = [
        question
        if question.instance is None or state.shows_instances(question.bag)
        else replace(question, instance=None)
        for question in questions
    ]
    probability = _instance_probabilities(state, model, people, {question.bag for question in shown})
    return [_likeliest_first(question, explain(question, probability[question.bag])) for question in shown]


def _instance_probabilities(
    state: ProjectState, model: MIMLClassifier, people: AnnotatorRates, bags: Collection[int]
) -> dict[int, Array]:
    """P(class) of the instances of each bag, (instances, classes), given what is known of them."""
    pointed = [bag for bag in bags if state.votes.pointed_classes(bag)]
    others = np.array(sorted(set(bags).difference(pointed)), np.int64)
    of_others = instance_probabilities(model, state.bags.select(others))
    found = dict(zip(others.tolist(), of_others, strict=True))
    for bag in pointed:
        labels = labels_of_bag(state.contents, state.votes, people, bag)
        found[bag] = model.pool(state.bags.select([bag]), labels).scorer.instance_probabilities()
    return found


def _likeliest_first(asked: Question, explained: Question) -> Question:
    """The explained question with its likeliest class first, by the belief with which it was asked where it has one."""
    belief = asked.belief or explained.belief
    by_belief = sorted(range(len(belief)), key=lambda place: -belief[place])
    return replace(
        explained,
        classes=tuple(explained.classes[place] for place in by_belief),
        evidence=tuple(explained.evidence[place] for place in by_belief),
        belief=tuple(belief[place] for place in by_belief),
    )


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
