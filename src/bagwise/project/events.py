"""Events: what people said, in order. What counts of it is worked out here, the same way live and in a replay."""

import hashlib
import itertools
from dataclasses import dataclass

import numpy as np

from bagwise.asking import Present
from bagwise.kernels import key_of, keyed_uniform

ANSWERS = ("present", "absent", "unsure", "skipped")
VALUE: dict[str, Present] = {"present": True, "absent": False, "unsure": None}
KINDS = ("answer", "correction", "retraction")
ASKED_OF_SEVERAL = 1 << 40

Pair = tuple[int, int]


@dataclass(frozen=True)
class Event:
    """Somebody said something about a pair.

    A `correction` says anew, and a `retraction` takes back, what the event `replaces` said. `asked_after` is the number
    of the last event that the model knew which asked.
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
        self._said: dict[Pair, dict[int, Event]] = {}
        self._voter: dict[int, str] = {}
        self._effective: dict[int, Event] = {}
        self._skipped: dict[Pair, set[str]] = {}
        self._half_asked: set[Pair] = set()
        self._present: dict[int, dict[int, None]] = {}
        self._digest = hashlib.sha256()

    def apply(self, event: Event) -> None:
        """Take the next event in."""
        self.note(event)
        voter = event.annotator
        if event.replaces is not None:
            voter = self._voter.get(event.replaces, voter)
            self._effective.pop(event.replaces, None)
            self._skipped.get(event.pair, set()).discard(voter)
        stands = event.kind != "retraction"
        counts = stands and event.answer != "skipped"
        said = self._said.setdefault(event.pair, {})
        if event.replaces in said:
            # A correction takes the place of what it replaces.
            changed = (
                (event.number, event) if number == event.replaces else (number, old) for number, old in said.items()
            )
            self._said[event.pair] = {number: one for number, one in changed if counts or one is not event}
        elif counts:
            said[event.number] = event
        if stands:
            self._effective[event.number] = event
            self._voter[event.number] = voter
            if not counts:
                self._skipped.setdefault(event.pair, set()).add(voter)
        decision = self._decide(event.pair)
        if decision is None:
            self.decisions.pop(event.pair, None)
            self._half_asked.add(event.pair)
        else:
            self.decisions[event.pair] = decision
            self._half_asked.discard(event.pair)
        present = self._present.setdefault(event.label_class, {})
        present.pop(event.bag, None)
        if decision is not None and decision.present:
            present[event.bag] = None

    def note(self, event: Event) -> None:
        """Only remember that it was said."""
        self._digest.update(repr(event).encode())

    def digest(self) -> str:
        """A name for everything that was said so far."""
        return self._digest.copy().hexdigest()

    def effective(self, number: int) -> Event | None:
        """The event, unless it was replaced."""
        return self._effective.get(number)

    def last_of(self, annotator: str) -> Event | None:
        """The last that this person said and did not take back."""
        return next((event for event in reversed(self._effective.values()) if event.annotator == annotator), None)

    def all_effective(self) -> list[Event]:
        """Everything said and not replaced, but about removed bags."""
        return [event for event in self._effective.values() if event.bag not in self.removed]

    def people_for(self, pair: Pair) -> int:
        """How many people are asked about it: several about a share of the pairs, drawn by their place."""
        if self.people == 1 or self.share >= 1:
            return self.people
        bag, label_class = np.array([key_of(pair[0])], np.uint64), np.array([ASKED_OF_SEVERAL + pair[1]])
        return self.people if keyed_uniform(self.seed, bag, label_class)[0] < self.share else 1

    def wants(self, pair: Pair, annotator: str) -> int:
        """How many more people a pair is to be asked of; none of whom answered or skipped it."""
        if pair in self.decisions or pair[0] in self.removed or annotator in self._skipped.get(pair, ()):
            return 0
        if self.has_spoken(pair, annotator):
            return 0
        return self.people_for(pair) - len(self._said.get(pair, {}))

    def has_spoken(self, pair: Pair, annotator: str) -> bool:
        """Whether this person said something about the pair that stands."""
        return any(self._voter[number] == annotator for number in self._said.get(pair, {}))

    @property
    def half_asked(self) -> int:
        """Pairs that were put to somebody and are still open: the best questions may all be among them."""
        return len(self._half_asked)

    def decided_present(self, label_class: int) -> list[int]:
        """Bags that have the class, those decided last first."""
        return list(self._present.get(label_class, {}))[::-1]

    def disagreements(self) -> list[Pair]:
        """Pairs about which people said both present and absent."""
        found = []
        for pair, said in list(self._said.items()):
            answers = {event.answer for event in list(said.values()) if event.answer != "unsure"}
            if len(answers) > 1 and pair[0] not in self.removed:
                found.append(pair)
        return found

    def said_about(self, pair: Pair) -> list[Event]:
        """What counts of all that was said about a pair."""
        return list(self._said.get(pair, {}).values())

    def _decide(self, pair: Pair) -> Decision | None:
        said = self._said[pair]
        if not said or pair[0] in self.removed:
            return None
        first = next(iter(said.values()))
        words = [event for event in said.values() if event.annotator in self.adjudicators]
        if words:
            return Decision(VALUE.get(words[-1].answer), first.audit)
        people = self.people_for(pair)
        if len(said) < people:
            return None
        counted = [event.answer for event in itertools.islice(said.values(), people)]
        majority = next((answer for answer in ("present", "absent") if 2 * counted.count(answer) > people), "unsure")
        return Decision(VALUE[majority], first.audit)
