"""Sound by regions: every connected region of the spectrogram above the noise is an instance, with its time and band.

After Briggs et al. 2012; `ingest.sound.segmentation` finds the regions and `ingest.sound.region_features` computes
their features. A recording without a region is one instance without a band, with the features of its first stretch, so
that no bag is empty. A sound across the border of two stretches of a long recording (every 30 s) becomes two instances.
Recordings are resampled to 32 kHz: what is above 16 kHz is not seen; `ultrasound_regions` sees it.
"""

from pathlib import Path

from bagwise.ingest.sound import regions
from bagwise.ingest.types import Segments

MEDIUM = "sound"
DESCRIPTION = "regions of the spectrogram above the noise (Briggs et al. 2012)"
FEATURES = regions.FEATURES


def segment(path: Path) -> Segments:
    """Return all regions of a recording, earliest first."""
    return regions.recording_regions(path)
