"""Other libraries in an environment of their own: made once in the user's cache folder, from the package index."""

import hashlib
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.kernels import Array
from bagwise.research.bench._measuring import Say

FOREIGN = Path(__file__).with_name("_foreign")
COMPLETE = "complete"
LAST_CHARACTERS = 300
ONE_THREAD = dict.fromkeys(("BAGWISE_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""On problems this small, threads that wait by spinning would slow the compared systems down."""


class Missing(BagwiseError):
    """Something that a suite compares with is not here and cannot be had."""


def cache_folder() -> Path:
    """Where environments are kept between runs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bagwise" / "bench"


def python_with(requirements: tuple[str, ...], say: Say) -> Path:
    """The interpreter of an environment that has exactly these requirements, made if it is not there yet."""
    folder = _folder_of(requirements)
    python = folder / "bin" / "python"
    if not is_made(requirements):
        say(f"installs {', '.join(requirements)} from your package index into {folder}, this once")
        venv.create(folder, clear=True, with_pip=True)
        _install(python, requirements)
        (folder / COMPLETE).touch()
    return python


def is_made(requirements: tuple[str, ...]) -> bool:
    """Whether nothing would have to be installed."""
    return (_folder_of(requirements) / COMPLETE).exists()


def _folder_of(requirements: tuple[str, ...]) -> Path:
    name = hashlib.sha256("\n".join((sys.version, *requirements)).encode()).hexdigest()[:12]
    return cache_folder() / name


def _install(python: Path, requirements: tuple[str, ...]) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise Missing(
            f"{', '.join(requirements)} could not be installed from your package index (is there a network?): "
            f"{done.stderr.strip()[-LAST_CHARACTERS:]}"
        )


def run_elsewhere(python: Path, runner: str, task: Mapping[str, Array], *words: str) -> dict[str, Array]:
    """What `runners.RUNNER` makes of a task, under another interpreter: arrays go there and back as files."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "task.npz", Path(folder) / "result.npz"
        np.savez(given, **task)  # type: ignore[arg-type]
        command = [str(python), "-W", "ignore", "-m", f"runners.{runner}", str(given), str(found), *words]
        paths = os.pathsep.join([str(FOREIGN), *_own_path(python)])
        environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": paths}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)  # noqa: S603
        if done.returncode:
            raise BagwiseError(f"The runner {runner} failed under {python}: {done.stderr.strip()[-LAST_CHARACTERS:]}")
        with np.load(found, allow_pickle=False) as file:
            return dict(file)


def _own_path(python: Path) -> list[str]:
    """Our own interpreter must find the same Bagwise as this process does."""
    return [entry for entry in sys.path if entry] if python == Path(sys.executable) else []
