"""Superpixels: neighbouring pixels of like colour grow together (SLIC), so that regions end where objects do."""

from pathlib import Path

import numpy as np

from bagwise.ingest.pictures import region_features as regions
from bagwise.ingest.pictures.decoding import Picture, open_picture
from bagwise.ingest.types import Segments, import_optional
from bagwise.kernels import Array

MEDIUM = "picture"
DESCRIPTION = "pictures into about 60 regions of like colour (SLIC)"
FEATURES = regions.FEATURES
REGIONS = 60
SMALLEST_SIDE = 8
"""Pixels on the shorter side below which a picture is one region."""
OUTLINE_TOLERANCE = 1.0
"""Pixels by which an outline may deviate."""


def segment(path: Path) -> Segments:
    """Return the regions of one picture with their outlines."""
    picture = open_picture(path)
    labels = _superpixels(picture.pixels)
    found = regions.region_segments(picture, labels)
    return Segments(found.features, found.places, _outlines(picture, labels))


def _superpixels(pixels: Array) -> Array:
    if min(pixels.shape[:2]) < SMALLEST_SIDE:
        return np.zeros(pixels.shape[:2], np.int64)
    labels = import_optional("skimage.segmentation", "image").slic(
        pixels, REGIONS, compactness=15, sigma=1.5, start_label=0
    )
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape)


def _outlines(picture: Picture, labels: Array) -> list[Array]:
    """Return the corners of every region's longest outline, in pixels of the shown picture."""
    measure = import_optional("skimage.measure", "image")
    found = []
    for one in measure.regionprops(labels + 1):
        lines = measure.find_contours(np.pad(one.image, 1).astype(float), 0.5)
        corners = measure.approximate_polygon(max(lines, key=len), OUTLINE_TOLERANCE)[:, ::-1]
        top, left = one.bbox[:2]
        # Padding shifts by one pixel, and the centre of a pixel is half a pixel from its corner.
        inside = (corners + np.array([left, top]) - 0.5).clip(0, labels.shape[::-1])
        found.append(inside * picture.scale)
    return found
