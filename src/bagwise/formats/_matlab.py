"""Matlab files up to version 7: read with SciPy, after a check of their unpacked size."""

import struct
import subprocess
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat, whosmat

from bagwise.core.errors import FileError
from bagwise.formats._values import ALWAYS_ALLOWED_BYTES, MAX_BYTES_PER_BYTE, numbered
from bagwise.kernels import Array

HEADER = 128
COMPRESSED = 15
CHUNK = 1 << 20


def is_matlab(path: Path) -> bool:
    """Return whether it begins as a Matlab file; version 7.3 is refused, because no format reads it."""
    with path.open("rb") as file:
        start = file.read(HEADER)
    if start.startswith((b"MATLAB 7.3", b"\x89HDF")):
        raise FileError(path, "is a Matlab 7.3 (HDF5) file: save it again with `save -v7`.")
    return start.startswith(b"MATLAB 5.0")


def variables(path: Path) -> set[str]:
    """Return the names of the variables."""
    try:
        return {name for name, _, _ in whosmat(path)}
    except Exception as error:
        raise FileError(path, "is damaged or not complete: it cannot be read as a Matlab file.") from error


def load(path: Path) -> dict[str, Array]:
    """Return all variables."""
    _validate_unpacked_size(path)
    _validate_in_child_process(path)
    content: dict[str, Array] = loadmat(path)
    return {name: value for name, value in content.items() if not name.startswith("__")}


def _validate_in_child_process(path: Path) -> None:
    """Raise a FileError for files on which SciPy crashes the process: another process reads them first."""
    trial = [sys.executable, "-c", "import sys; from scipy.io import loadmat; loadmat(sys.argv[1])", str(path)]
    if subprocess.run(trial, capture_output=True, check=False).returncode:  # noqa: S603 (our own interpreter)
        raise FileError(path, "is damaged or not complete: it cannot be read as a Matlab file.")


def _validate_unpacked_size(path: Path) -> None:
    limit = max(ALWAYS_ALLOWED_BYTES, MAX_BYTES_PER_BYTE * path.stat().st_size)
    unpacked = 0
    with path.open("rb") as file:
        order = "<" if file.read(HEADER)[126:128] == b"IM" else ">"
        while len(tag := file.read(8)) == 8:
            kind, size = struct.unpack(f"{order}II", tag)
            if kind != COMPRESSED:
                file.seek(size, 1)
                continue
            inflater, left = zlib.decompressobj(), size
            while left > 0 and (packed := file.read(min(CHUNK, left))):
                left -= len(packed)
                try:
                    while packed:
                        unpacked += len(inflater.decompress(packed, CHUNK))
                        packed = inflater.unconsumed_tail
                        if unpacked > limit:
                            raise FileError(path, "would unpack to far more than arrays should: it is not read.")
                except zlib.error as error:
                    raise FileError(path, "is damaged or not complete: it cannot be read as a Matlab file.") from error


def cell(path: Path, content: dict[str, Array], name: str, transpose: bool) -> list[Array]:
    """Return a cell array of numeric matrices, one per bag."""
    cells = content[name]
    if cells.dtype != object:
        raise FileError(path, f"{name} is not a cell array of one matrix per bag.")
    bags = []
    for number, one in enumerate(cells.ravel(), start=1):
        matrix = np.asarray(one)
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiub" or matrix.size == 0:
            raise FileError(path, f"cell {number} of {name} is not a matrix of numbers.")
        bags.append(matrix.T.astype(float) if transpose else matrix.astype(float))
    return bags


def _name(one: Any) -> str:
    value = np.ravel(one)[0] if np.size(one) else ""
    # A char matrix pads its rows with spaces; a whole number comes as a float.
    return f"{value:g}" if isinstance(value, float | np.floating) else str(value).rstrip()


def class_variable(content: Mapping[str, Array]) -> str | None:
    """Return the variable with the names of the classes; None where there is none."""
    return next((name for name in ("class_names", "class_name", "classes") if name in content), None)


def class_names(path: Path, content: dict[str, Array], count: int) -> list[str]:
    """Return the names in the file, or numbers."""
    variable = class_variable(content)
    if variable is None:
        return numbered(count)
    names = [_name(one) for one in np.ravel(content[variable])]
    if len(names) != count:
        raise FileError(path, f"{variable} has {len(names)} names for {count} classes.")
    return names
