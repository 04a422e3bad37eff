"""HJA birdsong, put together again so that every species is rare: each of twelve is in 2 % of the recordings.

A bag has about five segments that belong to no listed species, as they follow each other in the forest's recordings. In
20 bags of 1,000, drawn for each species, up to three segments of one recording of it are added. No segment is used
twice. The thirteenth species is in too few recordings.
"""

import numpy as np

from bagwise.data.bags import Bags
from bagwise.datasets._birdsong import load_hja
from bagwise.datasets._types import Dataset, union_of_instances

DESCRIPTION = "birdsong of the H. J. Andrews forest, twelve species in 2 % of the bags each (file hja.npz)"
BAGS, PRESENT, CALLS = 1000, 20, 3


def load(random_state: int = 0) -> Dataset:
    """Draw the bags of every species from the recordings that have it."""
    forest = load_hja("scarce", identified_only=False)
    species, recording = forest.instance_labels, np.repeat(np.arange(len(forest.bags)), forest.bags.sizes)
    assert species is not None
    rng = np.random.default_rng([random_state, BAGS])
    rows = [list(part) for part in np.array_split(np.flatnonzero(species < 0), BAGS)]
    found_in = forest.labels.value.sum(axis=0)
    kept = np.flatnonzero(found_in >= PRESENT)
    for one in kept:
        heard_in = rng.choice(np.flatnonzero(forest.labels.value[:, one]), PRESENT, replace=False)
        for bag, source in zip(rng.choice(BAGS, PRESENT, replace=False), heard_in, strict=True):
            rows[bag] += list(np.flatnonzero((species == one) & (recording == source))[:CALLS])
    order, offsets = np.concatenate(rows).astype(int), np.cumsum([0, *map(len, rows)])
    places = np.full(len(found_in) + 1, -1)
    places[kept] = np.arange(len(kept))
    instance_labels = places[species[order]]
    labels = union_of_instances(instance_labels, offsets, len(kept))
    classes = [forest.classes[one] for one in kept]
    return Dataset("scarce", Bags(forest.bags.instances[order], offsets), labels, classes, instance_labels)
