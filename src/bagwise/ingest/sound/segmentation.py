"""Regions of a spectrogram above the noise, after Briggs et al. 2012, without a trained segmenter.

1. Cells whose contrast is above LOW and that are connected with one above HIGH are a piece (hysteresis). Cells
   masked by a much louder sound nearby are left out. A piece that is too large holds several sounds: it is split at a
   higher threshold.
2. Pieces that follow each other in one band are one region, as the notes of a trill, and so are those that begin and
   end together, as the overtones of a voice.
3. Regions that are small or nowhere loud are noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import ndimage
from scipy.sparse.csgraph import connected_components

from bagwise.ingest.sound.spectrograms import HERTZ, SECONDS
from bagwise.kernels import Array

LOW, HIGH, LOUD = 5.0, 8.0, 10.0
HIGHER = 3.0
RANGE, MASKED = 18.0, (1000.0, 0.2)
LARGEST = (6000.0, 3.0)
"""Pairs are Hz and seconds; all other limits above are in dB."""

TAIL = 0.015
LEAST_PIECE, LEAST_AREA = 12, 40
SAME_BAND, NEXT = 0.5, 0.12
SAME_TIME, OVERTONE = 0.6, 2000.0
AROUND = np.ones((3, 3), bool)


@dataclass(frozen=True)
class Region:
    """Cells of a spectrogram: the rows and columns they span, and which of those belong to it."""

    rows: slice
    columns: slice
    mask: Array

    @property
    def box(self) -> tuple[slice, slice]:
        """The index of its rows and columns in the spectrogram."""
        return self.rows, self.columns

    def part(self, rows: slice, columns: slice, mask: Array) -> "Region":
        """Return a region within this one, given by its position in it."""
        return Region(_shifted(rows, self.rows.start), _shifted(columns, self.columns.start), mask)


def everything(power: Array) -> Region:
    """Return the whole spectrogram as one region."""
    rows, columns = power.shape
    return Region(slice(0, rows), slice(0, columns), np.ones(power.shape, bool))


def regions(above: Array) -> list[Region]:
    """Return all regions of a spectrogram, earliest first, given the contrast of its cells in dB."""
    pieces = [
        _trimmed(piece, above)
        for whole in _connected(_hysteresis(_unmasked(above)))
        for piece in _split(whole, above, LOW)
        if piece.mask.sum() >= LEAST_PIECE
    ]
    found = [_merged(group) for group in _groups(pieces)]
    kept = [region for region in found if region.mask.sum() >= LEAST_AREA and _loudest(region, above) >= LOUD]
    return sorted(kept, key=lambda region: (region.columns.start, region.rows.start))


def _loudest(region: Region, above: Array) -> float:
    return float(above[region.box][region.mask].max())


def _unmasked(above: Array) -> Array:
    """Return the contrast without cells much fainter than a near one: the echo or the skirt of a loud sound."""
    size = [round(extent / unit) | 1 for extent, unit in zip(MASKED, (HERTZ, SECONDS), strict=True)]
    found: Array = np.where(above > ndimage.maximum_filter(above, size) - RANGE, above, 0)
    return found


def _hysteresis(above: Array) -> Array:
    found: Array = ndimage.binary_propagation(above > HIGH, AROUND, above > LOW)
    return found


def _connected(mask: Array) -> list[Region]:
    """Return connected pieces; gaps of up to two cells are bridged."""
    labels, _ = ndimage.label(ndimage.maximum_filter(mask, AROUND.shape), AROUND)
    labels[~mask] = 0
    boxes = enumerate(ndimage.find_objects(labels), 1)
    return [Region(box[0], box[1], labels[box] == number) for number, box in boxes if box is not None]


def _split(region: Region, above: Array, low: float) -> list[Region]:
    """Return the region or, where it is too large, its parts above a higher threshold."""
    height, width = region.mask.shape
    inside = np.where(region.mask, above[region.box], 0)
    if (height * HERTZ <= LARGEST[0] and width * SECONDS <= LARGEST[1]) or inside.max() <= low + HIGHER:
        return [region]
    parts = [region.part(part.rows, part.columns, part.mask) for part in _connected(inside > low + HIGHER)]
    return [piece for part in parts for piece in _split(part, above, low + HIGHER)]


def _trimmed(region: Region, above: Array) -> Region:
    """Return the region without TAIL of the power at each of its four sides."""
    power = np.where(region.mask, 10 ** (above[region.box] / 10), 0)
    rows, columns = (_middle(power.sum(axis=axis)) for axis in (1, 0))
    return region.part(rows, columns, region.mask[rows, columns])


def _middle(profile: Array) -> slice:
    share = np.cumsum(profile, dtype=np.float64) / profile.sum(dtype=np.float64)
    first, last = np.searchsorted(share, [TAIL, 1 - TAIL])
    return slice(int(first), int(last) + 1)


def _groups(pieces: Sequence[Region]) -> list[list[Region]]:
    """Return the pieces grouped by call: notes of a trill, overtones of a voice."""
    band, between = _shared([piece.rows for piece in pieces])
    time, pause = _shared([piece.columns for piece in pieces])
    follow = (band >= SAME_BAND) & (pause * SECONDS <= NEXT)
    sound_together = (time >= SAME_TIME) & (between * HERTZ <= OVERTONE)
    count, group = connected_components(follow | sound_together, directed=False) if pieces else (0, np.zeros(0))
    return [[pieces[number] for number in np.flatnonzero(group == one).tolist()] for one in range(count)]


def _shared(spans: Sequence[slice]) -> tuple[Array, Array]:
    """Return the intersection over union of each two spans, and the gap between them."""
    first, last = np.array([(span.start, span.stop) for span in spans]).reshape(-1, 2).T
    common = np.minimum.outer(last, last) - np.maximum.outer(first, first)
    return common / (np.add.outer(last - first, last - first) - common), -common


def _merged(parts: Sequence[Region]) -> Region:
    rows = slice(min(part.rows.start for part in parts), max(part.rows.stop for part in parts))
    columns = slice(min(part.columns.start for part in parts), max(part.columns.stop for part in parts))
    mask = np.zeros((rows.stop - rows.start, columns.stop - columns.start), bool)
    for part in parts:
        mask[_shifted(part.rows, -rows.start), _shifted(part.columns, -columns.start)] |= part.mask
    return Region(rows, columns, mask)


def _shifted(span: slice, by: int) -> slice:
    return slice(span.start + by, span.stop + by)
