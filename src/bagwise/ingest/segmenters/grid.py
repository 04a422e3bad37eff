"""A grid: squares side by side, for pictures in which everything is of about the same size."""

from pathlib import Path

import numpy as np

from bagwise.ingest.pictures import region_features as regions
from bagwise.ingest.pictures.decoding import open_picture
from bagwise.ingest.types import Segments
from bagwise.kernels import Array

MEDIUM = "picture"
DESCRIPTION = "pictures into squares, eight along the longer side"
FEATURES = regions.FEATURES
ALONG = 8


def segment(path: Path) -> Segments:
    """The squares of one picture."""
    picture = open_picture(path)
    return regions.region_segments(picture, squares(*picture.pixels.shape[:2]))


def squares(height: int, width: int) -> Array:
    """The number of the square that each pixel is in."""
    side = max(height, width) / ALONG
    down, across = (max(1, min(round(length / side), length)) for length in (height, width))
    row = np.arange(height) * down // height
    column = np.arange(width) * across // width
    return row[:, None] * across + column
