"""What a file is cut into."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from bagwise.core.errors import BagwiseError
from bagwise.kernels import Array

State = dict[str, Array]
"""What was fitted to a folder; plain arrays, so that it is kept without pickle."""


@dataclass(frozen=True)
class Segments:
    """The instances of one file: `features` (n x d, float32) and `places` (n x media.WIDTH, nan where unknown).

    `outlines`, where places are only boxes around what was found: the corners (k x 2) of each. `shown`, where people
    must see something else than the file: its bytes, which the places are counted in.
    """

    features: Array
    places: Array
    outlines: Sequence[Array] | None = None
    shown: bytes | None = None


Segmenter = Callable[[Path], Segments]


def needs(module: str, extra: str) -> Any:
    """A library that only this way of cutting uses, or the sentence that says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        what = f"{module.partition('.')[0]} is missing: install it with `pip install 'bagwise[{extra}]'`."
        raise BagwiseError(what) from error
