"""Estimated quality: intervals, the verdict of the stopping rules and the forecast."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, create_model

from bagwise.data import metrics
from bagwise.project.reports.quality_page import STYLE_DIGEST, quality_page
from bagwise.project.reports.sentences import sentences_about
from bagwise.server.dependencies import REFUSED, CurrentQuality, Person

router = APIRouter(prefix="/api", tags=["progress"], responses=REFUSED)

POLICY = f"default-src 'none'; style-src '{STYLE_DIGEST}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""What the page to print may load: its own style sheet and nothing else."""


class IntervalOut(BaseModel):
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


class ForecastOut(BaseModel):
    """Answers still needed; null is *not reachable*. Where it is too early, there is no forecast."""

    needed: int | None
    low: int | None
    high: int | None


class ClassQualityOut(BaseModel):
    """Null where it is undefined: a class never predicted has no precision, one never found no recall.

    `prevalence` is the share of the bags that have the class; `sentence` says all of it to a person.
    """

    name: str
    precision: IntervalOut | None
    recall: IntervalOut | None
    prevalence: IntervalOut | None
    forecast: ForecastOut | None
    sentence: str


class VerdictOut(BaseModel):
    """Whether to stop, and why."""

    stop: bool
    why: str


class PointOut(BaseModel):
    """The metric after so many answers, on a scale where more is better."""

    answers: int
    quality: IntervalOut


class ReportOut(BaseModel):
    """The quality of the present model on the bags of the project, as if it had not seen their answers.

    `sentence` says it to a person.
    """

    answers: int
    audits: int
    bags: int
    metric: str
    target: float
    classes: list[ClassQualityOut]
    verdict: VerdictOut
    forecast: ForecastOut | None
    history: list[PointOut]
    sentence: str


# One field for every metric that is estimated.
_metric_fields: dict[str, Any] = dict.fromkeys(metrics.estimable(), (IntervalOut | None, ...))
QualityOut = create_model("QualityOut", __base__=ReportOut, __doc__=ReportOut.__doc__, **_metric_fields)


@router.get("/quality")
def quality(of: CurrentQuality, _: Person) -> QualityOut:  # type: ignore[valid-type]
    """Return the estimated quality, whether to stop, and how many answers are still needed."""
    report = of.estimating.now()
    return QualityOut.model_validate(sentences_about(of.project, report).added_to(report))


# With `HTMLResponse` as its class, refusals would be described as HTML, too.
@router.get(
    "/quality/report",
    response_class=Response,
    responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}},
)
def report(of: CurrentQuality, _: Person) -> HTMLResponse:
    """Return a page to print: the quality with its intervals, how it was estimated, and what was audited."""
    page = quality_page(of.project, of.estimating.now())
    return HTMLResponse(page, headers={"Content-Security-Policy": POLICY})
