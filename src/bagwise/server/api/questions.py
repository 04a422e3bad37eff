"""Questions and answers, undo and corrections."""

from collections.abc import Collection, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
import orjson
from fastapi import APIRouter, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from pydantic import BaseModel, Field

from bagwise.core.errors import BagwiseError
from bagwise.data.instance_labels import InstanceLabel
from bagwise.kernels import Array
from bagwise.learning.questions import Pair, Question
from bagwise.project import Event, Lease, LeaseRequest, Project, Submission, whole_bag_answers
from bagwise.project.answers.notes import Note
from bagwise.project.reports.review import bag_named, position_of
from bagwise.project.search.region import Region
from bagwise.project.storage.bag_filter import BagFilter
from bagwise.project.storage.queries import Contents
from bagwise.server.api.classes import GuideOut, NoteOut, guide_of, note_out
from bagwise.server.api.media import Medium, medium_of
from bagwise.server.dependencies import (
    REFUSED,
    CurrentProject,
    Key,
    KeyOfSeveral,
    Name,
    Person,
    Recorded,
    RegionText,
    RememberedPerson,
)
from bagwise.server.routing import LeanRoute

MOST_AT_ONCE = 20
EXAMPLES = 3
MOST_EXAMPLES, LARGEST_KEPT = 500, 16 * 1024
"""How many encoded examples are kept, and the most bytes of the instances of one: some 20 MB in all."""

router = APIRouter(prefix="/api", tags=["questions"], responses=REFUSED, route_class=LeanRoute)


Instance = Annotated[int, Field(ge=0, lt=2**31)]
Instances = Annotated[list[Instance], Field(max_length=10_000)]
"""Positions of instances in their bag, from 0."""


class KnownInstance(BaseModel):
    """An instance that is known to be of the class, or not to be (`present` is false)."""

    instance: int
    class_name: str
    present: bool


class SourceOut(BaseModel):
    """Where and when a bag was recorded: the file, and the seconds of it; `words` says all that is known.

    `recorded_at` is when the bag begins, in local time of the recorder.
    """

    file: str
    start: float
    end: float | None
    site: str
    recorded_at: str | None
    words: str


class Bag(BaseModel):
    """What is shown of a bag: its medium, or else its instances, and the shape of one where it is a picture.

    `known` is what answers say of its instances; what people disagree about is left out.
    """

    id: str
    medium: Medium | None
    instances: list[list[float]]
    features: list[str]
    shape: tuple[int, int] | None
    known: list[KnownInstance]
    source: SourceOut | None


class Example(Bag):
    """A bag that has the class; `evidence` is the instance that shows it most, by the model."""

    evidence: int


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


class AnswerIn(BaseModel):
    """An answer to a question; sent twice it is saved once.

    With `bag`, `class_name` and `instance` of the question it is saved even if its lease no longer exists. Where the
    answer is `present`, `where` has instances that are of the class and `elsewhere` instances that are not; without
    them, *present* to a question about an instance says that it is of the class.
    """

    key: Key
    bag: Name | None = None
    class_name: Name | None = None
    answer: Literal["present", "absent", "unsure", "skipped"]
    seconds: Annotated[float | None, Field(ge=0, le=86400)] = None
    highlighted: bool = True
    where: Instances = []
    elsewhere: Instances = []
    instance: Instance | None = None


class WholeAnswerIn(BaseModel):
    """Which of the classes of a question about several are present and which unsure; the others are absent.

    With `bag` it is saved even if its lease no longer exists. `where` has for classes that are present the instances
    that are of them.
    """

    key: KeyOfSeveral
    bag: Name | None = None
    classes: Annotated[list[Name], Field(min_length=1)]
    present: list[Name]
    unsure: list[Name] = []
    skip: bool = False
    seconds: Annotated[float | None, Field(ge=0, le=86400)] = None
    where: dict[Name, Instances] = {}


class UndoIn(BaseModel):
    """Undo the last answer; sent twice it undoes one."""

    key: KeyOfSeveral


class CorrectionIn(BaseModel):
    """Replace answer `number`, and what it says of single instances."""

    key: Key
    number: Annotated[int, Field(ge=1, lt=2**31)]
    answer: Literal["present", "absent", "unsure"]
    where: Instances = []
    elsewhere: Instances = []


class ImportedCorrectionIn(BaseModel):
    """Replace an imported label."""

    key: Key
    bag: Name
    class_name: Name
    answer: Literal["present", "absent", "unsure"]
    where: Instances = []
    elsewhere: Instances = []


class ReplacedOut(BaseModel):
    """What was replaced or undone; an imported label has neither number nor annotator."""

    answer: str
    number: int | None
    annotator: str | None


class EventOut(BaseModel):
    """A saved event. A `restoration` has the answer that is in effect again; `counts_as` is what counts now.

    `where` and `elsewhere` are the instances that it says are of the class and are not; `disputed` those for this class
    about which there is a disagreement now, so that they teach nothing. `instance` is the instance that the question
    was about, if it was about one: then `absent` and `unsure` say nothing of the bag.
    """

    number: int
    kind: str
    bag_id: str
    class_name: str
    answer: str
    annotator: str
    at: str
    replaces: int | None
    replaced: ReplacedOut | None
    counts_as: str | None
    where: list[int]
    elsewhere: list[int]
    disputed: list[int]
    instance: int | None


class UndoOut(EventOut):
    """The answer that was undone last, and before it the others of a whole bag."""

    others: list[EventOut]


@router.get("/questions/next", response_model=list[QuestionOut])
async def next_questions(
    person: RememberedPerson,
    recorded: Recorded,
    count: Annotated[int, Query(ge=1, le=MOST_AT_ONCE)] = 1,
    region: RegionText = "",
    known: Annotated[
        str, Query(max_length=2000, description="Keys of questions that you have, separated by commas.")
    ] = "",
) -> Response:
    """Up to `count` questions; asking again without answering gives the same, but those that are known.

    With a region of the map, only about bags with an instance in it, with a site, days or hours only about bags that
    were recorded there and then; in both cases without random checks.
    """
    batcher = person.batcher
    among = await run_in_threadpool(_bags_among, batcher.project, region, recorded) if region or recorded else None
    has = frozenset(known.split(",")) if known else frozenset[str]()
    found: list[bytes] = await batcher.ask(person.shown, LeaseRequest(person.name, count, among), has)
    return Response(b"[%b]" % b",".join(found), media_type="application/json")


def _bags_among(project: Project, region: str, recorded: BagFilter) -> frozenset[int]:
    passing = frozenset(project.bags_passing(recorded).tolist())
    return passing.intersection(Region.parse(region).bags(project)[0].tolist()) if region else passing


@router.post("/answers")
async def save_answer(person: RememberedPerson, sent: AnswerIn) -> EventOut:
    """Save an answer; it is durable when this returns."""
    batcher = person.batcher
    (event,) = await batcher.submit(person.shown, partial(_submission, batcher.project, person.name, sent))
    return event_out(batcher.project, event)


def _submission(project: Project, person: str, sent: AnswerIn) -> Submission:
    bag, classes = None, None
    if sent.bag is not None and sent.class_name is not None:
        bag, label_class = _pair_of(project, sent.bag, sent.class_name)
        classes = (label_class,)
    return Submission(
        sent.key,
        person,
        (sent.answer,),
        classes,
        bag,
        sent.seconds,
        "highlighted" if sent.highlighted else "not highlighted",
        (tuple(sent.where),),
        (tuple(sent.elsewhere),),
        sent.instance,
    )


def _pair_of(project: Project, bag: str, class_name: str) -> Pair:
    return bag_named(project, bag), position_of(project, class_name)


@router.post("/answers/whole")
async def save_whole_answer(person: RememberedPerson, sent: WholeAnswerIn) -> list[EventOut]:
    """Save the answer to a whole-bag question, one event for each class; sent twice it is saved once."""
    batcher = person.batcher
    events = await batcher.submit(person.shown, partial(_whole_bag_submission, batcher.project, person.name, sent))
    return [event_out(batcher.project, event) for event in events]


def _whole_bag_submission(project: Project, person: str, sent: WholeAnswerIn) -> Submission:
    classes, present, unsure = (
        tuple(position_of(project, name) for name in names) for names in (sent.classes, sent.present, sent.unsure)
    )
    bag = None if sent.bag is None else bag_named(project, sent.bag)
    answers = whole_bag_answers(classes, present, unsure, sent.skip)
    where = {position_of(project, name): tuple(instances) for name, instances in sent.where.items()}
    if not set(where) <= set(classes):
        raise BagwiseError("Instances are given for a class that was not asked: name it among the classes.")
    return Submission(
        sent.key, person, answers, classes, bag, sent.seconds, where=tuple(where.get(c, ()) for c in classes)
    )


@router.post("/undo")
def undo(project: CurrentProject, person: Person, sent: UndoIn) -> UndoOut:
    """Undo the last answer, or all answers of the last whole bag; what they replaced is in effect again."""
    *others, last = [event_out(project, event) for event in project.undo_together(person, sent.key)]
    return UndoOut(**last.model_dump(), others=others)


@router.post("/corrections")
def correct(project: CurrentProject, person: Person, sent: CorrectionIn) -> EventOut:
    """Correct an answer; both are kept. For another person's it takes an adjudicator or the owner."""
    return event_out(project, project.correct(sent.number, person, sent.answer, sent.key, sent.where, sent.elsewhere))


@router.post("/corrections/imported")
def correct_imported(project: CurrentProject, person: Person, sent: ImportedCorrectionIn) -> EventOut:
    """Correct an imported label; both are kept. Only an adjudicator, the owner or the only person may."""
    pair = _pair_of(project, sent.bag, sent.class_name)
    event = project.correct_imported(pair, person, sent.answer, sent.key, sent.where, sent.elsewhere)
    return event_out(project, event)


@router.get("/answers")
def answers(project: CurrentProject, _: Person, count: Annotated[int, Query(ge=1, le=500)] = 50) -> list[EventOut]:
    """The newest answers in effect, newest first."""
    project.catch_up()
    return [event_out(project, event) for event in reversed(project.votes.all_effective()[-count:])]


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
        fields = _bag_fields(project, bag, medium, known)
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
        "bag": _bag_fields(project, bag, medium_of(project, bag), project.known_instances(bag)),
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


def bag_of(project: Project, position: int) -> Bag:
    """A bag as it is shown."""
    fields = _bag_fields(project, position, medium_of(project, position), project.known_instances(position))
    return Bag(**{**fields, "instances": shortened(fields["instances"])})


def _bag_fields(
    project: Project, position: int, medium: Medium | None, known: Sequence[InstanceLabel]
) -> dict[str, Any]:
    """The fields of a `Bag`; its instances as an array."""
    shape = project.settings.picture
    return {
        "id": str(project.contents.ids[position]),
        "medium": medium,
        "instances": [] if medium else np.ascontiguousarray(project.bags[position]),
        "features": [] if medium or shape else project.contents.features,
        "shape": shape,
        "known": [
            {"instance": one.instance, "class_name": project.classes[one.label_class], "present": bool(one.present)}
            for one in known
        ],
        "source": source_of(project, position),
    }


def shortened(x: Array | list[Any]) -> list[list[float]]:
    """The numbers as Python has them, with no more digits than their type needs: 9 for float32, not 17."""
    found: list[list[float]] = orjson.loads(orjson.dumps(x, option=orjson.OPT_SERIALIZE_NUMPY))
    return found


def source_of(project: Project, position: int) -> SourceOut | None:
    """Where and when a bag was recorded, where its file is known."""
    source = project.source_of(position)
    if source is None:
        return None
    when = source.recorded_at
    return SourceOut(
        file=source.file.name,
        start=source.start,
        end=source.end,
        site=source.file.origin.site,
        recorded_at=None if when is None else when.isoformat(),
        words=source.words,
    )


def event_out(project: Project, event: Event) -> EventOut:
    """An event with the names of what it is about, what it replaced, and what counts now."""
    replaced = project.replaced(event)
    return EventOut(
        number=event.number,
        kind=event.kind,
        bag_id=str(project.contents.ids[event.bag]),
        class_name=project.classes[event.label_class],
        answer=event.answer,
        annotator=event.annotator,
        at=event.at,
        replaces=event.replaces,
        replaced=None if replaced is None else ReplacedOut(**vars(replaced)),
        counts_as=project.counts_as(event.pair),
        where=list(event.where),
        elsewhere=list(event.elsewhere),
        disputed=list(project.disputed(event.pair)),
        instance=event.instance,
    )
