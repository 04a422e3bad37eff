"""Votes: the events about every pair, and what counts of them, live and in a replay alike."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from bagwise.evaluation.audit_history import Closed
from bagwise.kernels import hash_of, hashed_uniform
from bagwise.learning.questions import Instances, Pair, Present
from bagwise.project.answers.events import VALUE, Event

ASKED_OF_SEVERAL = 1 << 40


@dataclass(frozen=True)
class Decision:
    """What counts for a pair.

    Parameters
    ----------
    present : bool or None
        Present, absent, or unsure (None).
    audit : bool
        Whether the first question about it was an audit.
    probability : float or None
        The probability with which that question was drawn, where it is known.
    where, elsewhere : tuple of int
        Instances that are of the class by at least one of the answers that count, and that are not; ascending.
    disputed : tuple of int
        Instances that are of the class by one answer and are not by another: they are in neither of both.
    """

    present: Present
    audit: bool
    where: Instances = ()
    elsewhere: Instances = ()
    disputed: Instances = ()
    probability: float | None = None

    @classmethod
    def of(cls, present: Present, first: Event, events: Iterable[Event]) -> "Decision":
        """Return the decision to which these answers led; of their pointing counts what says *present*.

        `first` is the first answer to the pair, whose question may have been an audit.

        Examples
        --------
        >>> one, other = (Event(n, "", "answer", "", "", 3, 0, "present", where=(n, 3)) for n in (1, 2))
        >>> Decision.of(True, one, [one, other]).where
        (1, 2, 3)
        """
        if not present:
            return cls(present, first.audit, probability=first.probability)
        pointing = [event.pointing for event in events if event.answer == "present"]
        here = {instance for one in pointing for instance in one.where}
        not_here = {instance for one in pointing for instance in one.elsewhere}
        both = here & not_here
        parts = here - both, not_here - both, both
        where, elsewhere, disputed = (tuple(sorted(part)) for part in parts)
        return cls(present, first.audit, where, elsewhere, disputed, first.probability)

    def pointing_at(self, where: Instances, elsewhere: Instances) -> "Decision":
        """Return the decision together with further instances that are of the class, and that are not.

        Examples
        --------
        >>> Decision(True, False, where=(1,)).pointing_at((3,), (1,))
        Decision(present=True, audit=False, where=(3,), elsewhere=(), disputed=(1,), probability=None)
        """
        here, not_here = {*self.where, *where}, {*self.elsewhere, *elsewhere}
        both = (here & not_here) | set(self.disputed)
        parts = here - both, not_here - both, both
        where, elsewhere, disputed = (tuple(sorted(part)) for part in parts)
        return replace(self, where=where, elsewhere=elsewhere, disputed=disputed)


class Verdicts(NamedTuple):
    """What the answers to questions about single instances say for a pair; ascending.

    Parameters
    ----------
    absent : tuple of int
        Instances that are not of the class.
    unsure : tuple of int
        Instances of which it cannot be said.
    disputed : tuple of int
        Instances that are of the class by one answer and are not by another.
    """

    absent: Instances = ()
    unsure: Instances = ()
    disputed: Instances = ()


NO_VERDICTS = Verdicts()


@dataclass(eq=False, slots=True)
class Chain:
    """An answer of one person (`voter`), or an imported label (no voter), and what replaced it, newest last.

    A correction is put on top and an undo removes the top, so that the event before it is in effect again. `newest` is
    the number of the last event, of whatever kind. Every event has a place among the answers to the pair: that of the
    event it corrects, unless that was skipped.
    """

    voter: str | None
    newest: int = 0
    _stack: list[tuple[int, Event]] = field(default_factory=list)

    @property
    def in_effect(self) -> Event | None:
        """The event in effect; None after all were undone, or where an imported label was not corrected."""
        return self._stack[-1][1] if self._stack else None

    @property
    def first(self) -> Event | None:
        """The first event, whose question was asked; those that replaced it have no question of their own."""
        return self._stack[0][1] if self._stack else None

    @property
    def under(self) -> Event | None:
        """The event that an undo would put in effect again."""
        return self._stack[-2][1] if len(self._stack) > 1 else None

    @property
    def place(self) -> int:
        """Place of the event in effect among the answers to the pair."""
        return self._stack[-1][0]

    @property
    def counts(self) -> bool:
        """Whether an answer is in effect that was not skipped."""
        return bool(self._stack) and self._stack[-1][1].answer != "skipped"

    @property
    def votes(self) -> bool:
        """Whether an answer is in effect that says something of the bag."""
        return self.counts and self._stack[-1][1].labels_bag

    def is_about(self, instance: int | None) -> bool:
        """Whether the event in effect answers the question about this instance; None: about the bag."""
        return bool(self._stack) and self._stack[-1][1].instance == instance

    def take(self, event: Event) -> None:
        """Add the next event."""
        if event.kind == "restoration":
            del self._stack[-1:]
        elif event.kind == "retraction":
            self._stack.clear()
        else:
            self._stack.append((self.place if self.counts else event.number, event))
        self.newest = event.number


class Votes:
    """The events about every pair, and the decisions that follow from them.

    A pair is decided when as many people answered as are to be asked: by more than half of them; else it is undecided
    and waits for an adjudicator, whose answer counts alone. Later answers are stored and not counted. Answers about
    bags that were `removed` do not count.

    A question about one instance is asked of as many people. *Present* is an answer to the pair that points at the
    instance; *absent* and *unsure* leave the pair open (`verdicts`).

    `decided_since` has the number of the event since which each pair is decided, and `reopened` from which event to
    which a pair was decided before it was open again.

    `answers_after` has, by the number of events, how many answers were in effect after them: a correction replaces one,
    and an undo takes one away.
    """

    def __init__(
        self,
        people: int,
        share: float,
        seed: int,
        adjudicators: frozenset[str] = frozenset(),
        removed: frozenset[int] = frozenset(),
    ) -> None:
        self.people, self.share, self.seed = people, share, seed
        self.adjudicators, self.removed = adjudicators, removed
        self.decisions: dict[Pair, Decision] = {}
        self.decided_since: dict[Pair, int] = {}
        self.reopened: list[Closed] = []
        self.answers_after = [0]
        self._verdicts: dict[Pair, Verdicts] = {}
        self._chains: dict[Pair, list[Chain]] = {}
        self._imported: dict[Pair, Chain] = {}
        self._chain_with: dict[int, Chain] = {}
        self._replaced: dict[int, Event | None] = {}
        self._in_effect: dict[int, Event | None] = {}
        self._half_asked: set[Pair] = set()
        self._present: dict[int, dict[int, None]] = {}
        self._pointed: dict[int, set[int]] = {}
        self._digest = hashlib.sha256()

    def apply(self, event: Event) -> None:
        """Add the next event."""
        self.note(event)
        chain = self._chain_for(event)
        before = chain.in_effect
        chain.take(event)
        self._chain_with[event.number] = chain
        if event.where or event.elsewhere or event.instance is not None:
            self._pointed.setdefault(event.bag, set()).add(event.label_class)
        if event.kind != "answer":
            self._replaced[event.number] = before
        if before is not None:
            self._in_effect[before.number] = None
        if chain.in_effect is not None:
            # An event that is in effect again is back at its place: the order is that of the numbers.
            self._in_effect[chain.in_effect.number] = chain.in_effect
        more = 0 if event.bag in self.removed else (chain.in_effect is not None) - (before is not None)
        self.answers_after.append(self.answers_after[-1] + more)
        if chain.voter is not None:
            self._count(event.pair, chain)

    def _chain_for(self, event: Event) -> Chain:
        if event.replaces in self._chain_with:
            return self._chain_with[event.replaces]
        if event.kind == "correction":
            return self._imported.setdefault(event.pair, Chain(None))
        chain = Chain(event.annotator)
        self._chains.setdefault(event.pair, []).append(chain)
        return chain

    def _count(self, pair: Pair, changed: Chain) -> None:
        if changed.in_effect is None:
            self._chains[pair].remove(changed)
        decision = self._decide(pair)
        if decision is None:
            self.decisions.pop(pair, None)
            if (since := self.decided_since.pop(pair, None)) is not None:
                self.reopened.append(Closed(pair, since, changed.newest))
            self._half_asked.add(pair)
        else:
            self.decisions[pair] = decision
            self.decided_since.setdefault(pair, changed.newest)
            self._half_asked.discard(pair)
        self._verdicts.pop(pair, None)
        if (verdicts := self._judge(pair)) != NO_VERDICTS:
            self._verdicts[pair] = verdicts
        bag, label_class = pair
        present = self._present.setdefault(label_class, {})
        present.pop(bag, None)
        if decision is not None and decision.present:
            present[bag] = None

    def note(self, event: Event) -> None:
        """Add the event to the digest only."""
        self._digest.update(event.fingerprint)

    def digest(self) -> str:
        """Return the SHA-256 of all events so far."""
        return self._digest.copy().hexdigest()

    def effective(self, number: int) -> Event | None:
        """The event, unless it was replaced."""
        return self._in_effect.get(number)

    def chain_with(self, number: int) -> Chain | None:
        """The chain that an event belongs to."""
        return self._chain_with.get(number)

    def chains_of(self, pair: Pair, annotator: str) -> list[Chain]:
        """The chains of this person's answers in effect, also skipped ones and those that others corrected."""
        return [chain for chain in self._chains.get(pair, ()) if chain.voter == annotator]

    def imported(self, pair: Pair) -> Chain:
        """The corrections of an imported label; none is in effect as long as the label is."""
        return self._imported.get(pair, Chain(None))

    def corrected_imports(self) -> dict[Pair, Event]:
        """The corrections of imported labels that are in effect, without those of removed bags."""
        imported = [(pair, chain.in_effect) for pair, chain in list(self._imported.items())]
        return {pair: event for pair, event in imported if event is not None and pair[0] not in self.removed}

    def replaced_by(self, number: int) -> Event | None:
        """The event in effect before a correction or an undo; None where that was an imported label."""
        return self._replaced.get(number)

    def last_of(self, annotator: str) -> Event | None:
        """The last event of a person that is in effect."""
        return next((one for one in reversed(self._in_effect.values()) if one and one.annotator == annotator), None)

    def all_effective(self) -> list[Event]:
        """All events in effect, by number, without those about removed bags."""
        effective = list(self._in_effect.values())
        return [event for event in effective if event is not None and event.bag not in self.removed]

    def people_for(self, pair: Pair) -> int:
        """How many people are asked about it: several about a share of the pairs, drawn by their place."""
        if self.people == 1 or self.share >= 1:
            return self.people
        bag, label_class = np.array([hash_of(pair[0])], np.uint64), np.array([ASKED_OF_SEVERAL + pair[1]])
        return self.people if hashed_uniform(self.seed, bag, label_class)[0] < self.share else 1

    def wants(self, pair: Pair, annotator: str, instance: int | None = None) -> int:
        """How many more people a pair, or an instance of it, is to be asked of; none of whom answered or skipped it."""
        if pair in self.decisions or pair[0] in self.removed:
            return 0
        if pair not in self._chains:
            # As nearly all open pairs are, and people who ask go through hundreds of them.
            return self.people_for(pair)
        own = self.chains_of(pair, annotator)
        if any(chain.votes or chain.is_about(None) or chain.is_about(instance) for chain in own):
            return 0
        asked = 0 if instance is None else sum(event.instance == instance for event in self.about_instances(pair))
        return self.people_for(pair) - max(len(self._counting(pair)), asked)

    def has_answered(self, pair: Pair, annotator: str, instance: int | None = None) -> bool:
        """Whether this person has an answer that counts to the pair, or to the question about this instance of it."""
        own = self.chains_of(pair, annotator)
        return any(chain.votes or (chain.counts and chain.is_about(instance)) for chain in own)

    def verdicts(self, pair: Pair) -> Verdicts:
        """What the answers to questions about single instances say for a pair."""
        return self._verdicts.get(pair, NO_VERDICTS)

    @property
    def n_decided(self) -> int:
        """Number of decided pairs, and of instances that are decided in pairs."""
        return len(self.decisions) + sum(len(some) for one in self._verdicts.values() for some in one)

    @property
    def half_asked(self) -> int:
        """Number of pairs that a person answered and that are still open: the best questions may all be among them."""
        return len(self._half_asked)

    def decided_present(self, label_class: int, most: int) -> list[int]:
        """Up to so many bags that have the class, those decided last first."""
        present = self._present.get(label_class, {})
        try:
            return list(islice(reversed(present), most))
        except RuntimeError:
            # It was changed by another thread, which cannot happen while all of it is copied.
            return list(present)[::-1][:most]

    def pointed_bags(self) -> list[int]:
        """Bags of which some event points at an instance, ascending."""
        return sorted(self._pointed)

    def has_pointed(self, bag: int) -> bool:
        """Whether some event points at an instance of the bag."""
        return bag in self._pointed

    def pointed_classes(self, bag: int) -> list[int]:
        """The classes of a bag about which some event points at an instance, ascending."""
        return sorted(self._pointed.get(bag, ()))

    def disagreements(self) -> list[Pair]:
        """Pairs to which people answered both present and absent."""
        asked = [pair for pair in list(self._chains) if pair[0] not in self.removed]
        return [pair for pair in asked if len(_clear(self.answers_about(pair))) > 1]

    def answers_about(self, pair: Pair) -> list[Event]:
        """The answers to a pair that count, one of each person, in the order of their places."""
        return [event for chain in self._counting(pair) if (event := chain.in_effect) is not None]

    def about_instances(self, pair: Pair) -> list[Event]:
        """The answers about single instances of a pair that count, in the order of their places.

        *Present, at another instance* is none: it says nothing of the one that was asked about.
        """
        chains = sorted((chain for chain in self._chains.get(pair, ()) if chain.counts), key=lambda chain: chain.place)
        events = [event for chain in chains if (event := chain.in_effect) is not None]
        asked = [event for event in events if event.instance is not None]
        return [event for event in asked if event.of_instance is not None or not event.labels_bag]

    def effective_about(self, pair: Pair) -> list[Event]:
        """The answers to a pair that count; where its label was imported and corrected, the correction."""
        correction = self.imported(pair).in_effect
        return self.answers_about(pair) if correction is None else [correction]

    def _counting(self, pair: Pair) -> list[Chain]:
        chains = [chain for chain in self._chains.get(pair, ()) if chain.votes]
        if len(chains) < 2:
            return chains
        in_order = sorted(chains, key=lambda chain: chain.place)
        # Someone may have said *yes* to one instance, and something else after another person had corrected that to
        # *no*; where the correction is undone, their last answer counts.
        last = {chain.voter: chain for chain in in_order}
        return [chain for chain in in_order if last[chain.voter] is chain]

    def _judge(self, pair: Pair) -> Verdicts:
        """The verdicts about the instances of a pair that enough people answered about, or an adjudicator."""
        # Of most bags nothing was said of an instance.
        about = self.about_instances(pair) if pair[0] in self._pointed else []
        if not about or pair[0] in self.removed:
            return NO_VERDICTS
        decided_alone = any(event.annotator in self.adjudicators for event in self.answers_about(pair))
        people = self.people_for(pair)
        found: dict[str, list[int]] = {name: [] for name in Verdicts._fields}
        for instance in sorted({event.instance for event in about if event.instance is not None}):
            events = [event for event in about if event.instance == instance]
            words = [event for event in events if event.annotator in self.adjudicators][-1:]
            if not words and (decided_alone or len(events) < people):
                continue
            said = [event.of_instance for event in words or events[:people]]
            if True in said and False in said:
                found["disputed"].append(instance)
            elif 2 * said.count(False) > len(said):
                found["absent"].append(instance)
            elif True not in said:
                found["unsure"].append(instance)
        return Verdicts(**{name: tuple(instances) for name, instances in found.items()})

    def _decide(self, pair: Pair) -> Decision | None:
        events = self.answers_about(pair)
        if not events or pair[0] in self.removed:
            return None
        adjudicated = [event for event in events if event.annotator in self.adjudicators]
        if adjudicated:
            return Decision.of(VALUE.get(adjudicated[-1].answer), events[0], adjudicated[-1:])
        people = self.people_for(pair)
        if len(events) < people:
            return None
        counted = [event.answer for event in events[:people]]
        majority = next((answer for answer in ("present", "absent") if 2 * counted.count(answer) > people), "unsure")
        return Decision.of(VALUE[majority], events[0], events[:people])


def _clear(events: Iterable[Event]) -> set[str]:
    return {event.answer for event in events if event.answer != "unsure"}
