"""Sounds to try the cutting of recordings with."""

import numpy as np
import soundfile

RATE = 32_000


def time_of(seconds, rate=RATE):
    return np.arange(round(seconds * rate)) / rate


def noise(seconds, seed=0, rate=RATE):
    return np.random.default_rng(seed).normal(0, 0.01, round(seconds * rate))


def with_tone(samples, frequency, start, end, size=0.1, rate=RATE):
    """A tone that swells and fades between two moments."""
    time = np.arange(len(samples)) / rate
    inside = (time >= start) & (time < end)
    swell = np.zeros_like(time)
    swell[inside] = np.sqrt(np.sin(np.pi * (time[inside] - start) / (end - start)))
    return samples + size * swell * np.sin(2 * np.pi * frequency * time)


def write(path, samples, rate=RATE, **options):
    soundfile.write(path, samples, rate, **options)
    return path
