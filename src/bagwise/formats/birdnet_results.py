"""The CSV of BirdNET-Analyzer's results: Start (s), End (s), Scientific name, Common name, Confidence, File.

A class called `Parus major_Great Tit` has both names; any other name stands in both columns. Detections of which no
place is known have no times. What BirdNET found is a score and not a label: such a table is read by `read_scores`.
"""

from pathlib import Path

import polars as pl

from bagwise.core.errors import FileError
from bagwise.data.class_names import BETWEEN
from bagwise.formats import csv
from bagwise.formats._detections import DetectionTable
from bagwise.formats._label_table import LabelTable
from bagwise.formats._spreadsheet import marked_frame
from bagwise.formats._text import header_of
from bagwise.formats._types import Table

DESCRIPTION = "result table of BirdNET-Analyzer (.csv)"
SUFFIXES = (".birdnet.csv",)
COLUMNS = ("Start (s)", "End (s)", "Scientific name", "Common name", "Confidence", "File")


def recognises(path: Path) -> bool:
    """Return whether it has the six columns."""
    return set(COLUMNS) <= set(header_of(path))


def read_table(path: Path) -> Table:
    """Read every column as text."""
    return csv.read_table(path)


def read_labels(path: Path, bag_column: str | None = None) -> LabelTable:
    """Raise an error that says how results of a classifier are imported."""
    raise FileError(path, "has results of a classifier, which are scores and not labels: import it with --scores.")


def write_detections(table: DetectionTable, path: Path) -> None:
    """Write one row for every detection."""
    rows = []
    for recording, place, row in table.placed():
        scientific, _, common = row["class"].partition(BETWEEN)
        names = (scientific, common or scientific)
        rows.append((place.get("start"), place.get("end"), *names, row["probability"], recording))
    kinds = (pl.Float64, pl.Float64, pl.String, pl.String, pl.Float64, pl.String)
    marked_frame(pl.DataFrame(rows, dict(zip(COLUMNS, kinds, strict=True)), orient="row")).write_csv(path)
