"""Loads the kernels of projects from their cache before a process forks: it takes a second, which every fork saves."""

import tempfile
from pathlib import Path

import numpy as np

from bagwise.formats import Source
from bagwise.project import Project


def load_kernels():
    """Ask, answer and learn in a small project of either precision."""
    instances = np.random.default_rng(0).normal(size=(8, 3, 3))
    for dtype in (np.float32, np.float64):
        source = Source.of_bags(Path("made.npz"), [*instances.astype(dtype)], list("abcdefgh"))
        with (
            tempfile.TemporaryDirectory() as folder,
            Project.create(f"{folder}/p", source, classes=["wren", "owl"]) as project,
        ):
            for number in range(4):
                (asked,) = project.ask("ann")
                project.answer(asked.key, "ann", "present" if number % 2 else "absent")
            project.catch_up()
