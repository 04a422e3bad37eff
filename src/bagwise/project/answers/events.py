"""Events: answers and what replaced them, in order. `votes` decides which count."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from bagwise.learning.questions import Instances, Pair, Present

ANSWERS = ("present", "absent", "unsure", "skipped")
VALUE: dict[str, Present] = {"present": True, "absent": False, "unsure": None}
ANSWER_OF = {value: answer for answer, value in VALUE.items()}
KINDS = ("answer", "correction", "restoration", "retraction")
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
    instance : int or None
        The instance that was asked about, where the question was about one instance: then *absent* and *unsure* say
        nothing of the bag, and *present* says that the bag has the class.
    probability : float or None
        The probability with which the question was drawn; None where it was chosen, and for audits of projects older
        than this number, which were drawn with the same probability from all that was open.

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
    # Not in `repr`, from which fingerprints are made: events without these have the fingerprints they always had.
    where: Instances = field(default=(), repr=False)
    elsewhere: Instances = field(default=(), repr=False)
    marked: int | None = field(default=None, repr=False)
    instance: int | None = field(default=None, repr=False)
    probability: float | None = field(default=None, repr=False)

    @property
    def pointing(self) -> Pointing:
        """What it says of single instances."""
        return Pointing(self.where, self.elsewhere)

    @property
    def fingerprint(self) -> bytes:
        """What digests are made from: everything that a model may depend on."""
        pointing = repr(self.pointing) if self.where or self.elsewhere else ""
        instance = "" if self.instance is None else f"instance {self.instance}"
        drawn = "" if self.probability is None else f"probability {self.probability!r}"
        return f"{self!r}{pointing}{instance}{drawn}".encode()

    @property
    def labels_bag(self) -> bool:
        """Whether it says something of the bag, and not of one instance alone."""
        return self.instance is None or self.answer == "present"

    @property
    def of_instance(self) -> Present:
        """Whether the instance that was asked about is of the class; None where it does not say."""
        if self.instance in self.where:
            return True
        return False if self.answer == "absent" or self.instance in self.elsewhere else None

    @property
    def pair(self) -> Pair:
        """(bag, class)."""
        return self.bag, self.label_class
