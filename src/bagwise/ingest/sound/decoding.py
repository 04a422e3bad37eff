"""Opening recordings: rate and length, and any part of one without reading what comes before it.

libsndfile reads WAV (also over 4 GB), AIFF, FLAC, Ogg, Opus and MP3; PyAV reads M4A, AAC and WMA. A part is read as it
is in the whole. A recording that was cut off is used as far as it goes: `SoundInfo.seconds` is what
can be read, whatever the header announces, and `sound_remark` says so.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import FileError
from bagwise.ingest.sound.chunks import announced_frames, missing_header
from bagwise.ingest.sound.containers import ContainerError, ContainerFile
from bagwise.ingest.sound.mpeg import missing_length
from bagwise.ingest.sound.prefixed import PrefixedFile
from bagwise.ingest.types import import_optional
from bagwise.kernels import Array

LOUDEST = 1e6
UNREADABLE = "cannot be read as sound: it is damaged or in an unknown format. Convert it to FLAC, or leave it out."
HEADER_BYTES = 16

CONTAINERS = (b"ftyp", b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", b"\xff\xf0", b"\xff\xf1", b"\xff\xf8", b"\xff\xf9")
"""How files begin that PyAV reads: M4A (from the fifth byte on), WMA, raw AAC."""

WAV = (b"RIFF", b"RF64", b"BW64")
BEFORE = {"MP3": 8192, "OGG": 8192}
"""Samples that are decoded before a part where blocks overlap: at least two of the longest blocks."""

LAST_PAGE = {"OGG": 255 * 4096}
"""The most samples of the last page of a file: libsndfile counts wrongly after a jump into it, since its end is cut."""

PROBED, ENDLESS = ("FLAC", "MP3"), 1 << 40
"""Formats whose length libsndfile takes from the header; and what it says where the header does not know."""

LEAST_MISSING = 0.1
"""Seconds: what is less may be the padding of the last block."""


@dataclass(frozen=True)
class SoundInfo:
    """The length of a recording that can be read, in seconds, its samples per second, and its channels."""

    seconds: float
    rate: int
    channels: int


class Sound:
    """An open recording, as one channel: the mean of all.

    Parameters
    ----------
    file : soundfile.SoundFile or ContainerFile
        The open file.
    frames : int
        The samples of a channel that can be read.
    """

    def __init__(self, file: Any, frames: int) -> None:
        self._file, self._frames, self._position = file, frames, 0
        self.rate: int = file.samplerate
        self.info = SoundInfo(frames / file.samplerate, file.samplerate, file.channels)

    def seek(self, seconds: float) -> None:
        """Continue at this time, at the latest at the end."""
        kind, self._position = self._file.format, min(round(seconds * self.rate), self._frames)
        landing = min(self._position, self._frames - LAST_PAGE.get(kind, 0)) - BEFORE.get(kind, 0)
        self._file.seek(max(0, landing))
        for first in range(max(0, landing), self._position, self.rate):
            self._file.read(min(self.rate, self._position - first))

    def read(self, count: int) -> Array:
        """Return the next samples, float32: `count` of them, fewer at the end."""
        parts = [np.zeros(0, np.float32)]
        count = min(count, self._frames - self._position)
        while count > 0:
            # A second at a time, to save memory where there are many channels.
            block = self._file.read(min(count, self.rate), dtype="float32", always_2d=True)
            if not len(block):
                break
            # Some programs write nan for missing samples, and 16-bit integers as floats without scaling.
            parts.append(np.nan_to_num(block, posinf=LOUDEST, neginf=-LOUDEST).clip(-LOUDEST, LOUDEST).mean(axis=1))
            count, self._position = count - len(block), self._position + len(block)
        return np.concatenate(parts)

    def part(self, start: float, end: float) -> Array:
        """Return the samples from `start` to `end`, in seconds; what lies outside the recording is left out."""
        self.seek(max(start, 0.0))
        return self.read(round(end * self.rate) - round(max(start, 0.0) * self.rate))


@contextmanager
def open_sound(path: Path) -> Iterator[Sound]:
    """Open a recording; a file that is not one raises a FileError, also while it is read."""
    with _open_file(path) as file:
        yield Sound(file, _readable_frames(path, file))


def sound_info(path: Path) -> SoundInfo:
    """Return length, rate and channels of a recording; little of it is read."""
    with open_sound(path) as sound:
        return sound.info


def read_part(path: Path, start: float, end: float) -> tuple[Array, int]:
    """Return the samples from `start` to `end`, in seconds, and their rate; what lies outside the file is left out."""
    with open_sound(path) as sound:
        return sound.part(start, end), sound.rate


def sound_remark(path: Path) -> str:
    """Return what a person should know of a recording that is used: that it ends before its header says.

    Parameters
    ----------
    path : Path
        The recording.

    Returns
    -------
    str
        Empty where there is nothing to say, and where it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> import soundfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.wav"
    ...     soundfile.write(path, np.zeros(60 * 8000), 8000)
    ...     whole = sound_remark(path)
    ...     _ = path.write_bytes(path.read_bytes()[: 44 + 31 * 8000 * 2])
    ...     whole, sound_remark(path)
    ('', 'ends after 31 of 60 seconds: used as far as it goes')
    """
    try:
        with _open_file(path) as file:
            frames, rate = _readable_frames(path, file), file.samplerate
            announced = _announced_frames(path, file)
    except FileError:
        return ""
    if announced is None or announced - frames < LEAST_MISSING * rate:
        return ""
    return f"ends after {_of(frames / rate, announced / rate)}: used as far as it goes"


def _of(seconds: float, of_seconds: float) -> str:
    unit, size = ("minutes", 60.0) if of_seconds >= 120 else ("seconds", 1.0)
    for digits in range(3):
        some, all_of = (f"{value / size:.{digits}f}" for value in (seconds, of_seconds))
        if some != all_of and float(some) > 0:
            break
    return f"{some} of {all_of} {unit}"


@contextmanager
def _open_file(path: Path) -> Iterator[Any]:
    soundfile = import_optional("soundfile", "audio")
    try:
        with path.open("rb") as file:
            head = file.read(HEADER_BYTES)
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror}.") from error
    if not head:
        raise FileError(path, "is empty.")
    try:
        if head.startswith(CONTAINERS) or head[4:].startswith(CONTAINERS[0]):
            with ContainerFile(path) as container:
                yield container
        else:
            prefix, start = missing_header(path) if head.startswith(WAV) else missing_length(path)
            with (
                PrefixedFile(path, prefix, start) if prefix else nullcontext(path) as source,
                soundfile.SoundFile(source) as file,
            ):
                yield file
    except (soundfile.SoundFileError, ContainerError, OSError) as error:
        raise FileError(path, UNREADABLE) from error


def _readable_frames(path: Path, file: Any) -> int:
    """Return how many samples can be read: all that the header announces, or what a bisection finds."""
    if file.format not in PROBED:
        return int(file.frames)
    status = path.stat()
    readable = _probed_frames(path, file.frames, file.samplerate, status.st_size, status.st_mtime_ns)
    if file.frames and not readable:
        raise FileError(path, UNREADABLE)
    return readable


@lru_cache(maxsize=1024)
def _probed_frames(path: Path, frames: int, rate: int, size: int, changed: int) -> int:  # noqa: ARG001 (a new content)
    if frames < ENDLESS and _reads_at(path, frames - 1):
        return frames
    low, high = 0, rate
    while high < frames and _reads_at(path, high - 1):
        low, high = high, 2 * high
    high = min(high, frames)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if _reads_at(path, middle) else (low, middle)
    return low


def _reads_at(path: Path, frame: int) -> bool:
    """Return whether there is a sample; in a file opened for it, since libsndfile cannot go on after an error."""
    if frame < 0:
        return True
    try:
        with _open_file(path) as file:
            file.seek(frame)
            return len(file.read(1)) == 1
    except FileError:
        return False


def _announced_frames(path: Path, file: Any) -> int | None:
    if isinstance(file, ContainerFile):
        return file.announced
    if file.format in PROBED:
        return file.frames if file.frames < ENDLESS else None
    return announced_frames(path)
