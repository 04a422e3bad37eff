"""Features of the regions of a picture: colour, texture, edges, shape and position, computed in one pass.

L a b               mean and standard deviation in CIELAB, and the mean less that of the whole picture
pattern R.K         uniform local binary patterns with 8 neighbours at radius R: share of pixels with pattern K
edge K              gradients by their direction in eighths of half a turn, weighted by strength, summing to 1
strength            mean strength of the gradient
x y                 centre; width, height, area, and how much of its box it fills
"""

import numpy as np

from bagwise.ingest.pictures.decoding import Picture
from bagwise.ingest.types import Segments, import_optional
from bagwise.kernels import Array

NEIGHBOURS, RADII, DIRECTIONS = 8, (1, 2), 8
PATTERNS = NEIGHBOURS + 2
COLOURS = ("L", "a", "b")
FEATURES = (
    *(f"{name} {what}" for what in ("mean", "deviation", "contrast") for name in COLOURS),
    *(f"pattern {radius}.{kind}" for radius in RADII for kind in range(PATTERNS)),
    *(f"edge {kind}" for kind in range(DIRECTIONS)),
    *("strength", "x", "y", "width", "height", "area", "filled"),
)


def region_segments(picture: Picture, labels: Array) -> Segments:
    """Return the features and boxes of the regions that `labels` (height x width) numbers from 0 without a gap."""
    count = int(labels.max()) + 1
    boxes = _boxes(labels, count)
    flat = labels.ravel()
    size = np.bincount(flat, minlength=count).astype(float)
    parts = [_colour(picture.pixels, flat, size), *_texture(picture.pixels, flat, size)]
    features = np.hstack([*parts, _shape(labels, boxes, size)])
    across, down = picture.scale
    places = boxes * [across, down, across, down]
    return Segments(features.astype(np.float32), places)


def _boxes(labels: Array, count: int) -> Array:
    """x, y, width, height."""
    rows, columns = (axis.ravel() for axis in np.indices(labels.shape))
    low, high = np.full((2, count), np.iinfo(np.int64).max), np.full((2, count), -1)
    for axis, values in enumerate((columns, rows)):
        np.minimum.at(low[axis], labels.ravel(), values)
        np.maximum.at(high[axis], labels.ravel(), values)
    return np.vstack([low, high - low + 1]).T.astype(float)


def _colour(pixels: Array, flat: Array, size: Array) -> Array:
    lab = import_optional("skimage.color", "image").rgb2lab(pixels).reshape(-1, 3)
    mean = _means(lab, flat, size)
    spread = np.sqrt(np.maximum(_means(lab**2, flat, size) - mean**2, 0))
    return np.hstack([mean, spread, mean - lab.mean(axis=0)]) / 100


def _texture(pixels: Array, flat: Array, size: Array) -> list[Array]:
    feature = import_optional("skimage.feature", "image")
    grey = pixels @ np.array([0.299, 0.587, 0.114])
    found = []
    for radius in RADII:
        patterns = feature.local_binary_pattern((255 * grey).astype(np.uint8), NEIGHBOURS, radius, "uniform")
        found.append(_shares(patterns.ravel().astype(np.int64), PATTERNS, flat, np.ones(len(flat)), size))
    down, across = (np.gradient(grey, axis=axis) if grey.shape[axis] > 1 else np.zeros_like(grey) for axis in (0, 1))
    strength = np.hypot(across, down).ravel()
    turn = (np.arctan2(down, across).ravel() % np.pi) / np.pi
    total = np.bincount(flat, strength, minlength=len(size))
    kinds = (turn * DIRECTIONS).astype(np.int64) % DIRECTIONS
    found.append(_shares(kinds, DIRECTIONS, flat, strength, np.maximum(total, 1e-9)))
    return [*found, (total / size)[:, None]]


def _shape(labels: Array, boxes: Array, size: Array) -> Array:
    height, width = labels.shape
    rows, columns = (axis.ravel() for axis in np.indices(labels.shape))
    centre = _means(np.column_stack([(columns + 0.5) / width, (rows + 0.5) / height]), labels.ravel(), size)
    across, down = boxes[:, 2:3] / width, boxes[:, 3:4] / height
    area = size[:, None] / labels.size
    return np.hstack([centre, across, down, area, size[:, None] / (boxes[:, 2:3] * boxes[:, 3:4])])


def _means(values: Array, flat: Array, size: Array) -> Array:
    return np.column_stack([np.bincount(flat, column, minlength=len(size)) / size for column in values.T])


def _shares(kinds: Array, most: int, flat: Array, weights: Array, total: Array) -> Array:
    counts = np.bincount(flat * most + kinds, weights, minlength=len(total) * most)
    return counts.reshape(len(total), most) / total[:, None]
