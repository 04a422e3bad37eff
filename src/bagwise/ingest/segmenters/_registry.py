"""Which ways of cutting there are, and which is taken for what."""

from functools import cache
from types import ModuleType

from bagwise.core.errors import BagwiseError
from bagwise.core.plugins import choose, discover
from bagwise.ingest import media

USUAL = {"picture": "superpixels", "sound": "sound_regions", "text": "paragraphs"}
ALSO_CALLED = {"audio": "sound", "image": "picture"}


@cache
def available() -> dict[str, ModuleType]:
    """Every way of cutting by name."""
    return discover("bagwise.ingest.segmenters", "bagwise.segmenters")


def medium_named(name: str) -> str:
    """The medium that somebody means."""
    medium = ALSO_CALLED.get(name, name)
    choose("medium", medium, media.available())
    return medium


def segmenter_for(medium: str, name: str | None) -> str:
    """The way called `name`, or the usual one of the medium."""
    ways = {one: way for one, way in available().items() if medium == way.MEDIUM}
    name = USUAL[medium] if name is None else name
    if name in available() and name not in ways:
        raise BagwiseError(f"{name} cuts {available()[name].MEDIUM}, not {medium}: choose one of {', '.join(ways)}.")
    choose("way of cutting", name, ways)
    return name
