"""Status of a project: labels, answers, people, disk usage, and the model in use."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bagwise.evaluation.noise import Rate
from bagwise.kernels import Array
from bagwise.project.answers.events import NOWHERE, Event
from bagwise.project.instances import partitions
from bagwise.project.project import Project
from bagwise.project.queue.answering_time import Timed, answering_times
from bagwise.project.reports.disagreements import disagreements_of
from bagwise.project.storage import queries
from bagwise.project.storage.bag_files import NO_FILE, NO_SITE
from bagwise.project.training.model_file import ModelInfo

NORMAL_95 = 1.96


@dataclass(frozen=True)
class Share:
    """A proportion `value`, estimated from `of` cases, with Wilson's 95 % interval."""

    of: int
    value: float
    low: float
    high: float

    @classmethod
    def weighted(cls, hits: Sequence[bool], weights: Sequence[float]) -> "Share | None":
        """Return the proportion of hits where each case stands for `weights` others; None without cases.

        The interval is that of as many cases as are worth as much, were all weights alike: (sum w)^2 / sum w^2.

        >>> Share.weighted([True, False], [3.0, 1.0]).value
        0.75
        """
        if not hits:
            return None
        weight = np.array(weights) / np.sum(weights)
        p, of = float(weight @ np.array(hits)), 1 / float(weight @ weight)
        z2 = NORMAL_95**2
        centre = (p + z2 / (2 * of)) / (1 + z2 / of)
        half = NORMAL_95 * np.sqrt(p * (1 - p) / of + z2 / (4 * of**2)) / (1 + z2 / of)
        return cls(len(hits), p, float(max(0.0, centre - half)), float(min(1.0, centre + half)))


@dataclass(frozen=True)
class ClassStatus:
    """One class: pairs known present and absent (imported or answered), unsure, and open."""

    name: str
    present: int
    absent: int
    unsure: int
    open: int


@dataclass(frozen=True)
class SiteStatus:
    """One site, without removed bags.

    Parameters
    ----------
    name : str
        Empty for all bags of which the site is not known.
    recordings, bags : int
        Its recordings, and the bags that these are or that are clips of them.
    answers : int
        Answers in effect about these bags.
    known, pairs : int
        How many of their pairs are known, and how many there are.

    Examples
    --------
    >>> SiteStatus("pond", recordings=2, bags=720, answers=30, known=30, pairs=3600).name
    'pond'
    """

    name: str
    recordings: int
    bags: int
    answers: int
    known: int
    pairs: int


@dataclass(frozen=True)
class Status:
    """Counts of a project.

    Parameters
    ----------
    name, bags, instances, classes
        The project, without removed bags.
    answers : int
        Answers in effect.
    by_person : dict
        Answers in effect of each person, by kind of answer.
    wrong_by_person : dict of str to Rate
        Estimated rates of wrong answers; empty unless `noise = "estimate"`.
    filled : float
        Share of all pairs with a known label.
    pointed : int
        Answers in effect that say of an instance whether it is of the class.
    disagreements : int
        Pairs about which, or about whose instances, people disagree.
    agreement : Share or None
        How often the answer is what the model believed before: an estimate for all pairs that were open when audits
        were drawn, each of which is weighted by the inverse of its probability.
    seconds_per_answer : float or None
        Median.
    seconds_by_kind : dict of str to Timed
        The same for each kind of answer that was timed: plain, pointed by key, pointed by click, whole bag.
    bytes_on_disk : dict of str to int
        By file or folder.
    removed : list of str
        Ids of removed bags.
    model : ModelInfo
        Which model predictions come from.
    sites : list of SiteStatus
        By name; empty where no site is known.
    first_date, last_date : str or None
        The first and the last day of a recording, where any is known.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> from bagwise.formats import Source
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0]]), np.array([[1.0]])], ["a", "b"])
    >>> with TemporaryDirectory() as folder, Project.create(f"{folder}/p", source, classes=["wren"]) as project:
    ...     status = status_of(project)
    >>> status.bags, status.filled, status.model.kind
    (2, 0.0, 'online')
    """

    name: str
    bags: int
    instances: int
    classes: list[ClassStatus]
    answers: int
    by_person: dict[str, dict[str, int]]
    wrong_by_person: dict[str, Rate]
    filled: float
    pointed: int
    disagreements: int
    agreement: Share | None
    seconds_per_answer: float | None
    seconds_by_kind: dict[str, Timed]
    bytes_on_disk: dict[str, int]
    removed: list[str]
    model: ModelInfo
    sites: list[SiteStatus]
    first_date: str | None
    last_date: str | None

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "model": self.model.as_json()}


def status_of(project: Project) -> Status:
    """Return the status of a project; nothing is replayed for it, unless rates of wrong answers are estimated.

    Parameters
    ----------
    project : Project
        An open project.

    Returns
    -------
    Status

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> from bagwise.formats import Source
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0]]), np.array([[1.0]])], ["a", "b"])
    >>> with TemporaryDirectory() as folder, Project.create(f"{folder}/p", source, classes=["wren"]) as project:
    ...     (lease,) = project.ask("ann")
    ...     _ = project.answer(lease.key, "ann", "absent")
    ...     status = status_of(project)
    >>> status.answers, status.classes
    (1, [ClassStatus(name='wren', present=0, absent=1, unsure=0, open=1)])
    """
    labels = project.labels()
    unsure = labels.unsure if labels.unsure is not None else np.zeros(labels.values.shape, bool)
    answers = project.votes.all_effective()
    with project.database.reading() as connection:
        people = queries.annotators(connection)
    by_person = {name: dict(Counter(event.answer for event in answers if event.annotator == name)) for name in people}
    times = sorted(event.seconds for event in answers if event.seconds is not None)
    known = ~np.isnan(labels.values)
    contents = project.contents
    return Status(
        project.settings.name,
        len(contents.kept_bags),
        int(project.bags.sizes[contents.kept_bags].sum()),
        [
            ClassStatus(
                name,
                int(np.nansum(labels.values[:, c])),
                int(known[:, c].sum() - np.nansum(labels.values[:, c])),
                int(unsure[:, c].sum()),
                int((~known[:, c] & ~unsure[:, c]).sum()),
            )
            for c, name in enumerate(project.active_classes)
        ],
        len(answers),
        by_person,
        project.people().rates,
        float(known.mean()),
        sum(event.pointing != NOWHERE for event in answers),
        len(disagreements_of(project)),
        agreement(audits_of(answers), int(np.count_nonzero(contents.given == queries.UNKNOWN))),
        times[len(times) // 2] if times else None,
        answering_times(project.events),
        _bytes_on_disk(project),
        contents.ids[sorted(contents.removed)].tolist(),
        project.model_info(),
        sites_of(project, known, answers),
        *_days(project),
    )


def sites_of(project: Project, known: Array, answers: Sequence[Event]) -> list[SiteStatus]:
    """Return the status of every site, without removed bags.

    Parameters
    ----------
    project : Project
        An open project.
    known : ndarray of bool, shape (bags that were not removed, classes)
        Which pairs are known.
    answers : sequence of Event
        The answers in effect.

    Returns
    -------
    list of SiteStatus
        By name, bags of no known site last; empty where no site is known.
    """
    contents, files = project.contents, project.contents.bag_files
    if not files.sites:
        return []
    of_bags = files.site_of[contents.kept_bags]
    answered = Counter(files.site_of[[event.bag for event in answers]].tolist()) if answers else Counter[int]()
    found = []
    for number in [*range(len(files.sites)), NO_SITE]:
        here = of_bags == number
        if not here.any():
            continue
        recordings = files.file_of[contents.kept_bags[here]]
        found.append(
            SiteStatus(
                "" if number == NO_SITE else files.sites[number],
                len(np.unique(recordings[recordings != NO_FILE])),
                int(here.sum()),
                answered[number],
                int(known[here].sum()),
                known[here].size,
            )
        )
    return found


def _days(project: Project) -> tuple[str | None, str | None]:
    begins = project.contents.bag_files.begins
    days = begins[~np.isnat(begins)].astype("datetime64[D]")
    return (str(days.min()), str(days.max())) if len(days) else (None, None)


def audits_of(answers: Sequence[Event]) -> list[Event]:
    """Return the answers to audit questions, drawn at random, for which the model had a belief."""
    return [one for one in answers if one.audit and one.answer in ("present", "absent") and one.belief is not None]


def agreement(audits: Sequence[Event], pairs: int) -> Share | None:
    """Return how often the answer was what the model believed before; `pairs` were open before the first answer."""
    hits = [(one.belief > 0.5) == (one.answer == "present") for one in audits if one.belief is not None]
    return Share.weighted(hits, [_weight(one, pairs) for one in audits if one.belief is not None])


def _weight(audit: Event, pairs: int) -> float:
    """How many open pairs an audit stands for; in older projects for all that were open, one less with every answer."""
    return 1 / audit.probability if audit.probability is not None else float(max(1, pairs - (audit.asked_after or 0)))


def _bytes_on_disk(project: Project) -> dict[str, int]:
    sizes = {path.name: _size(path) for path in sorted(project.folder.iterdir()) if not path.name.startswith(".")}
    return sizes | partitions.bytes_elsewhere(project.folder, project.settings.data)


def _size(path: Any) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
