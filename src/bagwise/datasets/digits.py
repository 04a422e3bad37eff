"""Strips of three to six handwritten digits: *is 7 in this strip?* Always available, with images."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from bagwise.data.bags import Bags
from bagwise.datasets._types import Dataset, union_of_instances

DESCRIPTION = "strips of 3 to 6 handwritten digits (scikit-learn)"
SHORTEST, LONGEST = 3, 6


def _strip_sizes(total: int, rng: np.random.Generator) -> list[int]:
    """Return random sizes that add up to `total`."""
    sizes: list[int] = []
    left = total
    while left > LONGEST:
        largest = min(LONGEST, left - SHORTEST)
        sizes.append(int(rng.integers(SHORTEST, largest + 1)))
        left -= sizes[-1]
    return [*sizes, left]


def load(random_state: int = 0) -> Dataset:
    """Distribute the 1797 digits over strips, in random order."""
    digits = load_digits()
    rng = np.random.default_rng(random_state)
    order = rng.permutation(len(digits.target))
    offsets = np.concatenate([[0], np.cumsum(_strip_sizes(len(order), rng))])
    instance_labels = digits.target[order].astype(np.int64)
    return Dataset(
        "digits",
        Bags(digits.data[order] / 16, offsets),
        union_of_instances(instance_labels, offsets, 10),
        [str(digit) for digit in range(10)],
        instance_labels,
        digits.images[order].astype(np.uint8),
        # Pixels share a unit: scaling each to variance 1 would amplify the corners, which hold no ink.
        StandardScaler(with_std=False),
    )
