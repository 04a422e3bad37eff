"""A grid: adjacent squares, for pictures in which everything has about the same size."""

from pathlib import Path

import numpy as np

from bagwise.ingest.pictures import region_features as regions
from bagwise.ingest.pictures.decoding import open_picture
from bagwise.ingest.types import Segments
from bagwise.kernels import Array

MEDIUM = "picture"
DESCRIPTION = "pictures into squares, eight along the longer side"
FEATURES = regions.FEATURES
SQUARES_ALONG_LONGER_SIDE = 8


def segment(path: Path) -> Segments:
    """Return the squares of one picture."""
    picture = open_picture(path)
    return regions.region_segments(picture, squares(*picture.pixels.shape[:2]))


def squares(height: int, width: int) -> Array:
    """Return the number of the square that each pixel is in, (height, width)."""
    side = max(height, width) / SQUARES_ALONG_LONGER_SIDE
    down, across = (max(1, min(round(length / side), length)) for length in (height, width))
    row = np.arange(height) * down // height
    column = np.arange(width) * across // width
    return row[:, None] * across + column
