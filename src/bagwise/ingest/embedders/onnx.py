"""An ONNX model as embedding: what it takes is told by the shape of its input.

    (batch, 3, height, width) or (batch, height, width, 3)      a region of a picture, by its box; values as in ImageNet
    (batch, samples) or (batch, 1, samples)                     a window of sound, side by side, mono, from -1 to 1

The rate of the sound is the model's metadata `sample_rate`, or known by the number of samples. Of several outputs the
one with *embed* in its name counts, else the first; what it has beyond (batch, features) is averaged.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from bagwise.core.errors import FileError
from bagwise.ingest.media import WIDTH
from bagwise.ingest.pictures.decoding import upright
from bagwise.ingest.types import Segmenter, Segments, needs
from bagwise.kernels import Array

SUFFIX = ".onnx"
AT_ONCE = 16
USUAL_SIDE = 224
MEAN, SPREAD = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)
RATES = {144_000: 48_000, 160_000: 32_000, 15_600: 16_000, 15_360: 16_000, 16_000: 16_000}

Pieces = Callable[[Path], tuple[Array, Array]]
"""What goes into the model, and where it lies."""


def segmenter(model: Path, way: ModuleType) -> Segmenter:
    """What cuts a file and embeds its pieces."""
    session = _session(model)
    taken = session.get_inputs()[0]
    pieces = _pieces(model, session, list(taken.shape), way)
    several = not isinstance(taken.shape[0], int)
    names = [one.name for one in session.get_outputs()]
    output = next((name for name in names if "embed" in name.lower()), names[0])

    def segment(path: Path) -> Segments:
        given, places = pieces(path)
        found = [
            session.run([output], {taken.name: given[first : first + step]})[0]
            for step in [AT_ONCE if several else 1]
            for first in range(0, len(given), step)
        ]
        features = np.concatenate(found)
        return Segments(features.reshape(*features.shape[:2], -1).mean(axis=2), places)

    return segment


def _session(model: Path) -> Any:
    runtime = needs("onnxruntime", "onnx")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        return runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise FileError(model, f"is no ONNX model that can be run: {str(error).splitlines()[0]}") from error


def _pieces(model: Path, session: Any, shape: list[Any], way: ModuleType) -> Pieces:
    if way.MEDIUM == "picture" and len(shape) == 4 and 3 in (shape[1], shape[3]):
        first = shape[1] == 3
        height, width = (side if isinstance(side, int) else USUAL_SIDE for side in (shape[2:] if first else shape[1:3]))
        return lambda path: _regions(path, way, width, height, first)
    if way.MEDIUM == "sound" and len(shape) in (2, 3) and isinstance(shape[-1], int):
        rate = session.get_modelmeta().custom_metadata_map.get("sample_rate") or RATES.get(shape[-1])
        if rate is None:
            raise FileError(model, f"takes {shape[-1]} samples: say at which rate in its metadata, sample_rate.")
        return lambda path: _windows(path, int(rate), shape[-1], len(shape))
    raise FileError(model, f"takes {shape}, which is neither a picture nor a window for {way.MEDIUM}.")


def _regions(path: Path, way: ModuleType, width: int, height: int, first: bool) -> tuple[Array, Array]:
    places = way.segment(path).places
    image = upright(path)
    crops = [image.resize((width, height), box=(x, y, x + w, y + h)) for x, y, w, h in places]
    pixels = (np.stack([np.asarray(crop, np.float32) for crop in crops]) / 255 - MEAN) / SPREAD
    return (pixels.transpose(0, 3, 1, 2) if first else pixels), places


def _windows(path: Path, rate: int, samples: int, dimensions: int) -> tuple[Array, Array]:
    found = list(_sounds(path, rate, samples))
    starts = np.arange(len(found)) * samples / rate
    places = np.full((len(found), WIDTH), np.nan)
    places[:, 0], places[:, 1] = starts, starts + samples / rate
    given = np.stack(found) if found else np.empty((0, samples), np.float32)
    return (given[:, None, :] if dimensions == 3 else given), places


def _sounds(path: Path, rate: int, samples: int) -> Iterator[Array]:
    from scipy.signal import resample_poly

    soundfile = needs("soundfile", "audio")
    with soundfile.SoundFile(path) as file:
        length = round(samples * file.samplerate / rate)
        for block in file.blocks(length, dtype="float32", always_2d=True, fill_value=0.0):
            window = resample_poly(block.mean(axis=1), rate, file.samplerate)[:samples]
            yield np.pad(window, (0, samples - len(window))).astype(np.float32)
