"""HJA birdsong with identified segments only: the view that the literature uses."""

from bagwise.datasets._birdsong import load_hja
from bagwise.datasets._types import Dataset

DESCRIPTION = "birdsong of the H. J. Andrews forest, identified segments (file hja.npz)"


def load(random_state: int = 0) -> Dataset:
    """Load the data set; the seed has no effect."""
    return load_hja("hja", identified_only=True)
