"""Writing sound: WAV files that every reader of recordings understands."""

from pathlib import Path

from bagwise.ingest.types import import_optional
from bagwise.kernels import Array


def write_sound(path: Path, samples: Array, rate: int) -> None:
    """Write one channel as a WAV file of 32-bit floats, which loses nothing."""
    import_optional("soundfile", "audio").write(path, samples, rate, format="WAV", subtype="FLOAT")
