"""A command that computes the instances of a file: `'COMMAND {file}'`.

It writes .npy or .npz to its standard output, or to the file `{out}` where that is among its words.
"""

import io
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import FileError
from bagwise.ingest.embedders import onnx

DESCRIPTION = "a command that writes .npy or .npz"
FILE, OUT = "{file}", "{out}"
SYNTAX = f"'COMMAND {FILE}'"
TIMEOUT = 600
"""Seconds that a command may take for one file."""


def recognises(text: str) -> bool:
    """Return whether `{file}` is among the words.

    Parameters
    ----------
    text : str
        What is typed after `--embed`.

    Returns
    -------
    bool

    Examples
    --------
    >>> recognises("birdnet --to {out} {file}"), recognises("birdnet")
    (True, False)
    """
    return FILE in text and not onnx.recognises(text)


def embedder(text: str, _: Any) -> Callable[[Path], Any]:
    """Return a function that runs the command for a file and reads the arrays that it writes.

    Parameters
    ----------
    text : str
        The command; `{file}` stands for the path, and `{out}` for a file that it may write its arrays to.

    Returns
    -------
    callable
        Maps a path to the array, or to a dict with `features` and `places`. It raises a FileError where the command
        cannot be run, fails, takes more than ten minutes or writes no array.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "a.npy", np.ones((2, 3)))
    ...     embed = embedder("cat {file}", None)
    ...     embed(Path(folder) / "a.npy").shape
    (2, 3)
    """
    return lambda path: _run(text, path)


def _run(text: str, path: Path) -> Any:
    with tempfile.TemporaryDirectory(prefix="bagwise-") as folder:
        out = Path(folder) / "out.npz"
        words = [word.replace(FILE, str(path)).replace(OUT, str(out)) for word in shlex.split(text)]
        try:
            finished = subprocess.run(words, capture_output=True, timeout=TIMEOUT, check=False)  # noqa: S603 (the user's own)
        except subprocess.TimeoutExpired as error:
            raise FileError(path, f"{words[0]} took more than {TIMEOUT} seconds.") from error
        except OSError as error:
            raise FileError(path, f"{words[0]} cannot be run: {error.strerror}.") from error
        if finished.returncode:
            lines = finished.stderr.decode(errors="replace").strip().splitlines()
            raise FileError(path, f"{words[0]} ended with status {finished.returncode}: {lines[-1] if lines else ''}")
        return _loaded(path, out.read_bytes() if OUT in text else finished.stdout)


def _loaded(path: Path, raw: bytes) -> Any:
    try:
        loaded = np.load(io.BytesIO(raw), allow_pickle=False)
        return loaded if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except Exception as error:
        raise FileError(path, "the command wrote no .npy or .npz for it.") from error
