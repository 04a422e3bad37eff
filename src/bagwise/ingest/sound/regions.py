"""The regions of a recording, with their places and features; of ultrasound, as if it were played more slowly.

Spectrograms, noise and regions are measured at 32 kHz, for sounds that a person can hear. Ultrasound is segmented as
what it becomes when it is played `slower` times slower, which is how bats are made audible: with 16, a call of 5 ms
from 80 to 40 kHz is one of 80 ms from 5 to 2.5 kHz. Places, and the features that are frequencies and durations, are
those of the recording.
"""

from pathlib import Path

import numpy as np

from bagwise.ingest.sound import region_features as features
from bagwise.ingest.sound.contrast import contrast
from bagwise.ingest.sound.recordings import AHEAD, LOWEST_RATE, RATE, STRETCH, Stretch, stretches
from bagwise.ingest.sound.segmentation import Region, everything, regions
from bagwise.ingest.sound.spectrograms import HERTZ, SECONDS, power
from bagwise.ingest.types import Segments
from bagwise.kernels import Array

FEATURES = (*features.BRIGGS, *features.mel_names(features.BANDS))
FREQUENCIES = [FEATURES.index(name) for name in ("lowest frequency", "highest frequency", "bandwidth")]
DURATION = FEATURES.index("duration")


def recording_regions(path: Path, slower: int = 1) -> Segments:
    """Return all regions of a recording, earliest first; one that is all of it where there is none."""
    rows, places = list[Array](), list[tuple[float, ...]]()
    first, end = None, 0.0
    for stretch in stretches(path, RATE * slower, -(-STRETCH // slower), -(-AHEAD // slower), LOWEST_RATE * slower):
        above = contrast(power(stretch.samples), stretch.top / slower)
        found = regions(above)
        rows += [_features(region, above, slower) for region in found]
        places += [_place(region, stretch, slower) for region in found]
        first, end = above if first is None else first, stretch.end
    if not rows:
        assert first is not None
        rows, places = [_features(everything(first), first, slower)], [(0.0, end, np.nan, np.nan)]
    return Segments(np.array(rows, np.float32), np.array(places))


def _features(region: Region, above: Array, slower: int) -> Array:
    found = np.concatenate([features.briggs(region, above), features.mel_spectrum(region, above)])
    found[FREQUENCIES] *= slower
    found[DURATION] /= slower
    return found


def _place(region: Region, stretch: Stretch, slower: int) -> tuple[float, ...]:
    """Return start, end, low and high; a cell extends half its size to each side of its centre."""
    start, end = ((edge - 0.5) * SECONDS / slower for edge in (region.columns.start, region.columns.stop))
    low, high = ((edge - 0.5) * HERTZ * slower for edge in (region.rows.start, region.rows.stop))
    seconds = stretch.seconds
    return stretch.start + max(start, 0), stretch.start + min(end, seconds), max(low, 0), min(high, stretch.top)
