"""Parquet: one row per instance or per label, read in blocks; columns as in `_table`.

Features are the numeric columns, or one column that holds a list of numbers in every row (an embedding).
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bagwise.core.errors import FileError
from bagwise.formats._detections import DetectionTable
from bagwise.formats._label_table import LabelTable
from bagwise.formats._parquet_blocks import (
    SMALL,
    batches,
    embedding_width,
    features,
    is_parquet,
    row_count,
    schema_of,
    validate_unpacked_size,
    values_of,
)
from bagwise.formats._table import (
    BagIds,
    ColumnLabels,
    Roles,
    labels_as_frame,
    labels_from_rows,
    predictions_as_frame,
    roles_of,
)
from bagwise.formats._types import PredictionTable, RowLocator, Source, Table

DESCRIPTION = "Parquet with one row per instance or per label (.parquet)"
SUFFIXES = (".parquet", ".pq")
GENERIC = True
NAMES_BAGS = True
HUGE = (pl.Int128,)


def recognises(path: Path) -> bool:
    """Return whether it begins as a Parquet file."""
    return is_parquet(path)


def read(path: Path, bag_column: str | None = None) -> Source:
    """Read ids and labels now, features block by block when they are needed."""
    schema = schema_of(path)
    roles = roles_of(path, list(schema), bag_column)
    nested = [name for name in roles.features if isinstance(schema[name], pl.List | pl.Array)]
    if nested:
        roles = Roles(roles.bag, roles.labels, _only_embedding(path, roles, nested))
    for name in roles.features:
        if not nested and not (schema[name].is_float() or (schema[name].is_integer() and schema[name] not in HUGE)):
            raise FileError(path, f"the column is of type {schema[name]}: features must be numbers.", None, name)
    validate_unpacked_size(path, values_of(path, nested[0]) if nested else row_count(path) * len(roles.features))
    locator = RowLocator(path)
    ids, labels = BagIds(locator), ColumnLabels(locator, roles)
    for batch in batches(path, [roles.bag, *roles.labels]):
        before = ids.rows
        ids.add(batch[roles.bag])
        if roles.labels:
            labels.add(ids.codes[before:], [_as_text(path, batch[name]).to_list() for name in roles.labels], before)
    if ids.rows == 0:
        raise FileError(path, "contains no rows.")
    width = embedding_width(path, nested[0]) if nested else len(roles.features)
    kinds = {schema[name].inner if nested else schema[name] for name in roles.features}
    dtype = np.dtype(np.float32 if kinds <= set(SMALL) else np.float64)
    return Source(
        path,
        ids.ids,
        ids.codes,
        width,
        dtype,
        lambda: features(path, list(roles.features), width if nested else None, dtype),
        labels.table(ids.ids),
        locator,
        features=None if nested else roles.features,
    )


def _as_text(path: Path, column: pl.Series) -> pl.Series:
    _validate_text(path, column.name, column.dtype)
    return column.cast(pl.String)


def _validate_text(path: Path, name: str, kind: Any) -> None:
    if kind.is_nested() or kind == pl.Binary:
        raise FileError(path, f"the column is of type {kind}: text or numbers are needed.", None, name)


def _only_embedding(path: Path, roles: Roles, nested: list[str]) -> list[str]:
    if len(roles.features) > 1:
        what = f"is a list beside {len(roles.features) - 1} other columns: features must be one or the other."
        raise FileError(path, what, None, nested[0])
    return nested


def read_labels(path: Path, bag_column: str | None = None) -> LabelTable:
    """Read a long or wide table."""
    frame = read_table(path).frame
    return labels_from_rows(
        path, frame.columns, ((number, row) for number, row in enumerate(frame.iter_rows(), 1)), "row", bag_column
    )


def read_table(path: Path) -> Table:
    """Read every column as text."""
    schema = schema_of(path)
    columns = list(schema)
    for name, kind in schema.items():
        _validate_text(path, name, kind)
    validate_unpacked_size(path, row_count(path) * len(columns))
    found = list(batches(path, columns))
    if not found:
        raise FileError(path, "contains no rows.")
    frame = pl.concat(found)
    return Table(frame.select([_as_text(path, frame[name]).fill_null("") for name in columns]), RowLocator(path))


def write_labels(table: LabelTable, path: Path) -> None:
    """Write a long table."""
    labels_as_frame(table).write_parquet(path)


def write_predictions(table: PredictionTable, path: Path) -> None:
    """Write a long table."""
    predictions_as_frame(table).write_parquet(path)


def write_detections(table: DetectionTable, path: Path) -> None:
    """Write one row for every detection."""
    table.frame.write_parquet(path)
