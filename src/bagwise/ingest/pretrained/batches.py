"""Batches: the inputs of a model for some instances of a file, and where in the file these are."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bagwise.core.errors import BagwiseError
from bagwise.ingest.pretrained.runtimes import Model
from bagwise.kernels import Array

BATCH_SIZE = 16


@dataclass(frozen=True)
class Batch:
    """Some windows, regions or passages of a file.

    Parameters
    ----------
    values : mapping of str to ndarray
        The inputs of the model by name; axis 0 counts the items.
    places : ndarray of shape (n_items, 4), float64
        Where in the file each item is.
    mask : ndarray of shape (n_items, n_tokens), optional
        1 for the tokens that count.
    grid : tuple of int, optional
        Rows and columns of the cells of an item.
    shown : bytes, optional
        The content to show instead of the file.

    Examples
    --------
    >>> import numpy as np
    >>> Batch({"samples": np.zeros((2, 48_000))}, np.zeros((2, 4))).mask is None
    True
    """

    values: Mapping[str, Array]
    places: Array
    mask: Array | None = None
    grid: tuple[int, int] | None = None
    shown: bytes | None = None


ReadBatches = Callable[[Path], Iterator[Batch]]
"""Yields the batches of a file."""


class Inputs(Protocol):
    """What goes into a model: windows of sound, regions of pictures, passages of text."""

    @property
    def medium(self) -> str:
        """The name of the medium."""
        ...

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that a person may give."""
        ...

    def configured(self, options: Mapping[str, str]) -> "Inputs":
        """Return the same with a person's options."""
        ...

    def reader(self, weights: Path, model: Model, segmenter: Any) -> ReadBatches:
        """Return the function that reads the batches of a file."""
        ...

    def split(self, places: Array, rows: int, columns: int) -> Array:
        """Return the places of the cells of each place."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return what is declared, as plain values."""
        ...


def batch_size(model: Model) -> int:
    """Return how many items a model takes at once.

    Parameters
    ----------
    model : Model
        The model.

    Returns
    -------
    int
    """
    return BATCH_SIZE if model.inputs[0].shape[0] is None else 1


def seconds_of(options: Mapping[str, str], name: str, default: float) -> float:
    """Return an option in seconds.

    Parameters
    ----------
    options : mapping of str to str
        What a person typed.
    name : str
        The name of the option.
    default : float
        Where it is not given.

    Returns
    -------
    float

    Raises
    ------
    BagwiseError
        If it is not a number from 0.

    Examples
    --------
    >>> seconds_of({"overlap": "1.5"}, "overlap", 0.0)
    1.5
    """
    try:
        value = float(options.get(name, default))
    except ValueError:
        value = float("nan")
    if not 0 <= value < float("inf"):
        raise BagwiseError(f"--embed: {name}={options[name]} is not a number of seconds.")
    return value
