"""What is heard while nothing calls: coloured noise that is steady, comes in gusts, or rains."""

import numpy as np
from scipy.ndimage import gaussian_filter1d

from bagwise.kernels import Array

SLOW_STEPS = 100
"""Per second, of what changes slowly."""


def coloured(count: int, rate: int, exponent: float, rng: np.random.Generator) -> Array:
    """Gaussian noise of power ~ 1 / frequency ** exponent, of power 1."""
    spectrum = np.fft.rfft(rng.standard_normal(count))
    frequency = np.fft.rfftfreq(count, 1 / rate).clip(80)
    samples = np.fft.irfft(spectrum / frequency ** (exponent / 2), count)
    return np.asarray(samples / samples.std())


def _slowly(count: int, rate: int, seconds: float, rng: np.random.Generator) -> Array:
    step = rate // SLOW_STEPS
    coarse = gaussian_filter1d(rng.standard_normal(count // step + 1), seconds * SLOW_STEPS)
    return np.asarray(np.interp(np.arange(count), np.arange(len(coarse)) * step, coarse / coarse.std()))


def steady(count: int, rate: int, rng: np.random.Generator) -> Array:
    """Between white and brown, as loud at the end as at the beginning."""
    return coloured(count, rate, rng.uniform(0.3, 1.6), rng)


def wind(count: int, rate: int, rng: np.random.Generator) -> Array:
    """Low gusts over a steady floor: up to about 20 dB within seconds."""
    gusts = coloured(count, rate, 2.0, rng) * 10 ** (8 * _slowly(count, rate, 0.7, rng) / 20)
    return np.asarray(steady(count, rate, rng) + 2 * gusts)


def rain(count: int, rate: int, rng: np.random.Generator) -> Array:
    """Drops, each a click of some milliseconds, over a swelling hiss."""
    hiss = steady(count, rate, rng) * 10 ** (3 * _slowly(count, rate, 1.0, rng) / 20)
    drops = np.zeros(count)
    places = rng.integers(0, count, int(rng.uniform(3, 12) * count / rate))
    drops[places] = rng.exponential(6, len(places))
    click = rng.standard_normal(96) * np.exp(-np.arange(96) / 24)
    return np.asarray(hiss + np.convolve(drops, click, "same"))


KINDS = (steady, wind, rain)
