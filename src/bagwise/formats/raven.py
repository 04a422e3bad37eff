"""Raven selection tables: tab-separated, one selection per row; `Begin File` names the recording, which is the bag.

Without it, or where files of several folders have the same name, `Begin Path` does; without both, the table's own name.
A selection is a place: its times, and its frequencies where there are any. Raven may have a row for each view and
channel of a selection: they count as one. With `File Offset (s)` times count from there, since Raven counts
`Begin Time (s)` through all files that it opened together; where `End Time (s)` is missing, `Delta Time (s)` gives it.
A selection without a class, which is not annotated yet, says nothing. Raven has selections of present sounds only;
our column `Label Type` (positive, negative, uncertain) distinguishes the others, and without it every selection is
present. Our column `Scope` says `recording` where a row is about the whole recording, as a selection from 0 to 0 is,
and `clip` where it is about some seconds of it with all frequencies. Detections have their `Probability`.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bagwise.core.errors import FileError
from bagwise.formats._detections import DetectionTable
from bagwise.formats._label_table import LabelTable, PlacedLabel
from bagwise.formats._text import TextTable, header_of
from bagwise.formats._values import Place, place_from, validated_place
from bagwise.formats.perch import NAMES, TYPES

DESCRIPTION = "Raven selection table (.txt)"
SUFFIXES = (".txt",)
PLACES = {"start": "Begin Time (s)", "end": "End Time (s)", "low": "Low Freq (Hz)", "high": "High Freq (Hz)"}
COLUMNS = ("Selection", "View", "Channel", *PLACES.values())
FILE, PATH, CLASS, TYPE, SCOPE = "Begin File", "Begin Path", "Species", "Label Type", "Scope"
OFFSET, DELTA = "File Offset (s)", "Delta Time (s)"
WHOLE, CLIP, PART = "recording", "clip", "selection"
CLASS_NAMES = ("Species", "Class", "Common Name", "Annotation", "Label")
NAME_OF_TABLE = re.compile(r"(\.table\.\d+)?(\.birdnet)?(\.selections?)?(\.table)?\.(txt|tsv|csv)$", re.IGNORECASE)


def recognises(path: Path) -> bool:
    """Return whether it has the columns of every selection table."""
    return {"Selection", "Begin Time (s)"} <= set(header_of(path))


def read_labels(path: Path, bag_column: str | None = None) -> LabelTable:
    """Read the labels of recordings and selections; without `Begin File` the recording has the name of the table."""
    table = TextTable.open(path)
    spelled = {column.lower(): column for column in table.columns}
    named = [spelled[name.lower()] for name in CLASS_NAMES if name.lower() in spelled]
    if not named:
        raise FileError(path, f"no column names the class: one of {', '.join(CLASS_NAMES)} is needed.", 1)
    rows = [(line, dict(zip(table.columns, cells, strict=True))) for line, cells in table.rows()]
    recordings = _recordings(path, [row for _, row in rows])
    triples, lines = [], []
    placed: dict[tuple[object, ...], PlacedLabel] = {}
    for (line, row), recording in zip(rows, recordings, strict=True):
        name = row[named[0]]
        if not name.strip():
            continue
        if not recording.strip():
            raise FileError(path, "the recording is missing.", line)
        kind = row.get(TYPE, "positive").strip().lower()
        if kind not in TYPES:
            raise FileError(path, f"{kind!r} is not one of {', '.join(TYPES)}.", line, TYPE)
        place = _place(path, row, line)
        if np.isnan(TYPES[kind]):
            continue
        if place:
            key = (recording, name, bool(TYPES[kind]), *place.items())
            placed.setdefault(key, PlacedLabel(recording, name, bool(TYPES[kind]), None, place, line))
        else:
            triples.append((recording, name, TYPES[kind]))
            lines.append(line)
    if not triples and not placed:
        what = "contains no selections" if not rows else f"no selection has a class in the column {named[0]}"
        raise FileError(path, f"{what}.")
    return replace(LabelTable.from_triples(path, triples, lines, list(placed.values())), of_files=True)


def _recordings(path: Path, rows: Sequence[Mapping[str, str]]) -> list[str]:
    """The recording of every row."""
    files, paths = ([row.get(column, "") for row in rows] for column in (FILE, PATH))
    places: dict[str, set[str]] = {}
    for file, place in zip(files, paths, strict=True):
        places.setdefault(file, set()).add(place)
    if rows and FILE not in rows[0] and PATH not in rows[0]:
        return [NAME_OF_TABLE.sub("", path.name)] * len(rows)
    return [
        place if place.strip() and (not file.strip() or len(places[file]) > 1) else file
        for file, place in zip(files, paths, strict=True)
    ]


def _place(path: Path, row: Mapping[str, str], line: int) -> dict[str, float]:
    """The times and frequencies of a selection; empty where it is about the whole recording."""
    cells = {column: row.get(name, "") for column, name in PLACES.items()}
    if not cells["end"].strip() and row.get(DELTA, "").strip():
        times = place_from({"start": "0", "end": row[DELTA]}, path, line, names={"end": DELTA})
        begins = place_from({"start": cells["start"], "end": cells["start"]}, path, line, names=PLACES)
        cells["end"] = repr(begins.get("start", 0.0) + times["end"])
    scope = row.get(SCOPE, PART).strip().lower()
    if not cells["end"].strip() or scope == WHOLE:
        return {}
    place = place_from(cells, path, line, names=PLACES)
    offset = place_from(
        {"first": row.get(OFFSET, ""), "last": row.get(OFFSET, "")},
        path,
        line,
        names=dict.fromkeys(("first", "last"), OFFSET),
    )
    if "first" in offset:
        place |= {"start": offset["first"], "end": offset["first"] + place["end"] - place["start"]}
    if "low" in place and (scope == CLIP or place["high"] == 0):
        del place["low"], place["high"]
    return {} if place["end"] == 0 else validated_place(place, path, line)


def write_labels(table: LabelTable, path: Path) -> None:
    """Write one selection for every label of a place in time, and one for every other label of a recording."""
    placed = table.placed_by("start")
    rows: list[tuple[str, str, str, str, Place]] = [
        (bag, name, NAMES[answer], WHOLE, table.extents.get(bag, {})) for bag, name, answer in table.triples_but(placed)
    ]
    for one in placed:
        kind = "positive" if one.present else "negative"
        # A selection needs frequencies: where they are not known it has those of the recording.
        band = {name: value for name, value in table.extents.get(one.bag, {}).items() if name in ("low", "high")}
        scope = CLIP if one.instance is None and "low" not in one.place else PART
        rows.append((one.bag, one.label_class, kind, scope, {**band, **one.place}))
    order = {bag: position for position, bag in enumerate(table.ids)}
    rows.sort(key=lambda row: order[row[0]])
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow([*COLUMNS, FILE, CLASS, TYPE, SCOPE])
        for number, (bag, name, kind, scope, place) in enumerate(rows, start=1):
            writer.writerow([*_selection(number, place), bag, name, kind, scope])


def write_detections(table: DetectionTable, path: Path) -> None:
    """Write one selection for every detection, with times of its file; a place that is not known is from 0 to 0."""
    highest = dict(table.files.select("file", pl.col("rate") / 2).iter_rows())
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow([*COLUMNS, FILE, OFFSET, CLASS, "Probability", "Confirmed"])
        for number, (recording, place, row) in enumerate(table.placed(), start=1):
            band = {"low": 0.0, "high": highest.get(recording) or 0.0} if "start" in place else {}
            offset = repr(place.get("start", 0.0))
            limits = _selection(number, {**band, **place})
            writer.writerow([*limits, recording, offset, row["class"], row["probability"], row["confirmed"]])


def _selection(number: int, place: Place) -> list[Any]:
    return [number, "Spectrogram 1", 1, *(repr(float(place.get(column, 0.0))) for column in PLACES)]
