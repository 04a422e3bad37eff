"""Does it learn? The curve of the estimated quality and, where the truth is known, of the true one beside it.

Quality is what `[stopping]` measures, on a scale where more is better: bag accuracy, or the share of pairs about which
the model is right.
"""

from dataclasses import dataclass

from bagwise.evaluation import Interval
from bagwise.evaluation.forecast import Forecast, forecast
from bagwise.evaluation.stopping import Verdict
from bagwise.project.project import Project
from bagwise.project.reports.quality import Report
from bagwise.project.reports.quality_process import QualityProcess
from bagwise.project.reports.status import Status, status_of
from bagwise.project.reports.truth import TrueQuality
from bagwise.project.storage.creation import TRUTH

CLOSEST = 10
MOST_POINTS = 60
RARE_SHARE = 0.1
RARE_AFTER = 10


@dataclass(frozen=True)
class Point:
    """Quality after so many answers (those taken back counted as well), with its 95 % interval."""

    answers: int
    estimate: float | None
    low: float | None
    high: float | None
    truth: float | None


@dataclass(frozen=True)
class Estimated:
    """What is estimated, after which events, from how many audits, and what follows for the target."""

    at: dict[int, Interval]
    now: Interval | None
    audits: int
    forecast: Forecast | None
    verdict: Verdict | None


@dataclass(frozen=True)
class Progress:
    """All that the live panel shows; `rare`: classes hardly ever found present; `pending`: an estimate is under way."""

    status: Status
    metric: str
    target: float
    estimated: Estimated
    pending: bool
    curve: list[Point]
    rare: list[str]


class ProgressOf:
    """The progress of one open project, whoever asks for it."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.estimating = QualityProcess(project)
        self._truth = TrueQuality(project) if (project.folder / TRUTH).exists() else None

    def now(self, target: float | None = None) -> Progress:
        """Everything as it is at this moment; the target is the project's own unless another is wanted."""
        status, goal = status_of(self.project), self.project.settings.stopping
        level = goal.level if target is None else target
        places = places_up_to(len(self.project.events))
        truth = self._truth.at(places) if self._truth is not None else {}
        report, pending = self.estimating.newest()
        found = estimated(report, level)
        curve = [_point(place, found.at.get(place), truth.get(place)) for place in sorted({*places, *found.at})]
        return Progress(status, goal.metric, level, found, pending, curve, rare_of(status))

    def close(self) -> None:
        """Stop estimating."""
        self.estimating.close()


def _point(place: int, estimate: Interval | None, truth: float | None) -> Point:
    if estimate is None:
        return Point(place, None, None, None, truth)
    return Point(place, estimate.value, estimate.low, estimate.high, truth)


def estimated(report: Report | None, target: float) -> Estimated:
    """What a report says of the past, of now, and of the way to the target."""
    if report is None:
        return Estimated({}, None, 0, None, None)
    at = {point.answers: point.quality for point in report.history}
    now = at.get(max(at)) if at else None
    return Estimated(at, now, report.audits, forecast(report.history, target), report.verdict)


def places_up_to(events: int) -> list[int]:
    """After which events the curve has a point: evenly, never more than fit, and now."""
    step = CLOSEST
    while events // step > MOST_POINTS:
        step *= 2
    return [*range(0, events, step), events]


def rare_of(status: Status) -> list[str]:
    """Classes of which enough is known to see that they are rare."""
    known = [(one, one.present + one.absent) for one in status.classes]
    return [one.name for one, of in known if of >= RARE_AFTER and one.present <= RARE_SHARE * of]
