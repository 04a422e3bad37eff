"""Parquet: one row per instance or per label, read in blocks; columns as in `_table`.

Features are the numeric columns, or one column that holds a list of numbers in every row (an embedding).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bagwise.core.errors import FileError
from bagwise.formats import _parquet_footer as footer
from bagwise.formats._detections import DetectionTable
from bagwise.formats._label_table import LabelTable
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
from bagwise.formats._values import ALWAYS_ALLOWED_BYTES, MAX_BYTES_PER_BYTE
from bagwise.kernels import Array

DESCRIPTION = "Parquet with one row per instance or per label (.parquet)"
SUFFIXES = (".parquet", ".pq")
GENERIC = True
NAMES_BAGS = True
ROWS_AT_ONCE = 1 << 16
VALUES_AT_ONCE = 1 << 26
HUGE = (pl.Int128,)


def recognises(path: Path) -> bool:
    """Return whether it begins as a Parquet file."""
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def read(path: Path, bag_column: str | None = None) -> Source:
    """Read ids and labels now, features block by block when they are needed."""
    schema = _schema(path)
    roles = roles_of(path, list(schema), bag_column)
    nested = [name for name in roles.features if isinstance(schema[name], pl.List | pl.Array)]
    if nested:
        roles = Roles(roles.bag, roles.labels, _only_embedding(path, roles, nested))
    for name in roles.features:
        if not nested and not (schema[name].is_float() or (schema[name].is_integer() and schema[name] not in HUGE)):
            raise FileError(path, f"the column is of type {schema[name]}: features must be numbers.", None, name)
    _validate_unpacked_size(path, _values_of(path, nested[0]) if nested else _row_count(path) * len(roles.features))
    locator = RowLocator(path)
    ids, labels = BagIds(locator), ColumnLabels(locator, roles)
    for batch in _batches(path, [roles.bag, *roles.labels]):
        before = ids.rows
        ids.add(batch[roles.bag])
        if roles.labels:
            labels.add(ids.codes[before:], [_as_text(path, batch[name]).to_list() for name in roles.labels], before)
    if ids.rows == 0:
        raise FileError(path, "contains no rows.")
    width = _embedding_width(path, nested[0]) if nested else len(roles.features)
    kinds = {schema[name].inner if nested else schema[name] for name in roles.features}
    small = kinds <= {pl.Float32, pl.Int8, pl.Int16, pl.UInt8, pl.UInt16}
    dtype = np.dtype(np.float32 if small else np.float64)
    return Source(
        path,
        ids.ids,
        ids.codes,
        width,
        dtype,
        lambda: _features(path, list(roles.features), width if nested else None, dtype),
        labels.table(ids.ids),
        locator,
        features=None if nested else roles.features,
    )


def _schema(path: Path) -> dict[str, Any]:
    with _damage_as_file_error(path):
        return dict(pl.read_parquet_schema(path))


@contextmanager
def _damage_as_file_error(path: Path) -> Iterator[None]:
    # A damaged footer makes Polars panic, which is not a subclass of Exception.
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise FileError(path, "is damaged or not complete: it cannot be read as Parquet.") from error


def _validate_unpacked_size(path: Path, values: int) -> None:
    """Raise a FileError for files in which a few bytes encode very many equal values."""
    unpacked = 4 * values
    if unpacked > max(4 * ALWAYS_ALLOWED_BYTES, 10 * MAX_BYTES_PER_BYTE * path.stat().st_size):
        raise FileError(
            path, f"would unpack to {unpacked / 1e9:.1f} GB, far more than features should: it is not read."
        )


def _values_of(path: Path, column: str) -> int:
    """Return the number of values in all lists of a column."""
    try:
        return footer.values_of_columns(path)[column]
    except footer.Damaged as error:
        raise FileError(path, "is damaged or not complete: it cannot be read as Parquet.") from error


def _row_count(path: Path) -> int:
    with _damage_as_file_error(path):
        return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())


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


def _embedding_width(path: Path, name: str) -> int:
    with _damage_as_file_error(path):
        first = pl.scan_parquet(path, glob=False).select(name).head(1).collect()[name][0]
    return 0 if first is None else len(first)


def _batches(path: Path, columns: list[str], width: int = 1) -> Iterator[pl.DataFrame]:
    # Slices rather than the streaming engine's batches, which read ahead and hold several row groups in memory.
    rows = pl.scan_parquet(path, glob=False, low_memory=True).select(columns)
    count = max(1, min(ROWS_AT_ONCE, VALUES_AT_ONCE // max(1, width)))
    for start in range(0, _row_count(path), count):
        with _damage_as_file_error(path):
            batch = rows.slice(start, count).collect()
        yield batch


def _features(path: Path, columns: list[str], width: int | None, dtype: np.dtype) -> Iterator[Array]:
    done = 0
    for batch in _batches(path, columns, width or 1):
        nulls = batch.null_count().row(0)
        if any(nulls):
            name = columns[next(i for i, count in enumerate(nulls) if count)]
            row = done + int(batch[name].is_null().arg_max() or 0) + 1
            raise FileError(path, "a feature is missing: fill or drop it first.", row, name, "row")
        if width is None:
            yield batch.to_numpy().astype(dtype, copy=False)
        else:
            yield _embeddings(path, batch[columns[0]], width, done, dtype)
        done += len(batch)


def _embeddings(path: Path, column: pl.Series, width: int, done: int, dtype: np.dtype) -> Array:
    if isinstance(column.dtype, pl.List):
        other = column.list.len() != width
        if other.any():
            row = int(other.arg_max() or 0)
            what = f"the list has {len(column[row])} numbers where the first has {width}."
            raise FileError(path, what, done + row + 1, column.name, "row")
    numbers = column.explode().to_numpy()
    if numbers.dtype.kind not in "fiu":
        raise FileError(path, "the lists do not hold numbers.", None, column.name)
    return np.asarray(numbers, dtype).reshape(len(column), width)


def read_labels(path: Path, bag_column: str | None = None) -> LabelTable:
    """Read a long or wide table."""
    frame = read_table(path).frame
    return labels_from_rows(
        path, frame.columns, ((number, row) for number, row in enumerate(frame.iter_rows(), 1)), "row", bag_column
    )


def read_table(path: Path) -> Table:
    """Read every column as text."""
    schema = _schema(path)
    columns = list(schema)
    for name, kind in schema.items():
        _validate_text(path, name, kind)
    _validate_unpacked_size(path, _row_count(path) * len(columns))
    batches = list(_batches(path, columns))
    if not batches:
        raise FileError(path, "contains no rows.")
    frame = pl.concat(batches)
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
