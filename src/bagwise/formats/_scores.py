"""Tables of a classifier's scores: BirdNET's and Raven's detections, perch-hoplite's logits, and any other.

Long: a row for each score, with columns for the bag, the class, the score, and, where it is not about the whole bag,
the `instance` or the times `start` and `end` in seconds. Wide: a row for each bag, instance or window, and a column for
each class. A score is a probability; a column `logit` has log-odds. Columns are known by the names that programs give:

    BirdNET-Analyzer    Start (s), End (s), Scientific name, Common name, Confidence, File
    Raven (BirdNET)     Begin Time (s), End Time (s), Common Name, Confidence, Begin Path, File Offset (s)
    perch-hoplite       filename, timestamp_s, label, logit

Tables with a `Confidence` have detections only: what is not listed was below the classifier's threshold. It is given
half of the lowest score of the table, in all bags, for the classes that the table has.

A window and an instance belong together where they share more than half of the shorter one. A window's score P is
shared by its n instances, 1 - (1 - P)^(1/n) each, and of several windows an instance takes the highest. Where no place
of the instances is known, the highest score of all windows is that of the bag.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bagwise.core.errors import FileError
from bagwise.data.class_names import ClassNames
from bagwise.data.scores import Scores
from bagwise.formats._types import Table
from bagwise.formats._values import whole_number
from bagwise.kernels import Array
from bagwise.kernels.arithmetic.elementary import expit, expm1_nonpositive, log1p

BAG = ("bag", "bag_id", "bagid", "begin file", "file", "filename", "filepath", "begin path", "recording", "source_id")
START = ("start", "start (s)", "begin time (s)", "start_offset_s", "timestamp_s", "window_start", "offset_s")
END = ("end", "end (s)", "end time (s)", "end_offset_s", "window_end")
OFFSET, INSTANCE = ("file offset (s)",), ("instance",)
SCIENTIFIC, COMMON = ("scientific name", "scientific_name"), ("common name", "common_name")
CLASS = ("class", "label", "species", *SCIENTIFIC, *COMMON)
SCORE, LOGIT, DETECTION = ("score", "probability", "confidence"), ("logit", "logits"), "confidence"
NO_CLASS = ("nocall", "no call")
WHOLE_BAG = UNKNOWN = -1
HALF = 0.5

Spans = Callable[[int], Array | None]
"""Returns start and end of the instances of a bag, (n, 2) in seconds; None where they are not known."""


@dataclass(frozen=True)
class Matching:
    """Which names of a table of scores were found in the project, and which were not.

    Parameters
    ----------
    matched : mapping of str to str
        The name in the table of every class of the project that has scores.
    without : sequence of str
        Classes of the project that the table has no scores of.
    unknown : sequence of str
        Classes of the table that the project does not have.
    unknown_bags : sequence of str
        Bags of the table that the project does not have.
    nearest : mapping of str to sequence of str
        For classes without scores the names in the table that may be meant, where there are any.

    Examples
    --------
    >>> Matching({"great tit": "Parus major_Great Tit"}, without=["wren"]).without
    ['wren']
    """

    matched: Mapping[str, str] = field(default_factory=dict)
    without: Sequence[str] = ()
    unknown: Sequence[str] = ()
    unknown_bags: Sequence[str] = ()
    nearest: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class ScoreTable:
    """A classifier's scores by the names of bags and classes, one row for each score.

    Parameters
    ----------
    path : Path
        The file.
    source : str
        The name of the classifier.
    bags, classes : sequence of str
        The names that rows refer to.
    bag, label_class, instance : ndarray of int, shape (rows,)
        Positions of the bag and class; the instance, counted from 0, or -1.
    span : ndarray, shape (rows, 2)
        Start and end in seconds, NaN where the row is not about a window.
    probability : ndarray, shape (rows,)
        The scores.
    detections : bool
        Whether the table lists scores above a threshold only.

    Examples
    --------
    >>> here, nowhere = np.array([0]), np.full((1, 2), np.nan)
    >>> table = ScoreTable(
    ...     Path("scores.csv"), "BirdNET", ["a"], ["wren"], here, here, here - 1, nowhere, np.array([0.75]), False
    ... )
    >>> scores, matching = table.scores({"a": 0}, np.array([0, 2]), ["Wren"], lambda bag: None)
    >>> scores.of_bags
    array([[0.75]])
    """

    path: Path
    source: str
    bags: Sequence[str]
    classes: Sequence[str]
    bag: Array
    label_class: Array
    instance: Array
    span: Array
    probability: Array
    detections: bool

    def scores(
        self, bags: Mapping[str, int], offsets: Array, classes: Sequence[str], spans: Spans
    ) -> tuple[Scores, Matching]:
        """Return the scores of these bags and classes, and what did not match.

        Parameters
        ----------
        bags : mapping of str to int
            Position of every name of a bag, which may be that in the table or of its file.
        offsets : ndarray of int, shape (B + 1,)
            First instance of each bag, and the number of instances.
        classes : sequence of str
            Names of the classes wanted.
        spans : callable
            Gives the times of the instances of a bag.

        Returns
        -------
        scores : Scores
        matching : Matching
        """
        names = ClassNames(self.classes)
        columns = names.columns(classes)
        wanted = {int(column): place for place, column in enumerate(columns) if column >= 0}
        unknown = [name for place, name in enumerate(self.classes) if place not in wanted]
        without = [name for name, column in zip(classes, columns, strict=True) if column < 0]
        matching = Matching(
            {name: self.classes[column] for name, column in zip(classes, columns, strict=True) if column >= 0},
            without,
            [name for name in unknown if name.split("_")[0].strip().lower() not in NO_CLASS],
            [name for name in self.bags if name not in bags],
            {name: nearest for name in without if (nearest := names.nearest(name))},
        )
        of_instances = np.full((int(offsets[-1]), len(classes)), np.nan)
        of_bags = np.full((len(offsets) - 1, len(classes)), np.nan)
        located: dict[int, Array | None] = {}
        places = np.array([bags.get(name, UNKNOWN) for name in self.bags], np.int64)[self.bag]
        column_of = np.array([wanted.get(place, UNKNOWN) for place in range(len(self.classes))], np.int64)
        columns_of_rows = column_of[self.label_class]
        for row in np.flatnonzero((places != UNKNOWN) & (columns_of_rows != UNKNOWN)).tolist():
            place, column = int(places[row]), int(columns_of_rows[row])
            rows, share = self._instances(row, place, offsets, spans, located)
            if len(rows):
                of_instances[rows, column] = np.fmax(of_instances[rows, column], share)
            else:
                of_bags[place, column] = np.fmax(of_bags[place, column], self.probability[row])
        if self.detections and len(self.probability):
            self._fill(of_instances, of_bags, sorted(wanted.values()), offsets)
        return Scores(of_instances, of_bags, tuple(classes), self.source), matching

    def _instances(
        self, row: int, place: int, offsets: Array, spans: Spans, located: dict[int, Array | None]
    ) -> tuple[Array, float]:
        """The instances that a row is about, and the score of each; none where it is about the bag."""
        first, size = int(offsets[place]), int(offsets[place + 1] - offsets[place])
        instance, (start, end) = int(self.instance[row]), self.span[row]
        probability = float(self.probability[row])
        if instance != WHOLE_BAG:
            if instance >= size:
                what = f"bag {self.bags[self.bag[row]]} has {size} instances: there is no instance {instance}."
                raise FileError(self.path, what)
            return np.array([first + instance]), probability
        if np.isnan(start):
            return np.empty(0, np.int64), probability
        if place not in located:
            located[place] = spans(place)
        times = located[place]
        if times is None:
            return np.empty(0, np.int64), probability
        shared = np.minimum(times[:, 1], end) - np.maximum(times[:, 0], start)
        shorter = np.minimum(times[:, 1] - times[:, 0], end - start)
        here = np.flatnonzero((shared > HALF * shorter) | ((shorter <= 0) & (shared >= 0)))
        share = probability
        if len(here) > 1 and probability < 1:
            share = -float(expm1_nonpositive(log1p(-probability) / len(here)))
        return first + here, share

    def _fill(self, of_instances: Array, of_bags: Array, columns: list[int], offsets: Array) -> None:
        """What is not listed was below the threshold."""
        floor, sizes = HALF * float(self.probability.min()), np.diff(offsets)
        for column in columns:
            listed = np.logical_or.reduceat(~np.isnan(of_instances[:, column]), offsets[:-1])
            missing = np.isnan(of_instances[:, column]) & np.repeat(listed, sizes)
            of_instances[missing, column] = floor
            of_bags[np.isnan(of_bags[:, column]) & ~listed, column] = floor


def scores_from(table: Table, source: str = "") -> ScoreTable:
    """Return the scores of a table whose columns are as described above; `source` names the classifier."""
    path, frame = table.locator.path, table.frame
    named = {name.strip().lower(): name for name in frame.columns}

    def cells(names: Sequence[str]) -> list[str] | None:
        found = next((named[name] for name in names if name in named), None)
        return None if found is None else [text.strip() for text in frame[found].to_list()]

    rows = len(frame)
    if not rows:
        raise FileError(path, "contains no scores.")
    recording = cells(BAG) or [path.name.split(".")[0]] * rows
    instance, start, end, offset = cells(INSTANCE), cells(START), cells(END), cells(OFFSET)
    classes, scientific, common = cells(CLASS), cells(SCIENTIFIC), cells(COMMON)
    if scientific is not None and common is not None:
        classes = [f"{one}_{other}" for one, other in zip(scientific, common, strict=True)]
    score, logits = cells(SCORE), cells(LOGIT)
    detections = DETECTION in named
    instances = np.array(
        [
            whole_number(text, path, table.locator.line_of(row), "instance") if text else WHOLE_BAG
            for row, text in enumerate(instance or [""] * rows)
        ],
        np.int64,
    )
    span = np.column_stack([_numbers(table, START, start, rows), _numbers(table, END, end, rows)])
    span[np.isnan(span[:, 1]), 1] = span[np.isnan(span[:, 1]), 0]
    if offset is not None:
        first = _numbers(table, OFFSET, offset, rows)
        span = np.where(np.isnan(first)[:, None], span, first[:, None] + span - span[:, :1])
    if classes is not None:
        values = score if score is not None else logits
        if values is None:
            what = f"no column has the scores: one of {', '.join((*SCORE, *LOGIT))} is needed."
            raise FileError(path, what, 1)
        numbers = _numbers(table, SCORE if score is not None else LOGIT, values, rows)
        probability = expit(numbers) if score is None else numbers
        label_names, label_class = _coded(classes)
        kept, of_row = np.flatnonzero(~np.isnan(probability)), np.arange(rows)
    else:
        roles = {named[name] for name in (*BAG, *START, *END, *OFFSET, *INSTANCE) if name in named}
        label_names = [name for name in frame.columns if name not in roles]
        if not label_names:
            raise FileError(path, "has no column of a class: a table of scores is long or wide.", 1)
        wide = [
            _numbers(table, (name,), [text.strip() for text in frame[name].to_list()], rows) for name in label_names
        ]
        probability = np.concatenate(wide)
        label_class = np.repeat(np.arange(len(label_names)), rows)
        kept, of_row = np.flatnonzero(~np.isnan(probability)), np.tile(np.arange(rows), len(label_names))
    outside = kept[(probability[kept] < 0) | (probability[kept] > 1)]
    if len(outside):
        what = f"the score {probability[outside[0]]:g} is not between 0 and 1: call a column of log-odds `logit`."
        raise table.locator.fault(what, int(of_row[outside[0]]))
    bags, bag = _coded(recording)
    of_row = of_row[kept]
    return ScoreTable(
        path,
        source or ("BirdNET" if detections else path.stem),
        bags,
        label_names,
        bag[of_row],
        np.asarray(label_class)[kept],
        instances[of_row],
        span[of_row],
        probability[kept],
        detections,
    )


def _coded(names: Sequence[str]) -> tuple[list[str], Array]:
    """The different names, and the position of each row's among them."""
    places: dict[str, int] = {}
    codes = np.array([places.setdefault(name, len(places)) for name in names], np.int64)
    return list(places), codes


def _numbers(table: Table, names: Sequence[str], texts: Sequence[str] | None, rows: int) -> Array:
    found = np.full(rows, np.nan)
    for row, text in enumerate(texts or ()):
        if text and text.lower() not in ("nan", "na", "null"):
            try:
                found[row] = float(text)
            except ValueError as error:
                raise table.locator.fault(f"{text!r} is not a number ({names[0]}).", row) from error
    return found
