"""Sound by regions: every connected region of the spectrogram above the noise is an instance, with its time and band.

After Briggs et al. 2012; `ingest.sound.segmentation` finds the regions and `ingest.sound.region_features` computes
their features. A recording without a region is one instance without a band, with the features of its first stretch, so
that no bag is empty. A sound across the border of two stretches of a long recording (every 30 s) becomes two instances.
"""

from pathlib import Path

import numpy as np

from bagwise.ingest.sound import region_features as features
from bagwise.ingest.sound.contrast import contrast
from bagwise.ingest.sound.recordings import Stretch, stretches
from bagwise.ingest.sound.segmentation import Region, everything, regions
from bagwise.ingest.sound.spectrograms import HERTZ, SECONDS, power
from bagwise.ingest.types import Segments
from bagwise.kernels import Array

MEDIUM = "sound"
DESCRIPTION = "regions of the spectrogram above the noise (Briggs et al. 2012)"
FEATURES = (*features.BRIGGS, *features.mel_names(features.BANDS))


def segment(path: Path) -> Segments:
    """Return all regions of a recording, earliest first."""
    rows, places = list[Array](), list[tuple[float, ...]]()
    first, end = None, 0.0
    for stretch in stretches(path):
        above = contrast(power(stretch.samples), stretch.top)
        found = regions(above)
        rows += [_features(region, above) for region in found]
        places += [_place(region, stretch) for region in found]
        first, end = above if first is None else first, stretch.end
    if not rows:
        assert first is not None
        rows, places = [_features(everything(first), first)], [(0.0, end, np.nan, np.nan)]
    return Segments(np.array(rows, np.float32), np.array(places))


def _features(region: Region, above: Array) -> Array:
    return np.concatenate([features.briggs(region, above), features.mel_spectrum(region, above)])


def _place(region: Region, stretch: Stretch) -> tuple[float, ...]:
    """Return start, end, low and high; a cell extends half its size to each side of its centre."""
    start, end = ((edge - 0.5) * SECONDS for edge in (region.columns.start, region.columns.stop))
    low, high = ((edge - 0.5) * HERTZ for edge in (region.rows.start, region.rows.stop))
    seconds = stretch.seconds
    return stretch.start + max(start, 0), stretch.start + min(end, seconds), max(low, 0), min(high, stretch.top)
