"""Install with pip and show progress: one changing line in a terminal, a few lines in a log.

    python tools/install.py PIP-ARGUMENTS...
    python tools/install.py --torch

The second form installs torch and Triton for the tests where a build without CUDA or an NVIDIA GPU is available. The
public index offers only builds with CUDA for Linux, which are gigabytes: there the tests of torch are skipped, and this
prints why.
"""

import os
import platform
import re
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

PIP = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
TORCH = "torch==2.13.0"
TRITON = "triton>=3.9"
SECONDS_BETWEEN_LINES = 10
WIDTH = 78
STEP = re.compile(r"\s*(Collecting|Downloading|Installing|Building|Preparing|Getting)\b.*")


class Progress:
    """Prints the current step with the seconds since the start."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.last = self.start
        self.is_terminal = sys.stdout.isatty()
        self.step = ""
        self.ended = threading.Event()
        threading.Thread(target=self._go_on, daemon=True).start()

    def _go_on(self) -> None:
        """Show the step again and again: pip says nothing while it unpacks, which may take minutes."""
        while not self.ended.wait(min(1, SECONDS_BETWEEN_LINES)):
            if self.step:
                self.show(self.step)

    def show(self, step: str) -> None:
        """Show a step; in a log, at most one every `SECONDS_BETWEEN_LINES`."""
        self.step = step
        if self.is_terminal:
            print(f"\r{self._line(step):<{WIDTH}}", end="", flush=True)
        elif time.monotonic() - self.last > SECONDS_BETWEEN_LINES:
            self.last = time.monotonic()
            print(self._line(step), flush=True)

    def end(self, what: str) -> None:
        """Show the last line."""
        self.stop()
        if self.is_terminal:
            print("\r" + " " * WIDTH, end="\r")
        print(self._line(what), flush=True)

    def stop(self) -> None:
        """Show nothing any more."""
        self.ended.set()

    def _line(self, step: str) -> str:
        return f"[{time.monotonic() - self.start:4.0f} s] {' '.join(step.split())}"[:WIDTH]


def install(arguments: list[str], what: str, quiet_failure: bool = False) -> bool:
    """Run pip and return whether it succeeded; the end of its output is printed if not."""
    progress, output = Progress(), []
    print(f"Installing {what}", flush=True)
    with subprocess.Popen(
        [*PIP, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            output.append(line)
            if STEP.match(line):
                progress.show(line.split(", ")[0] if line.startswith("Installing") else line)
    if pip.returncode == 0:
        count = sum(len(line.split()) - 2 for line in output if line.startswith("Successfully installed"))
        progress.end(f"installed {count} packages")
    else:
        progress.stop()
        if not quiet_failure:
            print("".join(output[-30:]), file=sys.stderr)
    return pip.returncode == 0


def install_torch() -> None:
    """Install a build for the CPU, or CUDA where a GPU exists or it was requested; else print that it is missing."""
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
        "and this machine has no NVIDIA GPU. The tests of torch are skipped and listed at the end.\n"
        "To run them: BAGWISE_TORCH=cuda make test (gigabytes), or first install a torch for the CPU\n"
        f"into {sys.prefix}."
    )


def main() -> None:
    """Install what the arguments name."""
    if sys.argv[1:] == ["--torch"]:
        install_torch()
    elif not install(sys.argv[1:], " ".join(word for word in sys.argv[1:] if not word.startswith("-"))):
        sys.exit(1)


if __name__ == "__main__":
    main()
