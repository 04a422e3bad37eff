"""Review: answers and imported labels with filters, and predictions to accept or reject many at a time."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from bagwise.project import Event, Project
from bagwise.project.reports.review import AnswerFilter, beliefs, history, imported, likely, position_of, positions_of
from bagwise.server.api.questions import EventOut, event_out
from bagwise.server.api.status import ModelOut
from bagwise.server.bags import Bag, bag_of
from bagwise.server.dependencies import REFUSED, CurrentProject, KeyOfSeveral, Name, Person, Recorded

MOST_SHOWN = 100

router = APIRouter(prefix="/api/review", tags=["review"], responses=REFUSED)

Start = Annotated[int, Query(ge=0, lt=2**31)]
Count = Annotated[int, Query(ge=1, le=MOST_SHOWN)]


class ReviewedAnswerOut(EventOut):
    """An answer and the bag it is about; its question was an `audit`, drawn with this `probability`, or was chosen.

    The probability is null also for an audit that was drawn before the project stored it.
    """

    audit: bool
    probability: float | None
    bag: Bag


class HistoryOut(BaseModel):
    """Some of `of` answers, newest first."""

    of: int
    people: list[str]
    answers: list[ReviewedAnswerOut]


class ImportedOut(BaseModel):
    """An imported label in effect, and the bag it is about."""

    bag_id: str
    class_name: str
    answer: str
    bag: Bag


class ImportsOut(BaseModel):
    """Some of `of` imported labels."""

    of: int
    labels: list[ImportedOut]


class BeliefOut(BaseModel):
    """A bag without an answer for the class, and what the model believes."""

    bag: Bag
    belief: float
    evidence: int


class BeliefsOut(BaseModel):
    """Some of `of` bags, and the model that the beliefs come from."""

    of: int
    bags: list[BeliefOut]
    model: ModelOut


class LikelyOut(BaseModel):
    """A class that so many bags without an answer are likely to have, which can be answered at once."""

    class_name: str
    bags: int


class BulkIn(BaseModel):
    """One answer for several bags and one class; sent twice it is saved once."""

    key: KeyOfSeveral
    class_name: Name
    answer: Literal["present", "absent", "unsure"]
    bags: Annotated[list[Annotated[str, Field(max_length=1000)]], Field(min_length=1, max_length=MOST_SHOWN)]


@router.get("/answers")
def answers(
    project: CurrentProject,
    _: Person,
    recorded: Recorded,
    class_name: Annotated[str | None, Query(max_length=1000)] = None,
    answer: Literal["present", "absent", "unsure", "skipped"] | None = None,
    annotator: Annotated[str | None, Query(max_length=200)] = None,
    disagreement: bool = False,
    start: Start = 0,
    count: Count = 20,
) -> HistoryOut:
    """Return the answers in effect that pass all filters, newest first."""
    found = history(project, AnswerFilter(class_name, answer, annotator, disagreement, recorded))
    shown = found[start : start + count]
    people = sorted({event.annotator for event in project.votes.all_effective()})
    return HistoryOut(of=len(found), people=people, answers=[reviewed_answer(project, event) for event in shown])


@router.get("/imported")
def imported_labels(
    project: CurrentProject,
    _: Person,
    recorded: Recorded,
    class_name: Annotated[str | None, Query(max_length=1000)] = None,
    answer: Literal["present", "absent"] | None = None,
    start: Start = 0,
    count: Count = 20,
) -> ImportsOut:
    """Return the imported labels in effect that pass all filters, by bag; those corrected since are answers."""
    found = imported(project, class_name, answer, recorded)
    labels = [
        ImportedOut(
            bag_id=str(project.contents.ids[bag]),
            class_name=project.classes[label_class],
            answer=value,
            bag=bag_of(project, bag),
        )
        for (bag, label_class), value in found[start : start + count]
    ]
    return ImportsOut(of=len(found), labels=labels)


@router.get("/predictions")
def predictions(
    project: CurrentProject,
    person: Person,
    recorded: Recorded,
    class_name: Annotated[str, Query(max_length=1000)],
    order: Literal["most", "least"] = "most",
    start: Start = 0,
    count: Count = 20,
) -> BeliefsOut:
    """Return bags without an answer for the class, the most or the least likely first."""
    found = beliefs(project, person, class_name, start, count, order == "most", recorded)
    bags = [BeliefOut(bag=bag_of(project, b.bag), belief=b.belief, evidence=b.evidence) for b in found.bags]
    return BeliefsOut(of=found.of, bags=bags, model=ModelOut.of(found.model))


@router.get("/likely")
def likely_class(project: CurrentProject, person: Person) -> LikelyOut | None:
    """Return the class whose likeliest bags are best answered many at a time, null where there is none."""
    found = likely(project, person)
    return None if found is None else LikelyOut(**vars(found))


@router.post("/answers")
def answer_many(project: CurrentProject, person: Person, bulk: BulkIn) -> list[EventOut]:
    """Save one answer for each of the bags, all or none."""
    place = position_of(project, bulk.class_name)
    pairs = [(bag, place) for bag in positions_of(project, bulk.bags)]
    return [event_out(project, event) for event in project.answer_listed(person, bulk.answer, pairs, bulk.key)]


def reviewed_answer(project: Project, event: Event) -> ReviewedAnswerOut:
    """Convert an answer, with what is shown of its bag."""
    return ReviewedAnswerOut(
        **event_out(project, event).model_dump(),
        audit=event.audit,
        probability=event.probability,
        bag=bag_of(project, event.bag),
    )
