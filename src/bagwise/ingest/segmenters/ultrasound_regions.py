"""Ultrasound by regions, for bats: as `sound_regions`, but of the recording played 16 times slower.

All frequencies up to half the sample rate are seen, at most 256 kHz. A cell of the spectrogram is 500 Hz by 0.5 ms, so
that the calls of a bat are one instance each; what follows within 7.5 ms in one band, as the calls of a feeding buzz,
is one instance. A sound across the border of two stretches of a long recording (every 2 s) becomes two instances.
"""

from pathlib import Path

from bagwise.ingest.sound import regions
from bagwise.ingest.types import Segments

MEDIUM = "sound"
DESCRIPTION = "regions of the spectrogram up to 256 kHz, for bats"
FEATURES = regions.FEATURES
SLOWER = 16


def segment(path: Path) -> Segments:
    """Return all regions of a recording, earliest first."""
    return regions.recording_regions(path, SLOWER)
