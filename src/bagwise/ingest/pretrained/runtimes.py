"""The libraries that run models, behind one interface: named arrays in, named arrays out.

`BAGWISE_PROVIDERS` names the execution providers of ONNX Runtime, in order and with commas between; without it, CUDA is
used where ONNX Runtime has it, then the processor.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.ingest.types import import_optional
from bagwise.kernels import Array

PROVIDERS = "BAGWISE_PROVIDERS"
CUDA, PROCESSOR = "CUDAExecutionProvider", "CPUExecutionProvider"


@dataclass(frozen=True)
class Input:
    """An input of a model.

    Parameters
    ----------
    name : str
        Its name.
    shape : tuple of int or None
        The length of each axis; None where it may differ from call to call.

    Examples
    --------
    >>> Input("samples", (None, 144_000)).shape
    (None, 144000)
    """

    name: str
    shape: tuple[int | None, ...]


class Model(Protocol):
    """A loaded model.

    Examples
    --------
    >>> class Twice:
    ...     inputs, outputs, metadata = [Input("x", (None, 1))], ["twice"], {}
    ...
    ...     def run(self, inputs, outputs):
    ...         return [2 * inputs["x"]]
    >>> model: Model = Twice()
    >>> model.run({"x": np.ones((1, 1))}, ["twice"])
    [array([[2.]])]
    """

    @property
    def inputs(self) -> Sequence[Input]:
        """What it takes."""
        ...

    @property
    def outputs(self) -> Sequence[str]:
        """The names of what it can return."""
        ...

    @property
    def metadata(self) -> Mapping[str, str]:
        """What its file says about it."""
        ...

    def run(self, inputs: Mapping[str, Array], outputs: Sequence[str]) -> list[Array]:
        """Return the named outputs for a batch.

        Parameters
        ----------
        inputs : mapping of str to ndarray
            The inputs by name.
        outputs : sequence of str
            Which outputs.

        Returns
        -------
        list of ndarray
            In the order of `outputs`.
        """
        ...


class _OnnxModel:
    def __init__(self, session: Any) -> None:
        self._session = session
        self.inputs = [Input(one.name, _lengths(one.shape)) for one in session.get_inputs()]
        self.outputs = [one.name for one in session.get_outputs()]
        self.metadata = dict(session.get_modelmeta().custom_metadata_map)

    def run(self, inputs: Mapping[str, Array], outputs: Sequence[str]) -> list[Array]:
        found: list[Array] = self._session.run(list(outputs), dict(inputs))
        return found


class _LiteRTModel:
    """One item at a time: a larger batch is not faster, and needs more memory."""

    def __init__(self, interpreter: Any) -> None:
        self._interpreter = interpreter
        self._input = interpreter.get_input_details()[0]
        self._tensors = {one["name"]: one["index"] for one in interpreter.get_tensor_details() if one["name"]}
        self.inputs = [Input(self._input["name"], tuple(int(length) for length in self._input["shape"]))]
        self.outputs = list(self._tensors)
        self.metadata: Mapping[str, str] = {}

    def run(self, inputs: Mapping[str, Array], outputs: Sequence[str]) -> list[Array]:
        rows = []
        for item in inputs[self._input["name"]]:
            self._interpreter.set_tensor(self._input["index"], item[None])
            self._interpreter.invoke()
            rows.append([self._interpreter.get_tensor(self._tensors[name]) for name in outputs])
        return [np.concatenate(arrays) for arrays in zip(*rows, strict=True)]


def open_onnx(path: Path) -> Model:
    """Load an ONNX model with ONNX Runtime.

    Parameters
    ----------
    path : Path
        The file of the model.

    Returns
    -------
    Model

    Raises
    ------
    FileError
        If it cannot be run.
    BagwiseError
        If ONNX Runtime is missing, or a provider that `BAGWISE_PROVIDERS` names.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "model.onnx").write_text("not a model")
    ...     try:
    ...         open_onnx(Path(folder) / "model.onnx")
    ...     except FileError as error:
    ...         print("is not an ONNX model" in str(error))
    True
    """
    runtime = import_optional("onnxruntime", "onnx")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    chosen = providers(runtime.get_available_providers())
    try:
        return _OnnxModel(runtime.InferenceSession(str(path), options, providers=chosen))
    except Exception as error:
        raise FileError(path, f"is not an ONNX model that can be run: {str(error).splitlines()[0]}") from error


def providers(available: Sequence[str]) -> list[str]:
    """Return the execution providers to use, the preferred one first.

    Parameters
    ----------
    available : sequence of str
        Those of the installed ONNX Runtime.

    Returns
    -------
    list of str

    Raises
    ------
    BagwiseError
        If `BAGWISE_PROVIDERS` names one that is not available.

    Examples
    --------
    >>> providers(["TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"])
    ['CUDAExecutionProvider', 'CPUExecutionProvider']
    """
    wanted = [name.strip() for name in os.environ.get(PROVIDERS, "").split(",") if name.strip()]
    if missing := [name for name in wanted if name not in available]:
        what = f"{PROVIDERS} names {missing[0]}, which the installed onnxruntime does not have"
        raise BagwiseError(f"{what}: choose among {', '.join(available)}.")
    return wanted or [name for name in (CUDA, PROCESSOR) if name in available]


def open_litert(path: Path) -> Model:
    """Load a TensorFlow Lite model with LiteRT; every tensor that has a name can be returned.

    Parameters
    ----------
    path : Path
        The file of the model.

    Returns
    -------
    Model

    Raises
    ------
    FileError
        If it cannot be run.
    BagwiseError
        If LiteRT is missing.

    Examples
    --------
    >>> from bagwise.ingest.embedders.birdnet import PRESET
    >>> open_litert(PRESET.weights.find()).inputs[0].shape
    (1, 144000)
    """
    runtime = import_optional("ai_edge_litert.interpreter", "birdnet")
    with warnings.catch_warnings():
        # It warns of the memory that inner tensors take; one of them is the embedding.
        warnings.simplefilter("ignore")
        try:
            interpreter = runtime.Interpreter(str(path), num_threads=1, experimental_preserve_all_tensors=True)
            interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise FileError(path, f"is not a TensorFlow Lite model that can be run: {error}") from error
    return _LiteRTModel(interpreter)


def _lengths(shape: Sequence[Any]) -> tuple[int | None, ...]:
    return tuple(length if isinstance(length, int) and length > 0 else None for length in shape)
