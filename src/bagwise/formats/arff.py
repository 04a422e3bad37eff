"""Relational MIML ARFF (Weka, Mulan, KDIS): an id, a relational attribute with the bag, one attribute {0,1} per class.

1 is present, 0 absent, ? unknown.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bagwise.core.errors import FileError
from bagwise.formats._label_table import LabelTable
from bagwise.formats._text import looks_like_text
from bagwise.formats._types import Source
from bagwise.formats._values import MAX_COLUMNS, label_value, listed, validate_unique
from bagwise.kernels import Array

DESCRIPTION = "relational MIML ARFF (.arff)"
SUFFIXES = (".arff",)

QUOTED = r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\""""
ATTRIBUTE = re.compile(rf"(?i)^@attribute\s+(?:{QUOTED}|(\S+))\s+(.+?)\s*$")
ROW = re.compile(rf"^\s*(?:{QUOTED}|([^\"',]*?))\s*,\s*(?:\"([^\"]*)\"|'([^']*)')\s*,\s*(.*?)\s*$")


def recognises(path: Path) -> bool:
    """Return whether the first line that is not a comment is @relation."""
    if not looks_like_text(path):
        return False
    with path.open("rb") as file:
        for line in file.read(1 << 16).splitlines():
            text = line.strip().lower()
            if text and not text.startswith(b"%"):
                return text.startswith(b"@relation")
    return False


def read(path: Path, bag_column: str | None = None) -> Source:
    """Read everything into memory: such files are small."""
    lines = _lines(path)
    width, names, classes = _header(path, lines)
    ids: list[str] = []
    previous: set[str] = set()
    bags: list[Array] = []
    labels: list[list[float]] = []
    for number, line in lines:
        match = ROW.match(line)
        if match is None:
            raise FileError(path, "is not an id, a quoted bag and labels.", number)
        ids.append(_unquoted(match[1], match[2], match[3]))
        if ids[-1] in previous:
            raise FileError(path, f"the bag {ids[-1]} appears twice.", number)
        previous.add(ids[-1])
        bags.append(_bag(path, number, match[4] or match[5] or "", width))
        values = [text.strip() for text in match[6].split(",")] if match[6] else []
        if len(values) != len(classes):
            raise FileError(path, f"has {len(values)} labels for {len(classes)} classes.", number)
        labels.append([label_value(text, path, number, name) for text, name in zip(values, classes, strict=True)])
    if not bags:
        raise FileError(path, "contains no rows below @data.")
    source = Source.of_bags(path, bags, ids, LabelTable(ids, classes, np.array(labels), path=path))
    return source.with_variables([*names, *classes], *names, *classes)


def read_labels(path: Path, bag_column: str | None = None) -> LabelTable:
    """Read the labels beside the bags."""
    labels = read(path).labels
    assert labels is not None
    return labels


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                line = raw.decode("utf-8-sig").strip()
            except UnicodeDecodeError as error:
                raise FileError(path, "is not UTF-8 text: save it as UTF-8.", number, error.start + 1) from error
            if line and not line.startswith("%"):
                yield number, line


def _header(path: Path, lines: Iterator[tuple[int, str]]) -> tuple[int, list[str], list[str]]:
    """Return the number of features, the attributes of id and bag, and the classes; `lines` are then at the data."""
    before: list[str] = []
    inside, after = 0, []
    relational = ""
    state = "before"
    for number, line in lines:
        word = line.split(None, 1)[0].lower()
        if word == "@data":
            break
        if word == "@end" and state == "inside":
            state = "after"
        elif word == "@attribute":
            match = ATTRIBUTE.match(line)
            if match is None:
                raise FileError(path, "is not an attribute with a name and a type.", number)
            name, kind = _unquoted(match[1], match[2], match[3]), match[4].lower()
            if kind.startswith("relational") and state == "before":
                state, relational = "inside", name
            elif state == "before":
                before.append(name)
            elif state == "inside":
                _validate_numeric(path, number, name, kind)
                inside += 1
            else:
                after.append(_class(path, number, name, kind))
    else:
        raise FileError(path, "has no @data.")
    if not relational:
        raise FileError(path, f"no attribute is relational, only {listed(before)}: this is not a file of bags.")
    if state == "inside":
        raise FileError(path, f"has no @end {relational}.")
    if len(before) != 1 or not inside or not after:
        found = (
            f"{len(before)} attributes before the bag ({listed(before)}), {inside} features and {len(after)} classes"
        )
        raise FileError(path, f"has {found}: an id, features and at least one class are needed.")
    if inside > MAX_COLUMNS:
        raise FileError(path, f"has {inside} features; at most {MAX_COLUMNS} are allowed.")
    validate_unique(path, "class", after)
    return inside, [*before, relational], after


def _unquoted(single: str | None, double: str | None, bare: str | None) -> str:
    quoted = single if single is not None else double
    return re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else (bare or "")


def _validate_numeric(path: Path, number: int, name: str, kind: str) -> None:
    if kind not in ("numeric", "real", "integer"):
        raise FileError(path, f"the feature {name} is of type {kind}: only numbers are read.", number)


def _class(path: Path, number: int, name: str, kind: str) -> str:
    values = {value.strip(" '\"") for value in kind.strip("{}").split(",")}
    if not kind.startswith("{") or values != {"0", "1"}:
        raise FileError(path, f"the class {name} has the values {kind} where {{0,1}} is needed.", number)
    return name


def _bag(path: Path, number: int, text: str, width: int) -> Array:
    rows = [row.split(",") for row in text.split("\\n") if row.strip()]
    if not rows:
        raise FileError(path, "the bag is empty.", number)
    for row in rows:
        if len(row) != width:
            raise FileError(path, f"an instance has {len(row)} numbers for {width} features.", number)
    try:
        numbers = np.array(rows, dtype=float)
    except ValueError as error:
        wrong = next(cell for row in rows for cell in row if not _is_number(cell))
        raise FileError(path, f"{wrong.strip()!r} is not a number.", number) from error
    if not np.isfinite(numbers).all():
        raise FileError(path, "a feature is missing or infinite: fill or drop it first.", number)
    return numbers


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
