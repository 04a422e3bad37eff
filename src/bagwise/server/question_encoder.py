"""What is shown of a question, and how it is encoded: as its model says, but without making one."""

from collections.abc import Collection, Sequence
from typing import Any

import orjson
from pydantic import BaseModel

from bagwise.learning.questions import Question
from bagwise.project import Lease, Project
from bagwise.project.answers.notes import Note
from bagwise.project.storage.queries import Contents
from bagwise.server.api.classes import GuideOut, NoteOut, guide_of, note_out
from bagwise.server.api.media import medium_of
from bagwise.server.bags import Bag, Example, bag_fields

EXAMPLES = 3
MOST_EXAMPLES, LARGEST_KEPT = 500, 16 * 1024
"""How many encoded examples are kept, and the most bytes of the instances of one: some 20 MB in all."""


class OpinionOut(BaseModel):
    """What a classifier (`source`) thinks: the probability that the class is in the bag."""

    source: str
    class_name: str
    probability: float


class QuestionOut(BaseModel):
    """*Is the class in the bag?* `belief` is for those who ask for it.

    Where `classes` names several, this one first, the question is which of them are in the bag; `positions` in the
    project, `beliefs` and `evidences`, the instances to mark, are theirs. With `pointing` the bag shows its instances,
    more than one, so that an answer can say which of them it is. Where `instance` is given, the question is *is this
    instance of the class?* An `audit`, from which quality is estimated, was drawn with this `probability` of all that
    was open; it is null where the question was chosen, and where the project drew it before it stored the number.
    `opinions` are those of a classifier whose scores the project has; audits are asked without them. `guide` is what
    is said of the class, null where nothing is; `notes` are those about the bag.
    """

    key: str
    bag: Bag
    bag_word: str
    class_name: str
    evidence: int
    audit: bool
    probability: float | None
    belief: float
    examples: list[Example]
    classes: list[str]
    positions: list[int]
    beliefs: list[float]
    evidences: list[int]
    pointing: bool
    opinions: list[OpinionOut]
    instance: int | None
    guide: GuideOut | None
    notes: list[NoteOut]


class QuestionEncoder:
    """Encodes leased questions with all that is shown of them: a `QuestionOut` each, as JSON.

    Nothing is validated that comes from the project, and what many questions have in common is encoded once: most of a
    question are the numbers of the bags that are examples of its class.
    """

    def __init__(self) -> None:
        self._contents: Contents | None = None
        self._examples: dict[tuple[int, int], orjson.Fragment] = {}

    def __call__(self, project: Project, leases: Sequence[Lease]) -> list[bytes]:
        """Return a question for each lease."""
        if not leases:
            return []
        notes = project.notes.about({lease.bag for lease in leases})
        examples = self._examples_of(project, {lease.label_class for lease in leases})
        return [
            _encoded(_question_fields(project, lease, notes[lease.bag], examples[lease.label_class]))
            for lease in leases
        ]

    def _examples_of(self, project: Project, classes: Collection[int]) -> dict[int, list[orjson.Fragment]]:
        """Bags that have each class, to compare with."""
        if project.contents is not self._contents or len(self._examples) > MOST_EXAMPLES:
            self._contents, self._examples = project.contents, {}
        found = [(bag, label_class) for label_class in classes for bag in project.examples(label_class, EXAMPLES)]
        shown: dict[int, list[orjson.Fragment]] = {label_class: [] for label_class in classes}
        for (bag, label_class), evidence in zip(found, project.evidence(found), strict=True):
            shown[label_class].append(self._example(project, bag, evidence))
        return shown

    def _example(self, project: Project, bag: int, evidence: int) -> orjson.Fragment:
        """An `Example`, kept where nothing of it changes with answers or files."""
        medium, known = medium_of(project, bag), project.known_instances(bag)
        kept = self._examples.get((bag, evidence)) if medium is None and not known else None
        if kept is not None:
            return kept
        fields = bag_fields(project, bag, medium, known)
        found = orjson.Fragment(_encoded({**fields, "evidence": evidence}))
        if medium is None and not known and project.bags[bag].nbytes <= LARGEST_KEPT:
            self._examples[bag, evidence] = found
        return found


def _encoded(fields: dict[str, Any]) -> bytes:
    return orjson.dumps(fields, default=BaseModel.model_dump, option=orjson.OPT_SERIALIZE_NUMPY)


def _question_fields(
    project: Project, lease: Lease, notes: Sequence[Note], examples: Sequence[orjson.Fragment]
) -> dict[str, Any]:
    """The fields of a `QuestionOut`."""
    question, names = lease.question, project.classes
    bag, classes = question.bag, [names[c] for c in question.classes]
    return {
        "key": lease.key,
        "bag": bag_fields(project, bag, medium_of(project, bag), project.known_instances(bag)),
        "bag_word": project.settings.display.bag,
        "class_name": classes[0],
        "evidence": question.evidence[0],
        "audit": question.audit,
        "probability": question.probability,
        "belief": question.belief[0],
        "examples": examples,
        "classes": classes,
        "positions": question.classes,
        "beliefs": question.belief,
        "evidences": question.evidence,
        "pointing": project.shows_instances(bag),
        "opinions": [] if question.audit else opinions_of(project, question),
        "instance": question.instance,
        "guide": _guide(project, lease.label_class),
        "notes": [note_out(project, one) for one in notes],
    }


def _guide(project: Project, label_class: int) -> GuideOut | None:
    one = project.contents.class_list[label_class]
    return guide_of(label_class, one) if one.is_described else None


def opinions_of(project: Project, question: Question) -> list[OpinionOut]:
    """What a classifier thinks of the classes of a question, where it thinks anything."""
    found = ((c, project.opinion((question.bag, c), question.instance)) for c in question.classes)
    return [OpinionOut(class_name=project.classes[c], **vars(one)) for c, one in found if one is not None]
