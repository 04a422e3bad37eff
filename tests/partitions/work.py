"""What the processes of a test do."""

import os
import signal
from pathlib import Path

from bagwise.core.errors import FileError


def doubled(number):
    return 2 * number


def refused(number):
    if number == 1:
        raise FileError(Path("t.csv"), "is bad.", 3, "x")
    return number


def killed(number):
    os.kill(os.getpid(), signal.SIGKILL)
