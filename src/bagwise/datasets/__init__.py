"""Data sets: ONE FILE = ONE DATA SET, found by its name. Each has `DESCRIPTION` and `load(random_state) -> Dataset`."""

from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from bagwise import formats
from bagwise.core.errors import FileError
from bagwise.core.plugins import choose, discover
from bagwise.datasets._types import Dataset

FEWEST_BAGS = 20

__all__ = ["Dataset", "available", "load"]


@cache
def available() -> dict[str, ModuleType]:
    """Every data set by name, whether its source is installed or not."""
    return discover(__name__, "bagwise.datasets")


def load(name: str, random_state: int = 0, **options: Any) -> Dataset:
    """The data set called `name`, or the fully labelled bags of a file; `random_state` matters to those that are drawn.

    >>> load("digits")
    Dataset(digits: Bags(396 bags, 1797 instances, 64 features), 10 classes)
    """
    if name not in available() and Path(name).is_file():
        return _from_file(Path(name))
    dataset: Dataset = choose("data set", name, available()).load(random_state, **options)
    return dataset


def _from_file(path: Path) -> Dataset:
    source = formats.read(path)
    if source.labels is None:
        raise FileError(path, "there are no labels in it: an experiment answers its questions from them.")
    labels = formats.as_labels(source.labels)
    complete = np.flatnonzero(labels.known.all(axis=1))
    if len(complete) < FEWEST_BAGS:
        what = f"{len(complete)} bags have every label known: an experiment needs at least {FEWEST_BAGS}."
        raise FileError(path, what)
    return Dataset(path.stem, source.to_bags(), labels, list(source.labels.classes)).select(complete)
