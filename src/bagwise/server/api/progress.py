"""The progress of the project: what the panel beside the questions shows."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from bagwise.project.reports.progress import Progress
from bagwise.server.api.quality import ForecastOut, IntervalOut, VerdictOut
from bagwise.server.api.status import ClassOut
from bagwise.server.dependencies import Person, Watched

router = APIRouter(prefix="/api", tags=["progress"])


class PointOut(BaseModel):
    """Quality after so many answers; `truth` where held-out bags are known."""

    answers: int
    estimate: float | None
    low: float | None
    high: float | None
    truth: float | None


class ClassProgress(ClassOut):
    """How far a class is, and whether it is hardly ever present."""

    rare: bool


class ProgressOut(BaseModel):
    """All of the live panel. The quality is the project's `metric` on new bags, on a scale where more is better.

    It is estimated beside the work: `pending` says that an estimate which knows more is on its way.
    """

    name: str
    annotator: str
    answers: int
    filled: float
    seconds_per_answer: float | None
    metric: str
    target: float
    quality: IntervalOut | None
    audits: int
    pending: bool
    curve: list[PointOut]
    forecast: ForecastOut | None
    verdict: VerdictOut | None
    classes: list[ClassProgress]


@router.get("/progress")
def progress(
    of: Watched,
    person: Person,
    target: Annotated[float | None, Query(gt=0, lt=1)] = None,
) -> ProgressOut:
    """Answers, quality with its interval, learning curve, what is known by class, and the way to a target."""
    return progress_out(of.now(target), person)


def progress_out(found: Progress, person: str) -> ProgressOut:
    """Return the progress as JSON fields."""
    status, said = found.status, found.estimated
    return ProgressOut(
        name=status.name,
        annotator=person,
        answers=status.answers,
        filled=status.filled,
        seconds_per_answer=status.seconds_per_answer,
        metric=found.metric,
        target=found.target,
        quality=None if said.now is None else IntervalOut(**asdict(said.now)),
        audits=said.audits,
        pending=found.pending,
        curve=[PointOut(**asdict(point)) for point in found.curve],
        forecast=None if said.forecast is None else ForecastOut(**asdict(said.forecast)),
        verdict=None if said.verdict is None else VerdictOut(**asdict(said.verdict)),
        classes=[ClassProgress(**vars(one), rare=one.name in found.rare) for one in status.classes],
    )
