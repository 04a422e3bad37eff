"""Events: what people said, in order. What counts of it is worked out here, the same way live and in a replay."""

import hashlib
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from bagwise.kernels import hash_of, hashed_uniform
from bagwise.learning.questions import Pair, Present

ANSWERS = ("present", "absent", "unsure", "skipped")
VALUE: dict[str, Present] = {"present": True, "absent": False, "unsure": None}
ANSWER_OF = {value: answer for answer, value in VALUE.items()}
KINDS = ("answer", "correction", "restoration", "retraction")
ASKED_OF_SEVERAL = 1 << 40
WHOLE_BAG, LISTED = "whole bag", "list"
"""What was shown with an answer: a whole-bag question with the answer to its first class; a list with all others."""


@dataclass(frozen=True)
class Event:
    """An answer to a pair, or what replaces one; docs/projects.md has the rules.

    A `correction` takes the place of an answer, or of an imported label where it `replaces` no event. Undoing it is a
    `restoration`, whose `answer` stands again; undoing an answer is a `retraction`: nothing stands in its place.
    `replaces` is the newest event of the same chain, so that each is replaced once. `asked_after` is the number of the
    last event that the model knew which asked.
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

    @property
    def pair(self) -> Pair:
        """What it is about."""
        return self.bag, self.label_class


@dataclass(frozen=True)
class Decision:
    """What counts for a pair: present, absent, or nobody can say; `audit` if the first question about it was one."""

    present: Present
    audit: bool


@dataclass(eq=False, slots=True)
class Chain:
    """An answer of one person (`voter`), or an imported label (no voter), and what took its place, newest last.

    A correction is put on top and an undo takes the top away, so that what was there before stands again. `newest` is
    the number of the last event, of whatever kind. With each event goes its place among the answers to the pair: that
    of what it corrects, unless that was skipped.
    """

    voter: str | None
    newest: int = 0
    _stack: list[tuple[int, Event]] = field(default_factory=list)

    @property
    def stands(self) -> Event | None:
        """What counts of it; None after everything was taken back, or where an imported label stands."""
        return self._stack[-1][1] if self._stack else None

    @property
    def under(self) -> Event | None:
        """What would stand if the top were taken away."""
        return self._stack[-2][1] if len(self._stack) > 1 else None

    @property
    def place(self) -> int:
        """Of what stands, among the answers to the pair."""
        return self._stack[-1][0]

    @property
    def counts(self) -> bool:
        """Whether an answer stands that was not skipped."""
        return bool(self._stack) and self._stack[-1][1].answer != "skipped"

    def take(self, event: Event) -> None:
        """Take the next event in."""
        if event.kind == "restoration":
            del self._stack[-1:]
        elif event.kind == "retraction":
            self._stack.clear()
        else:
            self._stack.append((self.place if self.counts else event.number, event))
        self.newest = event.number


class Votes:
    """Everything said about every pair, and what follows from it.

    A pair is decided when as many people answered as are to be asked: by more than half of them; else it is undecided
    and waits for an adjudicator, whose word counts alone. What comes later than that is kept and not counted. Nothing
    counts of what is said about bags that were `removed`.
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
        self._standing: dict[int, Event | None] = {}
        self._half_asked: set[Pair] = set()
        self._present: dict[int, dict[int, None]] = {}
        self._digest = hashlib.sha256()

    def apply(self, event: Event) -> None:
        """Take the next event in."""
        self.note(event)
        chain = self._chain_for(event)
        before = chain.stands
        chain.take(event)
        self._chain_with[event.number] = chain
        if event.kind != "answer":
            self._replaced[event.number] = before
        if before is not None:
            self._standing[before.number] = None
        if chain.stands is not None:
            # What stands again is back where it was: the order is that of the numbers.
            self._standing[chain.stands.number] = chain.stands
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
        if changed.stands is None:
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
        """Only remember that it was said."""
        self._digest.update(repr(event).encode())

    def digest(self) -> str:
        """A name for everything that was said so far."""
        return self._digest.copy().hexdigest()

    def effective(self, number: int) -> Event | None:
        """The event, unless it was replaced."""
        return self._standing.get(number)

    def chain_with(self, number: int) -> Chain | None:
        """The chain that an event belongs to."""
        return self._chain_with.get(number)

    def chains_of(self, pair: Pair, annotator: str) -> list[Chain]:
        """What this person answered and stands, skipped or corrected by others as it may be."""
        return [chain for chain in self._chains.get(pair, ()) if chain.voter == annotator]

    def imported(self, pair: Pair) -> Chain:
        """What became of an imported label; nothing stands in it as long as the label does."""
        return self._imported.get(pair, Chain(None))

    def corrected_imports(self) -> dict[Pair, Event]:
        """The corrections that stand in the place of imported labels, but of removed bags."""
        imported = [(pair, chain.stands) for pair, chain in list(self._imported.items())]
        return {pair: event for pair, event in imported if event is not None and pair[0] not in self.removed}

    def replaced_by(self, number: int) -> Event | None:
        """What stood before a correction or an undo; None where that was an imported label."""
        return self._replaced.get(number)

    def last_of(self, annotator: str) -> Event | None:
        """The last that this person said and that stands."""
        return next((one for one in reversed(self._standing.values()) if one and one.annotator == annotator), None)

    def all_effective(self) -> list[Event]:
        """Everything said that stands, by number, but about removed bags."""
        standing = list(self._standing.values())
        return [event for event in standing if event is not None and event.bag not in self.removed]

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

    def has_spoken(self, pair: Pair, annotator: str) -> bool:
        """Whether this person said something about the pair that counts."""
        return any(chain.counts for chain in self.chains_of(pair, annotator))

    @property
    def half_asked(self) -> int:
        """Pairs that were put to somebody and are still open: the best questions may all be among them."""
        return len(self._half_asked)

    def decided_present(self, label_class: int) -> list[int]:
        """Bags that have the class, those decided last first."""
        return list(self._present.get(label_class, {}))[::-1]

    def disagreements(self) -> list[Pair]:
        """Pairs about which people said both present and absent."""
        asked = [pair for pair in list(self._chains) if pair[0] not in self.removed]
        return [pair for pair in asked if len(_clear(self.said_about(pair))) > 1]

    def said_about(self, pair: Pair) -> list[Event]:
        """What counts of all that was said about a pair, in the order of the places."""
        return [event for chain in self._counting(pair) if (event := chain.stands) is not None]

    def _counting(self, pair: Pair) -> list[Chain]:
        chains = [chain for chain in self._chains.get(pair, ()) if chain.counts]
        return sorted(chains, key=lambda chain: chain.place) if len(chains) > 1 else chains

    def _decide(self, pair: Pair) -> Decision | None:
        said = self.said_about(pair)
        if not said or pair[0] in self.removed:
            return None
        audit = said[0].audit
        words = [event for event in said if event.annotator in self.adjudicators]
        if words:
            return Decision(VALUE.get(words[-1].answer), audit)
        people = self.people_for(pair)
        if len(said) < people:
            return None
        counted = [event.answer for event in itertools.islice(said, people)]
        majority = next((answer for answer in ("present", "absent") if 2 * counted.count(answer) > people), "unsure")
        return Decision(VALUE[majority], audit)


def _clear(said: Iterable[Event]) -> set[str]:
    return {event.answer for event in said if event.answer != "unsure"}
