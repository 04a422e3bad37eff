"""How far the file of a bag extends, as a place that covers all of it."""

from pathlib import Path

from bagwise.core.errors import BagwiseError
from bagwise.ingest import media
from bagwise.ingest.pictures.decoding import size_of
from bagwise.ingest.sound.decoding import sound_info


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
            info = sound_info(path)
            return {"start": 0.0, "end": info.seconds, "low": 0.0, "high": info.rate / 2}
        if renderer == "picture":
            width, height = size_of(path)
            return {"x": 0.0, "y": 0.0, "width": float(width), "height": float(height)}
        return {"first": 0.0, "last": len(path.read_text(encoding="utf-8")) - 1.0}
    except (BagwiseError, OSError, ValueError):
        return {}
