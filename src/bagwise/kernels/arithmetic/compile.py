"""How kernels are compiled: once, cached on disk, without the interpreter lock.

A `kernel` gives the same bits on every processor. The compiler may assume finite numbers (logits are finite, padding is
finite, and whatever underflows does so to an exact zero), but it carries out every addition and multiplication as it is
written: sums are not reordered to suit a vector width, and products and sums are fused only where the code says so
(`vectors`, `elementary`). What a model becomes is then a function of its answers alone, wherever it is replayed.
"""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Function = TypeVar("Function", bound=Callable[..., Any])

WITH_KERNELS = ("kernels/arithmetic", "kernels/cpu", "research/baselines")
FINITE = {"nnan", "ninf"}


def _drop_stale_code(package: Path) -> None:
    """Forget compiled kernels when any source of theirs has changed; numba looks at the outermost one's file only."""
    sources = sorted(path for room in WITH_KERNELS for path in package.joinpath(room).glob("*.py"))
    stamp = "".join(f"{path.name} {path.stat().st_mtime_ns} {path.stat().st_size}\n" for path in sources)
    for folder in {path.parent / "__pycache__" for path in sources}:
        seen = folder / "kernels.stamp"
        if seen.exists() and seen.read_text() == stamp:
            continue
        # Without a stamp from the start, the second process would forget what the first one compiles.
        with contextlib.suppress(OSError):
            folder.mkdir(exist_ok=True)
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            continue
        for index in folder.glob("*.nbi"):
            index.unlink(missing_ok=True)
        seen.write_text(stamp)


_drop_stale_code(Path(__file__).parents[2])


def kernel(function: Function) -> Function:
    """Compile `function` to machine code on its first call; later processes load it from the cache."""
    return cast(Function, numba.njit(cache=True, nogil=True, fastmath=FINITE)(function))


def inlined(function: Function) -> Function:
    """Compile `function` into the kernels that call it: a call counts references to every array that it is given."""
    compiled = numba.njit(cache=True, nogil=True, fastmath=FINITE, error_model="numpy", forceinline=True)
    return cast(Function, compiled(function))


def padding(dtype: npt.DTypeLike) -> float:
    """A logit so low that its probability is exactly zero, yet finite after any subtraction."""
    return float(-np.finfo(dtype).max / 4)
