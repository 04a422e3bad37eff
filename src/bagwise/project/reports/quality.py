"""The quality of a project's model, whether to stop, and how many answers are still needed.

Everything is a function of the contents and the events, the same in every process. Earlier estimates are stored in a
file of the project's folder under a fingerprint of what they were computed from; without the file they are computed
again.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from bagwise import evaluation
from bagwise.data import metrics
from bagwise.data.labels import Labels
from bagwise.data.metrics import THRESHOLD
from bagwise.evaluation import ClassQuality, Interval, Quality
from bagwise.evaluation.audit_history import AuditHistory
from bagwise.evaluation.forecast import Forecast, Point, forecast
from bagwise.evaluation.prevalence import audited_share
from bagwise.evaluation.stopping import Evidence, Verdict, decide
from bagwise.kernels import Array
from bagwise.learning.questions import Pair
from bagwise.project.answers import replay
from bagwise.project.answers.events import Event
from bagwise.project.project import Project
from bagwise.project.storage.class_list import ClassList
from bagwise.project.training.thresholds import labels_and_audits

FILE = "quality.json"
VERSION = 5
FIRST_POINT, GROWTH, MOST_POINTS = 50, 1.5, 8
MOST_KEPT = 50
CHEAP = 30_000_000
"""Up to this many instances times features times classes, missing estimates of the past are computed as well."""


@dataclass(frozen=True)
class ProjectQuality(Quality):
    """The quality of a project's model; `sites`: the share of the bags of a site with each class, None: not known."""

    sites: dict[str, tuple[Interval | None, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class ClassReport:
    """One class: how good and how common it is, and answers (about any class) until its recall reaches the target."""

    name: str
    precision: Interval | None
    recall: Interval | None
    prevalence: Interval | None
    forecast: Forecast | None

    @property
    def false_alarms(self) -> Interval | None:
        """Share of the bags for which the class is predicted that do not have it: 1 - precision."""
        return None if self.precision is None else self.precision.complement()


@dataclass(frozen=True)
class Report:
    """The estimated quality of a project's model on its bags.

    Parameters
    ----------
    answers, audits : int
        Answers in effect, and those of them to audit questions.
    bags : int
        Bags of the project that were not removed.
    metric, target
        The metric of `[stopping]` and its target.
    metrics : dict of str to Interval or None
        Every metric that can be estimated, by name; None while too little is known.
    classes : list of ClassReport
        Precision, recall, prevalence and forecast of each class.
    verdict : Verdict
        Whether the stopping rules say to stop, and why.
    forecast : Forecast or None
        Answers until the target.
    history : list of Point
        Earlier estimates of the metric, on a scale where more is better.

    Examples
    --------
    >>> verdict = Verdict(False, "Too few answers.")
    >>> report = Report(3, 1, 20, "bag_accuracy", 0.9, {"bag_accuracy": None}, [], verdict, forecast=None, history=[])
    >>> report.as_json()["verdict"]["stop"]
    False
    """

    answers: int
    audits: int
    bags: int
    metric: str
    target: float
    metrics: dict[str, Interval | None]
    classes: list[ClassReport]
    verdict: Verdict
    forecast: Forecast | None
    history: list[Point]

    def as_json(self) -> dict[str, Any]:
        """Return plain values; every estimated metric is a field of its own."""
        found = asdict(self)
        return {**found.pop("metrics"), **found}


def quality_of(project: Project) -> Report:
    """Return the quality after the last event: stored where it was estimated before, else estimated now.

    Parameters
    ----------
    project : Project
        An open project.

    Returns
    -------
    Report

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> from bagwise.formats import Source
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0]]), np.array([[1.0]])], ["a", "b"])
    >>> with TemporaryDirectory() as folder, Project.create(f"{folder}/p", source, classes=["wren"]) as project:
    ...     report = quality_of(project)
    >>> report.answers, report.metrics["bag_accuracy"], report.verdict.stop
    (0, None, False)
    """
    project.catch_up()
    events = list(project.events)
    return _report(project, _estimates(project, events))


def stored_quality(project: Project) -> Report | None:
    """Return the newest report that stored estimates give, None without any; nothing is estimated."""
    project.catch_up()
    events = list(project.events)
    found = _valid(project, events, _read(project))
    return _report(project, found) if found else None


def is_estimated(project: Project) -> bool:
    """Return whether every estimate that `quality_of` needs after the last event is stored."""
    project.catch_up()
    events = list(project.events)
    return set(_needed(project, events)) <= set(_valid(project, events, _read(project)))


def _report(project: Project, found: dict[int, ProjectQuality]) -> Report:
    """Return the report for estimates by the number of events, of which the last is the present one."""
    goal, last = project.settings.stopping, max(found)
    after = project.votes.answers_after
    answers, now = after[last], found[last]
    spread = not_taken_back(after, _spread(found, last))
    points = _points({count: found[count] for count in spread}, goal.metric, after)
    recalls = [
        [Point(after[count], recall) for count in spread if (recall := found[count].classes[c].recall) is not None]
        for c in range(len(project.active_classes))
    ]
    return Report(
        answers,
        now.audits,
        len(project.contents.kept_bags),
        goal.metric,
        goal.target,
        now.metrics,
        [
            ClassReport(
                name,
                one.precision,
                one.recall,
                one.prevalence,
                forecast(along, goal.recall_level) if one.recall and goal.recall_level else None,
            )
            for name, one, along in zip(project.active_classes, now.classes, recalls, strict=True)
        ],
        decide(_evidence(project, answers, points, now), goal),
        forecast(points, goal.level),
        list(_points({count: found[count] for count in not_taken_back(after, sorted(found))}, goal.metric, after)),
    )


def _evidence(project: Project, answers: int, points: tuple[Point, ...], now: ProjectQuality) -> Evidence:
    """Return what the stopping rules judge by."""
    names = project.active_classes
    return Evidence(
        answers,
        points,
        dict(zip(names, now.classes, strict=True)),
        len(project.contents.kept_bags),
        dict(zip(names, np.nansum(project.labels().values, axis=0).astype(int).tolist(), strict=True)),
        {site: dict(zip(names, shares, strict=True)) for site, shares in now.sites.items()},
    )


def _points(found: dict[int, ProjectQuality], metric: str, answers_after: Sequence[int]) -> tuple[Point, ...]:
    goodness = ((count, _goodness(one, metric)) for count, one in sorted(found.items()))
    return tuple(Point(answers_after[count], value) for count, value in goodness if value is not None)


def not_taken_back(answers_after: Sequence[int], counts: Sequence[int]) -> list[int]:
    """Return the numbers of events after which every later one has more answers: undone answers are no way forward.

    Parameters
    ----------
    answers_after : sequence of int
        Answers in effect, by the number of events.
    counts : sequence of int
        Numbers of events, ascending.

    Returns
    -------
    list of int

    Examples
    --------
    >>> not_taken_back([0, 1, 2, 1, 2, 3], [0, 1, 2, 3, 5])
    [0, 3, 5]
    """
    kept: list[int] = []
    for count in counts:
        while kept and answers_after[kept[-1]] >= answers_after[count]:
            kept.pop()
        kept.append(count)
    return kept


def _spread(found: Iterable[int], last: int) -> list[int]:
    """Return, of the numbers of events with an estimate, those closest to the grid: no stretch counts several times."""
    earlier = np.array([count for count in found if count < last], int)
    if not len(earlier):
        return [last]
    return sorted({int(earlier[np.abs(earlier - at).argmin()]) for at in grid(last)[:-1]} | {last})


def grid(events: int) -> list[int]:
    """Return the last few numbers of events at which the quality is estimated: geometrically spaced, and now.

    >>> grid(120)
    [50, 75, 112, 120]
    """
    counts, count = [], float(FIRST_POINT)
    while count < events:
        counts.append(int(count))
        count *= GROWTH
    return [*counts[-MOST_POINTS + 1 :], events]


def _goodness(found: Quality, metric: str) -> Interval | None:
    """Return the metric on a scale where more is better."""
    estimated, goodness = found.metrics[metric], metrics.get(metric).goodness
    if estimated is None:
        return None
    low, high = sorted((goodness(estimated.low), goodness(estimated.high)))
    return Interval(goodness(estimated.value), low, high)


def _estimates(project: Project, events: Sequence[Event]) -> dict[int, ProjectQuality]:
    """Return estimates by the number of events: those stored, those on the grid where that is cheap, and now."""
    known = _valid(project, events, _read(project))
    missing = {count: _estimate(project, events[:count]) for count in _needed(project, events) if count not in known}
    found = _thinned({**known, **missing}, set(grid(len(events))))
    if missing:
        fingerprints = _fingerprints(project, events, found)
        _write(project, {fingerprints[count]: (count, one) for count, one in found.items()})
    return found


def _needed(project: Project, events: Sequence[Event]) -> list[int]:
    cheap = project.bags.n_instances * project.bags.n_features * len(project.classes) <= CHEAP
    return grid(len(events)) if cheap else [len(events)]


def _valid(
    project: Project, events: Sequence[Event], kept: dict[str, tuple[int, ProjectQuality]]
) -> dict[int, ProjectQuality]:
    """Return the stored estimates that were computed from a prefix of these events, by its length."""
    counts = [count for count, _ in kept.values() if count <= len(events)]
    return {count: kept[name][1] for count, name in _fingerprints(project, events, counts).items() if name in kept}


def _thinned(found: dict[int, ProjectQuality], needed: set[int]) -> dict[int, ProjectQuality]:
    """Drop every second estimate that is not needed until at most `MOST_KEPT` of these are left."""
    others = sorted(set(found) - needed)
    while len(others) > MOST_KEPT:
        others = others[::2]
    return {count: one for count, one in sorted(found.items()) if count in needed or count in others}


def _estimate(project: Project, events: Sequence[Event]) -> ProjectQuality:
    found = judged(project, events)
    labels, audited, weights = found.labels, found.audits.audited, found.audits.weights
    values, predicted = found.values, found.predicted
    return ProjectQuality(
        **vars(evaluation.estimate(found.out_of_fold, labels, audited, belief=found.belief)),
        sites={
            site: tuple(
                audited_share(values[here, c], predicted[here, c], audited[here, c], weights[here, c])
                for c in range(labels.n_classes)
            )
            for site, here in _bags_by_site(project).items()
        },
    )


def _bags_by_site(project: Project) -> dict[str, Array]:
    """Return where the bags of each site are among those that were not removed; empty where no site is known."""
    files = project.contents.bag_files
    of_bags = files.site_of[project.contents.kept_bags] if files.sites else np.empty(0, int)
    return {name: of_bags == number for number, name in enumerate(files.sites) if (of_bags == number).any()}


@dataclass(frozen=True)
class Judged:
    """What estimates are made of, for active classes and bags that are not removed.

    Parameters
    ----------
    present, out_of_fold : ndarray of shape (bags, classes)
        P(class in bag) by the model, fitted to everything known, and without the labels of the bag.
    belief : ndarray of shape (bags, classes)
        P(class in bag) before the label was known: when the question was asked, of open pairs now; NaN for labels that
        were not asked.
    labels : Labels
        The known labels.
    audits : AuditHistory
        Which of them answer audit questions, and how those were drawn.
    """

    present: Array
    out_of_fold: Array
    belief: Array
    labels: Labels
    audits: AuditHistory

    @property
    def values(self) -> Array:
        """1, 0, or NaN where the label is not known."""
        return np.where(self.labels.known, self.labels.value, np.nan)

    @property
    def predicted(self) -> Array:
        """Whether the class is predicted, without the labels of the bag where these were held out."""
        held_out = self.labels.known & ~np.isnan(self.out_of_fold)
        return np.asarray(np.where(held_out, self.out_of_fold, self.present) > THRESHOLD)


def judged(project: Project, events: Sequence[Event]) -> Judged:
    """Return what estimates are made of.

    Parameters
    ----------
    project : Project
        An open project.
    events : sequence of Event
        The first events of the project, or all of them.

    Returns
    -------
    Judged
    """
    counted = replay.Replay(project.contents, project.settings)
    counted.count(events)
    labels, audits = labels_and_audits(counted)
    model = replay.model_of(project.settings.learning)
    if labels.n_known == 0:
        model.prepare(project.bags, labels.n_classes)
    else:
        model.fit(project.bags, labels)
    kept, active = project.contents.kept_bags, project.contents.class_list.active
    out_of_fold, wanted = evaluation.crossfit(model, project.bags, labels), np.ix_(kept, active)
    present = model.predict_proba(project.bags)
    belief = np.where(labels.known, _belief_when_asked(events, project.contents.class_list, present.shape), present)
    known = Labels(labels.value[wanted], labels.known[wanted])
    return Judged(present[wanted], out_of_fold[wanted], belief[wanted], known, audits.select(kept, active))


def _belief_when_asked(events: Sequence[Event], class_list: ClassList, shape: tuple[int, ...]) -> Array:
    """P(class in bag) by the model that first asked for each answer; NaN where none did.

    Of a class that was merged from others it is the largest belief about one of these.
    """
    of_instances, first = set[int](), dict[Pair, float]()
    for event in events:
        if event.instance is not None or event.replaces in of_instances:
            # A correction has the belief of what it replaces: here that an instance is of the class.
            of_instances.add(event.number)
        elif event.belief is not None and event.answer != "skipped":
            first.setdefault(event.pair, event.belief)
    found = np.full(shape, np.nan)
    for (bag, label_class), belief in first.items():
        pair = bag, class_list.root(label_class)
        found[pair] = np.fmax(found[pair], belief)
    return found


# The file


def _fingerprints(project: Project, events: Sequence[Event], counts: Collection[int]) -> dict[int, str]:
    """Return, by the number of events, a fingerprint of everything that an estimate depends on."""
    settings = project.settings
    named = [
        VERSION,
        list(metrics.estimable()),
        project.contents.digest(),
        settings.learning.fingerprint,
        settings.asking.people,
        *_sites_digest(project),
    ]
    needed = set(counts)
    digest = hashlib.sha256(json.dumps([*named, settings.asking.share], sort_keys=True).encode())
    found = {0: digest.hexdigest()}
    for event in events:
        digest.update(event.fingerprint)
        if event.number in needed:
            found[event.number] = digest.hexdigest()
    return {count: found[count] for count in counts}


def _sites_digest(project: Project) -> list[str]:
    """Return what the shares of sites depend on beside all else; nothing where no site is known, as it always was."""
    files = project.contents.bag_files
    return [*files.sites, hashlib.sha256(files.site_of.tobytes()).hexdigest()] if files.sites else []


def _read(project: Project) -> dict[str, tuple[int, ProjectQuality]]:
    try:
        kept = json.loads((project.folder / FILE).read_text(encoding="utf-8"))
        return {name: (int(count), _quality(one)) for name, (count, one) in kept.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        # The file only saves time: one that cannot be read is computed again.
        return {}


def _write(project: Project, found: dict[str, tuple[int, ProjectQuality]]) -> None:
    unfinished = project.folder / f".{FILE}.{os.getpid()}.part"
    try:
        unfinished.write_text(
            json.dumps({name: (count, asdict(one)) for name, (count, one) in found.items()}), encoding="utf-8"
        )
        unfinished.replace(project.folder / FILE)
    except OSError:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _quality(kept: dict[str, Any]) -> ProjectQuality:
    def interval(one: dict[str, float] | None) -> Interval | None:
        return None if one is None else Interval(**one)

    return ProjectQuality(
        kept["answers"],
        kept["audits"],
        {name: interval(kept["metrics"][name]) for name in metrics.estimable()},
        tuple(
            ClassQuality(*(interval(one[name]) for name in ("precision", "recall", "prevalence")))
            for one in kept["classes"]
        ),
        {site: tuple(interval(one) for one in shares) for site, shares in kept.get("sites", {}).items()},
    )
