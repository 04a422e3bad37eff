"""Superpixels: neighbouring pixels of like colour grow together (SLIC), so that regions end where things do."""

from pathlib import Path

import numpy as np

from bagwise.ingest.pictures import region_features as regions
from bagwise.ingest.pictures.decoding import Picture, open_picture
from bagwise.ingest.types import Segments, needs
from bagwise.kernels import Array

MEDIUM = "picture"
DESCRIPTION = "pictures into about 60 regions of like colour (SLIC)"
FEATURES = regions.FEATURES
REGIONS = 60
SMALLEST = 8
"""Pixels on a side below which there is nothing to be told apart: the picture is one region."""
COARSE = 1.0
"""Pixels that an outline may be off."""


def segment(path: Path) -> Segments:
    """The regions of one picture with their outlines."""
    picture = open_picture(path)
    labels = _grown(picture.pixels)
    found = regions.region_segments(picture, labels)
    return Segments(found.features, found.places, _outlines(picture, labels))


def _grown(pixels: Array) -> Array:
    if min(pixels.shape[:2]) < SMALLEST:
        return np.zeros(pixels.shape[:2], np.int64)
    grown = needs("skimage.segmentation", "image").slic(pixels, REGIONS, compactness=15, sigma=1.5, start_label=0)
    return np.unique(grown, return_inverse=True)[1].reshape(grown.shape)


def _outlines(picture: Picture, labels: Array) -> list[Array]:
    """The corners of every region's longest outline, in pixels of the shown picture."""
    measure = needs("skimage.measure", "image")
    found = []
    for one in measure.regionprops(labels + 1):
        lines = measure.find_contours(np.pad(one.image, 1).astype(float), 0.5)
        corners = measure.approximate_polygon(max(lines, key=len), COARSE)[:, ::-1]
        top, left = one.bbox[:2]
        # Padding moved it by one, and a pixel's middle is half a pixel from its corner.
        inside = (corners + np.array([left, top]) - 0.5).clip(0, labels.shape[::-1])
        found.append(inside * picture.scale)
    return found
