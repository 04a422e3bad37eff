"""The quality of a project's model, whether to stop, and how many answers are still needed.

Everything is a function of the contents and the events, whatever process asks. The estimates along the way are kept in
a file of the project's folder, by a name for the events they were made from; without the file they are made again.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bagwise import evaluation
from bagwise.evaluation import ClassQuality, Interval, Quality
from bagwise.evaluation.forecast import Forecast, Point, forecast
from bagwise.evaluation.stopping import Evidence, Verdict, decide
from bagwise.project.answers import replay
from bagwise.project.answers.events import Event
from bagwise.project.project import Project
from bagwise.project.training.thresholds import labels_and_audits

FILE = "quality.json"
VERSION = 1
FIRST_POINT, GROWTH, MOST_POINTS = 50, 1.5, 8
MOST_KEPT = 50
CHEAP = 30_000_000
"""Instances times features times classes up to which the past is estimated as well, where it was not before."""


@dataclass(frozen=True)
class ClassReport:
    """One class: precision and recall now, and answers (about anything) until its recall is at the target."""

    name: str
    precision: Interval | None
    recall: Interval | None
    forecast: Forecast | None


@dataclass(frozen=True)
class Report:
    """The quality now, the verdict of the stopping rules, the forecast, and how the quality came about."""

    answers: int
    audits: int
    metric: str
    target: float
    bag_accuracy: Interval | None
    hamming_loss: Interval | None
    classes: list[ClassReport]
    verdict: Verdict
    forecast: Forecast | None
    history: list[Point]

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def quality_of(project: Project) -> Report:
    """Estimate the quality after the last event, or look it up where that was done before."""
    project.catch_up()
    events = list(project.events)
    return _report(project, _estimates(project, events), len(project.votes.all_effective()))


def kept_quality(project: Project) -> Report | None:
    """The newest report that was made before; nothing is estimated for it."""
    project.catch_up()
    events = list(project.events)
    found = _still_true(project, events, _read(project))
    if not found:
        return None
    counted = replay.Replay(project.contents, project.settings)
    counted.count(events[: max(found)])
    return _report(project, found, len(counted.votes.all_effective()))


def is_estimated(project: Project) -> bool:
    """Whether all that `quality_of` would estimate after the last event was estimated before."""
    project.catch_up()
    events = list(project.events)
    return set(_wanted(project, events)) <= set(_still_true(project, events, _read(project)))


def _report(project: Project, found: dict[int, Quality], answers: int) -> Report:
    """What follows from estimates by the number of events, of which the last is *now*."""
    goal, last = project.settings.stopping, max(found)
    spread = _spread(found, last)
    points = _points({place: found[place] for place in spread}, goal.metric)
    now = found[last]
    recalls = [
        [Point(place, recall) for place in spread if (recall := found[place].classes[c].recall) is not None]
        for c in range(len(project.classes))
    ]
    return Report(
        answers,
        now.audits,
        goal.metric,
        goal.target,
        now.bag_accuracy,
        now.hamming_loss,
        [
            ClassReport(name, one.precision, one.recall, forecast(along, goal.level) if one.recall else None)
            for name, one, along in zip(project.classes, now.classes, recalls, strict=True)
        ],
        decide(Evidence(answers, points), goal),
        forecast(points, goal.level),
        list(_points(found, goal.metric)),
    )


def _points(found: dict[int, Quality], metric: str) -> tuple[Point, ...]:
    return tuple(
        Point(place, value) for place, one in sorted(found.items()) if (value := _goodness(one, metric)) is not None
    )


def _spread(found: Iterable[int], last: int) -> list[int]:
    """Of the places where something was estimated, those closest to the grid, so that none counts many times."""
    earlier = np.array([place for place in found if place < last], int)
    if not len(earlier):
        return [last]
    return sorted({int(earlier[np.abs(earlier - at).argmin()]) for at in grid(last)[:-1]} | {last})


def grid(events: int) -> list[int]:
    """After how many events the quality is estimated: a growing distance apart, and now; the last few of these."""
    places, place = [], float(FIRST_POINT)
    while place < events:
        places.append(int(place))
        place *= GROWTH
    return [*places[-MOST_POINTS + 1 :], events]


def _goodness(found: Quality, metric: str) -> Interval | None:
    """The metric on a scale where more is better."""
    if metric == "bag_accuracy" or found.hamming_loss is None:
        return found.bag_accuracy
    loss = found.hamming_loss
    return Interval(1 - loss.value, 1 - loss.high, 1 - loss.low)


def _estimates(project: Project, events: Sequence[Event]) -> dict[int, Quality]:
    """By the number of events: of what was estimated before, of the grid where that is cheap, and now."""
    known = _still_true(project, events, _read(project))
    missing = {place: _estimate(project, events[:place]) for place in _wanted(project, events) if place not in known}
    found = _fewer({**known, **missing}, set(grid(len(events))))
    if missing:
        names = _names(project, events, found)
        _write(project, {names[place]: (place, one) for place, one in found.items()})
    return found


def _wanted(project: Project, events: Sequence[Event]) -> list[int]:
    cheap = project.bags.n_instances * project.bags.n_features * len(project.classes) <= CHEAP
    return grid(len(events)) if cheap else [len(events)]


def _still_true(project: Project, events: Sequence[Event], kept: dict[str, tuple[int, Quality]]) -> dict[int, Quality]:
    """What was estimated from these very events."""
    places = [place for place, _ in kept.values() if place <= len(events)]
    return {place: kept[name][1] for place, name in _names(project, events, places).items() if name in kept}


def _fewer(found: dict[int, Quality], needed: set[int]) -> dict[int, Quality]:
    """All of them, or, where they are too many to draw, those needed and every second of the others."""
    others = sorted(set(found) - needed)
    while len(others) > MOST_KEPT:
        others = others[::2]
    return {place: one for place, one in sorted(found.items()) if place in needed or place in others}


def _estimate(project: Project, events: Sequence[Event]) -> Quality:
    counted = replay.Replay(project.contents, project.settings)
    counted.count(events)
    labels, audit = labels_and_audits(counted)
    model = replay.model_of(project.settings.learning)
    if labels.n_known == 0:
        model.prepare(project.bags, labels.n_classes)
    else:
        model.fit(project.bags, labels)
    out_of_fold, kept = evaluation.crossfit(model, project.bags, labels), project.contents.kept_bags
    return evaluation.estimate(
        model.predict_proba(project.bags)[kept], out_of_fold[kept], labels.select(kept), audit[kept]
    )


# The file


def _names(project: Project, events: Sequence[Event], places: Collection[int]) -> dict[int, str]:
    """A name for everything that an estimate depends on."""
    settings = project.settings
    named = [VERSION, project.contents.digest(), asdict(settings.learning), settings.asking.people]
    wanted = set(places)
    digest = hashlib.sha256(json.dumps([*named, settings.asking.share], sort_keys=True).encode())
    found = {0: digest.hexdigest()}
    for event in events:
        digest.update(repr(event).encode())
        if event.number in wanted:
            found[event.number] = digest.hexdigest()
    return {place: found[place] for place in places}


def _read(project: Project) -> dict[str, tuple[int, Quality]]:
    try:
        kept = json.loads((project.folder / FILE).read_text(encoding="utf-8"))
        return {name: (int(place), _quality(one)) for name, (place, one) in kept.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        # Whatever is wrong with it, it only saves time.
        return {}


def _write(project: Project, found: dict[str, tuple[int, Quality]]) -> None:
    unfinished = project.folder / f".{FILE}.{os.getpid()}.part"
    try:
        unfinished.write_text(
            json.dumps({name: (place, asdict(one)) for name, (place, one) in found.items()}), encoding="utf-8"
        )
        unfinished.replace(project.folder / FILE)
    except OSError:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _quality(kept: dict[str, Any]) -> Quality:
    def interval(one: dict[str, float] | None) -> Interval | None:
        return None if one is None else Interval(**one)

    return Quality(
        kept["answers"],
        kept["audits"],
        interval(kept["bag_accuracy"]),
        interval(kept["hamming_loss"]),
        tuple(ClassQuality(interval(one["precision"]), interval(one["recall"])) for one in kept["classes"]),
    )
