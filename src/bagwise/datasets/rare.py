"""Synthetic bags of ten classes, from one that every third bag has down to one that every hundredth has."""

import numpy as np

from bagwise.datasets._clouds import clouds
from bagwise.datasets._types import Dataset

DESCRIPTION = "synthetic: ten classes in 33 % to 1 % of the bags"


def load(random_state: int = 0) -> Dataset:
    """Draw 600 bags."""
    return clouds("rare", random_state, 600, 4, np.geomspace(0.33, 0.01, 10), 0.5)
