"""Opening recordings: rate and length from the header, and any part of one without reading what comes before it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import FileError
from bagwise.ingest.types import import_optional
from bagwise.kernels import Array

LOUDEST = 1e6
UNREADABLE = "cannot be read as sound: it is damaged or in an unknown format. Convert it to FLAC, or leave it out."


@dataclass(frozen=True)
class SoundInfo:
    """What the header of a recording says: its length in seconds, samples per second, and channels."""

    seconds: float
    rate: int
    channels: int


class Sound:
    """An open recording, as one channel: the mean of all.

    Parameters
    ----------
    file : soundfile.SoundFile
        The open file.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self.rate: int = file.samplerate
        self.info = SoundInfo(file.frames / file.samplerate, file.samplerate, file.channels)

    def seek(self, seconds: float) -> None:
        """Continue at this time, at the latest at the end."""
        self._file.seek(min(round(seconds * self.rate), self._file.frames))

    def read(self, count: int) -> Array:
        """Return the next samples, float32: `count` of them, fewer at the end."""
        parts = [np.zeros(0, np.float32)]
        while count > 0:
            # A second at a time, to save memory where there are many channels.
            block = self._file.read(min(count, self.rate), dtype="float32", always_2d=True)
            if not len(block):
                break
            # Some programs write nan for missing samples, and 16-bit integers as floats without scaling.
            parts.append(np.nan_to_num(block, posinf=LOUDEST, neginf=-LOUDEST).clip(-LOUDEST, LOUDEST).mean(axis=1))
            count -= len(block)
        return np.concatenate(parts)

    def part(self, start: float, end: float) -> Array:
        """Return the samples from `start` to `end`, in seconds; what lies outside the recording is left out."""
        self.seek(max(start, 0.0))
        return self.read(round(end * self.rate) - round(max(start, 0.0) * self.rate))


@contextmanager
def open_sound(path: Path) -> Iterator[Sound]:
    """Open a recording; a file that is not one raises a FileError, also while it is read."""
    soundfile = import_optional("soundfile", "audio")
    try:
        with soundfile.SoundFile(path) as file:
            yield Sound(file)
    except (soundfile.SoundFileError, OSError) as error:
        raise FileError(path, UNREADABLE) from error


def sound_info(path: Path) -> SoundInfo:
    """Return what the header of a recording says."""
    with open_sound(path) as sound:
        return sound.info


def read_part(path: Path, start: float, end: float) -> tuple[Array, int]:
    """Return the samples from `start` to `end`, in seconds, and their rate; what lies outside the file is left out."""
    with open_sound(path) as sound:
        return sound.part(start, end), sound.rate
