"""Which segmenter suits the files of a folder, where none is chosen."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bagwise.core.errors import FileError
from bagwise.ingest import media
from bagwise.ingest.sound.decoding import sound_info

ULTRASOUND_RATE = 128_000
"""Samples per second from which a recording is taken for one of ultrasound."""

LOOKED_AT = 64
"""Files, evenly spread, whose headers are read."""


@dataclass(frozen=True)
class Recommendation:
    """The segmenter to use where none is chosen.

    Parameters
    ----------
    segmenter : str
        Its name.
    reason : str
        Why it is not the usual one, or does not suit all files, for people to read; else empty.

    Examples
    --------
    >>> Recommendation("superpixels").reason
    ''
    """

    segmenter: str
    reason: str = ""


def recommend(medium: str, paths: Sequence[Path]) -> Recommendation:
    """Return the segmenter that suits files: that of the medium, or one for ultrasound where most recordings have it.

    Parameters
    ----------
    medium : str
        The name of the medium of all files.
    paths : sequence of Path
        The files; the headers of at most 64 are read.

    Returns
    -------
    Recommendation

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import soundfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bats = Path(folder) / "bats.wav"
    ...     soundfile.write(bats, np.zeros(1000), 256_000)
    ...     recommend("sound", [bats]).segmenter
    'ultrasound_regions'
    """
    usual = str(media.available()[medium].SEGMENTER)
    if medium != "sound":
        return Recommendation(usual)
    step = max(1, -(-len(paths) // LOOKED_AT))
    rates = [rate for path in paths[::step] if (rate := _rate(path))]
    high = [rate for rate in rates if rate >= ULTRASOUND_RATE]
    if not high:
        return Recommendation(usual)
    often = max(sorted(set(high)), key=high.count)
    if 2 * len(high) <= len(rates):
        return Recommendation(
            usual,
            f"Some recordings have a sample rate for bats, such as {often / 1000:g} kHz: `{usual}` looks only at what "
            "people hear. Make a project of their own of them: `--cut ultrasound_regions` looks at all frequencies.",
        )
    some = "All" if len(high) == len(rates) else "Most"
    return Recommendation(
        "ultrasound_regions",
        f"{some} recordings have a sample rate for bats, such as {often / 1000:g} kHz: they are segmented by "
        f"`ultrasound_regions`, up to {often / 2000:g} kHz. `--cut {usual}` looks at what people hear.",
    )


def _rate(path: Path) -> int:
    try:
        return sound_info(path).rate
    except FileError:
        return 0
