"""Progress of a project: the curve of the estimated quality and, where the truth is known, of the true quality.

Quality is what `[stopping]` measures, on a scale where more is better: bag accuracy, or the share of pairs about which
the model is right.
"""

from dataclasses import dataclass

from bagwise.evaluation import Interval
from bagwise.evaluation.forecast import Forecast, forecast
from bagwise.evaluation.stopping import Verdict
from bagwise.project.project import Project
from bagwise.project.reports.quality import ClassReport, Report, not_taken_back
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
    """Quality after a number of answers in effect, with its 95 % interval, and the true quality where it is known."""

    answers: int
    estimate: float | None
    low: float | None
    high: float | None
    truth: float | None


@dataclass(frozen=True)
class Estimated:
    """Estimates by the number of answers, the last one, its audit answers, forecast, verdict, and those of classes.

    `report` is what all of it comes from; None where nothing was estimated yet.
    """

    at: dict[int, Interval]
    now: Interval | None
    audits: int
    forecast: Forecast | None
    verdict: Verdict | None
    classes: dict[str, ClassReport]
    report: Report | None


@dataclass(frozen=True)
class Progress:
    """What the live panel shows; `rare`: classes rarely present; `pending`: a newer estimate is being computed."""

    status: Status
    metric: str
    target: float
    estimated: Estimated
    pending: bool
    curve: list[Point]
    rare: list[str]


class ProgressOf:
    """The progress of one open project, shared by all requests."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.estimating = QualityProcess(project)
        self._truth = TrueQuality(project) if (project.folder / TRUTH).exists() else None

    def now(self, target: float | None = None) -> Progress:
        """Return the progress so far.

        Parameters
        ----------
        target : float, optional
            The quality to forecast, in (0, 1); the project's own target by default.
        """
        status, goal = status_of(self.project), self.project.settings.stopping
        level = goal.level if target is None else target
        points, after = curve_points(len(self.project.events)), self.project.votes.answers_after
        truth = self._truth.at(points) if self._truth is not None else {}
        report, pending = self.estimating.newest()
        found = estimated(report, level)
        true = {after[n_events]: truth.get(n_events) for n_events in not_taken_back(after, points)}
        answers = sorted({*true, *(count for count in found.at if count <= max(true))})
        curve = [_point(count, found.at.get(count), true.get(count)) for count in answers]
        return Progress(status, goal.metric, level, found, pending, curve, rare_of(status))

    def close(self) -> None:
        """Stop the process that estimates."""
        self.estimating.close()


def _point(answers: int, estimate: Interval | None, truth: float | None) -> Point:
    if estimate is None:
        return Point(answers, None, None, None, truth)
    return Point(answers, estimate.value, estimate.low, estimate.high, truth)


def estimated(report: Report | None, target: float) -> Estimated:
    """Return the estimates of a report and the forecast for a target."""
    if report is None:
        return Estimated({}, None, 0, None, None, {}, None)
    at = {point.answers: point.quality for point in report.history}
    now = at.get(max(at)) if at else None
    classes = {one.name: one for one in report.classes}
    return Estimated(at, now, report.audits, forecast(report.history, target), report.verdict, classes, report)


def curve_points(events: int) -> list[int]:
    """Return the numbers of events at which the curve has a point: evenly spaced, at most `MOST_POINTS`, and the last.

    >>> curve_points(25)
    [0, 10, 20, 25]
    """
    step = CLOSEST
    while events // step > MOST_POINTS:
        step *= 2
    return [*range(0, events, step), events]


def rare_of(status: Status) -> list[str]:
    """Return the classes with enough known labels to tell that they are rare."""
    known = [(one, one.present + one.absent) for one in status.classes]
    return [one.name for one, of in known if of >= RARE_AFTER and one.present <= RARE_SHARE * of]
