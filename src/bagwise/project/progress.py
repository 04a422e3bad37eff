"""Does it learn? The curve of the estimated quality and, where the truth is known, of the true one beside it.

Quality is the share of pairs about which the model is right. `estimated` is all that is known here of how that is
estimated and forecast.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bagwise.project.project import TRUTH, Project
from bagwise.project.status import Share, Status, agreement, audits_of, status_of
from bagwise.project.truth import TrueQuality

CLOSEST = 10
MOST_POINTS = 60
WINDOW = 50
FEWEST = 5
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
class Forecast:
    """So many more answers until the quality is `target`, with an interval; None where no number of them may do."""

    target: float
    more: int | None
    low: int | None
    high: int | None


@dataclass(frozen=True)
class Estimated:
    """What is estimated, after which events, from how many audits, and what follows for the target."""

    at: dict[int, Share]
    audits: int
    forecast: Forecast | None


@dataclass(frozen=True)
class Progress:
    """All that the live panel shows; `rare` are the classes hardly ever found present."""

    status: Status
    audits: int
    curve: list[Point]
    forecast: Forecast | None
    rare: list[str]


class ProgressOf:
    """The progress of one open project, whoever asks for it."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._truth = TrueQuality(project) if (project.folder / TRUTH).exists() else None

    def now(self, target: float) -> Progress:
        """Everything as it is at this moment."""
        status = status_of(self.project)
        places = places_up_to(len(self.project.events))
        truth = self._truth.at(places) if self._truth is not None else {}
        found = estimated(self.project, places, target)
        curve = [_point(place, found.at.get(place), truth.get(place)) for place in sorted({*places, *found.at})]
        return Progress(status, found.audits, curve, found.forecast, rare_of(status))


def _point(place: int, share: Share | None, truth: float | None) -> Point:
    if share is None:
        return Point(place, None, None, None, truth)
    return Point(place, share.value, share.low, share.high, truth)


def estimated(project: Project, places: Sequence[int], target: float) -> Estimated:
    """The quality after so many events, and how far the target is."""
    audits = sorted(audits_of(project.votes.all_effective()), key=lambda event: event.number)
    at = {}
    for place in places:
        share = agreement([event for event in audits if event.number <= place][-WINDOW:])
        if share is not None and share.of >= FEWEST:
            at[place] = share
    now = at.get(places[-1])
    reached = Forecast(target, 0, 0, 0) if now is not None and now.low >= target else None
    return Estimated(at, min(len(audits), WINDOW), reached)


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
