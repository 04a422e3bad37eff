"""Data sets: ONE FILE = ONE DATA SET, found by its name.

A data set is a module (or any object) with `DESCRIPTION` and `load(random_state) -> Dataset`, or just such a function,
which is described by the first line of its docstring. One that is built on first use and then kept also has
`is_built() -> bool`: a list of all data sets does not build it.

Another package adds a data set with an entry point of the group `bagwise.datasets`; see docs/extending-data.md.
"""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from bagwise import formats
from bagwise.core.errors import FileError
from bagwise.core.plugins import choose, discover
from bagwise.datasets._types import Dataset, union_of_instances

MIN_BAGS = 20

__all__ = ["Dataset", "available", "load", "union_of_instances"]


def available() -> dict[str, Any]:
    """Return every data set by name, whether its source is installed or not.

    Returns
    -------
    dict of str to module or object
        The modules of this package and the entry points of `bagwise.datasets`.

    Examples
    --------
    >>> available()["digits"].DESCRIPTION
    'strips of 3 to 6 handwritten digits (scikit-learn)'
    """
    return {name: _member(member) for name, member in discover(__name__, "bagwise.datasets").items()}


def load(name: str | Callable[..., Dataset] | Any, random_state: int = 0, **options: Any) -> Dataset:
    """Load a data set.

    Parameters
    ----------
    name : str, callable or module
        The name of a data set; a file, or a folder in a format that is a folder, of which the fully labelled bags are
        taken; a function that returns a `Dataset`; or a module with such a function `load`.
    random_state : int
        The seed of data sets that are drawn at random.
    **options
        Further options of the data set, as `bags` of `synthetic`.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> load("digits")
    Dataset(digits: Bags(396 bags, 1797 instances, 64 features), 10 classes)
    """
    if isinstance(name, str) and name not in available() and _holds_instances(Path(name)):
        return _from_file(Path(name))
    member = choose("data set", name, available()) if isinstance(name, str) else _member(name)
    dataset: Dataset = member.load(random_state, **options)
    return dataset


def _member(member: Any) -> Any:
    if hasattr(member, "load"):
        return member
    return SimpleNamespace(DESCRIPTION=(member.__doc__ or "").strip().partition("\n")[0].rstrip("."), load=member)


def _holds_instances(path: Path) -> bool:
    return path.is_file() or (path.is_dir() and formats.folder_format(path) is not None)


def _from_file(path: Path) -> Dataset:
    source = formats.read(path)
    if source.labels is None:
        found = f" ({source.sentence})" if source.sentence else ""
        raise FileError(path, f"contains no labels{found}: an experiment takes its answers from them.")
    labels = formats.as_labels(source.labels)
    complete = np.flatnonzero(labels.known.all(axis=1))
    if len(complete) < MIN_BAGS:
        what = f"{len(complete)} bags have every label known: an experiment needs at least {MIN_BAGS}."
        raise FileError(path, what)
    return Dataset(path.stem, source.to_bags(), labels, list(source.labels.classes)).select(complete)
