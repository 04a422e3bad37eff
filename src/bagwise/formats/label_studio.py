"""Label Studio JSON: tasks whose `data` name the bag, with choices called `present` and `absent`.

A task that was annotated elsewhere may have one kind of choices only: chosen classes are then present, and the others
unknown, because the annotator may not have looked for them. Labelled regions are places: of sound, boxes in pictures
that are not rotated, spans of text; regions of other shapes say that their class is present in the bag. Regions with
the `from_name` of `ABSENT_REGIONS` are places where the class is not. Predictions are written as predictions of the
tasks.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bagwise.core.errors import FileError
from bagwise.formats._label_table import LabelTable, PlacedLabel
from bagwise.formats._text import looks_like_text
from bagwise.formats._types import PredictionTable
from bagwise.formats._values import validated_place

DESCRIPTION = "Label Studio tasks (.json)"
SUFFIXES = (".json",)
GENERIC = True
UNSURE = "unsure"
PRESENT_REGIONS, ABSENT_REGIONS = "present_regions", "absent_regions"
TO = {"labels": "file", "rectanglelabels": "file", "choices": "bag"}
BOX = ("x", "y", "width", "height")


def recognises(path: Path) -> bool:
    """Return whether it is a text that begins with a list."""
    if not looks_like_text(path):
        return False
    with path.open("rb") as file:
        return file.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["


def read_labels(path: Path, bag_column: str | None = None) -> LabelTable:
    """Read the annotations of every task; of several, the last that is not cancelled."""
    triples: list[tuple[str, str, float]] = []
    placed: list[PlacedLabel] = []
    for number, task in enumerate(_tasks(path), start=1):
        if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
            raise FileError(path, "has no data.", number, row="task")
        bag = task["data"].get("bag", task["data"].get("id"))
        if not isinstance(bag, str | int) or isinstance(bag, bool):
            raise FileError(path, 'its data do not name the bag as "bag".', number, row="task")
        annotations = _listed(path, number, task.get("annotations", task.get("completions")))
        kept = [one for one in annotations if isinstance(one, dict) and not one.get("was_cancelled")]
        for result in _listed(path, number, kept[-1].get("result")) if kept else []:
            for name, present, place in _said(path, number, result):
                if place:
                    placed.append(PlacedLabel(str(bag), name, present, None, place))
                else:
                    triples.append((str(bag), name, float(present)))
    if not triples and not placed:
        raise FileError(path, "no task has an annotation with choices or labelled regions.")
    return LabelTable.from_triples(path, triples, placed=placed)


def _listed(path: Path, number: int, value: Any) -> list[Any]:
    if value is not None and not isinstance(value, list):
        raise FileError(path, "its annotations or their results are not a list.", number, row="task")
    return value or []


def _tasks(path: Path) -> list[Any]:
    try:
        tasks = json.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise FileError(path, "is not UTF-8 text: save it as UTF-8.") from error
    except json.JSONDecodeError as error:
        raise FileError(path, f"is not JSON ({error.msg}).", error.lineno, error.colno) from error
    except RecursionError as error:
        raise FileError(path, "is nested too deeply.") from error
    except ValueError as error:
        raise FileError(path, f"is not JSON that can be used ({error}).") from error
    if not isinstance(tasks, list):
        raise FileError(path, "is not a list of tasks.")
    return tasks


def _said(path: Path, number: int, result: Any) -> list[tuple[str, bool, dict[str, float]]]:
    """The classes of one result, whether they are present, and where; an empty place is the whole bag."""
    kind = result.get("type") if isinstance(result, dict) else None
    if not isinstance(kind, str) or not kind.endswith(("choices", "labels")) or result.get("from_name") == UNSURE:
        return []
    value = result.get("value")
    chosen = value.get(kind) if isinstance(value, dict) else None
    if kind != "choices" and chosen is None:
        return []  # A region without a label.
    if not isinstance(chosen, list) or not all(isinstance(name, str) and name for name in chosen):
        raise FileError(path, "its choices are not a list of names.", number, row="task")
    present = result.get("from_name") not in ("absent", ABSENT_REGIONS)
    place = _place(path, number, result, value)
    if not present and not place and result.get("from_name") == ABSENT_REGIONS:
        return []
    return [(name, present, place) for name in chosen]


def _place(path: Path, number: int, result: dict[str, Any], value: dict[str, Any]) -> dict[str, float]:
    """The place of a region; empty where it has none that Bagwise knows."""
    if all(name in value for name in BOX) and not value.get("rotation"):
        whole_size = [result.get("original_width"), result.get("original_height")]
        if not all(_is_number(one) and one for one in whole_size):
            raise FileError(path, "a box needs original_width and original_height.", number, row="task")
        size = _numbers(path, number, whole_size)
        box = _numbers(path, number, [value[name] for name in BOX])
        scaled = (part * whole / 100 for part, whole in zip(box, [*size, *size], strict=True))
        return validated_place(dict(zip(BOX, scaled, strict=True)), path, number, "task")
    offsets = value.get("globalOffsets", value)
    if not isinstance(offsets, dict) or not {"start", "end"} <= set(offsets) or isinstance(offsets["start"], str):
        return {}
    start, end = _numbers(path, number, [offsets["start"], offsets["end"]])
    if offsets is not value or "text" in value or result.get("to_name") == "text":
        # The end of a span is the character after it.
        span = {"first": start, "last": end - 1}
        return validated_place(span, path, number, "task") if end > start else {}
    place = validated_place({"start": start, "end": end}, path, number, "task")
    band = result.get("meta")
    if isinstance(band, dict) and {"low", "high"} <= set(band):
        low, high = _numbers(path, number, [band["low"], band["high"]])
        place = validated_place({**place, "low": low, "high": high}, path, number, "task")
    return place


def _numbers(path: Path, number: int, values: list[Any]) -> list[float]:
    if not all(_is_number(one) for one in values):
        raise FileError(path, "the limits of a region are not numbers.", number, row="task")
    return [float(one) for one in values]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def write_labels(table: LabelTable, path: Path) -> None:
    """Write one task for every bag with an answer: choices, and a region for every label of a place."""
    by_bag: dict[str, dict[str, list[str]]] = {}
    for bag, name, answer in table.triples():
        by_bag.setdefault(bag, {}).setdefault(answer, []).append(name)
    results = {bag: [_result(kind, names) for kind, names in answers.items()] for bag, answers in by_bag.items()}
    for one in table.placed:
        of_bag = results.setdefault(one.bag, [])
        of_bag += _regions(one, table.extents.get(one.bag, {}), f"region-{len(of_bag)}")
    tasks = [
        _task(number, bag, annotations=[{"result": result}])
        for number, (bag, result) in enumerate(results.items(), start=1)
    ]
    path.write_text(json.dumps(tasks, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def write_predictions(table: PredictionTable, path: Path) -> None:
    """Write one task for every bag, with its predicted classes."""
    tasks = []
    version = f"bagwise ({table.model})" if table.model else "bagwise"
    for number, (bag, row) in enumerate(zip(table.ids, table.probability, strict=True), start=1):
        likely = [name for name, predicted in zip(table.classes, table.predicted[number - 1], strict=True) if predicted]
        score = float(min((max(p, 1 - p) for p in row), default=0.0))
        prediction = {"model_version": version, "score": score, "result": [_result("present", likely)]}
        tasks.append(_task(number, bag, predictions=[prediction]))
    path.write_text(json.dumps(tasks, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _task(number: int, bag: str, **rest: Any) -> dict[str, Any]:
    return {"id": number, "data": {"bag": bag}, **rest}


def _result(kind: str, names: list[str]) -> dict[str, Any]:
    return {"from_name": kind, "to_name": TO["choices"], "type": "choices", "value": {"choices": names}}


def _regions(label: PlacedLabel, extent: Mapping[str, float], key: str) -> list[dict[str, Any]]:
    """The region of a label; none where its place is not known."""
    place = label.place
    value: dict[str, Any]
    more: dict[str, Any] = {}
    if "start" in place:
        kind, value = "labels", {"start": place["start"], "end": place["end"], "channel": 0}
        more = {"meta": {"low": place["low"], "high": place["high"]}} if "low" in place else {}
    elif "first" in place:
        kind, value = "labels", {"start": int(place["first"]), "end": int(place["last"]) + 1, "text": ""}
    elif "x" in place and "width" in extent:
        size = (extent["width"], extent["height"])
        kind, value = "rectanglelabels", {"rotation": 0}
        value |= {name: 100 * place[name] / whole for name, whole in zip(BOX, size * 2, strict=True)}
        more = {"original_width": int(size[0]), "original_height": int(size[1]), "image_rotation": 0}
    else:
        return []
    of_name = PRESENT_REGIONS if label.present else ABSENT_REGIONS
    value[kind] = [label.label_class]
    return [{"id": key, "from_name": of_name, "to_name": TO[kind], "type": kind, "value": value, **more}]
