"""JSON lines, one bag each: {"bag": "a", "instances": [[0.1, 2], [3, 4]], "labels": {"wren": 1, "robin": 0}}.

1 or true is present, 0 or false absent; a class that is null or not named is unknown. Labels of instances and places
are a list: "instance_labels": [{"instance": 1, "class": "wren", "label": 1, "start": 0.5, "end": 1.25}].
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bagwise.core.errors import FileError
from bagwise.formats._detections import BagSpan, DetectionTable
from bagwise.formats._label_table import LabelTable, PlacedLabel
from bagwise.formats._text import looks_like_text
from bagwise.formats._types import PredictionTable, RowLocator, Source, Table
from bagwise.formats._values import PLACE_COLUMNS, label_value, place_from, whole_number
from bagwise.kernels import Array

DESCRIPTION = "JSON lines with one bag each (.jsonl)"
SUFFIXES = (".jsonl", ".ndjson")
GENERIC = True
NAMES_BAGS = True
LONGEST_LINE = 1 << 28


def recognises(path: Path) -> bool:
    """Return whether it is a text that begins with an object."""
    if not looks_like_text(path):
        return False
    with path.open("rb") as file:
        return file.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"


def read(path: Path, bag_column: str | None = None) -> Source:
    """Read the instances and labels of every line."""
    ids: dict[str, None] = {}
    bags, label_objects = [], []
    for number, one in _objects(path, bag_column or "bag"):
        _add(path, number, str(one[bag_column or "bag"]), ids)
        bags.append(_instances(path, number, one.get("instances")))
        if bags[-1].shape[1] != bags[0].shape[1]:
            what = f"instances have {bags[-1].shape[1]} numbers where those before have {bags[0].shape[1]}."
            raise FileError(path, what, number)
        label_objects.append((number, one))
    return Source.of_bags(path, bags, list(ids), _labels(path, list(ids), label_objects))


def read_labels(path: Path, bag_column: str | None = None) -> LabelTable:
    """Read the labels of every line."""
    ids: dict[str, None] = {}
    label_objects = []
    for number, one in _objects(path, "bag"):
        _add(path, number, str(one["bag"]), ids)
        label_objects.append((number, one))
    table = _labels(path, list(ids), label_objects)
    if table is None:
        raise FileError(path, "no line has labels.")
    return table


def read_table(path: Path) -> Table:
    """Read objects of texts and numbers as the rows of a table, every column as text."""
    rows, lines = list[dict[str, str]](), list[int]()
    for number, one in _objects(path, "bag"):
        if any(isinstance(value, dict | list) for value in one.values()):
            raise FileError(path, "is not a row of a table: it has lists or objects in it.", number)
        rows.append({name: "" if value is None else str(value) for name, value in one.items()})
        lines.append(number)
    if not rows:
        raise FileError(path, "contains no rows.")
    columns = dict.fromkeys(name for row in rows for name in row)
    frame = pl.DataFrame(
        [[row.get(name, "") for name in columns] for row in rows], dict.fromkeys(columns, pl.String), orient="row"
    )
    return Table(frame, RowLocator(path, "line", lines.__getitem__))


def write_labels(table: LabelTable, path: Path) -> None:
    """Write one line for every bag with an answer."""
    by_bag: dict[str, dict[str, int | None]] = {}
    for bag, name, answer in table.triples():
        by_bag.setdefault(bag, {})[name] = {"present": 1, "absent": 0, "unsure": None}[answer]
    parts: dict[str, list[dict[str, Any]]] = {}
    for one in table.placed:
        instance = {} if one.instance is None else {"instance": one.instance}
        part = {**instance, "class": one.label_class, "label": int(one.present), **one.place}
        parts.setdefault(one.bag, []).append(part)
    _write(
        path,
        (
            {
                "bag": bag,
                **_source(table.spans.get(bag)),
                "labels": by_bag.get(bag, {}),
                **({"instance_labels": parts[bag]} if bag in parts else {}),
            }
            for bag in dict.fromkeys([*by_bag, *parts])
        ),
    )


def write_predictions(table: PredictionTable, path: Path) -> None:
    """Write one line for every bag: predicted classes, and probabilities and evidence by class."""
    _write(
        path,
        (
            {
                "bag": bag,
                "probabilities": dict(zip(table.classes, map(float, table.probability[b]), strict=True)),
                "predicted": [
                    name for name, predicted in zip(table.classes, table.predicted[b], strict=True) if predicted
                ],
                "evidence": dict(zip(table.classes, map(int, table.evidence[b]), strict=True)),
                **({"model": table.model} if table.model else {}),
                **_source(None if table.spans is None else table.spans[b]),
                **({} if table.evidence_times is None else _times(table, b)),
            }
            for b, bag in enumerate(table.ids)
        ),
    )


def write_detections(table: DetectionTable, path: Path) -> None:
    """Write one line for every detection, without what is not known."""
    rows = table.frame.iter_rows(named=True)
    _write(path, ({name: value for name, value in row.items() if value not in (None, "")} for row in rows))


def _source(span: BagSpan | None) -> dict[str, Any]:
    """The file of a bag, and what is known of it."""
    known = {} if span is None else vars(span)
    return {name: value for name, value in known.items() if name != "is_clip" and value not in (None, "")}


def _times(table: PredictionTable, bag: int) -> dict[str, Any]:
    """Start and end of the evidence of every class where they are known."""
    assert table.evidence_times is not None
    times = zip(table.classes, table.evidence_times[bag].tolist(), strict=True)
    return {"evidence_times": {name: span for name, span in times if not np.isnan(span[0])}}


def _write(path: Path, lines: Iterator[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _objects(path: Path, bag_key: str) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open("rb") as file:
        for number, raw in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), start=1):
            if not raw.strip():
                continue
            try:
                one = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_without_repeats)
            except UnicodeDecodeError as error:
                raise FileError(path, "is not UTF-8 text: save it as UTF-8.", number, error.start + 1) from error
            except json.JSONDecodeError as error:
                raise FileError(path, f"is not JSON ({error.msg}).", number, error.colno) from error
            except RecursionError as error:
                raise FileError(path, "is nested too deeply.", number) from error
            except ValueError as error:
                raise FileError(path, f"is not JSON that can be used ({error}).", number) from error
            if not isinstance(one, dict) or not _is_name(one.get(bag_key)):
                raise FileError(path, f'is not an object with the bag\'s id as "{bag_key}".', number)
            yield number, one


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name appears twice")
    return found


def _add(path: Path, number: int, bag: str, ids: dict[str, None]) -> None:
    if bag in ids:
        raise FileError(path, f"the bag {bag} appears twice.", number)
    ids[bag] = None


def _is_name(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _instances(path: Path, number: int, given: Any) -> Array:
    if not isinstance(given, list) or not given or not all(isinstance(row, list) and row for row in given):
        raise FileError(path, '"instances" must be a list of lists of numbers.', number)
    if len({len(row) for row in given}) > 1:
        raise FileError(path, "instances of the bag differ in length.", number)
    if not all(isinstance(value, int | float) for row in given for value in row):
        raise FileError(path, '"instances" must hold numbers only.', number)
    try:
        numbers = np.array(given, dtype=float)
    except OverflowError as error:
        raise FileError(path, "a number is too large.", number) from error
    if not np.isfinite(numbers).all():
        raise FileError(path, "a feature is missing or infinite: fill or drop it first.", number)
    return numbers


def _labels(path: Path, ids: list[str], lines: list[tuple[int, dict[str, Any]]]) -> LabelTable | None:
    triples: list[tuple[str, str, float]] = []
    numbers: list[int] = []
    placed: list[PlacedLabel] = []
    for bag, (number, one) in zip(ids, lines, strict=True):
        labels = one.get("labels")
        if labels is not None and not isinstance(labels, dict):
            raise FileError(path, '"labels" must be an object with one entry per class.', number)
        for name, value in (labels or {}).items():
            triples.append((bag, name, label_value("" if value is None else str(value), path, number, name)))
            numbers.append(number)
        placed += _placed(path, bag, number, one.get("instance_labels"))
    if not triples and not placed:
        return None
    found = LabelTable.from_triples(path, triples, numbers, placed)
    row = {name: position for position, name in enumerate(found.ids)}
    values = np.full((len(ids), len(found.classes)), np.nan)
    for position, name in enumerate(ids):
        if name in row:
            values[position] = found.values[row[name]]
    of_bag = dict(zip(ids, (number for number, _ in lines), strict=True))
    return LabelTable(ids, found.classes, values, path=path, lines=of_bag, placed=found.placed)


def _placed(path: Path, bag: str, number: int, given: Any) -> list[PlacedLabel]:
    if given is not None and (not isinstance(given, list) or not all(isinstance(one, dict) for one in given)):
        raise FileError(path, '"instance_labels" must be a list of objects.', number)
    found = []
    for one in given or []:
        name, text = one.get("class"), {key: "" if value is None else str(value) for key, value in one.items()}
        if not isinstance(name, str) or not name:
            raise FileError(path, 'an instance label has no "class".', number)
        instance = whole_number(text["instance"], path, number, "instance") if text.get("instance") else None
        place = place_from({column: text[column] for column in PLACE_COLUMNS if column in text}, path, number)
        if instance is None and not place:
            raise FileError(path, 'an instance label needs "instance" or a place.', number)
        value = label_value(text.get("label", "1"), path, number, "label")
        if not np.isnan(value):
            found.append(PlacedLabel(bag, name, bool(value), instance, place, number))
    return found
