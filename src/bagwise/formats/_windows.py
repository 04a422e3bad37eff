"""Labels of windows: which classes are present in each, and what that says of the whole recording."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from bagwise.core.errors import FileError
from bagwise.formats._label_table import LabelTable, PlacedLabel
from bagwise.formats._values import MAX_PAIRS
from bagwise.kernels import Array

SAME_LENGTH = 1e-3
"""Seconds by which the lengths of windows may differ."""


def labels_of_windows(
    path: Path, ids: Sequence[str], codes: Array, given: pl.Series, names: list[str] | None, spans: Array | None
) -> LabelTable:
    """Return the classes of windows, and of the recordings that they are in.

    Where all windows have one length, what was annotated is complete: a class that is not listed is absent from the
    window. Rows of events of any length, and of recordings without times, say what is present only.

    Parameters
    ----------
    path
        The file, named in errors.
    ids, codes
        The recordings, and that of each window.
    given
        Lists of classes of each window, or one class: names, or numbers whose names are in `names`.
    names
        The names of all classes, where they are known.
    spans
        Start and end of each window, where they are known.
    """
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
