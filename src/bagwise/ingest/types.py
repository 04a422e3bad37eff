"""The result of segmenting a file, and what segmenters share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.kernels import Array

State = dict[str, Array]
"""What a segmenter was fitted to; plain arrays, so that it is stored without pickle."""

SCORE = np.dtype([("instance", np.uint32), ("class", np.uint32), ("score", np.float32)])
"""A classifier's score of an instance and a class, by their numbers."""
LOWEST_SCORE = 1e-4
"""Scores below it are not stored: of thousands of classes, most are near 0."""


@dataclass(frozen=True)
class Segments:
    """The instances of one file: what a segmenter or an embedder returns.

    Parameters
    ----------
    features : ndarray of shape (n_instances, n_features), float32
        The features of each instance; all finite.
    places : ndarray of shape (n_instances, 4), float64
        Where in the file each instance is, in the columns of the medium (`PLACE`, then `OPTIONAL`); nan where unknown
        and in unused columns.
    outlines : sequence of ndarray of shape (n_corners, 2), optional
        The corners of each instance, where `places` are only the boxes around them.
    shown : bytes, optional
        The content to show instead of the file, as a text converted to UTF-8; `places` refer to it.
    scores : ndarray of shape (n_scores,), `SCORE`, optional
        What a classifier thinks of the instances: its scores from `LOWEST_SCORE` to 1. The embedder names the classes.

    Examples
    --------
    >>> import numpy as np
    >>> Segments(np.ones((2, 3), np.float32), np.full((2, 4), np.nan)).features.shape
    (2, 3)
    """

    features: Array
    places: Array
    outlines: Sequence[Array] | None = None
    shown: bytes | None = None
    scores: Array | None = None


SegmentFunction = Callable[[Path], Segments]
"""Segments one file."""


def scores_of_rows(probabilities: Array, first: int = 0, copies: int = 1) -> Array:
    """Return the scores that are stored of a dense array.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
        Scores from 0 to 1.
    first : int
        The instance of the first row.
    copies : int
        The instances that share a row, as the cells of a window do.

    Returns
    -------
    ndarray of shape (n_scores,), `SCORE`
        Those from `LOWEST_SCORE`, by instance and class.

    Examples
    --------
    >>> scores_of_rows(np.array([[0.9, 0.0], [0.0, 0.4]]), first=2).tolist()
    [(2, 0, 0.8999999761581421), (3, 1, 0.4000000059604645)]
    """
    repeated = np.repeat(probabilities, copies, axis=0) if copies > 1 else probabilities
    instance, label_class = np.nonzero(repeated >= LOWEST_SCORE)
    found = np.empty(len(instance), SCORE)
    found["instance"], found["class"] = instance + first, label_class
    found["score"] = repeated[instance, label_class]
    return found


def import_optional(module: str, extra: str) -> Any:
    """Import a module of an optional dependency.

    Parameters
    ----------
    module : str
        The module to import, as `skimage.color`.
    extra : str
        The extra of Bagwise that installs it, named in the error.

    Raises
    ------
    BagwiseError
        If it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise BagwiseError(f"{library} is missing: install it with `pip install 'bagwise[{extra}]'`.") from error
