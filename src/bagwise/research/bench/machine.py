"""Describe the machine that a figure was measured on: ratios differ less between machines than times, but differ."""

import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from bagwise.kernels.arithmetic.blocks import thread_count

PACKAGES = ("bagwise", "numpy", "scipy", "scikit-learn", "numba", "torch")


def describe() -> dict[str, Any]:
    """Return processor, cores in use, BLAS libraries and package versions."""
    blas = {f"{pool['internal_api']} {pool['version']}" for pool in threadpool_info() if pool["user_api"] == "blas"}
    return {
        "processor": _processor(),
        "cores": thread_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "blas": ", ".join(sorted(blas)),
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _processor() -> str:
    """Return the name of the processor; Linux has it in a file only."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    named = re.search(r"model name\s*:\s*(.+)", text)
    return named[1].strip() if named else platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
