"""Does it learn? The curve of the estimated quality and, where the truth is known, of the true one beside it.

Quality is the share of pairs about which the model is right. `estimates` and `forecast` are all that is known here of
how it is estimated.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from bagwise.project.events import Event
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
    """So many more answers until the quality is `target`, with an interval."""

    target: float
    more: int
    low: int
    high: int | None


@dataclass(frozen=True)
class Progress:
    """All that the live panel shows; `rare` are the classes hardly ever found present."""

    status: Status
    estimate: Share | None
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
        said = self.project.votes.all_effective()
        places = places_up_to(len(self.project.events))
        truth = self._truth.at(places) if self._truth is not None else {}
        shares = estimates(said, places)
        curve = [_point(place, share, truth.get(place)) for place, share in zip(places, shares, strict=True)]
        return Progress(status, shares[-1], curve, forecast(curve, target), rare_of(status))


def _point(place: int, share: Share | None, truth: float | None) -> Point:
    if share is None:
        return Point(place, None, None, None, truth)
    return Point(place, share.value, share.low, share.high, truth)


def estimates(said: Sequence[Event], places: Sequence[int]) -> list[Share | None]:
    """The quality as audits tell it after so many events: the share of the last `WINDOW` that the model had right.

    Fewer than `FEWEST` say nothing.
    """
    audits = sorted(audits_of(said), key=lambda event: event.number)
    numbers = [event.number for event in audits]
    ends = [bisect_right(numbers, place) for place in places]
    return [agreement(audits[max(0, end - WINDOW) : end]) if end >= FEWEST else None for end in ends]


def forecast(curve: Sequence[Point], target: float) -> Forecast | None:
    """How many more answers the target takes; None where nothing can be said."""
    reached = [point for point in curve[-1:] if point.low is not None and point.low >= target]
    return Forecast(target, 0, 0, 0) if reached else None


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
