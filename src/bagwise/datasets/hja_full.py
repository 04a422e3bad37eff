"""HJA birdsong with every segment: more than half belong to no listed species, the test of a background class."""

from bagwise.datasets._birdsong import load_hja
from bagwise.datasets._types import Dataset

DESCRIPTION = "birdsong of the H. J. Andrews forest, all segments (file hja.npz)"


def load(random_state: int = 0) -> Dataset:
    """Load the data set; the seed has no effect."""
    return load_hja("hja_full", identified_only=False)
