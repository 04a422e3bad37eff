"""Events: answers and what replaced them, in order. `Votes` decides which count, live and in a replay alike."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from bagwise.kernels import hash_of, hashed_uniform
from bagwise.learning.questions import Instances, Pair, Present

ANSWERS = ("present", "absent", "unsure", "skipped")
VALUE: dict[str, Present] = {"present": True, "absent": False, "unsure": None}
ANSWER_OF = {value: answer for answer, value in VALUE.items()}
KINDS = ("answer", "correction", "restoration", "retraction")
ASKED_OF_SEVERAL = 1 << 40
WHOLE_BAG, LISTED = "whole bag", "list"
"""What was shown with an answer: a whole-bag question with the answer to its first class; a list with all others."""


class Pointing(NamedTuple):
    """What an answer says of single instances of the bag: these are of the class, and these are not.

    Parameters
    ----------
    where : tuple of int
        Positions of instances that are of the class, ascending.
    elsewhere : tuple of int
        Positions of instances that are not of it, although it is present, ascending.

    Examples
    --------
    >>> Pointing.of([3, 1, 3])
    Pointing(where=(1, 3), elsewhere=())
    """

    where: Instances = ()
    elsewhere: Instances = ()

    @classmethod
    def of(cls, where: Iterable[int] = (), elsewhere: Iterable[int] = ()) -> "Pointing":
        """Return the pointing with each instance once, in order."""
        return cls(tuple(sorted(set(where))), tuple(sorted(set(elsewhere))))


NOWHERE = Pointing()


@dataclass(frozen=True)
class Event:
    """An answer to a pair, or what replaces one; docs/projects.md has the rules.

    Parameters
    ----------
    number : int
        Position among the events of the project, from 1.
    key : str
        Unique key, so that an answer that is sent again is saved once.
    kind : {"answer", "correction", "restoration", "retraction"}
        A `correction` replaces an answer, or an imported label where it `replaces` no event. Undoing it is a
        `restoration`, whose `answer` is in effect again; undoing an answer is a `retraction`, after which the pair
        has no answer of this person.
    annotator : str
        Name of the person.
    at : str
        When it was saved (ISO 8601, UTC).
    bag, label_class : int
        Positions of the bag and the class.
    answer : {"present", "absent", "unsure", "skipped"}
        The answer.
    seconds : float or None
        How long answering took.
    audit : bool
        Whether the question was drawn at random.
    score, belief : float or None
        Score of the question, and P(class in bag) by the model that asked.
    asked_after : int or None
        Number of the last event that this model had learned.
    replaces : int or None
        Number of the newest event of the same chain, so that each is replaced once.
    shown : str or None
        What was shown with the question: `WHOLE_BAG`, `LISTED`, "highlighted" or "not highlighted".
    where, elsewhere : tuple of int
        Where the answer is *present*: instances of the bag that are of the class, and that are not; ascending.
    marked : int or None
        The instance that was marked with the question.

    Examples
    --------
    >>> Event(1, "key", "answer", "ann", "2026-01-01T00:00:00.000+00:00", 3, 0, "present").pair
    (3, 0)
    """

    number: int
    key: str
    kind: str
    annotator: str
    at: str
    bag: int
    label_class: int
    answer: str
    seconds: float | None = None
    audit: bool = False
    score: float | None = None
    belief: float | None = None
    asked_after: int | None = None
    replaces: int | None = None
    shown: str | None = None
    # Not in `repr`, from which fingerprints are made: events without pointing have those they always had.
    where: Instances = field(default=(), repr=False)
    elsewhere: Instances = field(default=(), repr=False)
    marked: int | None = field(default=None, repr=False)

    @property
    def pointing(self) -> Pointing:
        """What it says of single instances."""
        return Pointing(self.where, self.elsewhere)

    @property
    def fingerprint(self) -> bytes:
        """What digests are made from: everything that a model may depend on."""
        pointing = repr(self.pointing) if self.where or self.elsewhere else ""
        return f"{self!r}{pointing}".encode()

    @property
    def pair(self) -> Pair:
        """(bag, class)."""
        return self.bag, self.label_class


@dataclass(frozen=True)
class Decision:
    """What counts for a pair.

    Parameters
    ----------
    present : bool or None
        Present, absent, or unsure (None).
    audit : bool
        Whether the first question about it was an audit.
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

    @classmethod
    def of(cls, present: Present, audit: bool, events: Iterable[Event]) -> "Decision":
        """Return the decision to which these answers led; of their pointing counts what says *present*.

        Examples
        --------
        >>> one, other = (Event(n, "", "answer", "", "", 3, 0, "present", where=(n, 3)) for n in (1, 2))
        >>> Decision.of(True, False, [one, other]).where
        (1, 2, 3)
        """
        if not present:
            return cls(present, audit)
        pointing = [event.pointing for event in events if event.answer == "present"]
        here = {instance for one in pointing for instance in one.where}
        not_here = {instance for one in pointing for instance in one.elsewhere}
        both = here & not_here
        parts = here - both, not_here - both, both
        return cls(present, audit, *(tuple(sorted(part)) for part in parts))

    def teaches_as(self, other: "Decision") -> bool:
        """Whether another decision teaches the same."""
        mine, others = ((one.present, one.where, one.elsewhere) for one in (self, other))
        return mine == others


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
        if event.where or event.elsewhere:
            self._pointed.setdefault(event.bag, set()).add(event.label_class)
        if event.kind != "answer":
            self._replaced[event.number] = before
        if before is not None:
            self._in_effect[before.number] = None
        if chain.in_effect is not None:
            # An event that is in effect again is back at its place: the order is that of the numbers.
            self._in_effect[chain.in_effect.number] = chain.in_effect
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
            self._half_asked.add(pair)
        else:
            self.decisions[pair] = decision
            self._half_asked.discard(pair)
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

    def wants(self, pair: Pair, annotator: str) -> int:
        """How many more people a pair is to be asked of; none of whom answered or skipped it."""
        if pair in self.decisions or pair[0] in self.removed or self.chains_of(pair, annotator):
            return 0
        return self.people_for(pair) - len(self._counting(pair))

    def has_answered(self, pair: Pair, annotator: str) -> bool:
        """Whether this person has an answer to the pair that counts."""
        return any(chain.counts for chain in self.chains_of(pair, annotator))

    @property
    def half_asked(self) -> int:
        """Number of pairs that a person answered and that are still open: the best questions may all be among them."""
        return len(self._half_asked)

    def decided_present(self, label_class: int) -> list[int]:
        """Bags that have the class, those decided last first."""
        return list(self._present.get(label_class, {}))[::-1]

    def pointed_bags(self) -> list[int]:
        """Bags of which some event points at an instance, ascending."""
        return sorted(self._pointed)

    def pointed_classes(self, bag: int) -> list[int]:
        """The classes of a bag about which some event points at an instance, ascending."""
        return sorted(self._pointed.get(bag, ()))

    def disagreements(self) -> list[Pair]:
        """Pairs to which people answered both present and absent."""
        asked = [pair for pair in list(self._chains) if pair[0] not in self.removed]
        return [pair for pair in asked if len(_clear(self.answers_about(pair))) > 1]

    def answers_about(self, pair: Pair) -> list[Event]:
        """The answers to a pair that count, in the order of their places."""
        return [event for chain in self._counting(pair) if (event := chain.in_effect) is not None]

    def effective_about(self, pair: Pair) -> list[Event]:
        """The answers to a pair that count; where its label was imported and corrected, the correction."""
        correction = self.imported(pair).in_effect
        return self.answers_about(pair) if correction is None else [correction]

    def _counting(self, pair: Pair) -> list[Chain]:
        chains = [chain for chain in self._chains.get(pair, ()) if chain.counts]
        return sorted(chains, key=lambda chain: chain.place) if len(chains) > 1 else chains

    def _decide(self, pair: Pair) -> Decision | None:
        events = self.answers_about(pair)
        if not events or pair[0] in self.removed:
            return None
        audit = events[0].audit
        adjudicated = [event for event in events if event.annotator in self.adjudicators]
        if adjudicated:
            return Decision.of(VALUE.get(adjudicated[-1].answer), audit, adjudicated[-1:])
        people = self.people_for(pair)
        if len(events) < people:
            return None
        counted = [event.answer for event in events[:people]]
        majority = next((answer for answer in ("present", "absent") if 2 * counted.count(answer) > people), "unsure")
        return Decision.of(VALUE[majority], audit, events[:people])


def _clear(events: Iterable[Event]) -> set[str]:
    return {event.answer for event in events if event.answer != "unsure"}
