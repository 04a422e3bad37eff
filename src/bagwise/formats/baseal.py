"""The folder of BaseAL, in which the data of BioDCASE 2026 task 4 (active learning) come.

    embeddings/MODEL/NAME_MODEL.npy   the embedding of one segment, a file for each
    metadata.csv                      a row for each segment: filename (NAME with a suffix), original_filepath (the
                                      recording, which is the bag), segment_start and segment_end in seconds, has_event
    labels.csv                        filename and label: the classes of the segment, with semicolons between

Other files and columns (the segments as sound in data/MODEL, `validation`) are ignored. Of several models one is
chosen by giving its folder, embeddings/MODEL. Segments without an embedding are left out, as in BaseAL. What was
annotated is complete, and where `has_event` is False the segment has none of the classes, whatever its label is called.
Without labels.csv there are no labels.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath

import numpy as np
import polars as pl

from bagwise.core.errors import FileError
from bagwise.formats._text import TextTable
from bagwise.formats._types import RowLocator, Source
from bagwise.formats._values import label_value, listed, names_of_files, place_from
from bagwise.formats._windows import labels_of_windows
from bagwise.kernels import Array

DESCRIPTION = "a folder of BaseAL, as BioDCASE 2026 task 4 has it: embeddings/MODEL, metadata.csv, labels.csv"
SUFFIXES = ()
EMBEDDINGS, METADATA, LABELS = "embeddings", "metadata.csv", "labels.csv"
SEGMENT, RECORDING, START, END, HAS_EVENT, LABEL = (
    "filename",
    "original_filepath",
    "segment_start",
    "segment_end",
    "has_event",
    "label",
)
BETWEEN = ";"
ROWS_AT_ONCE = 1024


def recognises_folder(folder: Path) -> bool:
    """Return whether it is a folder of BaseAL, or that of one of its models."""
    root = _root(folder)
    return (root / METADATA).is_file() and (root / EMBEDDINGS).is_dir()


def read_folder(folder: Path) -> Source:
    """Read recordings, times and labels now, embeddings when they are needed."""
    root, model = _root(folder), _model(folder)
    table = _table(root / METADATA, SEGMENT, RECORDING, START, END)
    classes = _classes(root / LABELS) if (root / LABELS).is_file() else None
    numbers: dict[str, int] = {}
    files: list[Path] = []
    codes, spans, lines, labels = [], [], [], []
    for line, cells in table.rows():
        row = dict(zip(table.columns, cells, strict=True))
        file = root / EMBEDDINGS / model / f"{PurePath(row[SEGMENT]).stem}_{model}.npy"
        if not file.is_file():
            continue
        if not row[RECORDING].strip():
            raise FileError(table.path, "the recording is missing.", line, RECORDING)
        place = place_from({"start": row[START], "end": row[END]}, table.path, line, names={"start": START, "end": END})
        if not place:
            raise FileError(table.path, "the segment has no times.", line, START)
        codes.append(numbers.setdefault(row[RECORDING], len(numbers)))
        spans.append([place["start"], place["end"]])
        files.append(file)
        lines.append(line)
        labels.append(_present(row, classes, table.path, line) if classes is not None else [])
    if not files:
        raise FileError(folder, f"has no embedding of {model} for any segment in {METADATA}.")
    names, of_row, times = names_of_files(list(numbers)), np.array(codes), np.array(spans)
    given = pl.Series(labels, dtype=pl.List(pl.String))
    return Source(
        folder,
        names,
        of_row,
        len(_embedding(files[0])),
        np.dtype(np.float32),
        lambda: _blocks(files),
        labels_of_windows(root / LABELS, names, of_row, given, None, times) if classes is not None else None,
        RowLocator(table.path, "line", lambda row: lines[row]),
        spans=times,
    )


def _root(folder: Path) -> Path:
    """The folder of the data set, of which this may be the folder of one model."""
    return folder.parent.parent if folder.parent.name == EMBEDDINGS else folder


def _model(folder: Path) -> str:
    if folder.parent.name == EMBEDDINGS:
        return folder.name
    models = sorted(path.name for path in (folder / EMBEDDINGS).iterdir() if path.is_dir())
    if len(models) != 1:
        what = f"those of {listed(models)}" if models else "none"
        raise FileError(folder, f"should have embeddings of one model, but has {what}: give the folder of the model.")
    return models[0]


def _table(path: Path, *columns: str) -> TextTable:
    table = TextTable.open(path)
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise FileError(path, f"there is no column {missing[0]} among {listed(list(table.columns))}.", 1)
    return table


def _classes(path: Path) -> dict[str, str]:
    """The label of every segment."""
    table = _table(path, SEGMENT, LABEL)
    segment, label = table.columns.index(SEGMENT), table.columns.index(LABEL)
    return {cells[segment]: cells[label] for _, cells in table.rows()}


def _present(row: Mapping[str, str], classes: Mapping[str, str], path: Path, line: int) -> list[str]:
    """The classes of a segment, each once."""
    if row[SEGMENT] not in classes:
        raise FileError(path, f"the segment {row[SEGMENT]} is not in {LABELS}.", line, SEGMENT)
    if label_value(row.get(HAS_EVENT, ""), path, line, HAS_EVENT) == 0:
        return []
    return list(dict.fromkeys(one.strip() for one in classes[row[SEGMENT]].split(BETWEEN) if one.strip()))


def _blocks(files: list[Path]) -> Iterator[Array]:
    width = len(_embedding(files[0]))
    for first in range(0, len(files), ROWS_AT_ONCE):
        block = np.empty((min(ROWS_AT_ONCE, len(files) - first), width), np.float32)
        for row, file in enumerate(files[first : first + ROWS_AT_ONCE]):
            one = _embedding(file)
            if len(one) != width:
                raise FileError(file, f"has {len(one)} numbers where the first embedding has {width}.")
            block[row] = one
        yield block


def _embedding(file: Path) -> Array:
    try:
        found = np.load(file, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise FileError(file, f"is not an array of NumPy ({error}).") from error
    if not isinstance(found, np.ndarray) or found.size == 0 or found.size != found.shape[-1] or found.dtype.kind != "f":
        raise FileError(file, "is not one embedding: an array of decimal numbers, (d,) or (1, d), is needed.")
    return found.reshape(-1)
