"""Windows of sound for a model: one rate, one length, overlap, and the loudness that the model was trained with.

The last window ends where the recording ends, so that none but a recording shorter than a window is filled with zeros.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.ingest.media import WIDTH
from bagwise.ingest.pretrained.batches import Batch, ReadBatches, batch_size, seconds_of
from bagwise.ingest.pretrained.runtimes import Model
from bagwise.ingest.sound.recordings import SHORTEST, stretches
from bagwise.kernels import Array

MEL_BREAK = 700.0
"""Hz; mel(f) = log(1 + f / 700), up to a factor that equal parts do not need."""

SILENT = 1e-6
"""A largest absolute value below which a window is rounding errors, which are not made loud."""


@dataclass(frozen=True)
class Windows:
    """Windows of equal length.

    Parameters
    ----------
    rate : int
        Samples per second.
    seconds : float
        The length of a window.
    overlap : float
        The seconds that a window shares with the next one.
    peak : float, optional
        Every window is centred and scaled so that its largest absolute value is this; without it, it stays as it is.
    variable : bool
        Whether the model takes any length: a person may choose it, and a short recording is not filled with zeros.
    band : tuple of float, optional
        The lowest and highest frequency, in Hz, between which the model divides the mel scale into rows of cells.

    Examples
    --------
    Halves of a five-second window, and two bands of equal width on the mel scale:

    >>> windows = Windows(32_000, 5.0, band=(60.0, 16_000.0))
    >>> windows.split(np.array([[10.0, 15.0, np.nan, np.nan]]), 2, 2).round(1).tolist()[:2]
    [[10.0, 12.5, 60.0, 2862.6], [10.0, 12.5, 2862.6, 16000.0]]
    """

    rate: int
    seconds: float
    overlap: float = 0.0
    peak: float | None = None
    variable: bool = False
    band: tuple[float, float] | None = None

    @property
    def medium(self) -> str:
        """The name of the medium."""
        return "sound"

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that a person may give."""
        return ("overlap", "seconds") if self.variable else ("overlap",)

    def configured(self, options: Mapping[str, str]) -> "Windows":
        """Return the same windows with a person's options.

        Parameters
        ----------
        options : mapping of str to str
            `overlap` and, where the length is variable, `seconds`.

        Returns
        -------
        Windows

        Raises
        ------
        BagwiseError
            If windows would be empty, or overlap entirely.
        """
        seconds, overlap = seconds_of(options, "seconds", self.seconds), seconds_of(options, "overlap", self.overlap)
        if not (seconds >= SHORTEST and overlap < seconds):
            raise BagwiseError(f"--embed: windows of {seconds:g} s cannot overlap by {overlap:g} s.")
        return replace(self, seconds=seconds, overlap=overlap)

    def reader(self, weights: Path, model: Model, segmenter: Any) -> ReadBatches:  # noqa: ARG002 (its own windows)
        """Return the function that reads the batches of a recording.

        Parameters
        ----------
        weights : Path
            The file of the model, named in errors.
        model : Model
            Its first input is (batch, samples) or (batch, 1, samples).
        segmenter : any
            Not used: windows follow each other.

        Returns
        -------
        callable

        Raises
        ------
        FileError
            If the model takes another number of samples.
        """
        shape, length = model.inputs[0].shape, round(self.rate * self.seconds)
        if len(shape) not in (2, 3) or shape[-1] not in (None, length):
            what = f"takes {list(shape)} and not windows of {length} samples"
            raise FileError(weights, f"{what} ({self.seconds:g} s at {self.rate} Hz).")
        return lambda path: self._batches(path, model)

    def split(self, places: Array, rows: int, columns: int) -> Array:
        """Return the places of cells: rows follow each other in time, columns from low to high frequencies.

        Parameters
        ----------
        places : ndarray of shape (n, 4)
            The places of windows.
        rows, columns : int
            The cells of a window.

        Returns
        -------
        ndarray of shape (n * rows * columns, 4)
        """
        found = np.full((len(places), rows, columns, WIDTH), np.nan)
        edges = np.linspace(places[:, 0], places[:, 1], rows + 1, axis=1)
        found[..., 0], found[..., 1] = edges[:, :-1, None], edges[:, 1:, None]
        if self.band is not None:
            low, high = (np.log1p(edge / MEL_BREAK) for edge in self.band)
            frequencies = MEL_BREAK * np.expm1(np.linspace(low, high, columns + 1))
            found[..., 2], found[..., 3] = frequencies[:-1], frequencies[1:]
        return found.reshape(-1, WIDTH)

    def describe(self) -> dict[str, Any]:
        """Return what is declared, as plain values.

        Returns
        -------
        dict of str to any
        """
        return {
            "sample_rate": self.rate,
            "window_seconds": self.seconds,
            "overlap_seconds": self.overlap,
            "variable_length": self.variable,
            "normalisation": "none" if self.peak is None else f"peak {self.peak:g}",
        }

    def _batches(self, path: Path, model: Model) -> Iterator[Batch]:
        size, held, starts, ends = batch_size(model), list[Array](), list[float](), list[float]()
        for first, samples in self.windows(path):
            if held and (len(held) == size or len(samples) != len(held[0])):
                yield self._batch(model, held, starts, ends)
                held, starts, ends = [], [], []
            held.append(self._prepared(samples))
            starts.append(first / self.rate)
            ends.append((first + len(samples)) / self.rate)
        yield self._batch(model, held, starts, ends)

    def windows(self, path: Path) -> Iterator[tuple[int, Array]]:
        """Yield the windows of a recording, with the number of the first sample of each.

        Parameters
        ----------
        path : Path
            The recording; it may be longer than memory.

        Yields
        ------
        first : int
        samples : ndarray of shape (n_samples,), float32
            Fewer than a window only in a recording that is shorter.
        """
        length, step = round(self.rate * self.seconds), max(1, round(self.rate * (self.seconds - self.overlap)))
        held, begin, first = np.zeros(0, np.float32), 0, 0
        for stretch in stretches(path, self.rate):
            held = np.concatenate([held, stretch.samples])
            while first + length <= begin + len(held):
                yield first, held[first - begin : first - begin + length]
                first += step
            # The last window may have to begin before the next one would.
            unused = max(0, min(first - begin, len(held) - length))
            held, begin = held[unused:], begin + unused
        end = begin + len(held)
        if first == 0:
            yield 0, held
        elif end - (first - step + length) >= SHORTEST * self.rate:
            yield end - length, held[-length:]

    def _prepared(self, samples: Array) -> Array:
        shortest = self.rate if self.variable else round(self.rate * self.seconds)
        if self.peak is not None:
            samples = samples - samples.mean()
            loudest = np.abs(samples).max()
            samples = samples * (self.peak / loudest) if loudest > SILENT else samples
        return np.pad(samples, (0, max(0, shortest - len(samples)))).astype(np.float32)

    def _batch(self, model: Model, held: list[Array], starts: list[float], ends: list[float]) -> Batch:
        samples = np.stack(held)
        places = np.full((len(held), WIDTH), np.nan)
        places[:, 0], places[:, 1] = starts, ends
        taken = model.inputs[0]
        return Batch({taken.name: samples[:, None, :] if len(taken.shape) == 3 else samples}, places)
