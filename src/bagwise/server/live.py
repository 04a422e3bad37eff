"""Does it learn? What the live panel shows."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel

from bagwise.project.progress import Progress, ProgressOf
from bagwise.server.parts import Person
from bagwise.server.progress import ClassOut

router = APIRouter(prefix="/api", tags=["progress"])


class PointOut(BaseModel):
    """Quality after so many answers; `truth` where held-out bags are known."""

    answers: int
    estimate: float | None
    low: float | None
    high: float | None
    truth: float | None


class ForecastOut(BaseModel):
    """So many more answers to `target`; null where no number of them may do."""

    target: float
    more: int | None
    low: int | None
    high: int | None


class ClassProgress(ClassOut):
    """How far a class is, and whether it is hardly ever present."""

    rare: bool


class ProgressOut(BaseModel):
    """All of the live panel; the quality is the share of pairs about which the model is right."""

    name: str
    annotator: str
    answers: int
    filled: float
    seconds_per_answer: float | None
    quality: float | None
    quality_low: float | None
    quality_high: float | None
    audits: int
    curve: list[PointOut]
    forecast: ForecastOut | None
    classes: list[ClassProgress]


def progress_of(request: Request) -> ProgressOf:
    """The progress of the project behind this server."""
    found: ProgressOf = request.app.state.progress
    return found


@router.get("/progress")
def progress(
    of: Annotated[ProgressOf, Depends(progress_of)],
    person: Person,
    target: Annotated[float, Query(gt=0, lt=1)] = 0.95,
) -> ProgressOut:
    """Answers, quality with its interval, learning curve, what is known by class, and the way to a target."""
    return progress_out(of.now(target), person)


def progress_out(found: Progress, person: str) -> ProgressOut:
    """With the names that the page uses."""
    status, now = found.status, found.curve[-1]
    return ProgressOut(
        name=status.name,
        annotator=person,
        answers=status.answers,
        filled=status.filled,
        seconds_per_answer=status.seconds_per_answer,
        quality=now.estimate,
        quality_low=now.low,
        quality_high=now.high,
        audits=found.audits,
        curve=[PointOut(**asdict(point)) for point in found.curve],
        forecast=None if found.forecast is None else ForecastOut(**asdict(found.forecast)),
        classes=[ClassProgress(**vars(one), rare=one.name in found.rare) for one in status.classes],
    )
