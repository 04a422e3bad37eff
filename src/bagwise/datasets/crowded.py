"""Synthetic bags in which most instances belong to no class."""

import numpy as np

from bagwise.datasets._clouds import clouds
from bagwise.datasets._types import Dataset

DESCRIPTION = "synthetic: six classes among many instances of none"


def load(random_state: int = 0) -> Dataset:
    """Draw 400 bags of about 20 instances, 4 in 5 of no class."""
    return clouds("crowded", random_state, 400, 20, np.full(6, 0.25), 0.8)
