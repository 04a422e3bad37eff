"""Progress: what the live panel shows."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from bagwise.data import metrics
from bagwise.project.reports.progress import Progress
from bagwise.server.api.quality import ForecastOut, IntervalOut, VerdictOut
from bagwise.server.api.status import ClassOut
from bagwise.server.dependencies import CurrentQuality, Person

router = APIRouter(prefix="/api", tags=["progress"])


class PointOut(BaseModel):
    """Quality after so many answers; `truth` where held-out bags are known."""

    answers: int
    estimate: float | None
    low: float | None
    high: float | None
    truth: float | None


class ClassProgress(ClassOut):
    """The labels of a class, and whether it is rarely present."""

    rare: bool


class ProgressOut(BaseModel):
    """The live panel. The quality is the project's `metric` on new bags, on a scale where more is better.

    It is estimated in the background: `pending` says that a newer estimate is being computed.
    """

    name: str
    annotator: str
    answers: int
    filled: float
    seconds_per_answer: float | None
    metric: str
    metric_title: str
    metric_description: str
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
    of: CurrentQuality,
    person: Person,
    target: Annotated[float | None, Query(gt=0, lt=1)] = None,
) -> ProgressOut:
    """Return answers, quality with its interval, learning curve, labels by class, and the forecast for a target."""
    return progress_out(of.now(target), person)


def progress_out(found: Progress, person: str) -> ProgressOut:
    """Convert the progress to the names of the API."""
    status, estimate = found.status, found.estimated
    return ProgressOut(
        name=status.name,
        annotator=person,
        answers=status.answers,
        filled=status.filled,
        seconds_per_answer=status.seconds_per_answer,
        metric=found.metric,
        metric_title=metrics.get(found.metric).goodness_title,
        metric_description=metrics.get(found.metric).description,
        target=found.target,
        quality=None if estimate.now is None else IntervalOut(**asdict(estimate.now)),
        audits=estimate.audits,
        pending=found.pending,
        curve=[PointOut(**asdict(point)) for point in found.curve],
        forecast=None if estimate.forecast is None else ForecastOut(**asdict(estimate.forecast)),
        verdict=None if estimate.verdict is None else VerdictOut(**asdict(estimate.verdict)),
        classes=[ClassProgress(**vars(one), rare=one.name in found.rare) for one in status.classes],
    )
