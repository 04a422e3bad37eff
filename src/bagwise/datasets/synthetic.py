"""Bags drawn from the model itself, in any size; with a `directory` instances are written to disk as they are drawn."""

from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.datasets._types import Dataset, union_of_instances

DESCRIPTION = "drawn from the model itself, any size"
ROWS_AT_A_TIME = 1 << 16


def load(
    random_state: int = 0,
    bags: int = 300,
    instances: int = 5,
    features: int = 10,
    classes: int = 6,
    separation: float = 3.0,
    directory: str | Path | None = None,
) -> Dataset:
    """Draw bags with normal features and instance classes from softmax(separation * W x).

    Parameters
    ----------
    random_state : int
        The seed.
    bags : int
        The number of bags.
    instances : int
        A bag has 1 to 2 `instances` - 1 of them.
    features : int
        The number of features.
    classes : int
        The number of classes.
    separation : float
        How certain the class of an instance is.
    directory : str or Path, optional
        Where to write the instances, as a memory-mapped file.
    """
    for name, value in (("bags", bags), ("instances", instances), ("features", features), ("classes", classes)):
        if value < 1:
            raise BagwiseError(f"{name}={value} must be at least 1.")
    rng = np.random.default_rng(random_state)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 2 * instances, size=bags))])
    total = int(offsets[-1])
    weights = rng.standard_normal((classes, features)) * separation / np.sqrt(features)
    shape = (total, features)
    if directory is None:
        x = np.empty(shape, np.float32)
    else:
        Path(directory).mkdir(parents=True, exist_ok=True)
        x = open_memmap(Path(directory) / "instances.npy", mode="w+", dtype=np.float32, shape=shape)
    instance_labels = np.empty(total, np.int64)
    for start in range(0, total, ROWS_AT_A_TIME):
        stop = min(start + ROWS_AT_A_TIME, total)
        block = rng.standard_normal((stop - start, features), dtype=np.float32)
        # The largest of logit + Gumbel noise is a draw from the soft-max.
        noisy = block @ weights.T + rng.gumbel(size=(stop - start, classes))
        x[start:stop] = block
        instance_labels[start:stop] = noisy.argmax(axis=1)
    labels = union_of_instances(instance_labels, offsets, classes)
    names = [f"class {c}" for c in range(classes)]
    return Dataset("synthetic", Bags(x, offsets), labels, names, instance_labels)
