"""Calls mixed into noise at a known signal-to-noise ratio.

The box of a call holds 95 % of its power: from the 2.5 % to the 97.5 % quantile of its power in time, and the same in
frequency. The signal-to-noise ratio is the power of the call over that of the noise, both within this box.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from scipy.signal import stft

from bagwise.datasets import _noises as noises

from .calls import RATE, Calls

SECONDS = 10.0
WINDOW, HOP = 1024, 256
TAIL = 0.025
MOST_OVERLAP, PAUSE = 0.1, 0.2
LOUDNESS = 0.03


@dataclass(frozen=True)
class Inserted:
    """One call: its class, its box (seconds, Hz), its signal-to-noise ratio (dB), its power in the cells of its box."""

    name: str
    start: float
    end: float
    low: float
    high: float
    ratio: float
    power: np.ndarray

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Start, end, low, high, as places of instances are."""
        return self.start, self.end, self.low, self.high


@dataclass(frozen=True)
class Soundscape:
    """A recording and all that was mixed into it."""

    samples: np.ndarray
    calls: tuple[Inserted, ...]

    @property
    def names(self) -> set[str]:
        """The classes in it."""
        return {call.name for call in self.calls} - {"other"}


def mix(
    rng: np.random.Generator,
    calls: Calls,
    ratio: tuple[float, float] = (10, 10),
    classes: tuple[int, int] = (1, 4),
    others: int = 2,
    seconds: float = SECONDS,
) -> Soundscape:
    """A recording with some classes, one to three calls of each, and up to `others` sounds of no class."""
    count = int(seconds * RATE)
    noise = noises.KINDS[rng.integers(len(noises.KINDS))](count, RATE, rng)
    spectrum = _power(noise)
    names = rng.choice(calls.classes, rng.integers(classes[0], classes[1] + 1), replace=False)
    wanted = [name for name in names for _ in range(rng.integers(1, 4))] + ["other"] * rng.integers(0, others + 1)
    samples, inserted = noise, list[Inserted]()
    for name in wanted:
        found = _inserted(str(name), calls, float(rng.uniform(*ratio)), spectrum, inserted, count, rng)
        if found is not None:
            call, sound, first = found
            samples[first : first + len(sound)] += sound
            inserted.append(call)
    return Soundscape((samples * LOUDNESS / samples.std()).clip(-1, 1), tuple(inserted))


def _inserted(
    name: str,
    calls: Calls,
    ratio: float,
    noise: np.ndarray,
    others: list[Inserted],
    count: int,
    rng: np.random.Generator,
) -> tuple[Inserted, np.ndarray, int] | None:
    sound = calls.draw(name, rng)[: count - HOP]
    power = _power(sound)
    columns, rows = _middle(power.sum(axis=0)), _middle(power.sum(axis=1))
    for _ in range(20):
        shift = int(rng.integers(0, (count - len(sound)) // HOP))
        box = _box(columns, rows, shift)
        if not any(_collide(name, box, other) for other in others):
            break
    else:
        return None
    inside = np.s_[rows[0] : rows[1] + 1, columns[0] : columns[1] + 1]
    behind = np.s_[rows[0] : rows[1] + 1, columns[0] + shift : columns[1] + shift + 1]
    scale = np.sqrt(10 ** (ratio / 10) * noise[behind].sum() / power[inside].sum())
    return Inserted(name, *box, ratio, power[inside]), sound * scale, shift * HOP


def _power(samples: np.ndarray) -> np.ndarray:
    return np.abs(stft(samples, RATE, nperseg=WINDOW, noverlap=WINDOW - HOP)[2]) ** 2


def _middle(profile: np.ndarray) -> tuple[int, int]:
    total = np.cumsum(profile) / profile.sum()
    first, last = np.searchsorted(total, [TAIL, 1 - TAIL])
    return int(first), int(min(last, len(profile) - 1))


def _box(columns: tuple[int, int], rows: tuple[int, int], shift: int) -> tuple[float, float, float, float]:
    start, end = ((column + side + shift) * HOP / RATE for column, side in zip(columns, (-0.5, 0.5), strict=True))
    low, high = ((row + side) * RATE / WINDOW for row, side in zip(rows, (-0.5, 0.5), strict=True))
    return max(start, 0.0), end, max(low, 0.0), high


def _collide(name: str, box, other: Inserted) -> bool:
    """Nobody calls while still calling; others may, with little in common."""
    if name == other.name and box[0] < other.end + PAUSE and other.start < box[1] + PAUSE:
        return True
    return _overlap(box, other.box) > MOST_OVERLAP


def _overlap(one, other) -> float:
    """Area that two boxes share, as a share of the smaller one."""
    time = min(one[1], other[1]) - max(one[0], other[0])
    band = min(one[3], other[3]) - max(one[2], other[2])
    smaller = min((box[1] - box[0]) * (box[3] - box[2]) for box in (one, other))
    return max(time, 0) * max(band, 0) / smaller


def write(folder: Path, soundscapes, first: int = 0) -> list[Path]:
    """One WAV file each, 16 bit."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, soundscape in enumerate(soundscapes, first):
        paths.append(folder / f"recording-{number:04d}.wav")
        soundfile.write(paths[-1], soundscape.samples, RATE, subtype="PCM_16")
    return paths
