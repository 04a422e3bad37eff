"""JSON lines, one bag each: {"bag": "a", "instances": [[0.1, 2], [3, 4]], "labels": {"wren": 1, "robin": 0}}.

1 or true is present, 0 or false absent; a class that is null or not named is unknown.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import FileError
from bagwise.formats._text import looks_like_text
from bagwise.formats._types import LabelTable, PredictionTable, Source, label_value
from bagwise.kernels import Array

DESCRIPTION = "JSON lines with one bag each (.jsonl)"
SUFFIXES = (".jsonl", ".ndjson")
LONGEST_LINE = 1 << 28


def recognises(path: Path) -> bool:
    """A text that begins with an object."""
    if not looks_like_text(path):
        return False
    with path.open("rb") as file:
        return file.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"


def read(path: Path, bag_column: str | None = None) -> Source:
    """Every line with its instances."""
    ids: dict[str, None] = {}
    bags, said = [], []
    for number, one in _objects(path, bag_column or "bag"):
        _add(path, number, str(one[bag_column or "bag"]), ids)
        bags.append(_instances(path, number, one.get("instances")))
        if bags[-1].shape[1] != bags[0].shape[1]:
            what = f"instances have {bags[-1].shape[1]} numbers where those before have {bags[0].shape[1]}."
            raise FileError(path, what, number)
        said.append((number, one.get("labels")))
    return Source.of_bags(path, bags, list(ids), _labels(path, list(ids), said))


def read_labels(path: Path, bag_column: str | None = None) -> LabelTable:
    """Every line with its labels."""
    ids: dict[str, None] = {}
    said = []
    for number, one in _objects(path, "bag"):
        _add(path, number, str(one["bag"]), ids)
        said.append((number, one.get("labels")))
    table = _labels(path, list(ids), said)
    if table is None:
        raise FileError(path, "no line has labels.")
    return table


def write_labels(table: LabelTable, path: Path) -> None:
    """One line for every bag about which something is known."""
    by_bag: dict[str, dict[str, int | None]] = {}
    for bag, name, said in table.triples():
        by_bag.setdefault(bag, {})[name] = {"present": 1, "absent": 0, "unsure": None}[said]
    _write(path, ({"bag": bag, "labels": labels} for bag, labels in by_bag.items()))


def write_predictions(table: PredictionTable, path: Path) -> None:
    """One line for every bag: what is predicted, and probabilities and evidence by class."""
    _write(
        path,
        (
            {
                "bag": bag,
                "probabilities": dict(zip(table.classes, map(float, table.probability[b]), strict=True)),
                "predicted": [name for name, said in zip(table.classes, table.predicted[b], strict=True) if said],
                "evidence": dict(zip(table.classes, map(int, table.evidence[b]), strict=True)),
            }
            for b, bag in enumerate(table.ids)
        ),
    )


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
                raise FileError(path, f'is no object with the bag\'s id as "{bag_key}".', number)
            yield number, one


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found


def _add(path: Path, number: int, bag: str, ids: dict[str, None]) -> None:
    if bag in ids:
        raise FileError(path, f"the bag {bag} is there twice.", number)
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


def _labels(path: Path, ids: list[str], said: list[tuple[int, Any]]) -> LabelTable | None:
    classes: dict[str, int] = {}
    for number, labels in said:
        if labels is not None and not isinstance(labels, dict):
            raise FileError(path, '"labels" must be an object with one entry per class.', number)
        for name in labels or {}:
            classes.setdefault(name, len(classes))
    if not classes:
        return None
    values = np.full((len(ids), len(classes)), np.nan)
    for row, (number, labels) in enumerate(said):
        for name, value in (labels or {}).items():
            text = "" if value is None else str(value)
            values[row, classes[name]] = label_value(text, path, number, name)
    lines = dict(zip(ids, (number for number, _ in said), strict=True))
    return LabelTable(ids, list(classes), values, path=path, lines=lines)
