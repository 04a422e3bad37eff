"""Features of a region of a spectrogram: the 38 of Briggs et al. 2012 in the order of the data set `hja`, and its
log-mel spectrum.

With M the cells of the region, S their contrast (dB above the noise), and a profile the sums of S over M along one
axis, divided by their total (p, at places x between 0 and 1; of frequency: within the whole spectrogram, of time:
within the region):

    gini = 1 - sum p^2      mean = sum p x      variance, skewness, kurtosis = sum p (x - mean)^2, ^3, ^4
    max = x where p is largest
    perimeter = half of the cells with both cells in M and cells not in M in the 3 x 3 around them
    non-compactness = perimeter^2 / area      rectangularity = area / (rows * columns)
    gradient k = share of M, where S is not flat, whose gradient points into the k-th of 16 directions

The log-mel spectrum is the power over the noise, averaged over the rows of a mel band, in dB: mean and deviation over
time. Cells outside of M count as noise alone, so that two sounds at one time do not mix.
"""

import numpy as np
from scipy import ndimage

from bagwise.ingest.sound.segmentation import AROUND, Region
from bagwise.ingest.sound.spectrograms import HERTZ, ROWS, SECONDS, mel_bands
from bagwise.kernels import Array

DIRECTIONS = 16
FLAT = 0.5
BANDS = 16
PROFILES = tuple(
    f"{axis} {what}"
    for what in ("gini", "mean", "variance", "skewness", "kurtosis", "max")
    for axis in ("frequency", "time")
)
SHAPE = (
    "lowest frequency",
    "highest frequency",
    "bandwidth",
    "duration",
    "area",
    "perimeter",
    "non-compactness",
    "rectangularity",
)
BRIGGS = (*PROFILES, "mask mean", "mask deviation", *SHAPE, *(f"gradient {k}" for k in range(DIRECTIONS)))


def mel_names(bands: int) -> tuple[str, ...]:
    """Return the names of the statistics of mel bands."""
    return tuple(f"mel {band} {what}" for what in ("mean", "deviation") for band in range(bands))


def briggs(region: Region, above: Array) -> Array:
    """Return the 38 features, given the contrast of the whole spectrogram."""
    inside = np.where(region.mask, above[region.box], 0).astype(np.float64)
    values = inside[region.mask]
    frequencies = (region.rows.start + np.arange(len(inside))) / (ROWS - 1)
    times = np.arange(inside.shape[1]) / inside.shape[1]
    profiles = np.column_stack([profile(inside.sum(axis=1), frequencies), profile(inside.sum(axis=0), times)])
    loudness = [values.mean(), values.std()]
    return np.concatenate([profiles.ravel(), loudness, _shape(region), gradients(inside, region.mask)])


def profile(sums: Array, places: Array) -> Array:
    """Return gini, mean, variance, skewness, kurtosis and max; the profile of silence is uniform."""
    total = sums.sum()
    p = sums / total if total > 0 else np.full(len(sums), 1 / len(sums))
    mean = p @ places
    moments = [p @ (places - mean) ** power for power in (2, 3, 4)]
    return np.array([1 - p @ p, mean, *moments, places[p.argmax()]])


def _shape(region: Region) -> Array:
    rows, columns = region.mask.shape
    area, around = region.mask.sum(), perimeter(region.mask)
    low, high = region.rows.start * HERTZ, (region.rows.stop - 1) * HERTZ
    compact = [around**2 / area, area / (rows * columns)]
    return np.array([low, high, rows * HERTZ, columns * SECONDS, area, around, *compact])


def perimeter(mask: Array) -> float:
    """Return half of the number of cells that have cells both inside and outside of the mask around them."""
    padded = np.pad(mask, 1)
    border = ndimage.binary_dilation(padded, AROUND) & ~ndimage.binary_erosion(padded, AROUND)
    return float(border.sum()) / 2


def gradients(values: Array, mask: Array) -> Array:
    """Return the histogram of gradient directions."""
    up, right = (ndimage.sobel(values, axis, mode="nearest") / 8 for axis in (0, 1))
    steep = mask & (np.hypot(up, right) > FLAT)
    direction = np.floor((np.arctan2(up, right)[steep] / (2 * np.pi) % 1) * DIRECTIONS).astype(int) % DIRECTIONS
    return np.bincount(direction, minlength=DIRECTIONS) / max(1, len(direction))


def mel_spectrum(region: Region, above: Array) -> Array:
    """Return mean and deviation over time of every mel band, in dB above the noise."""
    ratio = np.where(region.mask, 10 ** (above[region.box] / 10), 1)
    return over_time(10 * np.log10(1 + mel_bands(BANDS)[:, region.rows] @ (ratio - 1)))


def over_time(bands: Array) -> Array:
    """Return the mean of every band, then the deviation of every band."""
    return np.concatenate([bands.mean(axis=1), bands.std(axis=1)])
