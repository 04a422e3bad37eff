"""Virtual environments with other libraries, created once in the user's cache folder, and programs that run in them."""

import hashlib
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bagwise.core.caches import user_cache_folder
from bagwise.core.errors import BagwiseError
from bagwise.kernels import Array
from bagwise.research.bench.timing import Log

EXTERNAL = Path(__file__).with_name("external")
COMPLETE = "complete"
LAST_CHARACTERS = 300
ONE_THREAD = dict.fromkeys(("BAGWISE_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""On problems this small, spinning threads would slow the compared systems down."""


class Missing(BagwiseError):
    """Something that a suite compares with is not installed and cannot be installed."""


def cache_folder() -> Path:
    """Return the folder in which environments are kept between runs."""
    return user_cache_folder("bench")


def environment_python(requirements: tuple[str, ...], log: Log) -> Path:
    """Return the interpreter of an environment with exactly these requirements, created if it does not exist."""
    folder = _folder_of(requirements)
    python = folder / "bin" / "python"
    if not is_installed(requirements):
        log(f"installing {', '.join(requirements)} from your package index into {folder} (only once)")
        venv.create(folder, clear=True, with_pip=True)
        _install(python, requirements)
        (folder / COMPLETE).touch()
    return python


def is_installed(requirements: tuple[str, ...]) -> bool:
    """Return whether the environment exists and is complete."""
    return (_folder_of(requirements) / COMPLETE).exists()


def _folder_of(requirements: tuple[str, ...]) -> Path:
    name = hashlib.sha256("\n".join((sys.version, *requirements)).encode()).hexdigest()[:12]
    return cache_folder() / name


def _install(python: Path, requirements: tuple[str, ...]) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise Missing(
            f"{', '.join(requirements)} could not be installed from your package index; check the network: "
            f"{done.stderr.strip()[-LAST_CHARACTERS:]}"
        )


def run_external(python: Path, runner: str, task: Mapping[str, Array], *words: str) -> dict[str, Array]:
    """Run the module `runners.RUNNER` on a task under the interpreter `python`; arrays are exchanged as files."""
    with tempfile.TemporaryDirectory() as folder:
        task_file, result_file = Path(folder) / "task.npz", Path(folder) / "result.npz"
        np.savez(task_file, **task)  # type: ignore[arg-type]
        command = [str(python), "-W", "ignore", "-m", f"runners.{runner}", str(task_file), str(result_file), *words]
        paths = os.pathsep.join([str(EXTERNAL), *_own_path(python)])
        environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": paths}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)  # noqa: S603
        if done.returncode:
            raise BagwiseError(f"The runner {runner} failed under {python}: {done.stderr.strip()[-LAST_CHARACTERS:]}")
        with np.load(result_file, allow_pickle=False) as file:
            return dict(file)


def _own_path(python: Path) -> list[str]:
    """Return the import path of this process, so that its own interpreter finds the same Bagwise."""
    return [entry for entry in sys.path if entry] if python == Path(sys.executable) else []
