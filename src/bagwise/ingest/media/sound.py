"""Sound: an instance is a span of time in seconds and, where it is known, a band of frequencies in Hz."""

from bagwise.ingest.media._types import Type
from bagwise.kernels import Array

DESCRIPTION = "sound (WAV, FLAC, Ogg, MP3, M4A)"
OGG = rb"OggS"
TYPES = {
    ".wav": Type("audio/wav", rb"RIFF.{4}WAVE"),
    ".flac": Type("audio/flac", rb"fLaC|ID3"),
    ".ogg": Type("audio/ogg", OGG),
    ".oga": Type("audio/ogg", OGG),
    ".opus": Type("audio/ogg", OGG),
    ".mp3": Type("audio/mpeg", rb"ID3|\xff[\xe0-\xff]"),
    ".m4a": Type("audio/mp4", rb".{4}ftyp"),
}
PLACE = ("start", "end")
OPTIONAL = ("low", "high")
ALIASES = ("audio",)
BAG = "recording"
RENDERER = "sound"
SEGMENTER = "sound_regions"
RULE = "start must not be negative, end must be later than start, and high above low."


def misplaced(places: Array) -> Array:
    """Return which spans are empty or begin before the recording."""
    start, end, low, high = places.T
    # A comparison with an unknown frequency is false: that is valid.
    found: Array = (start < 0) | (end <= start) | (low < 0) | (high <= low)
    return found
