"""What is heard while nothing calls: coloured noise that is steady, comes in gusts, or rains."""

import numpy as np
from scipy.ndimage import gaussian_filter1d

from .clips import RATE


def coloured(count: int, exponent: float, rng: np.random.Generator) -> np.ndarray:
    """Gaussian noise of power ~ 1 / frequency ** exponent, of power 1."""
    spectrum = np.fft.rfft(rng.standard_normal(count))
    frequency = np.fft.rfftfreq(count, 1 / RATE).clip(80)
    samples = np.fft.irfft(spectrum / frequency ** (exponent / 2), count)
    return samples / samples.std()


def _slowly(count: int, seconds: float, rng: np.random.Generator) -> np.ndarray:
    coarse = gaussian_filter1d(rng.standard_normal(count // 320 + 1), seconds * 100)
    return np.interp(np.arange(count), np.arange(len(coarse)) * 320, coarse / coarse.std())


def steady(count: int, rng: np.random.Generator) -> np.ndarray:
    """Between white and brown, as loud at the end as at the beginning."""
    return coloured(count, rng.uniform(0.3, 1.6), rng)


def wind(count: int, rng: np.random.Generator) -> np.ndarray:
    """Low gusts over a steady floor: up to about 20 dB within seconds."""
    gusts = coloured(count, 2.0, rng) * 10 ** (8 * _slowly(count, 0.7, rng) / 20)
    return steady(count, rng) + 2 * gusts


def rain(count: int, rng: np.random.Generator) -> np.ndarray:
    """Drops, each a click of some milliseconds, over a swelling hiss."""
    hiss = steady(count, rng) * 10 ** (3 * _slowly(count, 1.0, rng) / 20)
    drops = np.zeros(count)
    places = rng.integers(0, count, int(rng.uniform(3, 12) * count / RATE))
    drops[places] = rng.exponential(6, len(places))
    click = rng.standard_normal(96) * np.exp(-np.arange(96) / 24)
    return hiss + np.convolve(drops, click, "same")


KINDS = (steady, wind, rain)
