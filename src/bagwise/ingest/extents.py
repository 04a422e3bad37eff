"""How far the file of a bag extends, as a place that covers all of it."""

import contextlib
import wave
from pathlib import Path

from bagwise.core.errors import BagwiseError
from bagwise.ingest import media
from bagwise.ingest.pictures.decoding import size_of
from bagwise.ingest.types import import_optional


def extent_of(medium: str, path: Path) -> dict[str, float]:
    """Return the place of a whole file; empty where it cannot be told.

    Parameters
    ----------
    medium : str
        The name of its medium.
    path : Path
        The file. Only its beginning is read, or all of a text.

    Returns
    -------
    dict of str to float
        `start`, `end`, `low` and `high` of sound, up to half its sample rate; `x`, `y`, `width` and `height` of a
        picture; `first` and `last` of a text.
    """
    renderer = media.renderer_of(medium)
    try:
        if renderer == "sound":
            seconds, rate = _length(path)
            return {"start": 0.0, "end": seconds, "low": 0.0, "high": rate / 2}
        if renderer == "picture":
            width, height = size_of(path)
            return {"x": 0.0, "y": 0.0, "width": float(width), "height": float(height)}
        return {"first": 0.0, "last": len(path.read_text(encoding="utf-8")) - 1.0}
    except (BagwiseError, OSError, ValueError):
        return {}


def _length(path: Path) -> tuple[float, float]:
    """The seconds of a recording, and its sample rate."""
    with contextlib.suppress(wave.Error, EOFError, OSError), wave.open(str(path), "rb") as plain:
        return plain.getnframes() / plain.getframerate(), plain.getframerate()
    soundfile = import_optional("soundfile", "audio")
    try:
        found = soundfile.info(path)
    except soundfile.SoundFileError as error:
        raise ValueError(str(error)) from error
    return found.frames / found.samplerate, found.samplerate
