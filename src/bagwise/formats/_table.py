"""Tables with one row per instance or per label: the roles of their columns, for every file format.

Instances: a column `bag` with the bag's id, columns `label:NAME` with 1, 0 or nothing, the same in every row of a bag,
and all others features. Labels, wide: `bag` and one column per class. Labels, long: `bag`, `class` and `label`; without
`label` every row is present. A row of a long table with an `instance` or a place is about that part of the bag.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from bagwise.core.errors import FileError
from bagwise.formats._detections import BagSpan
from bagwise.formats._label_table import LabelTable, PlacedLabel
from bagwise.formats._types import PredictionTable, RowLocator
from bagwise.formats._values import PLACE_COLUMNS, label_value, place_from, validate_unique, whole_number
from bagwise.kernels import Array

BAG_NAMES = ("bag", "bag_id", "bagid")
LABEL_PREFIX = "label:"
SPAN_COLUMNS = ("file", "clip_start", "clip_end", "site", "recorded_at")
"""What a long table of labels says of its bags for people; it is not read."""


@dataclass(frozen=True)
class Roles:
    """The roles of the columns of a table of instances."""

    bag: str
    labels: Sequence[str]
    features: Sequence[str]

    @property
    def classes(self) -> list[str]:
        """The classes that the label columns name."""
        return [name.removeprefix(LABEL_PREFIX) for name in self.labels]


def bag_column_of(path: Path, columns: Sequence[str], wanted: str | None = None) -> str:
    """Return the column with the bag's id."""
    for name in [wanted] if wanted is not None else BAG_NAMES:
        if name in columns:
            return name
    shown = ", ".join(columns[:8]) + (", ..." if len(columns) > 8 else "")
    hint = "" if wanted is not None else " Name the column with the bag's id with --bag."
    raise FileError(path, f"there is no column {wanted or BAG_NAMES[0]} among {shown}.{hint}", 1)


def roles_of(path: Path, columns: Sequence[str], bag_column: str | None) -> Roles:
    """Return the role of every column of a table of instances."""
    bag = bag_column_of(path, columns, bag_column)
    labels = [name for name in columns if name.startswith(LABEL_PREFIX)]
    features = [name for name in columns if name != bag and name not in labels]
    if not features:
        raise FileError(path, "contains no features: every column besides the bag's id is a label.", 1)
    if set(features) <= {"class", "label"}:
        raise FileError(path, "this is a table of labels, not of instances: give it with --labels.", 1)
    return Roles(bag, labels, features)


class BagIds:
    """Ids in order of appearance, and the number of every row's bag."""

    def __init__(self, locator: RowLocator) -> None:
        self.locator = locator
        self._number: dict[str, int] = {}
        self._codes: list[Array] = []
        self.rows = 0

    def add(self, names: pl.Series) -> None:
        """Add the next rows. A run of equal ids costs as much as one."""
        if not (names.dtype.is_integer() or names.dtype in (pl.String, pl.Categorical, pl.Enum)):
            raise FileError(
                self.locator.path,
                f"ids are of type {names.dtype}: they must be text or whole numbers.",
                None,
                names.name,
            )
        text = names.cast(pl.String)
        empty = text.is_null() | (text.str.strip_chars() == "")
        if empty.any():
            raise self.locator.fault("the bag's id is missing.", self.rows + int(empty.arg_max() or 0), names.name)
        runs = text.rle().struct.unnest()
        numbers = [self._number.setdefault(name, len(self._number)) for name in runs["value"]]
        self._codes.append(np.repeat(np.array(numbers, np.int64), runs["len"].to_numpy()))
        self.rows += len(text)

    @property
    def ids(self) -> list[str]:
        """All ids."""
        return list(self._number)

    @property
    def codes(self) -> Array:
        """The number of every row's bag."""
        return np.concatenate(self._codes) if self._codes else np.empty(0, np.int64)


class ColumnLabels:
    """Labels in columns beside the instances: all rows of a bag must agree."""

    def __init__(self, locator: RowLocator, roles: Roles) -> None:
        self.locator, self.roles = locator, roles
        validate_unique(locator.path, "class", roles.classes)
        self._by_bag: dict[int, tuple[float, ...]] = {}

    def add(self, codes: Array, cells: Sequence[Sequence[str]], first_row: int) -> None:
        """Add `cells` (classes x rows) of the next rows."""
        for row, (code, texts) in enumerate(zip(codes.tolist(), zip(*cells, strict=True), strict=True), first_row):
            values = tuple(
                self._value(text or "", row, name) for text, name in zip(texts, self.roles.labels, strict=True)
            )
            before = self._by_bag.setdefault(code, values)
            for name, old, new in zip(self.roles.labels, before, values, strict=True):
                if old != new and not (np.isnan(old) and np.isnan(new)):
                    what = "the label differs from that of the bag's first row: a label belongs to the whole bag."
                    raise self.locator.fault(what, row, name)

    def _value(self, text: str, row: int, column: str) -> float:
        # The line is computed only for an error: it may take reading the file again.
        try:
            return label_value(text, self.locator.path)
        except FileError:
            return label_value(text, self.locator.path, self.locator.line_of(row), column, self.locator.name)

    def table(self, ids: Sequence[str]) -> LabelTable | None:
        """Return all labels, or None if the table has no label column."""
        if not self.roles.labels:
            return None
        return LabelTable(
            ids, self.roles.classes, np.array([self._by_bag[code] for code in range(len(ids))]), path=self.locator.path
        )


def labels_from_rows(
    path: Path,
    columns: Sequence[str],
    rows: Iterable[tuple[int, Sequence[str]]],
    row_name: str = "line",
    bag_column: str | None = None,
) -> LabelTable:
    """Return the labels of a long or wide table."""
    named = bag_column if bag_column in columns else None
    bag = columns.index(bag_column_of(path, columns, named))
    triples: list[tuple[str, str, float]] = []
    lines: list[int] = []
    placed: list[PlacedLabel] = []
    long = "class" in columns
    if long:
        known = (columns[bag], "class", "label", "instance", *PLACE_COLUMNS, *SPAN_COLUMNS)
        unexpected = [column for column in columns if column not in known]
        if unexpected:
            what = (
                "a long table of labels has the columns bag, class, label, instance and those of places, and no other."
            )
            raise FileError(path, what, 1, unexpected[0])
        name, label = columns.index("class"), columns.index("label") if "label" in columns else None
    classes = [] if long else [c.removeprefix(LABEL_PREFIX) for i, c in enumerate(columns) if i != bag]
    previous_bags: dict[str, None] = {}
    for line, cells in rows:
        if not cells[bag].strip():
            raise FileError(path, "the bag's id is missing.", line, columns[bag], row_name)
        if long:
            if not cells[name].strip():
                raise FileError(path, "the class has no name.", line, "class", row_name)
            value = 1.0 if label is None else label_value(cells[label], path, line, "label", row_name)
            part = _part(path, dict(zip(columns, cells, strict=True)), line, row_name)
            if part is None or np.isnan(value):
                triples.append((cells[bag], cells[name], np.nan if part is not None else value))
            else:
                instance, place = part
                placed.append(PlacedLabel(cells[bag], cells[name], bool(value), instance, place, line))
        else:
            if cells[bag] in previous_bags:
                raise FileError(path, f"bag {cells[bag]} appears twice.", line, columns[bag], row_name)
            values = [text for i, text in enumerate(cells) if i != bag]
            triples += [
                (cells[bag], class_name, label_value(text, path, line, class_name, row_name))
                for class_name, text in zip(classes, values, strict=True)
            ]
        previous_bags[cells[bag]] = None
        lines += [line] * (len(triples) - len(lines))
    if not triples and not placed:
        raise FileError(path, "contains no labels.")
    return LabelTable.from_triples(path, triples, lines, placed)


def _part(path: Path, row: dict[str, str], line: int, row_name: str) -> tuple[int | None, dict[str, float]] | None:
    """The instance and the place that a row is about; None where it is about the whole bag."""
    text = row.get("instance", "")
    instance = whole_number(text, path, line, "instance", row_name) if text.strip() else None
    place = place_from({name: row[name] for name in PLACE_COLUMNS if name in row}, path, line, row_name)
    return None if instance is None and not place else (instance, place)


def labels_as_frame(table: LabelTable) -> pl.DataFrame:
    """Return a long table: bag, class, label (1, 0, or null for *unsure*); instance and place where any is known.

    A pair that is labelled at an instance has a row for the bag too. Where the files of the bags are known, every row
    has the file, the seconds of it that the bag is, the site and when the bag begins.
    """
    frame = _labels_as_frame(table)
    if not table.spans:
        return frame
    spans = [table.spans.get(bag) for bag in frame["bag"].to_list()]
    named = dict(zip(SPAN_COLUMNS, ("file", "start", "end", "site", "recorded_at"), strict=True))
    return frame.with_columns(
        pl.Series(
            column,
            [None if one is None else getattr(one, name) for one in spans],
            pl.Float64 if name in ("start", "end") else pl.String,
        )
        for column, name in named.items()
    )


def _labels_as_frame(table: LabelTable) -> pl.DataFrame:
    bags = _labels_of_bags(table)
    if not table.placed:
        return bags
    used = [name for name in PLACE_COLUMNS if any(name in one.place for one in table.placed)]
    rows = [
        (one.bag, one.label_class, int(one.present), one.instance, *(one.place.get(name) for name in used))
        for one in table.placed
    ]
    schema = {**bags.schema, "instance": pl.Int64(), **dict.fromkeys(used, pl.Float64())}
    return pl.concat([bags, pl.DataFrame(rows, schema, orient="row")], how="diagonal")


def _labels_of_bags(table: LabelTable) -> pl.DataFrame:
    triples = list(table.triples())
    value = {"present": 1, "absent": 0, "unsure": None}
    return pl.DataFrame(
        {
            "bag": [bag for bag, _, _ in triples],
            "class": [name for _, name, _ in triples],
            "label": [value[answer] for _, _, answer in triples],
        },
        schema={"bag": pl.String, "class": pl.String, "label": pl.Int8},
    )


def predictions_as_frame(table: PredictionTable) -> pl.DataFrame:
    """Return a long table: bag, class, probability, evidence (from 0), predicted (1 or 0), and what is known of these:
    model; file, start, end, site and recorded_at of the bag; evidence_start and evidence_end in seconds of the file.
    """
    bags, classes = len(table.ids), len(table.classes)
    frame = pl.DataFrame(
        {
            "bag": np.repeat(np.array(table.ids, dtype=object), classes).tolist(),
            "class": list(table.classes) * bags,
            "probability": table.probability.ravel(),
            "evidence": table.evidence.ravel().astype(np.int64),
            "predicted": table.predicted.ravel().astype(np.int8),
        }
    )
    if table.model:
        frame = frame.with_columns(model=pl.lit(table.model))
    if table.spans is not None:
        frame = frame.hstack(pl.concat([_spans_as_frame(table.spans)] * classes).sort("position").drop("position"))
    if table.evidence_times is not None:
        times = table.evidence_times.reshape(-1, 2)
        frame = frame.with_columns(
            pl.Series(name, column, nan_to_null=True)
            for name, column in zip(("evidence_start", "evidence_end"), times.T, strict=True)
        )
    return frame


def _spans_as_frame(spans: Sequence[BagSpan]) -> pl.DataFrame:
    rows = [(number, one.file, one.start, one.end, one.site, one.recorded_at) for number, one in enumerate(spans)]
    types = {"position": pl.Int64, "file": pl.String, "start": pl.Float64, "end": pl.Float64}
    return pl.DataFrame(rows, {**types, "site": pl.String, "recorded_at": pl.String}, orient="row")
