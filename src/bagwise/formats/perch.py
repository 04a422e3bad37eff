"""The CSV of perch-hoplite: recording,start_offset_s,end_offset_s,label,label_type (positive, negative, uncertain).

A bag is a recording. Without offsets a row is about all of it. With offsets it is about a window: *positive* in it is
present in the recording, *negative* in it says nothing about the rest.
"""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np

from bagwise.core.errors import FileError
from bagwise.formats._label_table import LabelTable, PlacedLabel
from bagwise.formats._spreadsheet import marked, unmarked
from bagwise.formats._text import TextTable, header_of
from bagwise.formats._values import place_from

DESCRIPTION = "perch-hoplite's CSV of positive, negative and uncertain labels (.csv)"
SUFFIXES = (".perch.csv",)
COLUMNS = ("recording", "start_offset_s", "end_offset_s", "label", "label_type")
OFFSETS = {"start": "start_offset_s", "end": "end_offset_s"}
TYPES = {"positive": 1.0, "negative": 0.0, "uncertain": float("nan")}
NAMES = {"present": "positive", "absent": "negative", "unsure": "uncertain"}


def recognises(path: Path) -> bool:
    """Return whether it has the five columns."""
    return set(COLUMNS) <= set(header_of(path))


def read_labels(path: Path, bag_column: str | None = None) -> LabelTable:
    """Read the labels of recordings and windows; a class that is positive in one window is present."""
    table = TextTable.open(path)
    position = {name: table.columns.index(name) for name in COLUMNS}
    triples, lines, placed = [], [], []
    for line, cells in table.rows():
        recording, start, end, label, kind = (unmarked(cells[position[name]]) for name in COLUMNS)
        if not recording.strip() or not label.strip():
            raise FileError(path, "the recording or the label is missing.", line)
        if kind.strip().lower() not in TYPES:
            raise FileError(path, f"{kind!r} is not one of {', '.join(TYPES)}.", line, "label_type")
        value = TYPES[kind.strip().lower()]
        place = place_from({"start": start, "end": end}, path, line, names=OFFSETS)
        if np.isnan(value):
            continue
        if place:
            placed.append(PlacedLabel(recording, label, bool(value), None, place, line))
        else:
            triples.append((recording, label, value))
            lines.append(line)
    if not triples and not placed:
        raise FileError(path, "contains no positive or negative labels.")
    return replace(LabelTable.from_triples(path, triples, lines, placed), of_files=True)


def write_labels(table: LabelTable, path: Path) -> None:
    """Write one row for every label of a window, and one for every other label, about the whole recording."""
    placed = windows_of(table)
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        rows.writerows(
            [marked(bag), "", "", marked(name), NAMES[answer]] for bag, name, answer in table.triples_but(placed)
        )
        for one in placed:
            offsets = [repr(float(one.place[column])) for column in ("start", "end")]
            kind = NAMES["present" if one.present else "absent"]
            rows.writerow([marked(one.bag), *offsets, marked(one.label_class), kind])


def windows_of(table: LabelTable) -> list[PlacedLabel]:
    """Return the labels of places in time that are labels of windows, which have all frequencies.

    That a sound in one band is not of the class would say too much of its window.
    """
    return [one for one in table.placed_by("start") if one.present or "low" not in one.place]
