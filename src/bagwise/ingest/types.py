"""The result of segmenting a file, and what segmenters share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from bagwise.core.errors import BagwiseError
from bagwise.kernels import Array

State = dict[str, Array]
"""What a segmenter was fitted to; plain arrays, so that it is stored without pickle."""


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


SegmentFunction = Callable[[Path], Segments]
"""Segments one file."""


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
