"""MLSP 2013 birds: recordings of 19 species, no instance labels; a relational ARFF file inside `mimllearning`."""

from bagwise.datasets._types import Dataset, file_of_package
from bagwise.formats import arff, as_labels

DESCRIPTION = "recordings of 19 bird species, MLSP 2013 (package mimllearning)"
PACKAGE, REQUIREMENT, FILE = "miml", "mimllearning==1.0.11", "datasets/miml_birds.arff"


def load(random_state: int = 0) -> Dataset:
    """Load the data set; the seed has no effect."""
    source = arff.read(file_of_package(PACKAGE, FILE, REQUIREMENT))
    assert source.labels is not None
    return Dataset("birds", source.to_bags(), as_labels(source.labels), list(source.labels.classes))
