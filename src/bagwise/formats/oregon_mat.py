"""Oregon State's Matlab files: `X`, a cell of d x n_b matrices, and `Y`, bags x classes of 1 present and 0 absent."""

from pathlib import Path

import numpy as np

from bagwise.core.errors import FileError
from bagwise.formats._label_table import label_matrix
from bagwise.formats._matlab import cell, class_names, class_variable, is_matlab, load, variables
from bagwise.formats._types import Source
from bagwise.formats._values import numbered

DESCRIPTION = "Oregon State Matlab file with X and Y (.mat)"
SUFFIXES = (".mat",)


def recognises(path: Path) -> bool:
    """Return whether it is a Matlab file with a variable `X` and no `bags`."""
    return is_matlab(path) and "X" in variables(path) and "bags" not in variables(path)


def read(path: Path, bag_column: str | None = None) -> Source:
    """Read the bags and, if present, the labels."""
    content = load(path)
    bags = cell(path, content, "X", transpose=True)
    ids = numbered(len(bags))
    if "Y" not in content:
        return Source.of_bags(path, bags, ids).with_variables(content, "X")
    values = np.asarray(content["Y"])
    if values.ndim != 2 or len(values) != len(bags):
        raise FileError(path, f"Y has shape {values.shape}: it must be {len(bags)} bags x classes.")
    labels = label_matrix(path, ids, class_names(path, content, values.shape[1]), values)
    return Source.of_bags(path, bags, ids, labels).with_variables(content, "X", "Y", class_variable(content))
