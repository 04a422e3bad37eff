"""A Python function that computes the instances of a file: `MODULE:FUNCTION`, called with the path."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bagwise.core.errors import BagwiseError
from bagwise.ingest.embedders import command, onnx

DESCRIPTION = "a Python function that is called with the path"
SYNTAX = "MODULE:FUNCTION"


def recognises(text: str) -> bool:
    """Return whether a module and a function are named.

    Parameters
    ----------
    text : str
        What is typed after `--embed`.

    Returns
    -------
    bool

    Examples
    --------
    >>> recognises("my_module:embed"), recognises("my_module"), recognises("model.onnx")
    (True, False, False)
    """
    module, _, name = text.partition(":")
    return bool(module and name) and not (command.recognises(text) or onnx.recognises(text))


def embedder(text: str, _: Any) -> Callable[[Path], Any]:
    """Return the function; modules in the current folder are found.

    Parameters
    ----------
    text : str
        `MODULE:FUNCTION`. The function maps a path to instances, as described in `bagwise.ingest.embedders`.

    Returns
    -------
    callable

    Raises
    ------
    BagwiseError
        If the module cannot be imported, or has no such function.

    Examples
    --------
    >>> embedder("os.path:basename", None)("folder/wren.wav")
    'wren.wav'
    """
    module, _, name = text.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        function: Callable[[Path], Any] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise BagwiseError(f"--embed {text}: {error}.") from error
    return function
