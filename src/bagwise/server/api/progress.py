"""Progress: what the live panel shows."""

from dataclasses import asdict
from typing import Annotated, Self

from fastapi import APIRouter, Query
from pydantic import BaseModel

from bagwise.data import metrics
from bagwise.evaluation import Interval
from bagwise.project import Project
from bagwise.project.reports.progress import Progress
from bagwise.project.reports.quality import ClassReport
from bagwise.project.reports.sentences import sentences_about, way_to
from bagwise.project.reports.status import ClassStatus
from bagwise.server.api.quality import ForecastOut, IntervalOut, VerdictOut
from bagwise.server.api.status import ClassOut
from bagwise.server.dependencies import REFUSED, CurrentQuality, Person

router = APIRouter(prefix="/api", tags=["progress"], responses=REFUSED)


class PointOut(BaseModel):
    """Quality after so many answers; `truth` where held-out bags are known."""

    answers: int
    estimate: float | None
    low: float | None
    high: float | None
    truth: float | None


class ClassProgress(ClassOut):
    """The labels of a class, whether it is rarely present, and how well the model does on the bags of the project.

    `found` is the share of the bags with the class that the model finds (recall), `false_alarms` the share of those
    that it finds which do not have it (1 - precision), `prevalence` the share of all bags that have it; null while they
    are not known. `sentence` says it to a person.
    """

    rare: bool
    found: IntervalOut | None
    false_alarms: IntervalOut | None
    prevalence: IntervalOut | None
    sentence: str | None

    @classmethod
    def of(cls, status: ClassStatus, rare: bool, quality: ClassReport | None, sentence: str | None) -> Self:
        """Put together what is known of a class."""
        estimates = (None,) * 3 if quality is None else (quality.recall, quality.false_alarms, quality.prevalence)
        found, wrong, having = (_interval(one) for one in estimates)
        return cls(**vars(status), rare=rare, found=found, false_alarms=wrong, prevalence=having, sentence=sentence)


def _interval(one: Interval | None) -> IntervalOut | None:
    return None if one is None else IntervalOut(**asdict(one))


class ProgressOut(BaseModel):
    """The live panel. The quality is the project's `metric` on its bags, on a scale where more is better.

    It is estimated in the background: `pending` says that a newer estimate is being computed. `answers` are those in
    effect, of which some are `unsure` or `skipped`; `replaced` counts corrections and undos, which add no answer.
    `sentence` says how good the model is, `forecast_sentence` how far it is to the target.
    """

    name: str
    bag_word: str
    annotator: str
    answers: int
    unsure: int
    skipped: int
    replaced: int
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
    forecast_sentence: str
    verdict: VerdictOut | None
    sentence: str | None
    classes: list[ClassProgress]


@router.get("/progress")
def progress(
    of: CurrentQuality,
    person: Person,
    target: Annotated[float | None, Query(gt=0, lt=1)] = None,
) -> ProgressOut:
    """Return answers, quality with its interval, learning curve, labels by class, and the forecast for a target."""
    return progress_out(of.project, of.now(target), person)


def progress_out(project: Project, found: Progress, person: str) -> ProgressOut:
    """Convert the progress to the names of the API."""
    status, estimate = found.status, found.estimated
    sentences = None if estimate.report is None else sentences_about(project, estimate.report)
    return ProgressOut(
        name=status.name,
        bag_word=project.settings.display.bag,
        annotator=person,
        answers=status.answers,
        unsure=sum(said.get("unsure", 0) for said in status.by_person.values()),
        skipped=sum(said.get("skipped", 0) for said in status.by_person.values()),
        replaced=sum(event.kind != "answer" for event in project.events),
        filled=status.filled,
        seconds_per_answer=status.seconds_per_answer,
        metric=found.metric,
        metric_title=metrics.get(found.metric).goodness_title,
        metric_description=metrics.get(found.metric).description,
        target=found.target,
        quality=_interval(estimate.now),
        audits=estimate.audits,
        pending=found.pending,
        curve=[PointOut(**asdict(point)) for point in found.curve],
        forecast=None if estimate.forecast is None else ForecastOut(**asdict(estimate.forecast)),
        forecast_sentence=way_to(estimate.now, estimate.forecast, found.target),
        verdict=None if estimate.verdict is None else VerdictOut(**asdict(estimate.verdict)),
        sentence=None if sentences is None else sentences.overall,
        classes=[
            ClassProgress.of(
                one,
                one.name in found.rare,
                estimate.classes.get(one.name),
                None if sentences is None else sentences.classes.get(one.name),
            )
            for one in status.classes
        ],
    )
