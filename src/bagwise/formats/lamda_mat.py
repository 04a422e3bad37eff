"""LAMDA's Matlab files: `bags`, a cell of n_b x d matrices, and `targets`, classes x bags: 1 present, -1 *absent*."""

from pathlib import Path

import numpy as np

from bagwise.core.errors import FileError
from bagwise.formats._label_table import LabelTable, label_matrix
from bagwise.formats._matlab import cell, class_names, is_matlab, load, variables
from bagwise.formats._types import Source
from bagwise.formats._values import numbered

DESCRIPTION = "LAMDA Matlab file with bags and targets (.mat)"
SUFFIXES = (".mat",)


def recognises(path: Path) -> bool:
    """Return whether it is a Matlab file with a variable `bags`."""
    return is_matlab(path) and "bags" in variables(path)


def read(path: Path, bag_column: str | None = None) -> Source:
    """Read the bags and, if present, the targets."""
    content = load(path)
    bags = cell(path, content, "bags", transpose=False)
    ids = numbered(len(bags))
    return Source.of_bags(path, bags, ids, _labels(path, content, ids) if "targets" in content else None)


def _labels(path: Path, content: dict[str, np.ndarray], ids: list[str]) -> LabelTable:
    targets = np.asarray(content["targets"])
    if targets.ndim != 2 or targets.shape[1] != len(ids) or targets.dtype.kind not in "fiub":
        raise FileError(path, f"targets have shape {targets.shape}: they must be classes x {len(ids)} bags.")
    wrong = ~np.isin(targets, (-1, 1))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        what = f"target {targets[row, column]} of bag {column + 1}: only 1 (present) and -1 (absent) are valid."
        raise FileError(path, what, int(row) + 1, int(column) + 1, "row")
    return label_matrix(path, ids, class_names(path, content, len(targets)), (targets.T == 1).astype(float))
