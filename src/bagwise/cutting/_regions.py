"""Regions of a spectrogram in which something sounds, in the manner of Briggs et al. 2012, without a trained segmenter.

1. Noise: the power of every row that a QUIET share of the moments stays under; `contrast` is how far above it a cell is,
   in dB, after smoothing. What the surroundings of a cell have more than that (a gust, a shower) is noise too.
2. Cells above LOW belong to a region if they touch one above HIGH (hysteresis).
3. Pieces are one region if a gap of at most GAP lies between them, as between the notes of a song.
4. A region that is too large holds several sounds: it is taken apart at a higher threshold.
5. What is smaller than LEAST_AREA or nowhere really loud is left out.
"""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from bagwise.cutting._spectrograms import HERTZ, SECONDS
from bagwise.kernels import Array

QUIET = 0.3
SMOOTH = (1.0, 1.5)
SURROUNDINGS = (1500.0, 1.6)
SURROUNDINGS_QUIET = 0.4
COARSE = (8, 8)
HIGH, LOW = 8.0, 4.5
LOUD = 10.0
GAP = (190.0, 0.09)
LEAST_AREA = 40
LARGEST = (6000.0, 3.0)
HIGHER = 3.0
LOWEST = 150.0
FAINTEST = 1e-5
TAIL = 0.02


@dataclass(frozen=True)
class Region:
    """Cells of a spectrogram: the rows and columns they span, and which of those belong to it."""

    rows: slice
    columns: slice
    mask: Array

    @property
    def box(self) -> tuple[slice, slice]:
        """What to take from the spectrogram."""
        return self.rows, self.columns


def noise_floor(power: Array) -> Array:
    """The noise in every row, never less than FAINTEST of what most rows have: in an empty band all would be loud."""
    floor = np.quantile(power, QUIET, axis=1)
    usual = np.median(floor[floor > 0]) if (floor > 0).any() else 1.0
    return np.maximum(floor, FAINTEST * usual).astype(np.float32)


def contrast(power: Array, top: float) -> Array:
    """How far every cell is above the noise, in dB, at least 0; 0 where the file holds no sound."""
    smooth = ndimage.gaussian_filter(power, SMOOTH, truncate=2.5)
    level = 10 * np.log10(np.maximum(smooth / noise_floor(smooth)[:, None], 1e-3))
    level -= np.maximum(np.median(level[:, :], axis=0), 0)
    above = np.maximum(level - np.maximum(_surroundings(level), 0), 0)
    above[: int(LOWEST / HERTZ)] = 0
    above[int(0.97 * top / HERTZ) :] = 0
    return above


def _surroundings(level: Array) -> Array:
    """What most cells around a cell stay under, looked at coarsely: it changes slowly."""
    rows, columns = level.shape
    coarse = level[: rows // COARSE[0] * COARSE[0], : columns // COARSE[1] * COARSE[1]]
    coarse = coarse.reshape(rows // COARSE[0], COARSE[0], -1, COARSE[1]).mean(axis=(1, 3))
    size = [
        max(1, round(2 * extent / unit / step))
        for extent, unit, step in zip(SURROUNDINGS, (HERTZ, SECONDS), COARSE, strict=True)
    ]
    quiet = ndimage.percentile_filter(coarse, 100 * SURROUNDINGS_QUIET, size=size, mode="nearest")
    quiet = ndimage.uniform_filter(quiet, 3, mode="nearest")
    full = np.repeat(np.repeat(quiet, COARSE[0], axis=0), COARSE[1], axis=1)
    return np.pad(full, [(0, rows - full.shape[0]), (0, columns - full.shape[1])], mode="edge")


def regions(above: Array) -> list[Region]:
    """All regions of a spectrogram, given by how far its cells are above the noise; earliest first."""
    found = []
    for region in _joined(_hysteresis(above, LOW, HIGH)):
        found += _apart(region, above, LOW)
    found = [_trimmed(region, above) for region in found]
    kept = [r for r in found if r.mask.sum() >= LEAST_AREA and above[r.box][r.mask].max() >= LOUD]
    return sorted(kept, key=lambda region: (region.columns.start, region.rows.start))


def _hysteresis(above: Array, low: float, high: float) -> Array:
    labels, count = ndimage.label(above > low, np.ones((3, 3)))
    touching = np.zeros(count + 1, bool)
    touching[labels[above > high]] = True
    touching[0] = False
    found: Array = touching[labels]
    return found


def _joined(mask: Array) -> list[Region]:
    """Connected pieces, where a gap does not count."""
    rows, columns = (round(extent / unit) for extent, unit in zip(GAP, (HERTZ, SECONDS), strict=True))
    near = ndimage.maximum_filter(mask, (rows | 1, columns | 1))
    labels, _ = ndimage.label(near, np.ones((3, 3)))
    labels[~mask] = 0
    return [
        Region(*box, labels[box] == number)
        for number, box in enumerate(ndimage.find_objects(labels), 1)
        if box is not None
    ]


def _apart(region: Region, above: Array, low: float) -> list[Region]:
    """The region, or its parts above a higher threshold where it is too large and has several."""
    height, width = region.mask.shape
    if height * HERTZ <= LARGEST[0] and width * SECONDS <= LARGEST[1]:
        return [region]
    higher = low + HIGHER
    inside = np.where(region.mask, above[region.box], 0)
    if inside.max() <= higher:
        return [region]
    parts = [
        Region(_shifted(part.rows, region.rows), _shifted(part.columns, region.columns), part.mask)
        for part in _joined(inside > higher)
    ]
    return [piece for part in parts for piece in _apart(part, above, higher)]


def _trimmed(region: Region, above: Array) -> Region:
    """Without the faint skirts of a loud sound: all but TAIL of the power is kept at each of the four sides."""
    power = np.where(region.mask, 10 ** (above[region.box] / 10) - 1, 0)
    rows, columns = (_middle(power.sum(axis=axis)) for axis in (1, 0))
    return Region(_shifted(rows, region.rows), _shifted(columns, region.columns), region.mask[rows, columns])


def _middle(profile: Array) -> slice:
    share = np.cumsum(profile) / profile.sum()
    first, last = np.searchsorted(share, [TAIL, 1 - TAIL])
    return slice(int(first), int(last) + 1)


def _shifted(inner: slice, outer: slice) -> slice:
    return slice(inner.start + outer.start, inner.stop + outer.start)
