"""The contrast of a spectrogram: how far every cell is above the noise, in dB.

The noise of a cell is the sum of three estimates: the QUIET quantile of its row; the median of its column above that,
as when a drop of rain falls; and the median of its surroundings above both, as in a gust of wind.
"""

import numpy as np
from scipy import ndimage

from bagwise.ingest.sound.spectrograms import HERTZ, SECONDS
from bagwise.kernels import Array

QUIET = 0.3
SMOOTH = (1.0, 1.5)
COARSE = 16
SURROUNDINGS = (4000.0, 2.0)
"""Hz and seconds."""

LOWEST, HIGHEST = 150.0, 0.97
"""Hz, and the share of the highest frequency of a file: beyond are the hum of recorders and the slope of filters."""

FAINTEST, DARKEST = 1e-5, 1e-12


def noise_floor(power: Array) -> Array:
    """Return the noise of every row, at least FAINTEST of the median row: in an empty band everything would be loud."""
    rank = int(QUIET * power.shape[1])
    floor = np.partition(power, rank, axis=1)[:, rank]
    heard = floor[floor > DARKEST]
    usual = float(np.median(heard)) if len(heard) else 1.0
    found: Array = np.maximum(floor, max(FAINTEST * usual, DARKEST))
    return found


def contrast(power: Array, top: float) -> Array:
    """Return how far every cell is above the noise, in dB, at least 0; 0 above `top`, where the file has no sound."""
    smooth = ndimage.gaussian_filter(power, SMOOTH, truncate=2.5)
    level = 10 * np.log10(np.maximum(smooth / noise_floor(smooth)[:, None], 1e-3))
    heard = slice(int(LOWEST / HERTZ), int(HIGHEST * top / HERTZ))
    level[heard] -= np.maximum(np.median(level[heard], axis=0), 0)
    above: Array = np.zeros_like(level)
    above[heard] = np.maximum(level - np.maximum(_surroundings(level), 0), 0)[heard]
    return above


def _surroundings(level: Array) -> Array:
    """Return the median of the cells around each cell, on a coarse grid: it changes slowly."""
    padded = np.pad(level, [(0, -size % COARSE) for size in level.shape], mode="edge")
    rows, columns = (size // COARSE for size in padded.shape)
    coarse = padded.reshape(rows, COARSE, columns, COARSE).mean(axis=(1, 3))
    size = [round(extent / unit / COARSE) for extent, unit in zip(SURROUNDINGS, (HERTZ, SECONDS), strict=True)]
    usual = ndimage.median_filter(coarse, size, mode="nearest")
    fine = np.repeat(np.repeat(usual, COARSE, axis=0), COARSE, axis=1)
    return fine[: level.shape[0], : level.shape[1]]
