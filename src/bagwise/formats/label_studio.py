"""Label Studio JSON: tasks whose `data` name the bag, with choices called `present` and `absent`.

A task that was annotated elsewhere may have one kind of choices only: chosen classes are then present, and the others
unknown, because the annotator may not have looked for them. Labelled regions are places: of sound, boxes in pictures
that are not rotated, spans of text; regions of other shapes say that their class is present in the bag. Regions with
the `from_name` of `ABSENT_REGIONS` are places where the class is not. Predictions are written as predictions of the
tasks.

A running Label Studio sends its labelling configuration with annotations (`annotation_labels`): what a person could
choose and did not choose is then known too. `prediction_result` writes what a configuration can show.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.formats._label_table import LabelTable, PlacedLabel
from bagwise.formats._text import looks_like_text
from bagwise.formats._types import PredictionTable
from bagwise.formats._values import validated_place

DESCRIPTION = "Label Studio tasks (.json)"
SUFFIXES = (".json",)
GENERIC = True
ABSENT, UNSURE = "absent", "unsure"
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
        said = _of_bag(path, number, str(bag), kept[-1].get("result") if kept else None)
        triples += said[0]
        placed += said[1]
    if not triples and not placed:
        raise FileError(path, "no task has an annotation with choices or labelled regions.")
    return LabelTable.from_triples(path, triples, placed=placed)


def _of_bag(path: Path, number: int, bag: str, results: Any) -> tuple[list[tuple[str, str, float]], list[PlacedLabel]]:
    """What the results of one annotation say of the bag, and of places in it."""
    said = [one for result in _listed(path, number, results) for one in _said(path, number, result)]
    triples = [(bag, name, float(present)) for name, present, place in said if not place]
    return triples, [PlacedLabel(bag, name, present, None, place) for name, present, place in said if place]


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
    present = result.get("from_name") not in (ABSENT, ABSENT_REGIONS)
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


@dataclass(frozen=True)
class Control:
    """A tag of a labelling configuration with which a person chooses classes.

    Parameters
    ----------
    name, to_name : str
        The `from_name` and `to_name` of its results.
    kind : str
        The `type` of its results: `choices`, `labels`, `rectanglelabels`, ...
    classes : tuple of str
        What can be chosen.
    complete : bool
        Whether any number of them can be chosen for a task, so that those that are not chosen are meant to be absent.

    Examples
    --------
    >>> Control("birds", "audio", "choices", ("wren", "robin"), complete=True).kind
    'choices'
    """

    name: str
    to_name: str
    kind: str
    classes: tuple[str, ...]
    complete: bool = False


def controls(config: str) -> list[Control]:
    """Return the choices and labels of a labelling configuration.

    `Choices` are complete with `choice="multiple"`, unless there are choices called `absent`, which say what
    is absent.

    Parameters
    ----------
    config : str
        The configuration, as XML.

    Returns
    -------
    list of Control

    Raises
    ------
    BagwiseError
        If it is not XML, or declares entities.

    Examples
    --------
    >>> birds = '<Choices name="birds" toName="audio" choice="multiple"><Choice value="wren"/></Choices>'
    >>> calls = '<Labels name="calls" toName="audio"><Label value="wren"/></Labels>'
    >>> found = controls(f'<View><Audio name="audio" value="$audio"/>{birds}{calls}</View>')
    >>> [(one.name, one.kind, one.classes, one.complete) for one in found]
    [('birds', 'choices', ('wren',), True), ('calls', 'labels', ('wren',), False)]
    """
    if "<!DOCTYPE" in config:
        raise BagwiseError("The labelling configuration declares a document type, which Label Studio does not use.")
    try:
        root = ElementTree.fromstring(config)  # noqa: S314 (without a document type there are no entities)
    except (ElementTree.ParseError, ValueError) as error:
        raise BagwiseError(f"The labelling configuration is not XML ({error}).") from error
    tags = [tag for tag in root.iter() if tag.tag.lower().endswith(("choices", "labels")) and tag.get("name")]
    says_absent = any(tag.get("name") == ABSENT for tag in tags)
    found = []
    for tag in tags:
        kind, name = tag.tag.lower(), tag.get("name", "")
        options = [one for one in tag.iter() if one.tag in ("Choice", "Label")]
        names = tuple(dict.fromkeys(one.get("alias") or one.get("value") or "" for one in options))
        of_task = not {"perRegion", "perItem"} & {key for key, value in tag.items() if value == "true"}
        complete = kind == "choices" and tag.get("choice") == "multiple" and of_task and name != UNSURE
        found.append(Control(name, tag.get("toName", ""), kind, names, complete and not says_absent))
    return found


def annotation_labels(bag: str, number: int, results: Any, asked: Sequence[Control]) -> LabelTable:
    """Return what one annotation says of a bag.

    Parameters
    ----------
    bag : str
        Id of the bag.
    number : int
        Number of the annotation, for errors.
    results : list of dict
        The `result` of the annotation.
    asked : sequence of Control
        What could be chosen. Of complete choices, what was not chosen and is in no region is absent.

    Returns
    -------
    LabelTable
        With this bag as its only row.

    Raises
    ------
    BagwiseError
        If a result is not one of Label Studio.

    Examples
    --------
    >>> asked = [Control("birds", "audio", "choices", ("wren", "robin"), complete=True)]
    >>> chosen = {"from_name": "birds", "type": "choices", "value": {"choices": ["wren"]}}
    >>> list(annotation_labels("marsh-3", 17, [chosen], asked).triples())
    [('marsh-3', 'wren', 'present'), ('marsh-3', 'robin', 'absent')]
    """
    path = Path(f"annotation {number}")
    triples, placed = _of_bag(path, number, bag, results)
    named = {name for _, name, _ in triples} | {one.label_class for one in placed if one.present}
    unsure = {name for result in results or [] for name in _unsure(result)} - named
    left = [name for one in asked if one.complete for name in one.classes if name not in named | unsure]
    triples += [(bag, name, 0.0) for name in dict.fromkeys(left)] + [(bag, name, np.nan) for name in sorted(unsure)]
    if not triples and not placed:
        return LabelTable([bag], [], np.empty((1, 0)))
    table = LabelTable.from_triples(path, triples, placed=placed)
    return replace(table, unsure=np.array([[name in unsure for name in table.classes]]))


def _unsure(result: Any) -> list[str]:
    if not isinstance(result, dict) or result.get("from_name") != UNSURE:
        return []
    value = result.get("value")
    chosen = value.get("choices") if isinstance(value, dict) else None
    return [name for name in chosen if isinstance(name, str) and name] if isinstance(chosen, list) else []


def prediction_result(
    asked: Sequence[Control],
    likely: Sequence[str],
    placed: Sequence[tuple[PlacedLabel, float]] = (),
    extent: Mapping[str, float] | None = None,
) -> list[dict[str, Any]]:
    """Return predicted classes as results that a labelling configuration can show.

    Parameters
    ----------
    asked : sequence of Control
        The choices and labels of the configuration.
    likely : sequence of str
        The predicted classes.
    placed : sequence of (PlacedLabel, float)
        Where they are, each with its probability.
    extent : mapping of str to float, optional
        The width and height of the picture.

    Returns
    -------
    list of dict
        One result for all choices of a control, and one for every region.

    Examples
    --------
    >>> asked = [Control("birds", "audio", "choices", ("wren", "robin"))]
    >>> prediction_result(asked, ["robin", "owl"])
    [{'from_name': 'birds', 'to_name': 'audio', 'type': 'choices', 'value': {'choices': ['robin']}}]
    """
    results: list[dict[str, Any]] = []
    for control in asked:
        chosen = [name for name in likely if name in control.classes]
        if control.name in (ABSENT, UNSURE, ABSENT_REGIONS):
            continue
        if control.kind == "choices" and chosen:
            results.append({**_result(control.name, chosen), "to_name": control.to_name})
        for label, probability in placed if control.kind != "choices" else ():
            if label.label_class in chosen:
                results += _shown(control, label, probability, extent or {}, f"bagwise-{len(results)}")
    return results


def _shown(
    control: Control, label: PlacedLabel, probability: float, extent: Mapping[str, float], key: str
) -> list[dict[str, Any]]:
    """The region of a label as this control shows it; none where it has regions of another shape."""
    found = []
    for region in _regions(label, extent, key):
        kind = region["type"]
        if control.kind == kind or (kind == "labels" and control.kind in ("timeserieslabels", "hypertextlabels")):
            value = {**region["value"], control.kind: [label.label_class]}
            names = {"from_name": control.name, "to_name": control.to_name, "type": control.kind}
            found.append({**region, **names, "value": value, "score": probability})
    return found
