"""Granting: which of the ranked questions each of the people gets who ask at one moment.

The ranking says what is asked, and which turns are audits; of the best questions that are free a person gets the one
that is least like what others are asked (`learning.candidates`), each only as often as the settings want.
"""

import uuid
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice

from bagwise.learning.candidates import Candidates, Overlap
from bagwise.learning.questions import Pair, Question
from bagwise.project.answers.events import LISTED
from bagwise.project.queue.explanation import explained
from bagwise.project.queue.ranking import Ranking
from bagwise.project.queue.requests import LeaseRequest
from bagwise.project.queue.spreading import GroupCounts, in_turns
from bagwise.project.state import ProjectState
from bagwise.project.storage.stored_leases import Lease

SPARE_CANDIDATES = 60
AGAIN_AFTER = 500
"""Events after which what is decided by now is left out of what was read of a ranking."""


class Remaining:
    """The questions of a ranking that may still be asked, and what is asked of whom meanwhile.

    It serves many moments: from one to the next only the leases count that began or ended.
    """

    def __init__(self, ranking: Ranking, state: ProjectState) -> None:
        self.ranking, self.state = ranking, state
        self._read: list[Question] = []
        self._unread = iter(ranking.questions)
        self._answered, self._counted = 0, ranking.applied
        self._begin({}, self._read)

    def _begin(self, leases: Mapping[str, Lease], among: Sequence[Question]) -> None:
        """Look again at these of the questions that were read."""
        decided = self.state.votes.decisions
        self._left = [one for one in among if not all(pair in decided for pair in one.pairs)]
        self._contents, self._events = self.state.contents, len(self.state.events)
        self.leases = dict(leases)
        self.asked = Overlap(pair for lease in leases.values() for pair in lease.question.pairs)
        self.candidates = Candidates(self, self.asked, self.is_open)

    def begin_again(self) -> None:
        """Look again at what is left, where something counted as asked that is not leased after all."""
        self._begin(self.leases, self._left)

    def update(self, leases: Mapping[str, Lease]) -> None:
        """Let these be the leases, and count the events since the last time."""
        ended = [lease for key, lease in self.leases.items() if key not in leases]
        events = self.state.events[self._events :]
        if self.state.contents is not self._contents or any(event.kind != "answer" for event in events):
            # What was decided may be open again.
            self._begin(leases, self._read)
            return
        open_again = any(self.state.is_open(pair) for lease in ended for pair in lease.question.pairs)
        if open_again or len(events) >= AGAIN_AFTER:
            self._begin(leases, self._left)
            return
        for lease in ended:
            self.asked.add(lease.question.pairs, -1)
        for key, lease in leases.items():
            if key not in self.leases:
                self.asked.add(lease.question.pairs)
        self.leases = dict(leases)

    def turn(self) -> int:
        """How many questions had their turn: every one that was leased, answered since or not."""
        new = self.state.events[self._counted :]
        self._answered += sum(event.answer != "skipped" and event.shown != LISTED for event in new)
        self._counted = len(self.state.events)
        return len(self.leases) + self._answered

    def is_open(self, question: Question) -> bool:
        """Whether the question may be asked of anyone besides those who are asked already."""
        if not self.state.may_ask(question.bag):
            return False
        # Looked at for each of a hundred questions: without a generator.
        for pair in question.pairs:
            if self.asked.pairs.get(pair, 0) < self.state.votes.people and self.state.is_open(pair):
                return True
        return False

    def __iter__(self) -> Iterator[Question]:
        """The questions, best first; each is made when it is first read."""
        for place in count():
            if place == len(self._left):
                question = next(self._unread, None)
                if question is None:
                    return
                self._read.append(question)
                self._left.append(question)
            yield self._left[place]


class Granting:
    """The questions of one moment, granted to one request after the other."""

    def __init__(
        self, state: ProjectState, remaining: Remaining | None, leases: Mapping[str, Lease], until: float
    ) -> None:
        self.state, self.remaining, self.until = state, remaining, until
        self.granted: list[Lease] = []
        self._of_person = defaultdict[str, list[Lease]](list)
        for lease in leases.values():
            self._of_person[lease.annotator].append(lease)
        if remaining is not None:
            remaining.update(leases)

    def grant(self, request: LeaseRequest) -> list[Lease] | None:
        """The person's own leases, newest first, and as many more as are missing; these are explained later."""
        remaining = self.remaining
        if remaining is None:
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
        ranking = remaining.ranking
        chosen = self._chosen(remaining, request, {pair for lease in own for pair in lease.question.pairs}, missing)
        enough = len(chosen) >= missing if request.among is None else still or chosen
        if not enough and not (ranking.complete and self._is_current(ranking)):
            remaining.begin_again()
            return None
        return still + [self._lease(remaining, question, request.annotator) for question in chosen]

    def _is_current(self, ranking: Ranking) -> bool:
        return self.state.trainer.rankings.is_current(ranking, len(self.state.events))

    def _chosen(self, remaining: Remaining, request: LeaseRequest, own: set[Pair], missing: int) -> list[Question]:
        """Up to so many questions that differ from what is asked, audits at their turns; they count as asked."""
        audits = [False] * missing
        if request.among is None:
            audits = remaining.ranking.questions.audits(remaining.turn(), missing)
        candidates, most = self._candidates_for(remaining, request, own, audits), missing + SPARE_CANDIDATES

        def suited(question: Question) -> Question | None:
            return self._suited(remaining, question, request.annotator, own)

        chosen: list[Question] = []
        try:
            for audit in audits:
                first, second = (candidates.drawn, candidates.best) if audit else (candidates.best, candidates.drawn)
                question = first(suited, most) or second(suited, most)
                if question is None:
                    break
                remaining.asked.add(question.pairs)
                own.update(question.pairs)
                chosen.append(question)
        except BaseException:
            remaining.begin_again()
            raise
        return chosen

    def _candidates_for(
        self, remaining: Remaining, request: LeaseRequest, own: set[Pair], audits: Sequence[bool]
    ) -> Candidates:
        """Those that all people share, unless it is for some bags alone, or questions are spread over groups."""
        group_counts = self.state.group_counts
        if request.among is None and group_counts is None:
            return remaining.candidates
        questions: Iterable[Question] = filter(request.allows, remaining)
        if group_counts is not None:
            questions = self._in_turns(remaining, group_counts, list(questions), request.annotator, own, audits)
        return Candidates(questions, remaining.asked, remaining.is_open)

    def _in_turns(
        self,
        remaining: Remaining,
        group_counts: GroupCounts,
        left: Sequence[Question],
        annotator: str,
        own: set[Pair],
        audits: Sequence[bool],
    ) -> list[Question]:
        """Questions drawn at random for the turns of audits, and for the others as many that are spread over groups."""
        drawn = list(islice(self._free(remaining, [one for one in left if one.audit], annotator, own), len(audits)))
        taken = own.union(*(question.pairs for question in drawn))
        counts, groups = group_counts.after(self.state.events), group_counts.groups
        counts.update(int(groups[lease.bag]) for lease in remaining.leases.values() for _ in lease.question.pairs)
        chosen = in_turns(
            [one for one in left if not one.audit],
            groups,
            counts,
            lambda some: self._free(remaining, some, annotator, taken),
            len(audits) - min(sum(audits), len(drawn)),
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

    def _free(
        self, remaining: Remaining, left: Iterable[Question], annotator: str, own: set[Pair]
    ) -> Iterator[Question]:
        """The questions that this person may be asked, with the classes that they may be asked about, best first.

        Of several questions about instances of one pair it is the first.
        """
        taken = set(own)
        for question in left:
            found = self._suited(remaining, question, annotator, taken) if remaining.is_open(question) else None
            if found is not None:
                taken.update(found.pairs)
                yield found

    def _suited(
        self, remaining: Remaining, question: Question, annotator: str, own: Container[Pair]
    ) -> Question | None:
        """The question with the classes that this person may be asked about besides their own pairs; None without."""
        pairs = [
            pair
            for pair in question.pairs
            if pair not in own
            and remaining.asked.pairs.get(pair, 0) < self.state.wants(pair, annotator, question.instance)
        ]
        return _with_classes(question, [label_class for _, label_class in pairs]) if pairs else None

    def _lease(self, remaining: Remaining, question: Question, annotator: str) -> Lease:
        lease = Lease(uuid.uuid4().hex, question, annotator, self.until, remaining.ranking.applied)
        self.granted.append(lease)
        remaining.leases[lease.key] = lease
        self._of_person[annotator].append(lease)
        return lease

    def explained(self) -> dict[str, Lease]:
        """The granted leases with evidence and belief, by key."""
        if self.remaining is None or not self.granted:
            return {}
        ranking = self.remaining.ranking
        questions = explained(self.state, ranking.model, ranking.people, [lease.question for lease in self.granted])
        return {
            lease.key: replace(lease, question=question)
            for lease, question in zip(self.granted, questions, strict=True)
        }


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
