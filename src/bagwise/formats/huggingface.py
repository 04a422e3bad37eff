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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bagwise.core.errors import FileError
from bagwise.formats._label_table import LabelTable, PlacedLabel
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
from bagwise.formats._values import MAX_PAIRS, listed, names_of_files
from bagwise.kernels import Array

DESCRIPTION = "Parquet of Hugging Face with the columns of BirdSet and embeddings (.parquet)"
SUFFIXES = (".parquet",)
FILE, START, END = "filepath", "start_time", "end_time"
EMBEDDINGS, LABELS = ("embedding", "embeddings"), ("ebird_code_multilabel", "ebird_code")
SAME_LENGTH = 1e-3
"""Seconds by which the lengths of windows may differ."""


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
        _labels(path, names, ids.codes, pl.concat(classes), _names(path, labels), places) if labels else None,
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


def _labels(
    path: Path, ids: Sequence[str], codes: Array, given: pl.Series, names: list[str] | None, spans: Array | None
) -> LabelTable:
    """The classes of windows; see above for when they are complete."""
    several = isinstance(given.dtype, pl.List)
    rows = pl.DataFrame({"row": np.arange(len(given)), "class": given})
    said = (rows.explode("class") if several else rows).drop_nulls()
    row, label_class, classes = _classes(path, said, names)
    complete = (
        several and spans is not None and given.null_count() == 0 and np.ptp(spans[:, 1] - spans[:, 0]) < SAME_LENGTH
    )
    if not complete:
        used, label_class = np.unique(label_class, return_inverse=True)
        classes = [classes[number] for number in used.tolist()]
    if len(ids) * len(classes) > MAX_PAIRS:
        raise FileError(path, f"it names {len(ids)} recordings and {len(classes)} classes: these are too many.")
    values = np.full((len(ids), len(classes)), 0.0 if complete else np.nan)
    values[codes[row], label_class] = 1
    placed = [
        PlacedLabel(ids[bag], classes[c], present, i)
        for bag, c, i, present in _parts(codes, row, label_class, complete)
    ]
    return LabelTable(ids, classes, values, path=path, placed=placed if spans is not None else ())


def _classes(path: Path, said: pl.DataFrame, names: list[str] | None) -> tuple[Array, Array, list[str]]:
    """The row and the class of each label, and the names of the classes."""
    column, row = said["class"], said["row"].to_numpy()
    if column.dtype == pl.String:
        classes = names or column.unique(maintain_order=True).to_list()
        position = {name: number for number, name in enumerate(classes)}
        unknown = [name for name in column.unique().to_list() if name not in position]
        if unknown:
            raise FileError(path, f"the class {unknown[0]} is not among those in the metadata of the file.")
        return row, np.array([position[name] for name in column.to_list()], np.int64), list(classes)
    if not column.dtype.is_integer():
        raise FileError(path, f"its classes are of type {column.dtype}: names or whole numbers are needed.")
    if names is None:
        raise FileError(path, "its classes are numbers, and the metadata of the file do not have their names.")
    numbers = column.to_numpy().astype(np.int64)
    outside = (numbers < 0) | (numbers >= len(names))
    if outside.any():
        at = int(np.argmax(outside))
        raise FileError(
            path, f"class {numbers[at]} has no name: there are {len(names)}.", int(row[at]) + 1, None, "row"
        )
    return row, numbers, names


def _parts(codes: Array, row: Array, label_class: Array, complete: bool) -> Iterator[tuple[int, int, int, bool]]:
    """Yield bag, class, instance and whether it is present; absent only in bags in which the class is present."""
    order = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[order], np.arange(codes.max() + 1))
    within = np.empty(len(codes), np.int64)
    within[order] = np.arange(len(codes)) - first[codes[order]]
    sizes = np.bincount(codes)
    present: dict[tuple[int, int], dict[int, None]] = {}
    for bag, one, instance in zip(codes[row].tolist(), label_class.tolist(), within[row].tolist(), strict=True):
        present.setdefault((bag, one), {})[instance] = None
    for (bag, one), instances in present.items():
        for instance in range(sizes[bag]) if complete else instances:
            yield bag, one, instance, instance in instances
