"""MLSP 2013 birds: recordings of 19 species, no instance labels; a relational ARFF file inside `mimllearning`."""

import re
from pathlib import Path

import numpy as np

from bagwise.bags import Bags
from bagwise.datasets._types import Dataset, file_of_package
from bagwise.labels import Labels

DESCRIPTION = "recordings of 19 bird species, MLSP 2013 (package mimllearning)"
PACKAGE, REQUIREMENT, FILE = "miml", "mimllearning==1.0.11", "datasets/miml_birds.arff"


def _read(path: Path) -> Dataset:
    header, rows = re.split(r"(?im)^@data\s*$", path.read_text(), maxsplit=1)
    classes = re.findall(r"(?im)^@attribute\s+(\S+)\s+\{0,\s*1\}", header.split("@end bag", 1)[1])
    ids, bags, labels = [], [], []
    for row in filter(None, map(str.strip, rows.splitlines())):
        name, instances, values = row.split('"')
        ids.append(int(name.strip(" ,")))
        bags.append([[float(number) for number in line.split(",")] for line in instances.split("\\n")])
        labels.append([int(value) for value in values.strip(" ,").split(",")])
    return Dataset("birds", Bags.from_list(bags, ids), Labels.from_array(np.array(labels, float)), classes)


def load(random_state: int = 0) -> Dataset:
    """The same data whatever the seed."""
    return _read(file_of_package(PACKAGE, FILE, REQUIREMENT))
