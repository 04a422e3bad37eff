"""The type of a data set, and the files that data sets are read from."""

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
    """Bags with their labels.

    Parameters
    ----------
    name : str
        The name of the data set.
    bags : Bags
        The bags.
    labels : Labels
        Their labels.
    classes : list of str
        The names of the classes.
    instance_labels : ndarray of shape (n_instances,), int, optional
        The class of each instance; -1 for none.
    images : ndarray of shape (n_instances, height, width), optional
        A picture of each instance.
    transformer : str or transformer
        The `transformer` of a model for these data: features are standardised unless they share a unit.
    scores : ndarray of shape (n_instances, n_classes), optional
        What a trained classifier thinks of each instance, from 0 to 1; NaN for classes that it does not know.

    Examples
    --------
    >>> from bagwise import Bags, Labels
    >>> bags = Bags.from_list([np.ones((2, 3)), np.zeros((1, 3))])
    >>> Dataset("made", bags, Labels.from_array(np.array([[1], [0]])), ["wren"])
    Dataset(made: Bags(2 bags, 3 instances, 3 features), 1 classes)
    """

    name: str
    bags: Bags
    labels: Labels
    classes: list[str]
    instance_labels: Array | None = None
    images: Array | None = None
    transformer: Any = "standardise"
    scores: Array | None = None

    def __repr__(self) -> str:
        return f"Dataset({self.name}: {self.bags!r}, {len(self.classes)} classes)"

    def select(self, chosen: Array) -> "Dataset":
        """Return the data set with the bags at these positions only.

        Parameters
        ----------
        chosen : array-like of int, shape (n_chosen,)
            Positions of bags.

        Returns
        -------
        Dataset
            Its bags are in the order of `chosen`, with their labels and what is known of their instances.
        """
        rows = np.concatenate([np.arange(*self.bags.offsets[b : b + 2]) for b in np.asarray(chosen)])
        return replace(
            self,
            bags=self.bags.select(chosen),
            labels=self.labels.select(chosen),
            instance_labels=None if self.instance_labels is None else self.instance_labels[rows],
            images=None if self.images is None else self.images[rows],
            scores=None if self.scores is None else self.scores[rows],
        )


def union_of_instances(instance_labels: Array, offsets: Array, classes: int) -> Labels:
    """Return bag labels by the OR rule: a bag has a class if one of its instances has it.

    Parameters
    ----------
    instance_labels : ndarray of shape (n_instances,), int
        The class of each instance; -1 for none.
    offsets : ndarray of shape (n_bags + 1,), int
        Where the instances of each bag begin.
    classes : int
        The number of classes.

    Returns
    -------
    Labels
        Shape (n_bags, classes), all known.

    Examples
    --------
    >>> union_of_instances(np.array([0, -1, 1]), np.array([0, 2, 3]), classes=2).value
    array([[ True, False],
           [False,  True]])
    """
    present = np.zeros((len(offsets) - 1, classes), bool)
    bag = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    labelled = instance_labels >= 0
    present[bag[labelled], instance_labels[labelled]] = True
    return Labels(present, np.ones_like(present))


def file_of_package(package: str, file: str, requirement: str, install: str = '"bagwise[datasets]"') -> Path:
    """Return the path of a file of an installed package, which is not imported."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise BagwiseError(
            f"This data set comes with the Python package {requirement}, which is not installed: "
            f"run `pip install {install}`."
        )
    path = Path(found.submodule_search_locations[0]) / file
    if not path.is_file():
        raise BagwiseError(f"The installed {package} does not contain {file}: install {requirement}.")
    return path


def file_of_data_folder(file: str) -> Path:
    """Return the path of a file in the folder that the environment variable BAGWISE_DATA names."""
    folder = os.environ.get(DATA_FOLDER)
    if not folder:
        raise BagwiseError(f"This data set needs the file {file}: put it in a folder and set {DATA_FOLDER} to it.")
    path = Path(folder) / file
    if not path.is_file():
        raise BagwiseError(f"{file} does not exist in {folder}, the folder that {DATA_FOLDER} names: put it there.")
    return path
