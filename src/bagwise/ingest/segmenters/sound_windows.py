"""Sound by windows: overlapping spans of equal length, whatever is in them, with their log-mel spectrum.

Band by band, in dB: mean and deviation over the time of the window. The last window ends where the recording ends; one
that is shorter than a window is one instance. No window crosses the border of two stretches of a long recording (30 s).
"""

from math import ceil
from pathlib import Path

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.ingest.sound.recordings import STRETCH, Stretch, stretches
from bagwise.ingest.sound.region_features import mel_names, over_time
from bagwise.ingest.sound.spectrograms import SECONDS, mel_bands, power
from bagwise.ingest.types import Segments
from bagwise.kernels import Array

MEDIUM = "sound"
DESCRIPTION = "overlapping windows of equal length"
BANDS = 40
FEATURES = mel_names(BANDS)
LENGTH, OVERLAP = 3.0, 0.5
SHORTEST, SILENCE = 0.1, 1e-10


def segment(path: Path, seconds: float = LENGTH, overlap: float = OVERLAP) -> Segments:
    """Return the windows of a recording.

    Parameters
    ----------
    path : Path
        The recording.
    seconds : float
        The length of a window.
    overlap : float
        The share of a window that overlaps the next one; from 0, less than 1.
    """
    if not (SHORTEST <= seconds <= STRETCH and 0 <= overlap < 1):
        raise BagwiseError(
            f"Windows must be {SHORTEST} to {STRETCH} seconds long, with an overlap from 0 to less than 1."
        )
    rows, places = list[Array](), list[tuple[float, ...]]()
    for stretch in stretches(path):
        bands = _log_mel(stretch)
        for start, end in _windows(stretch.seconds, seconds, overlap):
            inside = bands[:, round(start / SECONDS) : max(round(start / SECONDS) + 1, round(end / SECONDS))]
            rows.append(over_time(inside))
            places.append((stretch.start + start, stretch.start + end, np.nan, np.nan))
    return Segments(np.array(rows, np.float32), np.array(places))


def _log_mel(stretch: Stretch) -> Array:
    bands: Array = 10 * np.log10(mel_bands(BANDS) @ power(stretch.samples) + SILENCE)
    return bands


def _windows(total: float, seconds: float, overlap: float) -> list[tuple[float, float]]:
    last = max(total - seconds, 0.0)
    step = seconds * (1 - overlap)
    starts = [min(number * step, last) for number in range(ceil(last / step) + 1)]
    return [(start, min(start + seconds, total)) for start in starts]
