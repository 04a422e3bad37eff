"""Questions and answers, undo and corrections."""

from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from pydantic import BaseModel, Field

from bagwise.core.errors import BagwiseError
from bagwise.learning.questions import Pair
from bagwise.project import Event, LeaseRequest, Project, Submission, whole_bag_answers
from bagwise.project.reports.review import bag_named, position_of
from bagwise.project.search.region import Region
from bagwise.project.storage.bag_filter import BagFilter
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
from bagwise.server.question_encoder import QuestionOut
from bagwise.server.routing import LeanRoute

MOST_AT_ONCE = 20

router = APIRouter(prefix="/api", tags=["questions"], responses=REFUSED, route_class=LeanRoute)


Instance = Annotated[int, Field(ge=0, lt=2**31)]
Instances = Annotated[list[Instance], Field(max_length=10_000)]
"""Positions of instances in their bag, from 0."""


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
