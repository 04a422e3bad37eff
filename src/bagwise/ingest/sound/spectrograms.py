"""Spectrograms: power by frequency (rows, upwards) and time (columns), and the bands of the mel scale.

A row is 31.25 Hz, a column 8 ms; column t is centred on sample t * HOP.
"""

from functools import cache

import numpy as np
from scipy.fft import rfft
from scipy.signal.windows import hann

from bagwise.ingest.sound.recordings import RATE
from bagwise.kernels import Array

WINDOW, HOP = 1024, 256
HERTZ, SECONDS = RATE / WINDOW, HOP / RATE
ROWS = WINDOW // 2 + 1
LOWEST_MEL = 100.0
FRAMES_AT_ONCE = 1024


def power(samples: Array) -> Array:
    """Return the squared magnitude of the short-time Fourier transform, (ROWS, columns)."""
    padded = np.pad(samples, WINDOW // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    window = hann(WINDOW, sym=False).astype(np.float32)
    found = np.empty((ROWS, len(frames)), np.float32)
    for first in range(0, len(frames), FRAMES_AT_ONCE):
        transformed = rfft(frames[first : first + FRAMES_AT_ONCE] * window, axis=1)
        found[:, first : first + FRAMES_AT_ONCE] = (transformed.real**2 + transformed.imag**2).T
    return found


@cache
def mel_bands(count: int) -> Array:
    """Return the weight of each row in each band, (count, ROWS): triangles, even on the mel scale, that sum to 1."""
    mels = np.linspace(_mel(LOWEST_MEL), _mel(RATE / 2), count + 2)
    edges = 700 * (10 ** (mels / 2595) - 1)
    frequency = np.arange(ROWS) * HERTZ
    below, centre, above = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    rising, falling = (frequency - below) / (centre - below), (above - frequency) / (above - centre)
    weights = np.minimum(rising, falling).clip(0)
    found: Array = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    return found


def _mel(hertz: float) -> float:
    return 2595 * float(np.log10(1 + hertz / 700))
