"""Pictures for a model: regions that a segmenter finds, each resized; or whole pictures, whose cells are instances."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import FileError
from bagwise.ingest.media import WIDTH
from bagwise.ingest.pictures.decoding import upright
from bagwise.ingest.pretrained.batches import Batch, ReadBatches, batch_size
from bagwise.ingest.pretrained.runtimes import Model
from bagwise.kernels import Array

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
"""Mean and deviation of red, green and blue, from 0 to 1, that most models are trained with."""
SIDE = 224


@dataclass(frozen=True)
class _Pictures:
    """Values from 0 to 1, less `mean`, divided by `deviation`; `side` where the model takes any size."""

    side: int = SIDE
    mean: tuple[float, float, float] = IMAGENET[0]
    deviation: tuple[float, float, float] = IMAGENET[1]

    @property
    def medium(self) -> str:
        """The name of the medium."""
        return "picture"

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that a person may give: none."""
        return ()

    def split(self, places: Array, rows: int, columns: int) -> Array:
        """Return the places of cells, row by row.

        Parameters
        ----------
        places : ndarray of shape (n, 4)
            Boxes: x, y, width and height.
        rows, columns : int
            The cells of a box.

        Returns
        -------
        ndarray of shape (n * rows * columns, 4)
        """
        x, y, width, height = (column[:, None, None] for column in places.T)
        found = np.empty((len(places), rows, columns, WIDTH))
        found[..., 0], found[..., 2] = x + width * np.arange(columns) / columns, width / columns
        found[..., 1], found[..., 3] = y + height * np.arange(rows)[:, None] / rows, height / rows
        return found.reshape(-1, WIDTH)

    def describe(self) -> dict[str, Any]:
        """Return what is declared, as plain values.

        Returns
        -------
        dict of str to any
        """
        mean, deviation = (", ".join(f"{one:.3f}" for one in values) for values in (self.mean, self.deviation))
        return {"pixels": self.side, "normalisation": f"mean {mean}; deviation {deviation}"}

    def _values(self, images: list[Any], channels_first: bool) -> Array:
        pixels = np.stack([np.asarray(image, np.float32) for image in images]) / 255
        values = ((pixels - np.array(self.mean)) / np.array(self.deviation)).astype(np.float32)
        return np.ascontiguousarray(values.transpose(0, 3, 1, 2)) if channels_first else values


@dataclass(frozen=True)
class Regions(_Pictures):
    """The regions that the segmenter finds, each by its box.

    Parameters
    ----------
    side : int
        Pixels on each side, where the model takes any size.
    mean, deviation : tuple of float
        Of red, green and blue, from 0 to 1.

    Examples
    --------
    >>> Regions().split(np.array([[0.0, 0.0, 40.0, 20.0]]), 1, 2).tolist()
    [[0.0, 0.0, 20.0, 20.0], [20.0, 0.0, 20.0, 20.0]]
    """

    def configured(self, options: Mapping[str, str]) -> "Regions":  # noqa: ARG002 (there are none)
        """Return the same: there are no options.

        Parameters
        ----------
        options : mapping of str to str
            Those of the preset.

        Returns
        -------
        Regions
        """
        return self

    def reader(self, weights: Path, model: Model, segmenter: Any) -> ReadBatches:
        """Return the function that reads the batches of a picture.

        Parameters
        ----------
        weights : Path
            The file of the model, named in errors.
        model : Model
            Its first input is (batch, 3, height, width) or (batch, height, width, 3).
        segmenter : module
            Its places are the regions.

        Returns
        -------
        callable

        Raises
        ------
        FileError
            If the model takes no pictures.
        """
        height, width, channels_first = size_of_input(weights, model)
        size = (width or self.side, height or self.side)

        def batches(path: Path) -> Iterator[Batch]:
            places, image, count = segmenter.segment(path).places, upright(path), batch_size(model)
            for first in range(0, len(places), count):
                boxes = places[first : first + count]
                crops = [image.resize(size, box=(x, y, x + w, y + h)) for x, y, w, h in boxes]
                yield Batch({model.inputs[0].name: self._values(crops, channels_first)}, boxes)

        return batches


@dataclass(frozen=True)
class Patches(_Pictures):
    """The whole picture in its own proportions; the patches that the model divides it into are the instances.

    Parameters
    ----------
    side : int
        Pixels of the longer side, where the model takes any size.
    mean, deviation : tuple of float
        Of red, green and blue, from 0 to 1.
    patch : int
        Pixels on each side of a patch.

    Examples
    --------
    >>> Patches(side=224, patch=16).size(640, 320)
    (224, 112)
    """

    patch: int = 16

    def configured(self, options: Mapping[str, str]) -> "Patches":  # noqa: ARG002 (there are none)
        """Return the same: there are no options.

        Parameters
        ----------
        options : mapping of str to str
            Those of the preset.

        Returns
        -------
        Patches
        """
        return self

    def size(self, width: int, height: int) -> tuple[int, int]:
        """Return the width and height that a picture is resized to: whole patches, the longer side of `side` pixels.

        Parameters
        ----------
        width, height : int
            Of the picture.

        Returns
        -------
        width, height : int
        """
        scale = self.side / max(width, height) / self.patch
        return max(1, round(width * scale)) * self.patch, max(1, round(height * scale)) * self.patch

    def reader(self, weights: Path, model: Model, segmenter: Any) -> ReadBatches:  # noqa: ARG002 (patches instead)
        """Return the function that reads a picture as one batch.

        Parameters
        ----------
        weights : Path
            The file of the model, named in errors.
        model : Model
            Its first input is (batch, 3, height, width) or (batch, height, width, 3).
        segmenter : any
            Not used: the patches are the instances.

        Returns
        -------
        callable

        Raises
        ------
        FileError
            If the model takes no pictures.
        """
        fixed_height, fixed_width, channels_first = size_of_input(weights, model)

        def batches(path: Path) -> Iterator[Batch]:
            image = upright(path)
            width, height = self.size(*image.size)
            width, height = fixed_width or width, fixed_height or height
            values = self._values([image.resize((width, height))], channels_first)
            places = np.array([[0.0, 0.0, *image.size]])
            yield Batch({model.inputs[0].name: values}, places, grid=(height // self.patch, width // self.patch))

        return batches


def size_of_input(weights: Path, model: Model) -> tuple[int | None, int | None, bool]:
    """Return height and width that a model takes, None for any, and whether channels come before them.

    Parameters
    ----------
    weights : Path
        The file of the model, named in errors.
    model : Model
        The model.

    Returns
    -------
    height, width : int or None
    channels_first : bool

    Raises
    ------
    FileError
        If it takes no pictures.
    """
    shape = model.inputs[0].shape
    if len(shape) != 4 or (3 not in (shape[1], shape[3]) and shape[1] is not None):
        raise FileError(weights, f"takes {list(shape)}, which is not a picture.")
    channels_first = shape[3] != 3
    height, width = shape[2:] if channels_first else shape[1:3]
    return height, width, channels_first
