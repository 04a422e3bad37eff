"""An ONNX model without a preset: `MODEL.onnx`, or `onnx:OPTIONS`. The shape of its input decides what it embeds.

    (batch, 3, height, width) or (batch, height, width, 3)      a region of a picture, by its box; values as in ImageNet
    (batch, samples) or (batch, 1, samples)                     a window of sound, mono, from -1 to 1
    input_ids, ...                                              a passage of text; tokenizer.json lies beside the model

The sample rate is the option `rate`, the model's metadata `sample_rate`, or inferred from the number of samples. Where
the model takes any number, the option `seconds` or its metadata `window_seconds` is the length of a window (3 s).
`overlap`, or its metadata `overlap_seconds`, is how much of it the next window repeats. Of several outputs the first
with *embed* in its name is used, else the first. Features are the last axis of it, or axis 1 of (batch, features,
height, width) where the input has its channels there as well; all other axes but the batch are averaged.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bagwise.core.errors import BagwiseError, FileError
from bagwise.ingest.pretrained.batches import seconds_of
from bagwise.ingest.pretrained.outputs import Output
from bagwise.ingest.pretrained.pictures import Regions, size_of_input
from bagwise.ingest.pretrained.preset import WEIGHTS, Form, digest_of, embed_with, parse_options, typed
from bagwise.ingest.pretrained.runtimes import Model, open_onnx
from bagwise.ingest.pretrained.sounds import Windows
from bagwise.ingest.pretrained.texts import IDS, Passages
from bagwise.ingest.types import SegmentFunction

DESCRIPTION = "an ONNX model for regions of pictures, windows of sound or passages of text"
NAME, SUFFIX = "onnx", ".onnx"
SYNTAX = f"MODEL{SUFFIX}"
OPTIONS = ("rate", "seconds", "overlap", WEIGHTS)
SECONDS = 3.0
RATES = {144_000: 48_000, 160_000: 32_000, 15_600: 16_000, 15_360: 16_000, 16_000: 16_000}


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
    return text.endswith(SUFFIX) or text == NAME or text.startswith(f"{NAME}:{WEIGHTS}=")


def fingerprint(text: str) -> str:
    """Return the digest of the model and the options: the file may be moved.

    Parameters
    ----------
    text : str
        The path of the model, or `onnx:OPTIONS`.

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
    ...     fingerprint(f"onnx:weights={folder}/owls.onnx") == before
    True
    """
    options = _options(text)
    return f"{SUFFIX}:{digest_of(Path(options[WEIGHTS]))}{typed(options)}"


def embedder(text: str, segmenter: Any) -> SegmentFunction:
    """Return a function that segments a file and embeds its segments.

    Parameters
    ----------
    text : str
        The path of the model, or `onnx:OPTIONS`.
    segmenter : module
        The segmenter of the files: regions of pictures and passages of text are its segments.

    Returns
    -------
    callable
        Maps the path of a file to `Segments`.

    Raises
    ------
    FileError
        If the file is not an ONNX model, or its input does not fit the medium.

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
    options = _options(text)
    path = Path(options[WEIGHTS])
    model = open_onnx(path)
    return embed_with(path, model, _form(path, model, segmenter.MEDIUM, options), segmenter)


def _options(text: str) -> dict[str, str]:
    options = parse_options(text, OPTIONS) if text.partition(":")[0] == NAME else {WEIGHTS: text}
    if not options.get(WEIGHTS):
        raise BagwiseError(f"--embed {text}: give the model with --weights {SYNTAX}.")
    return options


def _form(path: Path, model: Model, medium: str, options: Mapping[str, str]) -> Form:
    shape = model.inputs[0].shape
    if medium == "text" and IDS in [one.name for one in model.inputs]:
        return Form(Passages())
    if medium == "picture" and len(shape) == 4 and 3 in (shape[1], shape[3]):
        return Form(Regions(), Output(channels_first=size_of_input(path, model)[2]))
    if medium == "sound" and len(shape) in (2, 3):
        return Form(_windows(path, model, options))
    what = f"takes {list(shape)}, which is neither a picture nor a window of sound nor a text for {medium}"
    raise FileError(path, f"{what}.")


def _windows(path: Path, model: Model, options: Mapping[str, str]) -> Windows:
    samples = model.inputs[0].shape[-1]
    rate = options.get("rate") or model.metadata.get("sample_rate") or RATES.get(samples or 0)
    if rate is None:
        what = f"takes {samples or 'any number of'} samples"
        raise FileError(path, f"{what}: give their rate in its metadata as `sample_rate`, or as `onnx:rate=HERTZ`.")
    stored = {"overlap": model.metadata.get("overlap_seconds"), "seconds": model.metadata.get("window_seconds")}
    chosen = {name: value for name, value in stored.items() if value is not None} | dict(options)
    seconds = samples / int(rate) if samples is not None else seconds_of(chosen, "seconds", SECONDS)
    return Windows(int(rate), seconds, seconds_of(chosen, "overlap", 0.0), variable=samples is None)
