"""BatDetect2: calls of bats that it detects in recordings of ultrasound, with scores of 17 British species.

The package `batdetect2` carries the network and its weights; torch runs it (Mac Aodha et al. 2022). An instance is a
detected call, by its time and band; where no call is detected in a recording, the likeliest place is the only instance.
The spectrogram is that of the package, without the libraries that it needs for it:

    magnitude   of 512 samples at 256 kHz under a Hann window, every 128 samples, from 10 to 120 kHz
    smooth      M[t] = (1 - b) M[t-1] + b E[t],   b = (sqrt(1 + 4 T^2) - 1) / (2 T^2),   T = 20 steps
    PCEN        (E / (eps + M)^0.98 + 2)^0.5 - 2^0.5,   E = 2^31 magnitude
    spectrogram max(0, PCEN - its mean over the piece), at half its size
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import lfilter, lfilter_zi
from scipy.signal.windows import hann

from bagwise.core.errors import FileError
from bagwise.ingest.pretrained.outputs import Output, Scores
from bagwise.ingest.pretrained.preset import WEIGHTS, Form, Preset
from bagwise.ingest.pretrained.sounds import Windows
from bagwise.ingest.pretrained.weights import Weights
from bagwise.ingest.sound.recordings import stretches
from bagwise.ingest.types import SegmentFunction, Segments, import_optional, scores_of_rows
from bagwise.kernels import Array

EXTRA = "batdetect2"

RATE, SAMPLES, STEP, SECONDS = 256_000, 512, 128, 3
LOWEST, HIGHEST = 10_000, 120_000
HEIGHT, SMALLER, MULTIPLE = 128, 2, 32
"""Rows of the spectrogram, the factor by which it is reduced, and what its width must be a multiple of."""
GAIN, BIAS, POWER, EPSILON, LOUDNESS, CONSTANT = 0.98, 2.0, 0.5, 1e-6, 2.0**31, 20.0
NEIGHBOURS = 9
"""Cells on each side of a square in which only the likeliest detection is used."""
LIKELY = 0.3
"""The probability from which a cell is a detected call."""


@dataclass(frozen=True)
class _Calls:
    """Probability (n), features (n, 32), scores (n, species) and places (n, 4) of the cells that stand out."""

    probability: Array
    features: Array
    scores: Array
    places: Array


class _BatDetect2(Preset):
    """A preset whose instances are detections, and whose file holds the names of the classes."""

    @property
    def options(self) -> tuple[str, ...]:
        """The names of all options that may be typed."""
        return (WEIGHTS,)

    def classes(self, text: str) -> list[str]:
        """Return the names of the species."""
        return [str(name) for name in _stored(self._path(text, self._parsed(text)))["params"]["class_names"]]

    def embedder(self, text: str, segmenter: Any) -> SegmentFunction:  # noqa: ARG002 (it detects calls itself)
        """Return a function that detects the calls of a recording."""
        torch = import_optional("torch", EXTRA)
        network = _network(torch, self._path(text, self._parsed(text)))

        def embed(path: Path) -> Segments:
            found = [_detect(torch, network, samples, start) for start, samples in _pieces(path)]
            probability = np.concatenate([one.probability for one in found])
            chosen = np.flatnonzero(probability >= min(LIKELY, probability.max()))
            features, scores, places = (
                np.concatenate([getattr(one, name) for one in found])[chosen]
                for name in ("features", "scores", "places")
            )
            return Segments(features, places, scores=scores_of_rows(scores))

        return embed


def _spectrogram(samples: Array) -> Array:
    """Return the spectrogram of sound at 256 kHz before it is reduced, (220, steps), the highest frequency first."""
    frames = np.lib.stride_tricks.sliding_window_view(samples, SAMPLES)[::STEP]
    magnitude = np.abs(np.fft.rfft(frames * hann(SAMPLES, sym=False), axis=1)).T
    low, high = (round(hertz * SAMPLES / RATE) for hertz in (LOWEST, HIGHEST))
    # Row 0 is the mean of the samples; the package counts from the one after it.
    energy = LOUDNESS * magnitude[low + 1 : high + 1][::-1]
    b = (np.sqrt(1 + 4 * CONSTANT**2) - 1) / (2 * CONSTANT**2)
    initial = np.broadcast_to(lfilter_zi([b], [1, b - 1]), (len(energy), 1))
    smooth, _ = lfilter([b], [1, b - 1], energy, zi=initial)
    gained = energy * np.exp(-GAIN * (np.log(EPSILON) + np.log1p(smooth / EPSILON)))
    normalised = BIAS**POWER * np.expm1(POWER * np.log1p(gained / BIAS))
    cleaned: Array = np.maximum(normalised - normalised.mean(axis=1, keepdims=True), 0).astype(np.float32)
    return cleaned


def _pieces(path: Path) -> Iterator[tuple[float, Array]]:
    """Yield start and samples of pieces of three seconds; the last one is shorter."""
    for stretch in stretches(path, RATE):
        for first in range(0, len(stretch.samples), SECONDS * RATE):
            yield stretch.start + first / RATE, stretch.samples[first : first + SECONDS * RATE]


def _detect(torch: Any, network: Any, samples: Array, start: float) -> _Calls:
    steps = max(1, -(-(len(samples) - SAMPLES + STEP) // STEP))
    width = -(-steps // (SMALLER * MULTIPLE)) * MULTIPLE
    padded = np.pad(samples, (0, max(0, SAMPLES + (width * SMALLER - 1) * STEP - len(samples))))
    with torch.inference_mode():
        whole = torch.from_numpy(_spectrogram(padded))[None, None]
        reduced = torch.nn.functional.interpolate(whole, (HEIGHT, width), mode="bilinear", align_corners=False)
        out = network(reduced)
        highest = torch.nn.functional.max_pool2d(out.pred_det, NEIGHBOURS, stride=1, padding=NEIGHBOURS // 2)
        likeliest = (out.pred_det == highest) & (out.pred_det >= min(LIKELY, float(highest.max())))
        rows, columns = (axis.numpy() for axis in torch.nonzero(likeliest[0, 0], as_tuple=True))
        size, cells = out.pred_size[0].numpy()[:, rows, columns], out.features[0].numpy()[:, rows, columns].T
        probability = out.pred_det[0, 0].numpy()[rows, columns]
        scores = out.pred_class[0].numpy()[:-1, rows, columns].T
    hertz = (HIGHEST - LOWEST) / HEIGHT
    begin = (columns * SMALLER * STEP + SAMPLES - STEP) / RATE
    bottom = (HEIGHT - rows) * hertz + LOWEST
    # A box has at least the size of a cell.
    end, top = begin + np.maximum(size[0], 1) * SMALLER * STEP / RATE, bottom + np.maximum(size[1], 1) * hertz
    return _Calls(probability, cells, scores, np.stack([start + begin, start + end, bottom, top], axis=1).astype(float))


def _network(torch: Any, path: Path) -> Any:
    stored, models = _stored(path), import_optional("batdetect2.detector.models", EXTRA)
    parameters = stored["params"]
    torch.set_num_threads(1)
    try:
        network = getattr(models, parameters["model_name"])(
            parameters["num_filters"],
            num_classes=len(parameters["class_names"]),
            emb_dim=parameters["emb_dim"],
            ip_height=parameters["ip_height"],
            resize_factor=parameters["resize_factor"],
        )
        network.load_state_dict(stored["state_dict"])
    except (AttributeError, KeyError, RuntimeError) as error:
        raise FileError(path, "does not hold the weights of BatDetect2.") from error
    return network.eval()


def _stored(path: Path) -> Any:
    torch = import_optional("torch", EXTRA)
    try:
        stored = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise FileError(path, "does not hold the weights of BatDetect2.") from error
    return stored


PRESET = _BatDetect2(
    name="batdetect2",
    description="BatDetect2: detected calls of bats, 32 numbers for each, scores of 17 species",
    licence="CC BY-NC 4.0: not for commercial use, name BatDetect2",
    weights=Weights(
        variable="BAGWISE_BATDETECT2",
        package="batdetect2",
        file="models/*.pth.tar",
        install=f"'bagwise[{EXTRA}]'",
        modules=("torch", "soundfile", "audioread"),
    ),
    form=Form(Windows(rate=RATE, seconds=SECONDS), Output("features")),
    scores=Scores("pred_class", labels=()),
)
