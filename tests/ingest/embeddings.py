"""Functions that the tests give to --embed; imported by name in worker processes."""

import os
import signal
import time
from pathlib import Path

import numpy as np


def letters(path: Path):
    """Words as instances, each by its first letter and its length, with their places."""
    text = path.read_text()
    found, at = [], 0
    for word in text.split():
        first = text.index(word, at)
        at = first + len(word)
        found.append((ord(word[0]) / 100, len(word), first, at - 1))
    numbers = np.array(found, float).reshape(-1, 4)
    return numbers[:, :2], numbers[:, 2:]


def held(path: Path):
    """Most files wait for as long as there is a file `hold` in the current folder."""
    while path.stem >= "08" and Path("hold").exists():
        time.sleep(0.02)
    return letters(path)


def dangerously(path: Path):
    """A decoder that crashes, exits, hangs or returns invalid arrays."""
    if path.stem == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if path.stem == "forever":
        time.sleep(3600)
    if path.stem == "exit":
        os._exit(3)
    if path.stem == "wide":
        return np.ones((2, 5))
    if path.stem == "nan":
        return np.full((2, 2), np.nan)
    if path.stem == "outside":
        return np.ones((1, 2)), np.array([[-5.0, 3.0]])
    if path.stem == "error":
        raise KeyError("no such thing")
    return letters(path)
