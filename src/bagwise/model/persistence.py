"""Models on disk without pickle: one .npz file with arrays and a JSON description. Loading runs no code of the file.

scikit-learn objects are written as their class and their attributes; only classes of scikit-learn and of
`bagwise.model` are read back.
"""

import importlib
import json
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from sklearn.base import BaseEstimator

from bagwise.core.errors import BagwiseError, FileError
from bagwise.kernels import Array

FORMAT = "bagwise-model"
VERSION = 1
TRUSTED = ("sklearn.", "bagwise.model.")


def write(path: str | Path, content: dict[str, Any]) -> None:
    """Write a tree of plain values, arrays and scikit-learn objects."""
    arrays: dict[str, Array] = {}
    description = {"format": FORMAT, "version": VERSION, "content": _encode(content, arrays)}
    with Path(path).open("wb") as file:
        np.savez(file, description=np.array(json.dumps(description)), **arrays)  # type: ignore[arg-type]


def read(path: str | Path) -> dict[str, Any]:
    """Return what `write` wrote, or raise an error that says why the file is not a model."""
    try:
        with Path(path).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        description = json.loads(str(arrays.pop("description")))
    except FileNotFoundError as error:
        raise FileError(Path(path), "does not exist: there is no model to read.") from error
    except (BadZipFile, KeyError, ValueError, OSError, EOFError, TypeError, AttributeError) as error:
        raise FileError(Path(path), "is not a Bagwise model.") from error
    if description.get("format") != FORMAT:
        raise FileError(Path(path), "is not a Bagwise model.")
    if description["version"] > VERSION:
        raise FileError(Path(path), "was written by a newer Bagwise: upgrade to read it.")
    content: dict[str, Any] = _decode(description["content"], arrays)
    return content


def _encode(value: Any, arrays: dict[str, Array]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, dict):
        return {"dict": [[_encode(key, arrays), _encode(item, arrays)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_encode(item, arrays) for item in value]}
    if isinstance(value, BaseEstimator) and type(value).__module__.startswith(TRUSTED):
        return {
            "module": type(value).__module__,
            "class": type(value).__qualname__,
            "state": _encode(vars(value), arrays),
        }
    raise BagwiseError(
        f"A model that holds a {type(value).__name__} cannot be saved: numbers, arrays and scikit-learn's own "
        "transformers can. Transform the instances before they become bags instead."
    )


def _decode(value: Any, arrays: dict[str, Array]) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "dict" in value:
        return {_decode(key, arrays): _decode(item, arrays) for key, item in value["dict"]}
    if "list" in value:
        return [_decode(item, arrays) for item in value["list"]]
    if "tuple" in value:
        return tuple(_decode(item, arrays) for item in value["tuple"])
    if not str(value["module"]).startswith(TRUSTED):
        raise BagwiseError(f"The model names the class {value['module']}.{value['class']}, which is not trusted.")
    kind = getattr(importlib.import_module(value["module"]), value["class"])
    if not (isinstance(kind, type) and issubclass(kind, BaseEstimator)):
        raise BagwiseError(f"The model names {value['class']}, which is not a scikit-learn estimator.")
    restored: Any = object.__new__(kind)
    restored.__dict__.update(_decode(value["state"], arrays))
    return restored
