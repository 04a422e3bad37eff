"""Installs with pip and shows how far it is: one line that moves in a terminal, a few lines in a log.

    python tools/install.py PIP-ARGUMENTS...
    python tools/install.py --torch

The second installs torch and Triton for the tests where there is a build without CUDA, or a card to use CUDA with. The
package index has none for Linux but gigabytes of CUDA: there the tests of torch are left out, and this says so.
"""

import os
import platform
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

PIP = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
TORCH = "torch==2.13.0"
TRITON = "triton>=3.9"
SECONDS_BETWEEN_LINES = 5
WIDTH = 78
STEP = re.compile(r"\s*(Collecting|Downloading|Installing|Building|Preparing|Getting)\b.*")


class Progress:
    """What is being done, after how many seconds."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.last = self.start
        self.moving = sys.stdout.isatty()

    def show(self, step: str) -> None:
        """Say it now, or not at all where something was said a moment ago."""
        if self.moving:
            print(f"\r{self._line(step):<{WIDTH}}", end="", flush=True)
        elif time.monotonic() - self.last > SECONDS_BETWEEN_LINES:
            self.last = time.monotonic()
            print(self._line(step), flush=True)

    def end(self, what: str) -> None:
        """The last line."""
        if self.moving:
            print("\r" + " " * WIDTH, end="\r")
        print(self._line(what), flush=True)

    def _line(self, step: str) -> str:
        return f"[{time.monotonic() - self.start:4.0f} s] {' '.join(step.split())}"[:WIDTH]


def install(arguments: list[str], what: str, quiet_failure: bool = False) -> bool:
    """Whether pip could; what it said is shown if not."""
    progress, said = Progress(), []
    print(f"Installing {what}", flush=True)
    with subprocess.Popen(
        [*PIP, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            said.append(line)
            if STEP.match(line):
                progress.show(line.split(", ")[0] if line.startswith("Installing") else line)
    if pip.returncode == 0:
        count = sum(len(line.split()) - 2 for line in said if line.startswith("Successfully installed"))
        progress.end(f"installed {count} packages")
    elif not quiet_failure:
        print("".join(said[-30:]), file=sys.stderr)
    return pip.returncode == 0


def install_torch() -> None:
    """A build for the CPU, or CUDA where there is a card or it was asked for; else nothing, loudly."""
    if find_spec("torch"):
        return
    triton = [TRITON] if (platform.system(), platform.machine()) == ("Linux", "x86_64") else []
    if install([f"{TORCH}+cpu", *triton], f"{TORCH} for the CPU", quiet_failure=True):
        return
    wanted = os.environ.get("BAGWISE_TORCH") == "cuda" or Path("/dev/nvidia0").exists()
    if platform.system() != "Linux" or wanted:
        if not install([TORCH, *triton], TORCH):
            sys.exit(f"{TORCH} could not be installed.")
        return
    print(
        f"NOT INSTALLED: {TORCH}. The package index has no build for the CPU and Python {platform.python_version()},\n"
        "and this machine has no card for CUDA. The tests of torch are left out and listed at the end.\n"
        "To run them: BAGWISE_TORCH=cuda make test (gigabytes), or first install a torch for the CPU\n"
        f"into {sys.prefix}."
    )


def main() -> None:
    """As the arguments say."""
    if sys.argv[1:] == ["--torch"]:
        install_torch()
    elif not install(sys.argv[1:], " ".join(word for word in sys.argv[1:] if not word.startswith("-"))):
        sys.exit(1)


if __name__ == "__main__":
    main()
