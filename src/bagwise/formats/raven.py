"""Raven selection tables: tab-separated, one selection per row; `Begin File` names the recording, which is the bag.

Raven has selections of present sounds only. Our column `Label Type` (positive, negative, uncertain) distinguishes the
others; without it every selection is present. Written selections have no extent: they are about the whole recording.
"""

import csv
from pathlib import Path

import numpy as np

from bagwise.core.errors import FileError
from bagwise.formats._text import TextTable, header_of
from bagwise.formats._types import LabelTable
from bagwise.formats.perch import NAMES, TYPES

DESCRIPTION = "Raven selection table (.txt)"
SUFFIXES = (".txt",)
COLUMNS = ("Selection", "View", "Channel", "Begin Time (s)", "End Time (s)", "Low Freq (Hz)", "High Freq (Hz)")
FILE, CLASS, TYPE = "Begin File", "Species", "Label Type"
CLASS_NAMES = ("Species", "Class", "Common Name", "Annotation", "Label")


def recognises(path: Path) -> bool:
    """Return whether it has the columns of every selection table."""
    return {"Selection", "Begin Time (s)"} <= set(header_of(path))


def read_labels(path: Path, bag_column: str | None = None) -> LabelTable:
    """Read the labels of recordings; without `Begin File` the recording has the name of the table."""
    table = TextTable.open(path)
    named = [name for name in CLASS_NAMES if name in table.columns]
    if not named:
        raise FileError(path, f"no column names the class: one of {', '.join(CLASS_NAMES)} is needed.", 1)
    class_column = table.columns.index(named[0])
    file_column = table.columns.index(FILE) if FILE in table.columns else None
    type_column = table.columns.index(TYPE) if TYPE in table.columns else None
    recording_of_table = path.name.split(".")[0]
    triples, lines = [], []
    for line, cells in table.rows():
        recording = recording_of_table if file_column is None else cells[file_column]
        name = cells[class_column]
        if not recording.strip() or not name.strip():
            raise FileError(path, "the recording or the class is missing.", line)
        kind = "positive" if type_column is None else cells[type_column].strip().lower()
        if kind not in TYPES:
            raise FileError(path, f"{kind!r} is not one of {', '.join(TYPES)}.", line, TYPE)
        if not np.isnan(TYPES[kind]):
            triples.append((recording, name, TYPES[kind]))
            lines.append(line)
    if not triples:
        raise FileError(path, "contains no selections.")
    return LabelTable.from_triples(path, triples, lines)


def write_labels(table: LabelTable, path: Path) -> None:
    """Write one selection for every label."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, delimiter="\t")
        rows.writerow([*COLUMNS, FILE, CLASS, TYPE])
        for number, (bag, name, answer) in enumerate(table.triples(), start=1):
            rows.writerow([number, "Spectrogram 1", 1, "0.0", "0.0", "0.0", "0.0", bag, name, NAMES[answer]])
