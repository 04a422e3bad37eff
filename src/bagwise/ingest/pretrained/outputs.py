"""What comes out of a model: embeddings of windows, regions or passages, of their cells, and scores of classes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import expit

from bagwise.core.errors import FileError
from bagwise.ingest.pretrained.weights import beside, read_class_names
from bagwise.kernels import Array

TINY = np.finfo(np.float32).tiny

Split = Callable[[Array, int, int], Array]
"""Divides places (n, 4) into rows and columns: (n * rows * columns, 4), row by row."""


@dataclass(frozen=True)
class Output:
    """Which output is the embedding, and how its axes are read.

    Parameters
    ----------
    name : str
        The name of the output; where it is empty, the first with *embed* and not *token* in its name, the first with
        *embed*, or else the first.
    channels_first : bool
        Whether the features are axis 1, as in (batch, features, height, width), and not the last axis.
    cells : bool
        Whether every cell between batch and features is an instance; else their mean is one.
    leading : int
        Tokens before the cells that belong to no place, as a class token and registers.
    unit : bool
        Whether every row of features is scaled to length 1.

    Examples
    --------
    Tokens are averaged, features are not:

    >>> Output().rows(np.ones((2, 7, 3)), None).shape
    (2, 3)
    """

    name: str = ""
    channels_first: bool = False
    cells: bool = False
    leading: int = 0
    unit: bool = False

    def choose(self, names: Sequence[str]) -> str:
        """Return the name of the output to ask for.

        Parameters
        ----------
        names : sequence of str
            The outputs of the model.

        Returns
        -------
        str
        """
        if self.name:
            return self.name
        named = [name for name in names if "embed" in name.lower()]
        return next((name for name in named if "token" not in name.lower()), (*named, *names)[0])

    def rows(self, found: Array, mask: Array | None) -> Array:
        """Return one row of features for each item of a batch: the mean over all other axes.

        Parameters
        ----------
        found : ndarray of shape (batch, ..., features), or (batch, features, ...)
            What the model returned.
        mask : ndarray of shape (batch, tokens), optional
            1 for the tokens that count.

        Returns
        -------
        ndarray of shape (batch, features), float32
        """
        features_last = self._features_last(found)
        if mask is None or features_last.shape[1:-1] != mask.shape[1:]:
            mean = features_last.reshape(len(found), -1, features_last.shape[-1]).mean(axis=1, dtype=np.float32)
        else:
            counted = mask[..., None].astype(np.float32)
            mean = (features_last * counted).sum(axis=1) / np.maximum(counted.sum(axis=1), 1)
        length = np.linalg.norm(mean, axis=1, keepdims=True) if self.unit else 1.0
        rows: Array = mean / np.maximum(length, TINY)
        return rows

    def instances(self, found: Array, places: Array, grid: tuple[int, int] | None, split: Split) -> tuple[Array, Array]:
        """Return the cells of a batch as instances.

        Parameters
        ----------
        found : ndarray of shape (batch, rows, columns, features) or (batch, tokens, features)
            What the model returned.
        places : ndarray of shape (batch, 4)
            The place of each item.
        grid : tuple of int, optional
            Rows and columns of the cells, where they are one axis of tokens.
        split : callable
            Divides places into those of the cells.

        Returns
        -------
        features : ndarray of shape (batch * rows * columns, features), float32
        places : ndarray of shape (batch * rows * columns, 4)

        Raises
        ------
        ValueError
            If the number of tokens is not that of the cells.
        """
        cells = self._features_last(found)
        if cells.ndim == 3:
            rows, columns = grid or (cells.shape[1] - self.leading, 1)
            if cells.shape[1] != self.leading + rows * columns:
                what = f"{cells.shape[1]} tokens came for {rows} x {columns} cells"
                raise ValueError(f"{what} and {self.leading} other tokens: this is another model.")
            cells = cells[:, self.leading :]
        else:
            rows, columns = cells.shape[1:3]
        return cells.reshape(-1, cells.shape[-1]).astype(np.float32), split(places, rows, columns)

    def _features_last(self, found: Array) -> Array:
        """Axis 1 of two axes, or of more where the model's channels come first; the last axis of tokens."""
        return np.moveaxis(found, 1, -1) if self.channels_first and found.ndim > 3 else found


@dataclass(frozen=True)
class Scores:
    """Which output holds the scores of classes, how they become probabilities, and where the names are.

    Parameters
    ----------
    output : str
        The name of the output, (batch, classes).
    activation : str
        `sigmoid`, `softmax`, or empty where they are probabilities already.
    labels : tuple of str
        The files beside the model that may name the classes, as `labels.txt`.

    Examples
    --------
    >>> Scores("label", "softmax").probabilities(np.zeros((1, 2)))
    array([[0.5, 0.5]])
    """

    output: str
    activation: str = ""
    labels: tuple[str, ...] = ("labels.txt", "labels.csv", "*[Ll]abels*.csv", "*[Ll]abels*.txt")

    def probabilities(self, found: Array) -> Array:
        """Return the scores from 0 to 1.

        Parameters
        ----------
        found : ndarray of shape (batch, classes)
            What the model returned.

        Returns
        -------
        ndarray of shape (batch, classes)
        """
        if self.activation == "sigmoid":
            likely: Array = expit(found)
            return likely
        if self.activation == "softmax":
            exponential = np.exp(found - found.max(axis=1, keepdims=True))
            shares: Array = exponential / exponential.sum(axis=1, keepdims=True)
            return shares
        return found

    def classes(self, model: Path, options: Mapping[str, str]) -> list[str]:
        """Return the names of the classes; empty where no file names them.

        Parameters
        ----------
        model : Path
            The file of the model.
        options : mapping of str to str
            What a person typed; `labels` is the path of the names.

        Returns
        -------
        list of str

        Raises
        ------
        FileError
            If the given file cannot be read.
        """
        path = Path(options["labels"]) if "labels" in options else beside(model, *self.labels)
        return read_class_names(path) if path is not None else []

    def validate(self, model: Path, found: Array, classes: Sequence[str]) -> None:
        """Raise a FileError unless there are as many scores as names.

        Parameters
        ----------
        model : Path
            The file of the model.
        found : ndarray of shape (batch, classes)
            What the model returned.
        classes : sequence of str
            The names.
        """
        if found.ndim != 2 or found.shape[1] != len(classes):
            what = f"gives scores of shape {found.shape[1:]} and has {len(classes)} names of classes"
            raise FileError(model, f"{what}: give the file of names that belongs to it with `labels=PATH`.")
