"""Synthetic data: every class is a normal cloud of instances, and some instances have no class."""

import numpy as np

from bagwise.data.bags import Bags
from bagwise.datasets._types import Dataset, union_of_instances
from bagwise.kernels import Array

FEATURES = 12
DEVIATION_OF_CENTRES = 1.6
BACKGROUND_DEVIATION = 2.0


def clouds(name: str, random_state: int, bags: int, instances: int, frequency: Array, background: float) -> Dataset:
    """Draw bags: each class has its `frequency` and one to three instances; a `background` share has no class."""
    rng = np.random.default_rng([random_state, len(frequency)])
    centres = DEVIATION_OF_CENTRES * rng.standard_normal((len(frequency), FEATURES))
    labels: list[int] = []
    sizes = []
    for _ in range(bags):
        present = np.flatnonzero(rng.random(len(frequency)) < frequency)
        own = np.repeat(present, rng.integers(1, 4, size=len(present))).tolist()
        others = rng.binomial(instances, background) if own else max(1, rng.binomial(instances, background))
        labels += own + [-1] * others
        sizes.append(len(own) + others)
    of_instances = np.array(labels)
    x = rng.standard_normal((len(of_instances), FEATURES))
    x[of_instances < 0] *= BACKGROUND_DEVIATION
    x[of_instances >= 0] += centres[of_instances[of_instances >= 0]]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    names = [f"class {c}" for c in range(len(frequency))]
    bag_labels = union_of_instances(of_instances, offsets, len(frequency))
    return Dataset(name, Bags(x.astype(np.float32), offsets), bag_labels, names, of_instances)
