"""Reading recordings of any rate and length: one channel at one rate, a stretch at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from pathlib import Path

import numpy as np

from bagwise.core.errors import FileError
from bagwise.ingest.sound.decoding import Sound, open_sound
from bagwise.kernels import Array

RATE = 32_000
"""Samples per second after resampling, unless another rate is asked for: frequencies above 16 kHz are dropped."""

STRETCH, AHEAD = 30, 10
"""Seconds in a stretch, and how many more must follow, unless others are asked for: a shorter rest belongs to the last
stretch."""

AROUND = 1
"""Seconds on both sides that are resampled with a stretch, so that its edges have no artefacts."""

SHORTEST = 0.05
LOWEST_RATE = 2000


@dataclass(frozen=True)
class Stretch:
    """A part of a recording: its samples, `start` in seconds, and `top`, the highest frequency of the file in Hz."""

    samples: Array
    start: float
    top: float
    rate: int = RATE

    @property
    def seconds(self) -> float:
        """Its length in seconds."""
        return len(self.samples) / self.rate

    @property
    def end(self) -> float:
        """Its end in the recording, in seconds."""
        return self.start + self.seconds


def stretches(
    path: Path, to_rate: int = RATE, seconds: int = STRETCH, ahead: int = AHEAD, lowest_rate: int = LOWEST_RATE
) -> Iterator[Stretch]:
    """Yield the stretches of a recording, resampled; memory does not grow with its length."""
    with open_sound(path) as sound:
        if sound.rate < lowest_rate:
            raise FileError(path, f"has {sound.rate} samples per second: at least {lowest_rate} are needed.")
        yield from _stretches(path, sound, to_rate, seconds, ahead)


def _stretches(path: Path, sound: Sound, to_rate: int, seconds: int, ahead: int) -> Iterator[Stretch]:
    rate = sound.rate
    held, before, start = np.zeros(0, np.float32), 0, 0
    while True:
        wanted = (before + seconds + ahead) * rate
        held = np.concatenate([held, sound.read(wanted - len(held))])
        if len(held) < wanted:
            break
        yield _resampled(held[: (before + seconds + AROUND) * rate], rate, to_rate, before, start, seconds)
        held = held[(before + seconds - AROUND) * rate :]
        before, start = AROUND, start + seconds
    if len(held) < SHORTEST * rate:
        what = f"is shorter than {SHORTEST} seconds: leave it out." if len(held) else "holds no sound."
        raise FileError(path, what)
    yield _resampled(held, rate, to_rate, before, start, None)


def _resampled(samples: Array, rate: int, to_rate: int, before: int, start: int, seconds: int | None) -> Stretch:
    # Every process with a project imports this module, and few read a recording.
    from scipy.signal import resample_poly

    centred = samples - samples.mean(dtype=np.float64).astype(np.float32)
    common = gcd(to_rate, rate)
    resampled = centred if rate == to_rate else resample_poly(centred, to_rate // common, rate // common)
    kept = resampled[before * to_rate : None if seconds is None else (before + seconds) * to_rate]
    return Stretch(kept.astype(np.float32), float(start), min(rate, to_rate) / 2, to_rate)
