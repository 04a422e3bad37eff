"""HJA birdsong (Briggs et al., JASA 2012): ten-second recordings, each split into segments of song."""

import numpy as np

from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.datasets._types import Dataset, file_of_data_folder


def load_hja(name: str, identified_only: bool) -> Dataset:
    """Load all segments, or only those whose species was identified."""
    with np.load(file_of_data_folder("hja.npz"), allow_pickle=False) as file:
        x, bag, species, y = file["X"], file["bag"], file["inst_label"], file["Y"]
        classes = [str(code) for code in file["class_names"]]
    if identified_only:
        kept = species >= 0
        x, bag, species = x[kept], bag[kept], species[kept]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(bag, minlength=len(y)))])
    return Dataset(name, Bags(x, offsets), Labels(y, np.ones_like(y)), classes, species)
