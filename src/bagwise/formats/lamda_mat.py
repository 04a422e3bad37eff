"""LAMDA's Matlab files: `bags`, a cell of n_b x d matrices, and `targets`, classes x bags: 1 present, -1 *absent*.

Their text data call the labels `target`.
"""

from pathlib import Path

import numpy as np

from bagwise.core.errors import FileError
from bagwise.formats._label_table import LabelTable, label_matrix
from bagwise.formats._matlab import cell, class_names, class_variable, is_matlab, load, variables
from bagwise.formats._types import Source
from bagwise.formats._values import listed, numbered

DESCRIPTION = "LAMDA Matlab file with bags and targets (.mat)"
SUFFIXES = (".mat",)
LABELS = ("targets", "target")


def recognises(path: Path) -> bool:
    """Return whether it is a Matlab file with a variable `bags`, or with none that any format knows."""
    if not is_matlab(path):
        return False
    found = variables(path)
    return "bags" in found or "X" not in found


def read(path: Path, bag_column: str | None = None) -> Source:
    """Read the bags and, if present, the targets."""
    content = load(path)
    if "bags" not in content:
        raise FileError(path, f"has no variable bags (LAMDA) or X (Oregon State), only {listed(list(content))}.")
    bags = cell(path, content, "bags", transpose=False)
    ids = numbered(len(bags))
    name = next((name for name in LABELS if name in content), None)
    if name is None:
        return Source.of_bags(path, bags, ids).with_variables(content, "bags")
    labels = _labels(path, content, name, ids)
    return Source.of_bags(path, bags, ids, labels).with_variables(content, "bags", name, class_variable(content))


def _labels(path: Path, content: dict[str, np.ndarray], name: str, ids: list[str]) -> LabelTable:
    targets = np.asarray(content[name])
    if targets.ndim != 2 or targets.shape[1] != len(ids) or targets.dtype.kind not in "fiub":
        raise FileError(path, f"{name} has shape {targets.shape}: it must be classes x {len(ids)} bags.")
    wrong = ~np.isin(targets, (-1, 1))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        what = f"target {targets[row, column]} of bag {column + 1}: only 1 (present) and -1 (absent) are valid."
        raise FileError(path, what, int(row) + 1, int(column) + 1, "row")
    return label_matrix(path, ids, class_names(path, content, len(targets)), (targets.T == 1).astype(float))
