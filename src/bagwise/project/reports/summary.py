"""What a report says of a project: how often each class was found, where and when, and how sure that is.

A bag has a class where people say so, or where it is predicted (`detections.py`). Effort is what was searched: all bags
that were not removed. Bags of unknown site or time are counted under `unknown`, and under `all` where none is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl

from bagwise.core.errors import BagwiseError
from bagwise.evaluation import Interval
from bagwise.evaluation.prevalence import FEWEST_AUDITS, audited_share
from bagwise.formats import DetectionTable
from bagwise.kernels import Array
from bagwise.project.project import Project
from bagwise.project.reports.detections import detections_of
from bagwise.project.reports.quality import judged
from bagwise.project.storage.bag_filter import EVERYTHING, BagFilter

ALL, UNKNOWN = "all", "unknown"
SECONDS_PER_HOUR = 3600
EFFORT = ("recordings", "clips", "hours")
SEASONS = ("winter", "spring", "summer", "autumn")

Period = tuple[tuple[int, ...], str]
"""What a period is sorted by, and its name."""


PERIODS = ("day", "week", "month", "hour", "season")
VISITS = {"week": "week", "month": "month"}
"""By which period visits to a site are counted; by day for all others."""


@dataclass(frozen=True)
class Summary:
    """The tables of a report.

    Parameters
    ----------
    project : str
        The name of the project.
    by : str
        The period of `counts`.
    counts : polars.DataFrame
        By `site`, `period` and `class`: `recordings`, `clips` and `hours` that were searched, `recordings_with` and
        `clips_with` the class, `share_of_clips`, `detections`, `confirmed_clips`, of which people say so, and the
        `audits` there and then, with the `estimate` of the true share and its interval, `low` to `high`, where they
        are enough.
    shares : polars.DataFrame
        By `class` and `site` (first `all`): `clips`, `clips_with`, `share`; the `estimate` of the true share with its
        interval, `low` to `high` (null where it is not known), the `audits` it rests on, and a `note`.
    visits : polars.DataFrame
        By `site`, `visit` and `class`: the `hours` of the visit, and `found`, 1 or 0.
    hours : polars.DataFrame
        By `hour` of the day and `class`: `clips`, `clips_with`, `share_of_clips`; empty where no time is known.
    accumulation : polars.DataFrame
        By `site` (and `all`): `recordings`, `clips` and `hours`, counted in the order of time, and `classes` found
        until then.
    detections : DetectionTable
        What all of it is counted from.

    Examples
    --------
    >>> visits = pl.DataFrame({"site": ["north"], "visit": ["1"], "class": ["wren"], "hours": [0.5], "found": [1]})
    >>> nothing = pl.DataFrame()
    >>> made = Summary("pond", "day", nothing, nothing, visits, nothing, nothing, DetectionTable.of([]))
    >>> made.history("wren").rows()
    [('north', 1)]
    """

    project: str
    by: str
    counts: pl.DataFrame
    shares: pl.DataFrame
    visits: pl.DataFrame
    hours: pl.DataFrame
    accumulation: pl.DataFrame
    detections: DetectionTable

    @property
    def classes(self) -> list[str]:
        """The names of the classes."""
        return self.shares["class"].unique(maintain_order=True).to_list()

    @property
    def sites(self) -> list[str]:
        """The names of the sites."""
        return self.counts["site"].unique(maintain_order=True).to_list()

    def history(self, label_class: str) -> pl.DataFrame:
        """Return the detection history of a class: a row for each site, a column for each visit.

        Parameters
        ----------
        label_class : str
            The name of the class.

        Returns
        -------
        polars.DataFrame
            `site`, then for every visit 1 (found), 0 (searched and not found), or null where there was none.
        """
        return self._by_visit(label_class, "found")

    def effort(self) -> pl.DataFrame:
        """Return the hours of every visit: a row for each site, a column for each visit."""
        return self._by_visit(self.visits["class"][0], "hours")

    def _by_visit(self, label_class: str, column: str) -> pl.DataFrame:
        of_class = self.visits.filter(pl.col("class") == label_class)
        visits = of_class["visit"].unique(maintain_order=True).to_list()
        return of_class.pivot("visit", index="site", values=column).select("site", *visits).sort("site")


def summary_of(
    project: Project, by: str = "day", threshold: float | None = None, wanted: BagFilter = EVERYTHING
) -> Summary:
    """Count what was found in a project, and estimate how much of it is true.

    Parameters
    ----------
    project : Project
        An open project in which labels are known.
    by : {"day", "week", "month", "hour", "season"}
        The period that is counted by.
    threshold : float, optional
        Used for all classes instead of the thresholds of the model.
    wanted : BagFilter
        Only bags that were recorded there and then.

    Returns
    -------
    Summary

    Raises
    ------
    BagwiseError
        If there is no such period, no label is known, or no bag passes the filter.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bagwise.formats import LabelTable, Source
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0]]), np.array([[9.0]])], ["a", "b"])
    >>> labels = LabelTable(["a", "b"], ["high"], np.array([[0.0], [1.0]]))
    >>> with tempfile.TemporaryDirectory() as place, Project.create(f"{place}/p", source, labels) as project:
    ...     summary = summary_of(project)
    >>> summary.counts.select("site", "period", "class", "clips", "clips_with").rows()
    [('all', 'all', 'high', 2, 1)]
    """
    if by not in PERIODS:
        raise BagwiseError(f"There is no period {by!r}: choose one of {', '.join(PERIODS)}.")
    passing = project.bags_passing(wanted)
    table = detections_of(project, threshold, wanted)
    bags = _bags(project, by, passing)
    audits = _Audits.of(project, np.isin(project.contents.kept_bags, passing))
    found = table.frame.group_by("bag", "class").agg(
        pl.len().alias("detections"), (pl.col("confirmed") != "").any().alias("confirmed")
    )
    pairs = (
        bags.join(pl.DataFrame({"class": project.active_classes}), how="cross")
        .join(found, on=["bag", "class"], how="left", maintain_order="left")
        .with_columns(pl.col("detections").fill_null(0), pl.col("confirmed").fill_null(value=False))
        .with_columns(found=pl.col("detections") > 0)
    )
    return Summary(
        project.settings.name,
        by,
        _counts(pairs, project.active_classes).join(
            _estimates(audits, bags, project.active_classes),
            on=["site", "period", "class"],
            how="left",
            maintain_order="left",
        ),
        _shares(audits, bags, pairs, project.active_classes),
        _visits(pairs),
        _hours(pairs),
        _accumulation(pairs, bags),
        table,
    )


def period_of(time: datetime, by: str, south: bool = False) -> Period:
    """Return the period that a time is in, and what it is sorted by.

    Parameters
    ----------
    time : datetime
        Local time of the recorder.
    by : str
        One of `PERIODS`; seasons have three months each, and December belongs to the winter that ends next year.
    south : bool
        Whether it is south of the equator, where the seasons are the other way round.

    Returns
    -------
    order : tuple of int
    name : str

    Examples
    --------
    >>> december = datetime(2025, 12, 5, 4)
    >>> [period_of(december, by)[1] for by in PERIODS]
    ['2025-12-05', '2025-W49', '2025-12', '04', '2026 winter']
    """
    if by == "week":
        year, week, _ = time.isocalendar()
        return (year, week), f"{year}-W{week:02}"
    if by == "season":
        year, number = time.year + (time.month == 12), time.month % 12 // 3
        return (year, number), f"{year} {SEASONS[(number + 2 * south) % 4]}"
    if by == "hour":
        return (time.hour,), f"{time.hour:02}"
    if by == "month":
        return (time.year, time.month), f"{time.year}-{time.month:02}"
    return (time.year, time.month, time.day), time.date().isoformat()


def _bags(project: Project, by: str, bags: Array) -> pl.DataFrame:
    """These bags, in order: file, site, period, visit, hour and seconds that no other bag has."""
    locations, files = project.locations(), project.contents.bag_files
    south = _is_south([file.origin.latitude for file in files.files])
    rows, ends = [], dict[str, float]()
    for bag in bags.tolist():
        span, source = locations.span(bag), locations.source(bag)
        time = None if source is None else source.recorded_at
        period, visit = (
            ((), UNKNOWN) if time is None else period_of(time, kind, south) for kind in (by, VISITS.get(by, "day"))
        )
        seconds = None
        if span.start is not None and span.end is not None:
            # Seconds that clips share are counted once.
            seconds = max(0.0, span.end - max(span.start, ends.get(span.file, 0.0)))
            ends[span.file] = max(span.end, ends.get(span.file, 0.0))
        rows.append(
            (
                locations.ids[bag],
                span.file,
                span.site or UNKNOWN,
                period[1],
                "".join(f"{part:05}" for part in period[0]),
                visit[1],
                "".join(f"{part:05}" for part in visit[0]),
                None if time is None else time.hour,
                "" if time is None else time.isoformat(),
                seconds,
            )
        )
    columns = ("bag", "file", "site", "period", "period_order", "visit", "visit_order", "hour", "time", "seconds")
    types = {**dict.fromkeys(columns, pl.String), "hour": pl.Int64, "seconds": pl.Float64}
    frame = pl.DataFrame(rows, types, orient="row")
    return frame.with_columns(
        pl.when((pl.col(name) == UNKNOWN).all()).then(pl.lit(ALL)).otherwise(pl.col(name)).alias(name)
        for name in ("site", "period", "visit")
    )


def _is_south(latitudes: Sequence[float | None]) -> bool:
    known = [one for one in latitudes if one is not None]
    return bool(known) and float(np.median(known)) < 0


def _counts(pairs: pl.DataFrame, classes: Sequence[str]) -> pl.DataFrame:
    return (
        pairs.group_by("site", "period_order", "period", "class")
        .agg(
            pl.col("file").n_unique().alias("recordings"),
            pl.len().alias("clips"),
            _hours_of(),
            pl.col("file").filter("found").n_unique().alias("recordings_with"),
            pl.col("found").sum().alias("clips_with"),
            pl.col("found").mean().alias("share_of_clips"),
            pl.col("detections").sum(),
            (pl.col("confirmed") & pl.col("found")).sum().alias("confirmed_clips"),
        )
        .sort("site", "period_order", pl.col("class").cast(pl.Enum(classes)))
        .drop("period_order")
    )


def _hours_of() -> pl.Expr:
    known = pl.col("seconds").is_not_null().any()
    return pl.when(known).then(pl.col("seconds").sum() / SECONDS_PER_HOUR).alias("hours")


@dataclass(frozen=True)
class _Audits:
    """Labels (NaN where unknown), predictions, audits and their weights, each (n_bags, n_classes)."""

    values: Array
    predicted: Array
    audited: Array
    weights: Array

    @classmethod
    def of(cls, project: Project, wanted: Array) -> "_Audits":
        found = judged(project, list(project.events))
        audits = found.audits
        return cls(found.values[wanted], found.predicted[wanted], audits.audited[wanted], audits.weights[wanted])

    def estimate(self, bags: Array, label_class: int) -> tuple[int, Interval | None]:
        """How many audits of these bags there are, and the share that they allow to estimate."""
        audited = self.audited[bags, label_class]
        found = audited_share(
            self.values[bags, label_class],
            self.predicted[bags, label_class],
            audited,
            self.weights[bags, label_class],
        )
        return int(audited.sum()), found


def _limits(estimate: Interval | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if estimate is None else (estimate.value, estimate.low, estimate.high)


def _estimates(audits: _Audits, bags: pl.DataFrame, classes: Sequence[str]) -> pl.DataFrame:
    """By site, period and class: the audits, and the share of clips that they allow to estimate."""
    rows = []
    groups = bags.with_row_index().group_by("site", "period", maintain_order=True).agg("index")
    for site, period, index in groups.iter_rows():
        here = np.array(index)
        counts = audits.audited[here].sum(axis=0).tolist()
        for c, name in enumerate(classes):
            estimate = audits.estimate(here, c)[1] if counts[c] >= FEWEST_AUDITS else None
            rows.append((site, period, name, counts[c], *_limits(estimate)))
    types = {**dict.fromkeys(("site", "period", "class"), pl.String()), "audits": pl.Int64()}
    return pl.DataFrame(rows, {**types, **dict.fromkeys(("estimate", "low", "high"), pl.Float64())}, orient="row")


def _shares(audits: _Audits, bags: pl.DataFrame, pairs: pl.DataFrame, classes: Sequence[str]) -> pl.DataFrame:
    """The share of clips with each class, and the estimates that audits allow."""
    sites = bags["site"].to_numpy()
    names = [ALL, *(name for name in bags["site"].unique().sort() if name != ALL)]
    by_site = pairs.group_by("class", "site").agg(pl.col("found").sum())
    overall_counts = pairs.group_by("class", pl.lit(ALL).alias("site")).agg(pl.col("found").sum())
    counted = {(name, site): count for name, site, count in [*by_site.iter_rows(), *overall_counts.iter_rows()]}
    rows = []
    for c, name in enumerate(classes):
        for site in names:
            here = np.full(len(sites), True) if site == ALL else sites == site
            count, estimate = audits.estimate(here, c)
            clips_with = counted[name, site]
            share, limits = clips_with / int(here.sum()), _limits(estimate)
            rows.append((name, site, int(here.sum()), clips_with, share, *limits, count, _note(estimate, count)))
    columns = ("class", "site", "clips", "clips_with", "share", "estimate", "low", "high", "audits", "note")
    types = {**dict.fromkeys(columns, pl.Float64()), **dict.fromkeys(("class", "site", "note"), pl.String())}
    return pl.DataFrame(rows, {**types, **dict.fromkeys(("clips", "clips_with", "audits"), pl.Int64())}, orient="row")


def _note(estimate: Interval | None, audits: int) -> str:
    return "" if estimate is not None else f"{FEWEST_AUDITS - audits} more audits are needed for an interval"


def _visits(pairs: pl.DataFrame) -> pl.DataFrame:
    """By site, visit and class, whether it was found; a recording is a visit where no time is known."""
    if (pairs["visit"] == ALL).all():
        number = pl.col("file").rank("dense").over("site").cast(pl.Int64).cast(pl.String)
        pairs = pairs.with_columns(visit=number, visit_order=number.str.zfill(9))
    return (
        pairs.filter(pl.col("visit") != UNKNOWN)
        .group_by("site", "visit_order", "visit", "class")
        .agg(_hours_of(), pl.col("found").any().cast(pl.Int8))
        .sort("visit_order", "site", "class")
        .select("site", "visit", "class", "hours", "found")
    )


def _hours(pairs: pl.DataFrame) -> pl.DataFrame:
    return (
        pairs.filter(pl.col("hour").is_not_null())
        .group_by("hour", "class")
        .agg(pl.len().alias("clips"), pl.col("found").sum().alias("clips_with"))
        .with_columns(share_of_clips=pl.col("clips_with") / pl.col("clips"))
        .sort("class", "hour")
    )


def _accumulation(pairs: pl.DataFrame, bags: pl.DataFrame) -> pl.DataFrame:
    """How many classes were found in the first clips, of all and of each site: where it changes, and at the end."""
    ordered = bags.sort("time", "file", maintain_order=True)
    hours = pl.col("seconds").cum_sum() / SECONDS_PER_HOUR if bags["seconds"].null_count() == 0 else pl.lit(None)
    searched = (
        pl.concat([ordered.with_columns(site=pl.lit(ALL)), ordered.filter(pl.col("site") != ALL)])
        .with_columns(
            pl.col("file").is_first_distinct().cast(pl.Int64).cum_sum().over("site").alias("recordings"),
            pl.int_range(1, pl.len() + 1).over("site").alias("clips"),
            hours.cast(pl.Float64).over("site").alias("hours"),
        )
        .select("site", "bag", *EFFORT)
    )
    found = pairs.filter("found").select("bag", "class").join(searched, on="bag").drop("bag")
    first = found.group_by("site", "class").agg(pl.col(EFFORT).min(), pl.lit(1).alias("new")).drop("class")
    last = searched.group_by("site").agg(pl.col(EFFORT).max(), pl.lit(0).alias("new"))
    return (
        pl.concat([first, last])
        .group_by("site", "clips")
        .agg(pl.col("recordings", "hours").first(), pl.col("new").sum())
        .sort(pl.col("site") != ALL, "site", "clips")
        .select("site", *EFFORT, pl.col("new").cum_sum().over("site").cast(pl.Int64).alias("classes"))
    )
