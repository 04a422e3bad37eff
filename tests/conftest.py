import numpy as np
import pytest

from bagwise import Bags, Labels


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def small():
    """Twelve bags of two to five instances, four classes, about half of the labels known."""
    rng = np.random.default_rng(3)
    bags = Bags.from_list([rng.normal(size=(rng.integers(2, 6), 3)) for _ in range(12)])
    value = rng.random((12, 4)) < 0.4
    return bags, Labels(value, rng.random((12, 4)) < 0.5)
