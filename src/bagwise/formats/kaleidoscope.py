"""Kaleidoscope's tables of detections (`id.csv`, `cluster.csv`): one row each, by FOLDER, IN FILE, OFFSET, DURATION.

`AUTO ID` is what a program found and `MANUAL ID` what a person says; of the latter, labels are read. The file is
FOLDER/IN FILE. We add `PROBABILITY`. Fmin and Fmax are in Hz, as in Kaleidoscope's cluster analysis; those of bats, in
kHz, are not read. The tables that
BirdNET-Analyzer writes for Kaleidoscope (with `scientific_name`, `common_name` and `confidence`) are read as scores.
"""

from dataclasses import replace
from pathlib import Path, PurePosixPath

import polars as pl

from bagwise.core.errors import FileError
from bagwise.formats import csv
from bagwise.formats._detections import OF_INSTANCE, DetectionTable
from bagwise.formats._label_table import LabelTable, PlacedLabel
from bagwise.formats._spreadsheet import marked_frame
from bagwise.formats._text import header_of
from bagwise.formats._types import Table
from bagwise.formats._values import place_from, validated_place

DESCRIPTION = "Kaleidoscope table of detections (.csv)"
SUFFIXES = (".kaleidoscope.csv",)
KEYS = ("IN FILE", "OFFSET", "DURATION")
TYPES = {
    **dict.fromkeys(("INDIR", "FOLDER", "IN FILE"), pl.String()),
    "CHANNEL": pl.Int64(),
    **dict.fromkeys(("OFFSET", "DURATION", "Fmin", "Fmax"), pl.Float64()),
    **dict.fromkeys(("DATE", "TIME", "AUTO ID", "MANUAL ID"), pl.String()),
    "PROBABILITY": pl.Float64(),
}
HIGHEST_KHZ = 500.0
NAMES = {"start": "OFFSET", "end": "DURATION", "low": "Fmin", "high": "Fmax"}


def recognises(path: Path) -> bool:
    """Return whether it has the columns of every table of detections."""
    return set(KEYS) <= set(header_of(path))


def read_labels(path: Path, bag_column: str | None = None) -> LabelTable:
    """Read what people said: the rows with a MANUAL ID, each a place where that class is present."""
    table = csv.read_table(path)
    triples, lines, placed = [], [], []
    for number, row in enumerate(table.frame.iter_rows(named=True)):
        line, name = table.locator.line_of(number), row.get("MANUAL ID", "").strip()
        if not name:
            continue
        place = _place(path, row, line)
        if place:
            placed.append(PlacedLabel(_file(row), name, True, None, place, line))
        else:
            triples.append((_file(row), name, 1.0))
            lines.append(line)
    if not triples and not placed:
        raise FileError(path, "no row has a MANUAL ID: what a program found is imported with --scores.")
    return replace(LabelTable.from_triples(path, triples, lines, placed), of_files=True)


def read_table(path: Path) -> Table:
    """Read the rows with their file, start and end, and with the class and its probability where they have them."""
    table = csv.read_table(path)
    rows = list(table.frame.iter_rows(named=True))
    places = [_place(path, row, table.locator.line_of(number)) for number, row in enumerate(rows)]
    columns = {
        "file": [_file(row) for row in rows],
        **{name: [repr(place[name]) if name in place else "" for place in places] for name in ("start", "end")},
    }
    if "PROBABILITY" in table.frame.columns:
        columns |= {"class": [row["AUTO ID"] for row in rows], "probability": [row["PROBABILITY"] for row in rows]}
    kept = [name for name in ("scientific_name", "common_name", "confidence") if name in table.frame.columns]
    frame = pl.DataFrame(columns, schema_overrides=dict.fromkeys(columns, pl.String))
    return Table(frame.hstack(table.frame.select(kept)) if kept else frame, table.locator)


def write_detections(table: DetectionTable, path: Path) -> None:
    """Write one row for every detection; MANUAL ID is given where people said that it is this one."""
    rows = []
    for recording, place, row in table.placed():
        file = PurePosixPath(recording)
        day, _, time = row["recorded_at"].partition("T")
        length = place["end"] - place["start"] if "start" in place else None
        rows.append(
            {
                "INDIR": "",
                "FOLDER": "" if str(file.parent) == "." else str(file.parent),
                "IN FILE": file.name,
                "CHANNEL": 0,
                "OFFSET": place.get("start"),
                "DURATION": length,
                "Fmin": place.get("low"),
                "Fmax": place.get("high"),
                "DATE": day,
                "TIME": time[:8],
                "AUTO ID": row["class"],
                "MANUAL ID": row["class"] if row["confirmed"] == OF_INSTANCE else "",
                "PROBABILITY": row["probability"],
            }
        )
    marked_frame(pl.DataFrame(rows, TYPES)).write_csv(path)


def _file(row: dict[str, str]) -> str:
    folder, name = row.get("FOLDER", "").strip().replace("\\", "/").strip("/"), row["IN FILE"].strip()
    return f"{folder}/{name}" if folder else name


def _place(path: Path, row: dict[str, str], line: int) -> dict[str, float]:
    """Times and frequencies; empty where the row is about the whole file."""
    texts = {name: row.get(column, "") for name, column in NAMES.items()}
    found = {name: place_from({"first": text, "last": text}, path, line).get("first") for name, text in texts.items()}
    start, length, low, high = (found[name] for name in ("start", "end", "low", "high"))
    if start is None or length is None:
        return {}
    place = {"start": start, "end": start + length}
    # The frequencies of bats are in kHz.
    if low is not None and high is not None and high > HIGHEST_KHZ:
        place |= {"low": low, "high": high}
    return validated_place(place, path, line)
