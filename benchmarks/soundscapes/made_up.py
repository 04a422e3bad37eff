"""Calls that are computed: sounds of insects, frogs, whistles, drums, and others that belong to no class."""

import numpy as np
from scipy.signal import butter, sosfilt

from .clips import RATE, faded


def _time(seconds: float) -> np.ndarray:
    return np.arange(int(seconds * RATE)) / RATE


def _swept(frequency: np.ndarray, overtones: tuple[float, ...] = (1.0,)) -> np.ndarray:
    phase = 2 * np.pi * np.cumsum(frequency) / RATE
    return np.sum([size * np.sin((n + 1) * phase) for n, size in enumerate(overtones)], axis=0)


def _pulses(time: np.ndarray, per_second: float, duty: float) -> np.ndarray:
    place = (time * per_second) % 1 / duty
    return np.where(place < 1, np.sin(np.pi * place) ** 2, 0)


def cricket(rng: np.random.Generator) -> np.ndarray:
    """A chirp of short pulses at one high pitch."""
    time = _time(rng.uniform(0.3, 0.8))
    return _swept(np.full(len(time), rng.uniform(4300, 5200))) * _pulses(time, rng.uniform(24, 34), 0.6)


def frog(rng: np.random.Generator) -> np.ndarray:
    """A croak: overtones of a low voice, in pulses."""
    time = _time(rng.uniform(0.35, 0.7))
    pitch = rng.uniform(330, 420) * (1 - 0.15 * time)
    return _swept(pitch, (0.2, 0.5, 1.0, 0.9, 0.5, 0.2)) * _pulses(time, rng.uniform(30, 45), 0.8)


def rising_whistle(rng: np.random.Generator) -> np.ndarray:
    """One tone that goes up."""
    time = _time(rng.uniform(0.4, 0.8))
    low, share = rng.uniform(1800, 2300), time / time[-1]
    return _swept(low * (rng.uniform(2.0, 2.5) ** share)) * np.sin(np.pi * share) ** 0.5


def falling_whistle(rng: np.random.Generator) -> np.ndarray:
    """One tone that goes down, over the same band as the rising one."""
    return rising_whistle(rng)[::-1]


def buzz(rng: np.random.Generator) -> np.ndarray:
    """A band of noise, fluttering."""
    time = _time(rng.uniform(0.7, 1.4))
    centre = rng.uniform(7000, 8500)
    band = butter(3, [centre - 900, centre + 900], "bandpass", fs=RATE, output="sos")
    noise = sosfilt(band, rng.standard_normal(len(time)))
    return noise * (1 + 0.7 * np.sin(2 * np.pi * rng.uniform(50, 80) * time))


def drum(rng: np.random.Generator) -> np.ndarray:
    """Knocks on wood, ever faster."""
    sound = np.zeros(int(1.2 * RATE))
    knock = faded(rng.standard_normal(int(0.025 * RATE))) * np.exp(-_time(0.025) / 0.006)
    gap, place = rng.uniform(0.06, 0.08), 0.0
    while place < 0.9:
        first = int(place * RATE)
        sound[first : first + len(knock)] += knock
        place, gap = place + gap, gap * 0.97
    return sosfilt(butter(2, [800, 2600], "bandpass", fs=RATE, output="sos"), sound)


def other(rng: np.random.Generator) -> np.ndarray:
    """A sound of no class: a tone that wanders through a band of its own."""
    time = _time(rng.uniform(0.15, 1.0))
    knots = rng.uniform(0.8, 1.25, 5) * np.exp(rng.uniform(np.log(600), np.log(9000)))
    pitch = np.interp(time, np.linspace(0, time[-1], 5), knots)
    return _swept(pitch, tuple(rng.dirichlet(np.ones(3)))) * np.sin(np.pi * time / time[-1])


MAKERS = {
    "cricket": cricket,
    "frog": frog,
    "rising whistle": rising_whistle,
    "falling whistle": falling_whistle,
    "buzz": buzz,
    "drum": drum,
}
