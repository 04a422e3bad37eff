"""CSV: comma, semicolon or tab; 1 present, 0 absent, empty unknown, -1 refused. Columns as in `_table`.

Texts that a spreadsheet would run as a formula are marked as in `_spreadsheet`.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from bagwise.core.errors import FileError
from bagwise.formats._detections import DetectionTable
from bagwise.formats._label_table import LabelTable
from bagwise.formats._spreadsheet import marked_frame, unmarked, unmarked_series
from bagwise.formats._table import (
    BAG_NAMES,
    BagIds,
    ColumnLabels,
    Roles,
    labels_as_frame,
    labels_from_rows,
    predictions_as_frame,
    roles_of,
)
from bagwise.formats._text import TextTable, header_of
from bagwise.formats._types import PredictionTable, RowLocator, Source, Table
from bagwise.kernels import Array

DESCRIPTION = "CSV with one row per instance or per label (.csv, .tsv)"
SUFFIXES = (".csv", ".tsv")
GENERIC = True
NAMES_BAGS = True


def recognises(path: Path) -> bool:
    """Return whether the header names a bag, or the suffix is that of CSV."""
    columns = header_of(path)
    return path.suffix.lower() in SUFFIXES or any(name in columns for name in BAG_NAMES)


def read(path: Path, bag_column: str | None = None) -> Source:
    """Read ids and labels now, features in a second pass when they are needed."""
    table = TextTable.open(path)
    roles = roles_of(path, table.columns, bag_column)
    locator = RowLocator(path, "line", table.line_of)
    ids, labels = BagIds(locator), ColumnLabels(locator, roles)
    for batch in table.batches():
        before = ids.rows
        ids.add(unmarked_series(batch[roles.bag]))
        if roles.labels:
            labels.add(ids.codes[before:], [batch[name].to_list() for name in roles.labels], before)
    if ids.rows == 0:
        raise FileError(path, "contains no rows below the header.", 2)
    return Source(
        path,
        ids.ids,
        ids.codes,
        len(roles.features),
        np.dtype(np.float64),
        lambda: _features(table, roles),
        labels.table(ids.ids),
        locator,
        features=roles.features,
    )


def _features(table: TextTable, roles: Roles) -> Iterator[Array]:
    done = 0
    for batch in table.batches():
        numbers = batch.select(pl.col(roles.features).str.strip_chars().cast(pl.Float64, strict=False))
        if numbers.null_count().sum_horizontal()[0]:
            for name in roles.features:
                if numbers[name].null_count():
                    row = int(numbers[name].is_null().arg_max() or 0)
                    what = f"{batch[name][row]!r} is not a number."
                    raise FileError(table.path, what, table.line_of(done + row), name)
        done += len(batch)
        yield numbers.to_numpy()


def read_labels(path: Path, bag_column: str | None = None) -> LabelTable:
    """Read a long or wide table."""
    table = TextTable.open(path)
    rows = ((line, [unmarked(cell) for cell in cells]) for line, cells in table.rows())
    return labels_from_rows(path, table.columns, rows, bag_column=bag_column)


def read_table(path: Path) -> Table:
    """Read every column as text."""
    table = TextTable.open(path)
    empty = pl.DataFrame(schema=dict.fromkeys(table.columns, pl.String))
    frame = pl.concat([empty, *table.batches()])
    return Table(frame.select(unmarked_series(column) for column in frame), RowLocator(path, "line", table.line_of))


def write_labels(table: LabelTable, path: Path) -> None:
    """Write a long table."""
    marked_frame(labels_as_frame(table)).write_csv(path)


def write_predictions(table: PredictionTable, path: Path) -> None:
    """Write a long table."""
    marked_frame(predictions_as_frame(table)).write_csv(path)


def write_detections(table: DetectionTable, path: Path) -> None:
    """Write one row for every detection."""
    marked_frame(table.frame).write_csv(path)
