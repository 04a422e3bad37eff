"""The status of the project: answers, labels by class, agreement."""

from fastapi import APIRouter
from pydantic import BaseModel

from bagwise.project import status_of
from bagwise.server.dependencies import Person, Served

router = APIRouter(prefix="/api", tags=["progress"])


class ClassOut(BaseModel):
    """How far a class is."""

    name: str
    present: int
    absent: int
    unsure: int
    open: int


class StatusOut(BaseModel):
    """How far the project is; `agreement`: how often an answer to an audit was what the model believed before."""

    name: str
    annotator: str
    bag_word: str
    bags: int
    answers: int
    filled: float
    agreement: float | None
    audits: int
    seconds_per_answer: float | None
    classes: list[ClassOut]


@router.get("/status")
def status(project: Served, person: Person) -> StatusOut:
    """How far the project is."""
    found = status_of(project)
    share = found.agreement
    return StatusOut(
        name=found.name,
        annotator=person,
        bag_word=project.settings.display.bag,
        bags=found.bags,
        answers=found.answers,
        filled=found.filled,
        agreement=None if share is None else share.value,
        audits=0 if share is None else share.of,
        seconds_per_answer=found.seconds_per_answer,
        classes=[ClassOut(**vars(one)) for one in found.classes],
    )
