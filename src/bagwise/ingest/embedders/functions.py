"""Your own features: a command, a Python function or an ONNX model that maps a file to instances.

    'COMMAND {file}'        writes .npy or .npz to its output, or to the file {out}
    MODULE:FUNCTION         called with the path
    MODEL.onnx              for windows of sound and regions of pictures; see `_onnx`

Instances are an array (n x d), or a pair of it and their places, or a mapping (a .npz) with `features` and `places`,
whose columns are those of the medium, in its order.
"""

import importlib
import io
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.ingest.embedders import onnx as onnx
from bagwise.ingest.fingerprints import Seen
from bagwise.ingest.media import WIDTH
from bagwise.ingest.types import Segmenter, Segments
from bagwise.kernels import Array

FILE, OUT = "{file}", "{out}"
PATIENCE = 600
"""Seconds that a command may take for one file."""


def fingerprint(embed: str) -> str:
    """What is the same when the same is done: the words, or what is in the model."""
    if not embed.endswith(onnx.SUFFIX):
        return embed
    try:
        return f"{onnx.SUFFIX}:{Seen.of(Path(embed)).digest}"
    except OSError as error:
        raise FileError(Path(embed), f"cannot be read: {error.strerror}.") from error


def segmenter(embed: str, way: ModuleType) -> Segmenter:
    """What makes instances of a file."""
    if embed.endswith(onnx.SUFFIX):
        return onnx.segmenter(Path(embed), way)
    if FILE in embed:
        return lambda path: _cut_of(path, _output_of(embed, path))
    function = _function(embed)
    return lambda path: _cut_of(path, function(path))


def _function(embed: str) -> Any:
    module, _, name = embed.partition(":")
    if not name:
        raise BagwiseError(f"--embed {embed}: give 'COMMAND {FILE}', MODULE:FUNCTION or MODEL{onnx.SUFFIX}.")
    # The folder somebody is in is where their module is.
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise BagwiseError(f"--embed {embed}: {error}.") from error


def _output_of(embed: str, path: Path) -> Any:
    with tempfile.TemporaryDirectory(prefix="bagwise-") as folder:
        out = Path(folder) / "out.npz"
        words = [word.replace(FILE, str(path)).replace(OUT, str(out)) for word in shlex.split(embed)]
        try:
            ran = subprocess.run(words, capture_output=True, timeout=PATIENCE, check=False)  # noqa: S603 (the person's own)
        except subprocess.TimeoutExpired as error:
            raise FileError(path, f"{words[0]} took more than {PATIENCE} seconds.") from error
        except OSError as error:
            raise FileError(path, f"{words[0]} cannot be run: {error.strerror}.") from error
        if ran.returncode:
            said = ran.stderr.decode(errors="replace").strip().splitlines()
            raise FileError(path, f"{words[0]} ended with status {ran.returncode}: {said[-1] if said else ''}")
        return _loaded(path, out.read_bytes() if OUT in embed else ran.stdout)


def _loaded(path: Path, raw: bytes) -> Any:
    try:
        found = np.load(io.BytesIO(raw), allow_pickle=False)
        return found if isinstance(found, np.ndarray) else {name: found[name] for name in found.files}
    except Exception as error:
        raise FileError(path, "the command wrote no .npy or .npz for it.") from error


def _cut_of(path: Path, given: Any) -> Segments:
    if isinstance(given, Mapping):
        if "features" not in given:
            raise FileError(path, f"there is no array features for it, only {', '.join(given) or 'nothing'}.")
        given = (given["features"], given.get("places"))
    features, places = given if isinstance(given, tuple) else (given, None)
    instances = np.asarray(features, np.float32)
    if instances.ndim != 2:
        raise FileError(path, f"its instances are of shape {instances.shape}: they must be (instances x features).")
    return Segments(instances, _padded(path, places, len(instances)))


def _padded(path: Path, places: Any, rows: int) -> Array:
    found = np.full((rows, WIDTH), np.nan)
    if places is not None:
        given = np.asarray(places, np.float64)
        if given.ndim != 2 or len(given) != rows or given.shape[1] > WIDTH:
            raise FileError(path, f"its places are of shape {given.shape} for {rows} instances.")
        found[:, : given.shape[1]] = given
    return found
