"""Embeddings in the Parquet of Hugging Face's datasets, with the columns of BirdSet.

    filepath                      the recording, which is the bag
    start_time, end_time          the window in it, in seconds; a row is an instance
    embedding or embeddings       a list of numbers, or, as BirdSet stores it, an object whose `array` is one
    ebird_code_multilabel         a list of classes: names, or numbers whose names are in the metadata of the file
    ebird_code                    one class, where there is no list

Other columns are ignored. A class in a row is present in its window. Where all rows are windows of one length, as in
BirdSet's test_5s, what was annotated is complete: a class that is not listed is absent from the window. Rows of events
of any length, and of recordings without times, say what is present only.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bagwise.core.errors import FileError
from bagwise.formats._parquet_blocks import (
    SMALL,
    batches,
    damage_as_file_error,
    embedding_width,
    features,
    is_parquet,
    schema_of,
    validate_unpacked_size,
    values_of,
)
from bagwise.formats._table import BagIds
from bagwise.formats._types import RowLocator, Source
from bagwise.formats._values import listed, names_of_files
from bagwise.formats._windows import labels_of_windows
from bagwise.kernels import Array

DESCRIPTION = "Parquet of Hugging Face with the columns of BirdSet and embeddings (.parquet)"
SUFFIXES = (".parquet",)
FILE, START, END = "filepath", "start_time", "end_time"
EMBEDDINGS, LABELS = ("embedding", "embeddings"), ("ebird_code_multilabel", "ebird_code")


def recognises(path: Path) -> bool:
    """Return whether it is Parquet with recordings and embeddings, and without a column of bags."""
    if not is_parquet(path):
        return False
    try:
        columns = schema_of(path)
    except FileError:
        return False
    return FILE in columns and "bag" not in columns and any(name in columns for name in EMBEDDINGS)


def read(path: Path, bag_column: str | None = None) -> Source:
    """Read recordings, times and labels now, embeddings block by block when they are needed."""
    schema = schema_of(path)
    bag = bag_column or FILE
    if bag not in schema:
        raise FileError(path, f"there is no column {bag} among {listed(list(schema))}.")
    name, column, kind = _embedding_column(path, schema)
    validate_unpacked_size(path, values_of(path, name))
    times = [one for one in (START, END) if one in schema and schema[one].is_numeric()]
    labels = next((one for one in LABELS if one in schema), None)
    locator = RowLocator(path)
    ids = BagIds(locator)
    spans: list[Array] = []
    classes: list[pl.Series] = []
    for batch in batches(path, [bag, *times, *([labels] if labels else [])]):
        ids.add(batch[bag])
        spans.append(batch.select(times).cast(pl.Float64).to_numpy())
        classes += [batch[labels]] if labels else []
    if ids.rows == 0:
        raise FileError(path, "contains no rows.")
    places = _spans(path, np.concatenate(spans)) if len(times) == 2 else None
    width = embedding_width(path, column)
    dtype = np.dtype(np.float32 if kind in SMALL else np.float64)
    names = names_of_files(ids.ids)
    source = Source(
        path,
        names,
        ids.codes,
        width,
        dtype,
        lambda: features(path, [column], width, dtype),
        labels_of_windows(path, names, ids.codes, pl.concat(classes), _names(path, labels), places) if labels else None,
        locator,
        spans=places,
    )
    return source.with_variables(schema, bag, name, *(times if places is not None else []), labels)


def _embedding_column(path: Path, schema: dict[str, Any]) -> tuple[str, pl.Expr, Any]:
    """The name of the column with the embeddings, the lists in it, and the type of their numbers."""
    name = next((name for name in EMBEDDINGS if name in schema), None)
    if name is None:
        raise FileError(path, f"there is no column {' or '.join(EMBEDDINGS)} among {listed(list(schema))}.")
    column, kind = pl.col(name), schema[name]
    if isinstance(kind, pl.Struct):
        inner = {field.name: field.dtype for field in kind.fields}
        column, kind = column.struct.field("array").alias(name), inner.get("array")
    if not isinstance(kind, pl.List | pl.Array) or not kind.inner.is_numeric():
        raise FileError(path, f"the column is of type {schema[name]}: a list of numbers is needed.", None, name)
    return name, column, kind.inner


def _spans(path: Path, times: Array) -> Array | None:
    """The times of all rows; None where a row has none."""
    if np.isnan(times).any():
        return None
    wrong = (times[:, 0] < 0) | (times[:, 1] < times[:, 0])
    if wrong.any():
        what = "the window begins before 0, or ends before it begins."
        raise FileError(path, what, int(np.argmax(wrong)) + 1, START, "row")
    return times


def _names(path: Path, column: str | None) -> list[str] | None:
    """The classes that numbers in a column stand for, from the metadata that Hugging Face writes; None if unknown."""
    with damage_as_file_error(path):
        text = pl.read_parquet_metadata(path).get("huggingface", "")
    try:
        feature = json.loads(text)["info"]["features"][column]
    except (ValueError, KeyError, TypeError):
        return None
    while isinstance(feature, list) and feature:
        feature = feature[0]
    if isinstance(feature, dict):
        feature = feature.get("feature", feature)
    names = feature.get("names") if isinstance(feature, dict) else None
    return names if isinstance(names, list) and all(isinstance(one, str) for one in names) else None
