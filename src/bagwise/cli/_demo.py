"""The project of the demo: strips of handwritten digits, some held out to measure how well the model learns."""

from pathlib import Path

import numpy as np

from bagwise import datasets
from bagwise.formats import Source
from bagwise.project import Display, Learning, Project
from bagwise.project.reports.truth import write_truth

HELD_OUT = 80


def make_demo(folder: Path) -> None:
    """Create the project, unless it exists."""
    if (folder / "bagwise.toml").exists():
        return
    digits = datasets.load("digits")
    kept = len(digits.bags) - HELD_OUT
    ids = [f"strip {number}" for number in range(1, kept + 1)]
    source = Source.of_bags(Path("digits"), [np.array(bag) for bag in digits.bags.select(range(kept))], ids)
    learning = Learning(scaling="centre")
    display = Display(bag="strip", picture="8x8")
    Project.create(folder, source, None, digits.classes, learning, display=display).close()
    held_out = digits.select(np.arange(kept, len(digits.bags)))
    write_truth(folder, held_out.bags, np.asarray(held_out.labels.value), digits.classes)
