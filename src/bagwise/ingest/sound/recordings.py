"""Reading a recording, whatever its rate and length: one channel at one rate, a stretch at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import resample_poly

from bagwise.core.errors import FileError
from bagwise.ingest.types import needs
from bagwise.kernels import Array

RATE = 32_000
"""Samples per second of all that is cut: what is above 16 kHz is not heard."""

STRETCH, AHEAD = 30, 10
"""Seconds looked at together, and how many more must follow for them not to be the last ones."""

AROUND = 1
"""Seconds on both sides that are resampled with a stretch, so that it begins and ends as if nothing had been cut."""

SHORTEST = 0.05
LOWEST_RATE = 2000
LOUDEST = 1e6


@dataclass(frozen=True)
class Stretch:
    """A part of a recording: `start` in seconds, and `top`, the highest frequency that its file can hold."""

    samples: Array
    start: float
    top: float

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return len(self.samples) / RATE

    @property
    def end(self) -> float:
        """Where it ends in the recording."""
        return self.start + self.seconds


def stretches(path: Path) -> Iterator[Stretch]:
    """All of a recording, one stretch after the other: memory does not grow with its length."""
    soundfile = needs("soundfile", "audio")
    try:
        with soundfile.SoundFile(path) as file:
            yield from _stretches(path, file)
    except (soundfile.SoundFileError, OSError) as error:
        what = (
            "cannot be read as sound: it is damaged, or of a kind not known here. Convert it to FLAC, or leave it out."
        )
        raise FileError(path, what) from error


def _stretches(path: Path, file: Any) -> Iterator[Stretch]:
    rate: int = file.samplerate
    if rate < LOWEST_RATE:
        raise FileError(path, f"has {rate} samples per second: {LOWEST_RATE} are needed to hear anything.")
    held, before, start = np.zeros(0, np.float32), 0, 0
    while True:
        wanted = (before + STRETCH + AHEAD) * rate
        held = np.concatenate([held, _read(file, wanted - len(held))])
        if len(held) < wanted:
            break
        yield _resampled(held[: (before + STRETCH + AROUND) * rate], rate, before, start, STRETCH)
        held = held[(before + STRETCH - AROUND) * rate :]
        before, start = AROUND, start + STRETCH
    if len(held) < SHORTEST * rate:
        what = f"is shorter than {SHORTEST} seconds: leave it out." if len(held) else "holds no sound."
        raise FileError(path, what)
    yield _resampled(held, rate, before, start, None)


def _read(file: Any, count: int) -> Array:
    """`count` samples of all channels together, fewer at the end; a second at a time, as channels may be many."""
    parts = [np.zeros(0, np.float32)]
    while count > 0:
        block = file.read(min(count, file.samplerate), dtype="float32", always_2d=True)
        if not len(block):
            break
        # Programs write what they could not measure as nan, and 16 bit numbers as floats without dividing.
        parts.append(np.nan_to_num(block, posinf=LOUDEST, neginf=-LOUDEST).clip(-LOUDEST, LOUDEST).mean(axis=1))
        count -= len(block)
    return np.concatenate(parts)


def _resampled(samples: Array, rate: int, before: int, start: int, seconds: int | None) -> Stretch:
    centred = samples - samples.mean(dtype=np.float64).astype(np.float32)
    common = gcd(RATE, rate)
    resampled = centred if rate == RATE else resample_poly(centred, RATE // common, rate // common)
    kept = resampled[before * RATE : None if seconds is None else (before + seconds) * RATE]
    return Stretch(kept.astype(np.float32), float(start), min(rate, RATE) / 2)
