"""Exports of a project as files: labels, predictions, detections, answers, the model."""

import csv
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bagwise import formats
from bagwise.core.errors import BagwiseError
from bagwise.project.project import Project
from bagwise.project.reports.detections import detections_of
from bagwise.project.reports.placing import labels_with_places
from bagwise.project.storage.bag_filter import EVERYTHING, BagFilter

EXPORTS = ("labels", "predictions", "detections", "answers", "model")
FROM_THE_MODEL = ("predictions", "detections", "model")
OF_ANSWERS = {"csv": ".csv", "jsonl": ".jsonl", "parquet": ".parquet"}
POINTED = ("where", "elsewhere")
OF_MODELS = {"npz": ".npz"}

Write = Callable[[Project], None]


def forms_of(what: str) -> dict[str, str]:
    """Return the formats that an export can be written in, with the suffix of each.

    Parameters
    ----------
    what : str
        One of `EXPORTS`.
    """
    if what in ("labels", "predictions", "detections"):
        return {name: module.SUFFIXES[0] for name, module in formats.able_to(f"write_{what}").items()}
    return OF_ANSWERS if what == "answers" else OF_MODELS


def exporter(
    what: str,
    to: Path,
    form: str | None = None,
    threshold: float | None = None,
    wanted: BagFilter = EVERYTHING,
) -> Write:
    """Return a function that writes an export of a project; raise before a project is opened where that cannot work.

    Parameters
    ----------
    what : str
        One of `EXPORTS`; those of `FROM_THE_MODEL` come from the model that `Project.model` returns.
    to : Path
        The file to write; its suffix gives the format.
    form : str, optional
        The name of the format, where the suffix does not give it.
    threshold : float, optional
        For detections: used for all classes instead of the thresholds of the model.
    wanted : BagFilter
        Only what is about bags that were recorded there and then.

    Raises
    ------
    BagwiseError
        Where there is no such export or format.
    """
    if what not in EXPORTS:
        raise BagwiseError(f"There is no export {what!r}: choose one of {', '.join(EXPORTS)}.")
    if what == "model":
        if wanted:
            raise BagwiseError("A model is that of all bags: leave out sites, days and hours.")
        return lambda project: _write_model(project, to)
    if what == "answers":
        return _answers_to(to, wanted)
    module = formats.writer(to, what, form)
    if what == "labels":
        return lambda project: _write_labels(project, module, to, wanted)
    if what == "detections":
        return lambda project: module.write_detections(detections_of(project, threshold, wanted), to)
    return lambda project: module.write_predictions(project.predictions(wanted), to)


def _write_labels(project: Project, module: Any, to: Path, wanted: BagFilter) -> None:
    table = labels_with_places(project, wanted)
    module.write_labels(table if getattr(module, "NAMES_BAGS", False) else table.by_file(), to)


def _write_model(project: Project, to: Path) -> None:
    project.validate_known()
    project.model().save(to)


def _answers_to(to: Path, wanted: BagFilter) -> Write:
    suffix = ".jsonl" if to.suffix == ".ndjson" else to.suffix
    if suffix not in OF_ANSWERS.values():
        raise BagwiseError(f"{to}: answers are written as .csv, .jsonl or .parquet.")
    write = {".csv": _write_csv, ".jsonl": _write_lines, ".parquet": _write_parquet}[suffix]
    return lambda project: write(_rows(project, wanted), to)


def _rows(project: Project, wanted: BagFilter) -> list[dict[str, Any]]:
    # Answers about removed bags are part of the record.
    passing = set(project.bags_passing(wanted).tolist()) if wanted else range(len(project.bags))
    rows = [
        {
            **asdict(event),
            "bag": str(project.contents.ids[event.bag]),
            "class": project.classes[event.label_class],
            **{name: list(instances) for name, instances in zip(POINTED, event.pointing, strict=True)},
        }
        for event in project.events
        if event.bag in passing
    ]
    for row in rows:
        del row["label_class"]
    return rows


def _write_parquet(rows: list[dict[str, Any]], to: Path) -> None:
    import polars as pl

    # Without an audit every probability is null, and would have no type.
    types = {**dict.fromkeys(POINTED, pl.List(pl.Int64)), "probability": pl.Float64()} if rows else None
    pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None).write_parquet(to)


def _write_lines(rows: list[dict[str, Any]], to: Path) -> None:
    to.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def _write_csv(rows: list[dict[str, Any]], to: Path) -> None:
    with to.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else ["number"])
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    """A value as CSV has it: instances separated by blanks, texts marked where they would be formulas."""
    if isinstance(value, list):
        return " ".join(map(str, value))
    return formats.marked(value) if isinstance(value, str) else value
