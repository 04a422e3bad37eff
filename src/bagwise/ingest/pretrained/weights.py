"""Where the weights of a model come from, and the names of its classes."""

import csv
import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from bagwise.core.errors import FileError

NAME_COLUMNS = ("sci_name", "scientific_name", "label", "name", "inat2024_fsd50k")
"""Columns of a table of classes that hold their names, the first of them that exists."""


@dataclass(frozen=True)
class Weights:
    """Where the file of a model is: given by a person, named by an environment variable, or part of a package.

    Parameters
    ----------
    variable : str
        The environment variable that may hold its path.
    package : str
        The installed package that carries it; empty for a model that people bring themselves.
    file : str
        Its path within the package, or within a folder that is given instead of the file; may be a pattern.
    source : str
        Where to get it, in a few words, for a model that people bring themselves.
    install : str
        What is typed after `pip install` for a package.
    modules : tuple of str
        The modules that run it.

    Examples
    --------
    >>> Weights("BAGWISE_OWLS", source="the owners").missing("")
    'the model: get it from the owners, and give its path with --weights or in BAGWISE_OWLS'
    """

    variable: str
    package: str = ""
    file: str = ""
    source: str = ""
    install: str = ""
    modules: tuple[str, ...] = ()

    def find(self, given: str = "") -> Path | None:
        """Return the path of the model, or None where there is none; a given path is returned as it is.

        Parameters
        ----------
        given : str
            The path that a person gave; empty for none.

        Returns
        -------
        Path or None
        """
        chosen = given or os.environ.get(self.variable, "")
        if chosen:
            path = Path(chosen).expanduser()
            return next(iter(sorted(path.glob(self.file))), path) if path.is_dir() and self.file else path
        spec = find_spec(self.package) if self.package else None
        folders = (spec.submodule_search_locations if spec is not None else None) or []
        return next((path for folder in folders for path in sorted(Path(folder).glob(self.file))), None)

    def missing(self, given: str = "") -> str:
        """Return what has to be installed or given before the model can be used; empty where nothing is missing.

        Parameters
        ----------
        given : str
            The path that a person gave; empty for none.

        Returns
        -------
        str
        """
        absent = [module for module in self.modules if find_spec(module) is None]
        path = self.find(given)
        if path is not None and not path.is_file():
            return f"{path}, which is not a file"
        needs_package = path is None and bool(self.package)
        if needs_package or (absent and self.install):
            names = ([self.package] if needs_package else []) + absent
            return f"{', '.join(names)}: pip install {self.install}"
        if absent:
            return f"{', '.join(absent)}: pip install {' '.join(absent)}"
        if path is None:
            return f"the model: get it from {self.source}, and give its path with --weights or in {self.variable}"
        return ""


def beside(path: Path, *patterns: str) -> Path | None:
    """Return the first file that lies beside a model, or one folder up, and fits one of the patterns.

    Parameters
    ----------
    path : Path
        The file of the model.
    *patterns : str
        File names, as `labels.txt` or `*Labels.csv`.

    Returns
    -------
    Path or None

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "labels.txt").write_text("wren")
    ...     beside(Path(folder) / "onnx" / "model.onnx", "*.csv", "labels.txt").name
    'labels.txt'
    """
    folders = (path.parent, path.parent.parent)
    return next((one for folder in folders for name in patterns for one in sorted(folder.glob(name))), None)


def read_class_names(path: Path) -> list[str]:
    r"""Return the names of a model's classes: a line for each, or a table with a column for the names.

    Parameters
    ----------
    path : Path
        A text file, or a CSV with commas or semicolons whose heading has one of `NAME_COLUMNS`.

    Returns
    -------
    list of str

    Raises
    ------
    FileError
        If it cannot be read, or names no class.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "Labels.csv"
    ...     _ = file.write_text("idx;sci_name\n0;Parus major\n")
    ...     read_class_names(file)
    ['Parus major']
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(path, "cannot be read as the names of classes: give a UTF-8 text.") from error
    heading = lines[0] if lines else ""
    separator = ";" if ";" in heading else ","
    columns = next(csv.reader([heading], delimiter=separator), [])
    column = next((columns.index(name) for name in NAME_COLUMNS if name in columns), None)
    if column is None:
        names = [line.strip() for line in lines]
    else:
        names = [row[column] for row in csv.reader(lines[1:], delimiter=separator) if row]
    names = [name for name in names if name]
    if not names:
        raise FileError(path, "names no class: give a text with one name per line.")
    return names
