"""Label Studio JSON: tasks whose `data` name the bag, with choices called `present` and `absent`.

A task that was annotated elsewhere may have one kind of choices only: chosen classes are then present, and the others
unknown, because the annotator may not have looked for them. Predictions are written as predictions of the tasks.
"""

import json
from pathlib import Path
from typing import Any

from bagwise.core.errors import FileError
from bagwise.formats._text import looks_like_text
from bagwise.formats._types import LabelTable, PredictionTable

DESCRIPTION = "Label Studio tasks (.json)"
SUFFIXES = (".json",)
GENERIC = True
UNSURE = "unsure"


def recognises(path: Path) -> bool:
    """Return whether it is a text that begins with a list."""
    if not looks_like_text(path):
        return False
    with path.open("rb") as file:
        return file.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["


def read_labels(path: Path, bag_column: str | None = None) -> LabelTable:
    """Read the annotations of every task; of several, the last that is not cancelled."""
    triples: list[tuple[str, str, float]] = []
    for number, task in enumerate(_tasks(path), start=1):
        if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
            raise FileError(path, "has no data.", number, row="task")
        bag = task["data"].get("bag", task["data"].get("id"))
        if not isinstance(bag, str | int) or isinstance(bag, bool):
            raise FileError(path, 'its data do not name the bag as "bag".', number, row="task")
        annotations = _listed(path, number, task.get("annotations", task.get("completions")))
        kept = [one for one in annotations if isinstance(one, dict) and not one.get("was_cancelled")]
        for result in _listed(path, number, kept[-1].get("result")) if kept else []:
            triples += _choices(path, number, str(bag), result)
    if not triples:
        raise FileError(path, "no task has an annotation with choices.")
    return LabelTable.from_triples(path, triples)


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


def _choices(path: Path, number: int, bag: str, result: Any) -> list[tuple[str, str, float]]:
    if not isinstance(result, dict) or result.get("type") != "choices" or result.get("from_name") == UNSURE:
        return []
    value = result.get("value")
    chosen = value.get("choices") if isinstance(value, dict) else None
    if not isinstance(chosen, list) or not all(isinstance(name, str) and name for name in chosen):
        raise FileError(path, "its choices are not a list of names.", number, row="task")
    return [(bag, name, 0.0 if result.get("from_name") == "absent" else 1.0) for name in chosen]


def write_labels(table: LabelTable, path: Path) -> None:
    """Write one task for every bag with an answer."""
    by_bag: dict[str, dict[str, list[str]]] = {}
    for bag, name, answer in table.triples():
        by_bag.setdefault(bag, {}).setdefault(answer, []).append(name)
    tasks = [
        _task(number, bag, annotations=[{"result": [_result(kind, names) for kind, names in answers.items()]}])
        for number, (bag, answers) in enumerate(by_bag.items(), start=1)
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
    return {"from_name": kind, "to_name": "bag", "type": "choices", "value": {"choices": names}}
