"""An ONNX model: `MODEL.onnx`. The shape of its input decides what it embeds.

    (batch, 3, height, width) or (batch, height, width, 3)      a region of a picture, by its box; values as in ImageNet
    (batch, samples) or (batch, 1, samples)                     a window of sound, mono, from -1 to 1, without overlap

The sample rate is the model's metadata `sample_rate`, or inferred from the number of samples. Of several outputs the
first with *embed* in its name is used, else the first; axes beyond (batch, features) are averaged.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import FileError
from bagwise.ingest.fingerprints import Fingerprint
from bagwise.ingest.media import WIDTH
from bagwise.ingest.pictures.decoding import upright
from bagwise.ingest.types import SegmentFunction, Segments, import_optional
from bagwise.kernels import Array

DESCRIPTION = "an ONNX model for regions of pictures or windows of sound"
SUFFIX = ".onnx"
SYNTAX = f"MODEL{SUFFIX}"
BATCH_SIZE = 16
DEFAULT_SIDE = 224
MEAN, DEVIATION = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)
RATES = {144_000: 48_000, 160_000: 32_000, 15_600: 16_000, 15_360: 16_000, 16_000: 16_000}

InputsOf = Callable[[Path], tuple[Array, Array]]
"""Returns the inputs of the model for a file, and their places."""


def recognises(text: str) -> bool:
    """Return whether a file with the suffix of ONNX models is named.

    Parameters
    ----------
    text : str
        What is typed after `--embed`.

    Returns
    -------
    bool

    Examples
    --------
    >>> recognises("models/birds.onnx"), recognises("birds.h5")
    (True, False)
    """
    return text.endswith(SUFFIX)


def fingerprint(text: str) -> str:
    """Return the digest of the model: the file may be moved.

    Parameters
    ----------
    text : str
        The path of the model.

    Returns
    -------
    str

    Raises
    ------
    FileError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "birds.onnx").write_bytes(b"a model")
    ...     before = fingerprint(f"{folder}/birds.onnx")
    ...     _ = (Path(folder) / "birds.onnx").rename(Path(folder) / "owls.onnx")
    ...     fingerprint(f"{folder}/owls.onnx") == before
    True
    """
    try:
        return f"{SUFFIX}:{Fingerprint.of(Path(text)).digest}"
    except OSError as error:
        raise FileError(Path(text), f"cannot be read: {error.strerror}.") from error


def embedder(text: str, segmenter: Any) -> SegmentFunction:
    """Return a function that segments a file and embeds its segments.

    Parameters
    ----------
    text : str
        The path of the model.
    segmenter : module
        The segmenter of the files: regions of pictures are its segments, windows of sound follow each other.

    Returns
    -------
    callable
        Maps the path of a file to `Segments`.

    Raises
    ------
    FileError
        If the file is not an ONNX model, or its input is neither a picture nor a window of sound.

    Examples
    --------
    A model that averages the three colours of a region:

    >>> import tempfile
    >>> from onnx import TensorProto, helper, save
    >>> from PIL import Image
    >>> from bagwise.ingest.segmenters import grid
    >>> node = helper.make_node("GlobalAveragePool", ["x"], ["embedding"])
    >>> region = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8])
    >>> colour = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["n", 3, 1, 1])
    >>> graph = helper.make_graph([node], "colours", [region], [colour])
    >>> model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/colours.onnx")
    ...     Image.new("RGB", (80, 80)).save(f"{folder}/a.png")
    ...     embedder(f"{folder}/colours.onnx", grid)(Path(folder) / "a.png").features.shape
    (64, 3)
    """
    model = Path(text)
    session = _session(model)
    model_input = session.get_inputs()[0]
    inputs_of = _inputs_of(model, session, list(model_input.shape), segmenter)
    batch_size = 1 if isinstance(model_input.shape[0], int) else BATCH_SIZE
    names = [one.name for one in session.get_outputs()]
    output = next((name for name in names if "embed" in name.lower()), names[0])

    def embed(path: Path) -> Segments:
        inputs, places = inputs_of(path)
        batches = [
            session.run([output], {model_input.name: inputs[first : first + batch_size]})[0]
            for first in range(0, len(inputs), batch_size)
        ]
        features = np.concatenate(batches)
        return Segments(features.reshape(*features.shape[:2], -1).mean(axis=2), places)

    return embed


def _session(model: Path) -> Any:
    runtime = import_optional("onnxruntime", "onnx")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        return runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise FileError(model, f"is not an ONNX model that can be run: {str(error).splitlines()[0]}") from error


def _inputs_of(model: Path, session: Any, shape: list[Any], segmenter: Any) -> InputsOf:
    if segmenter.MEDIUM == "picture" and len(shape) == 4 and 3 in (shape[1], shape[3]):
        first = shape[1] == 3
        height, width = (
            side if isinstance(side, int) else DEFAULT_SIDE for side in (shape[2:] if first else shape[1:3])
        )
        return lambda path: _regions(path, segmenter, width, height, first)
    if segmenter.MEDIUM == "sound" and len(shape) in (2, 3) and isinstance(shape[-1], int):
        rate = session.get_modelmeta().custom_metadata_map.get("sample_rate") or RATES.get(shape[-1])
        if rate is None:
            raise FileError(model, f"takes {shape[-1]} samples: give their rate in its metadata as `sample_rate`.")
        return lambda path: _windows(path, int(rate), shape[-1], len(shape))
    raise FileError(model, f"takes {shape}, which is neither a picture nor a window of sound for {segmenter.MEDIUM}.")


def _regions(path: Path, segmenter: Any, width: int, height: int, first: bool) -> tuple[Array, Array]:
    places = segmenter.segment(path).places
    image = upright(path)
    crops = [image.resize((width, height), box=(x, y, x + w, y + h)) for x, y, w, h in places]
    pixels = (np.stack([np.asarray(crop, np.float32) for crop in crops]) / 255 - MEAN) / DEVIATION
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

    soundfile = import_optional("soundfile", "audio")
    with soundfile.SoundFile(path) as file:
        length = round(samples * file.samplerate / rate)
        for block in file.blocks(length, dtype="float32", always_2d=True, fill_value=0.0):
            window = resample_poly(block.mean(axis=1), rate, file.samplerate)[:samples]
            yield np.pad(window, (0, samples - len(window))).astype(np.float32)
