"""Sound: an instance is a span of time in seconds and, where it is known, a band of frequencies in Hz."""

from bagwise.ingest.media._types import Type
from bagwise.kernels import Array

DESCRIPTION = "sound (WAV, AIFF, FLAC, Ogg, Opus, MP3, M4A, AAC, WMA)"
OGG = rb"OggS"
WAV = rb"(RIFF|RF64|BW64).{4}WAVE|riff\x2e\x91\xcf\x11"
AIFF = rb"FORM.{4}AIF[FC]"
TYPES = {
    ".wav": Type("audio/wav", WAV),
    ".wave": Type("audio/wav", WAV),
    ".w64": Type("audio/wav", WAV),
    ".rf64": Type("audio/wav", WAV),
    ".aif": Type("audio/aiff", AIFF),
    ".aiff": Type("audio/aiff", AIFF),
    ".aifc": Type("audio/aiff", AIFF),
    ".flac": Type("audio/flac", rb"fLaC|ID3"),
    ".ogg": Type("audio/ogg", OGG),
    ".oga": Type("audio/ogg", OGG),
    ".opus": Type("audio/ogg", OGG),
    ".mp3": Type("audio/mpeg", rb"ID3|\xff[\xe0-\xff]"),
    ".m4a": Type("audio/mp4", rb".{4}ftyp"),
    ".aac": Type("audio/aac", rb"\xff[\xf0\xf1\xf8\xf9]"),
    ".wma": Type("audio/x-ms-wma", rb"\x30\x26\xb2\x75\x8e\x66\xcf\x11"),
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
