"""Data sets: ONE FILE = ONE DATA SET, found by its name. Each has `DESCRIPTION` and `load(random_state) -> Dataset`."""

from functools import cache
from types import ModuleType
from typing import Any

from bagwise.datasets._types import Dataset
from bagwise.discovery import choose, discover

__all__ = ["Dataset", "available", "load"]


@cache
def available() -> dict[str, ModuleType]:
    """Every data set by name, whether its source is installed or not."""
    return discover(__name__)


def load(name: str, random_state: int = 0, **options: Any) -> Dataset:
    """The data set called `name`; `random_state` matters to those that are drawn.

    >>> load("digits")
    Dataset(digits: Bags(396 bags, 1797 instances, 64 features), 10 classes)
    """
    dataset: Dataset = choose("data set", name, available()).load(random_state, **options)
    return dataset
