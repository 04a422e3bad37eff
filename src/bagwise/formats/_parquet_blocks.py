"""Parquet files in blocks, with their damage and their unpacked size: what every format in Parquet needs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bagwise.core.errors import FileError
from bagwise.formats import _parquet_metadata as metadata
from bagwise.formats._values import ALWAYS_ALLOWED_BYTES, MAX_BYTES_PER_BYTE
from bagwise.kernels import Array

ROWS_AT_ONCE = 1 << 16
VALUES_AT_ONCE = 1 << 26
SMALL = (pl.Float32, pl.Int8, pl.Int16, pl.UInt8, pl.UInt16)
"""Types of features that float32 holds exactly."""


def is_parquet(path: Path) -> bool:
    """Return whether it begins as a Parquet file."""
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def schema_of(path: Path) -> dict[str, Any]:
    """Return the types of the columns of a file that is not damaged."""
    with damage_as_file_error(path):
        metadata.validate_pages(path)
        return dict(pl.read_parquet_schema(path))


@contextmanager
def damage_as_file_error(path: Path) -> Iterator[None]:
    """Raise a FileError where Polars cannot read what is inside."""
    # A damaged footer makes Polars panic, which is not a subclass of Exception.
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, metadata.Damaged) as error:
        raise FileError(path, "is damaged or not complete: it cannot be read as Parquet.") from error


def validate_unpacked_size(path: Path, values: int) -> None:
    """Raise a FileError for files in which a few bytes encode very many equal values."""
    unpacked = 4 * values
    if unpacked > max(4 * ALWAYS_ALLOWED_BYTES, 10 * MAX_BYTES_PER_BYTE * path.stat().st_size):
        raise FileError(
            path, f"would unpack to {unpacked / 1e9:.1f} GB, far more than features should: it is not read."
        )


def values_of(path: Path, column: str) -> int:
    """Return the number of values in all lists of a column."""
    with damage_as_file_error(path):
        return metadata.values_of_columns(path)[column]


def row_count(path: Path) -> int:
    """Return the number of rows."""
    with damage_as_file_error(path):
        return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())


def embedding_width(path: Path, column: str | pl.Expr) -> int:
    """Return the length of the first list."""
    with damage_as_file_error(path):
        first = pl.scan_parquet(path, glob=False).select(column).head(1).collect().to_series()[0]
    return 0 if first is None else len(first)


def batches(path: Path, columns: Sequence[str | pl.Expr], width: int = 1) -> Iterator[pl.DataFrame]:
    """Yield some rows at a time; `width` is the number of values in a row."""
    # Slices rather than the streaming engine's batches, which read ahead and hold several row groups in memory.
    rows = pl.scan_parquet(path, glob=False, low_memory=True).select(columns)
    count = max(1, min(ROWS_AT_ONCE, VALUES_AT_ONCE // max(1, width)))
    for start in range(0, row_count(path), count):
        with damage_as_file_error(path):
            batch = rows.slice(start, count).collect()
        yield batch


def features(path: Path, columns: Sequence[str | pl.Expr], width: int | None, dtype: np.dtype) -> Iterator[Array]:
    """Yield the features in blocks: those of columns of numbers, or, with a `width`, of one column of lists."""
    done = 0
    for batch in batches(path, columns, width or 1):
        nulls = batch.null_count().row(0)
        if any(nulls):
            name = batch.columns[next(i for i, count in enumerate(nulls) if count)]
            row = done + int(batch[name].is_null().arg_max() or 0) + 1
            raise FileError(path, "a feature is missing: fill or drop it first.", row, name, "row")
        if width is None:
            yield batch.to_numpy().astype(dtype, copy=False)
        else:
            yield _embeddings(path, batch.to_series(), width, done, dtype)
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
