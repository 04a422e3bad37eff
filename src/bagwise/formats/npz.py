"""NumPy .npz: `instances` (or `X`), `offsets` or `bag` (of every row), and optionally `ids`, `labels` (or `Y`;
1, 0 and nan) and `classes` (or `class_names`). Labels of instances are `labels_of_instances`, whole numbers (n x 4):
bag, instance, class, and 1 or 0. Pickled objects are never loaded.
"""

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import FileError
from bagwise.formats._label_table import LabelTable, PlacedLabel, label_matrix
from bagwise.formats._types import Source
from bagwise.formats._values import (
    ALWAYS_ALLOWED_BYTES,
    MAX_BYTES_PER_BYTE,
    numbered,
    validate_numbers,
    validate_unique,
)
from bagwise.kernels import Array

DESCRIPTION = "NumPy arrays (.npz)"
SUFFIXES = (".npz",)
NAMES_BAGS = True
GENERIC = True
OF_INSTANCES = "labels_of_instances"


def recognises(path: Path) -> bool:
    """Return whether it is a zip file of .npy arrays."""
    try:
        with zipfile.ZipFile(path) as archive:
            return all(name.endswith(".npy") for name in archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        with path.open("rb") as file:
            return path.suffix.lower() == ".npz" or file.read(4) == b"PK\x03\x04"


def read(path: Path, bag_column: str | None = None) -> Source:
    """Read the arrays; `bag_column` may name the one with the bag of every row."""
    arrays = _arrays(path)
    instances = _one_of(path, arrays, "instances", "X")
    if instances.ndim != 2:
        raise FileError(path, f"instances have shape {instances.shape}: they must be (instances x features).")
    validate_numbers(path, instances.dtype)
    ids, codes = _bags(path, arrays, len(instances), bag_column)
    dtype = np.dtype(np.float32 if instances.dtype == np.float32 else np.float64)
    labels = _labels(path, arrays, ids)
    return Source(path, ids, codes, instances.shape[1], dtype, lambda: iter([instances]), labels)


def read_labels(path: Path, bag_column: str | None = None) -> LabelTable:
    """Read `labels` with their `ids` and `classes`."""
    arrays = _arrays(path)
    values = _one_of(path, arrays, "labels", "Y")
    table = _labels(path, arrays, _ids(path, arrays, len(np.atleast_1d(values))))
    assert table is not None
    return table


def write_labels(table: LabelTable, path: Path) -> None:
    """Write `labels`, `ids` and `classes`."""
    names = {"ids": np.array(table.ids, str), "classes": np.array(table.classes, str)}
    rows = [
        (table.ids.index(one.bag), one.instance, table.classes.index(one.label_class), one.present)
        for one in table.placed
        if one.instance is not None
    ]
    if rows:
        names[OF_INSTANCES] = np.array(rows, np.int64)
    with path.open("wb") as file:
        np.savez_compressed(file, labels=table.values, **names)  # type: ignore[arg-type]


def _arrays(path: Path) -> dict[str, Array]:
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > max(ALWAYS_ALLOWED_BYTES, MAX_BYTES_PER_BYTE * path.stat().st_size):
            raise FileError(
                path, f"would unpack to {unpacked / 1e9:.1f} GB, far more than arrays should: it is not read."
            )
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileError:
        raise
    except ValueError as error:
        if "pickle" in str(error).lower():
            raise FileError(path, "holds Python objects (pickle), which are not loaded: save plain arrays.") from error
        raise FileError(path, "is damaged: its arrays cannot be read.") from error
    except (
        zipfile.BadZipFile,
        OSError,
        EOFError,
        KeyError,
        NotImplementedError,
        MemoryError,
        RuntimeError,
        SyntaxError,
    ) as error:
        raise FileError(path, "is damaged or not complete: it cannot be read as .npz.") from error
    except Exception as error:  # zlib.error and whatever a mutated header provokes
        raise FileError(path, f"is damaged: it cannot be read as .npz ({type(error).__name__}).") from error


def _one_of(path: Path, arrays: dict[str, Array], *names: str) -> Array:
    for name in names:
        if name in arrays:
            return arrays[name]
    found = ", ".join(arrays) or "nothing"
    raise FileError(path, f"has no array {' or '.join(names)}, only {found}.")


def _bags(path: Path, arrays: dict[str, Array], rows: int, bag_column: str | None) -> tuple[list[str], Array]:
    if bag_column is None and "offsets" in arrays:
        offsets = arrays["offsets"]
        if (
            offsets.ndim != 1
            or offsets.dtype.kind not in "iu"
            or len(offsets) < 2
            or offsets[0] != 0
            or offsets[-1] != rows
        ):
            raise FileError(path, f"offsets must be whole numbers from 0 to the number of instances, {rows}.")
        if (np.diff(offsets.astype(np.int64)) < 1).any():
            raise FileError(path, f"bag {int(np.argmax(np.diff(offsets.astype(np.int64)) < 1)) + 1} is empty.")
        ids = _ids(path, arrays, len(offsets) - 1)
        return ids, np.repeat(np.arange(len(ids)), np.diff(offsets).astype(np.int64))
    of_row = _one_of(path, arrays, bag_column or "bag")
    if of_row.ndim != 1 or len(of_row) != rows:
        raise FileError(
            path, f"the array bag has shape {of_row.shape}: it must name the bag of each of {rows} instances."
        )
    if len(of_row) == 0:
        raise FileError(path, "contains no instances.")
    if of_row.dtype.kind not in "iuUS":
        raise FileError(path, f"the array bag is of type {of_row.dtype}: text or whole numbers name bags.")
    names, codes = np.unique(of_row, return_inverse=True)
    if of_row.dtype.kind in "iu":
        # Numbers are positions of `ids` and of the rows of the labels.
        if names[0] != 0 or names[-1] != len(names) - 1:
            what = f"bags are numbered from {names[0]} to {names[-1]} with {len(names)} of them: number them 0, 1, ..."
            raise FileError(path, what)
        return _ids(path, arrays, len(names), first=0), codes
    found = [_text(path, name) for name in names.tolist()]
    if "ids" in arrays:
        ids = _ids(path, arrays, len(found))
        if set(ids) != set(found):
            raise FileError(path, "the arrays bag and ids do not name the same bags.")
    elif "labels" in arrays or "Y" in arrays:
        raise FileError(path, "bags are named in bag, so their labels need an array ids that names their rows.")
    else:
        ids = found
    position = {name: number for number, name in enumerate(ids)}
    return ids, np.array([position[name] for name in found])[codes]


def _text(path: Path, name: Any) -> str:
    if isinstance(name, bytes):
        try:
            return name.decode()
        except UnicodeDecodeError as error:
            raise FileError(path, f"the name {name!r} is not UTF-8 text.") from error
    return str(name)


def _ids(path: Path, arrays: dict[str, Array], count: int, first: int = 1) -> list[str]:
    if "ids" not in arrays:
        return numbered(count) if first else [str(number) for number in range(count)]
    ids = [_text(path, name) for name in arrays["ids"].ravel().tolist()]
    if len(ids) != count:
        raise FileError(path, f"has {len(ids)} ids for {count} bags.")
    validate_unique(path, "bag", ids)
    return ids


def _labels(path: Path, arrays: dict[str, Array], ids: list[str]) -> LabelTable | None:
    values = arrays.get("labels", arrays.get("Y"))
    if values is None:
        return None
    if values.ndim != 2:
        raise FileError(path, f"labels have shape {values.shape}: they must be (bags x classes).")
    names = arrays.get("classes", arrays.get("class_names"))
    classes = numbered(values.shape[1]) if names is None else [_text(path, name) for name in names.ravel().tolist()]
    table = label_matrix(path, ids, classes, values)
    return replace(table, placed=_placed(path, arrays[OF_INSTANCES], table)) if OF_INSTANCES in arrays else table


def _placed(path: Path, rows: Array, table: LabelTable) -> list[PlacedLabel]:
    if rows.ndim != 2 or rows.shape[1] != 4 or rows.dtype.kind not in "iu":
        raise FileError(path, f"{OF_INSTANCES} must be whole numbers (n x 4): bag, instance, class, and 1 or 0.")
    found = []
    for number, (bag, instance, label_class, present) in enumerate(rows.tolist(), start=1):
        if not (0 <= bag < len(table.ids) and 0 <= label_class < len(table.classes)):
            raise FileError(path, f"{OF_INSTANCES} names a bag or a class that does not exist.", number, None, "row")
        if instance < 0 or present not in (0, 1):
            raise FileError(
                path, f"{OF_INSTANCES} has a negative instance, or a label that is not 1 or 0.", number, None, "row"
            )
        if present and table.values[bag, label_class] != 1:
            what = f"{OF_INSTANCES} has a class in an instance that is not present in its bag."
            raise FileError(path, what, number, None, "row")
        found.append(PlacedLabel(table.ids[bag], table.classes[label_class], bool(present), instance))
    return found
