"""The quality of a project's model, whether to stop, and how many answers are still needed.

Everything is a function of the contents and the events, whatever process asks. The estimates along the way are kept in
a file of the project's folder, by a name for the events they were made from; without the file they are made again.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bagwise import quality
from bagwise.labels import Labels
from bagwise.project import replay
from bagwise.project.events import Event
from bagwise.project.project import Project
from bagwise.project.store import UNKNOWN
from bagwise.quality import ClassQuality, Interval, Quality
from bagwise.quality.forecast import Forecast, Point, forecast
from bagwise.stopping import Evidence, Verdict, decide

FILE = "quality.json"
VERSION = 1
FIRST_POINT, GROWTH, MOST_POINTS = 50, 1.5, 8


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
    events, goal = list(project.events), project.settings.stopping
    places = grid(len(events))
    found = _estimates(project, events, places)
    points = tuple(
        Point(place, value) for place in places if (value := _goodness(found[place], goal.metric)) is not None
    )
    now = found[len(events)]
    recalls = [
        [Point(place, recall) for place, one in found.items() if (recall := one.classes[c].recall) is not None]
        for c in range(len(project.classes))
    ]
    answers = len(project.votes.all_effective())
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
        list(points),
    )


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


def _estimates(project: Project, events: Sequence[Event], places: Sequence[int]) -> dict[int, Quality]:
    names = _names(project, events, places)
    kept = _read(project)
    found = {
        place: _quality(kept[name]) if (name := names[place]) in kept else _estimate(project, events[:place])
        for place in places
    }
    if any(name not in kept for name in names.values()):
        _write(project, {names[place]: one for place, one in found.items()})
    return found


def _estimate(project: Project, events: Sequence[Event]) -> Quality:
    counted = replay.Replay(project.contents, project.settings)
    counted.count(events)
    values, _ = counted.known()
    labels = Labels.from_array(values, missing=UNKNOWN)
    audit = np.zeros(values.shape, bool)
    for pair, decision in counted.votes.decisions.items():
        audit[pair] = decision.audit and not project.contents.is_given(pair)
    model = replay.model_of(project.settings.learning)
    if labels.n_known == 0:
        model.prepare(project.bags, labels.n_classes)
    else:
        model.fit(project.bags, labels)
    out_of_fold = quality.crossfit(model, project.bags, labels)
    return quality.estimate(model.predict_proba(project.bags), out_of_fold, labels, audit)


# The file


def _names(project: Project, events: Sequence[Event], places: Sequence[int]) -> dict[int, str]:
    """A name for everything that an estimate depends on."""
    settings = project.settings
    named = [VERSION, project.contents.digest(), asdict(settings.learning), settings.asking.people]
    digest = hashlib.sha256(json.dumps([*named, settings.asking.share], sort_keys=True).encode())
    found = {0: digest.hexdigest()}
    for event in events:
        digest.update(repr(event).encode())
        if event.number in places:
            found[event.number] = digest.hexdigest()
    return {place: found[place] for place in places}


def _read(project: Project) -> dict[str, Any]:
    try:
        kept = json.loads((project.folder / FILE).read_text(encoding="utf-8"))
        return kept if isinstance(kept, dict) and all(_quality(one) for one in kept.values()) else {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        # Whatever is wrong with it, it only saves time.
        return {}


def _write(project: Project, found: dict[str, Quality]) -> None:
    unfinished = project.folder / f".{FILE}.{os.getpid()}.part"
    try:
        unfinished.write_text(json.dumps({name: asdict(one) for name, one in found.items()}), encoding="utf-8")
        unfinished.replace(project.folder / FILE)
    except OSError:
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
