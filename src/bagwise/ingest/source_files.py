"""The raw files that bags come from: how long they are, and where and when they were recorded."""

from dataclasses import dataclass, field
from pathlib import Path

from bagwise.core.errors import BagwiseError
from bagwise.ingest import media
from bagwise.ingest.origins import Origin, origin_of
from bagwise.ingest.sound.decoding import sound_info


@dataclass(frozen=True)
class SourceFile:
    """A raw file that is a bag, or that several bags are clips of.

    Parameters
    ----------
    name : str
        Its path in the folder it was imported from, with `/` between.
    seconds : float, optional
        Its length, of sound.
    rate : int, optional
        Its samples per second, of sound.
    origin : Origin
        Where and when it was recorded.

    Examples
    --------
    >>> SourceFile("north/dawn.wav", 3600.0, 48_000, Origin(site="north")).origin.site
    'north'
    """

    name: str
    seconds: float | None = None
    rate: int | None = None
    origin: Origin = field(default_factory=Origin)


def source_file(name: str, path: Path, medium: str) -> SourceFile:
    """Return what the header and the name of a file say.

    Parameters
    ----------
    name : str
        Its path in the folder, with `/` between.
    path : Path
        The file.
    medium : str
        The name of its medium.

    Returns
    -------
    SourceFile

    Examples
    --------
    >>> source_file("north/20260524_040000.txt", Path("20260524_040000.txt"), "text").origin.recorded_at
    '2026-05-24T04:00:00'
    """
    origin = origin_of(path, name)
    if media.renderer_of(medium) != "sound":
        return SourceFile(name, origin=origin)
    try:
        info = sound_info(path)
    except BagwiseError:
        return SourceFile(name, origin=origin)
    return SourceFile(name, info.seconds, info.rate, origin)
