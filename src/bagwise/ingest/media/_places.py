"""Where in its bag's file every instance is: a table with bag, instance and the columns of the medium."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bagwise import formats
from bagwise.core.errors import FileError
from bagwise.formats import Table
from bagwise.ingest.media import _registry as registry
from bagwise.kernels import Array

WIDTH = 4
"""Columns of a stored place; no medium has more."""


@dataclass(frozen=True)
class Places:
    r"""A table of places that has been read and not been validated yet.

    Parameters
    ----------
    path : Path
        The file, named in errors.
    table : Table
        Its rows, with columns `bag`, `instance` and those of the media.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "places.csv"
    ...     _ = file.write_text("bag,instance,start,end\na,1,0.5,2\n")
    ...     rows, places = Places.read(file).rows(["a"], np.array([0, 2]), {0: "sound"})
    >>> rows, places
    (array([1]), array([[0.5, 2. , nan, nan]]))
    """

    path: Path
    table: Table

    @classmethod
    def read(cls, path: Path) -> "Places":
        """Read a CSV or Parquet file; columns that no medium has are ignored.

        Parameters
        ----------
        path : Path
            The file.

        Returns
        -------
        Places

        Raises
        ------
        FileError
            If it cannot be read, or has no column `bag` or `instance`.
        """
        table = formats.read_table(path)
        for name in ("bag", "instance"):
            if name not in table.frame.columns:
                raise FileError(path, f"there is no column {name}: places need bag, instance and a place.")
        return cls(path, table)

    def rows(self, ids: Sequence[str], offsets: Array, of_bag: Mapping[int, str]) -> tuple[Array, Array]:
        """Return the rows of instances and their places, validated.

        Parameters
        ----------
        ids : sequence of str
            All bags.
        offsets : ndarray of shape (n_bags + 1,)
            Where the instances of each bag begin.
        of_bag : mapping of int to str
            The medium of each bag that has one.

        Returns
        -------
        rows : ndarray of shape (n_places,), int64
        places : ndarray of shape (n_places, 4), float64
        """
        import polars as pl

        position = {name: number for number, name in enumerate(ids)}
        bags = np.array([position.get(name, -1) for name in self.table.frame["bag"]], np.int64)
        self._raise_first(bags < 0, "bag", "the project has no such bag.")
        instance = self._numbers("instance")
        sizes = np.diff(offsets)[bags]
        wrong = (instance != np.floor(instance)) | (instance < 0) | ~(instance < sizes)
        self._raise_first(wrong, "instance", "the bag has no such instance; they are counted from 0.")
        rows = offsets[bags] + instance.astype(np.int64)
        duplicated = pl.Series(rows).is_duplicated().to_numpy()
        self._raise_first(duplicated, "instance", "this instance has two places.")
        places = np.full((len(bags), WIDTH), np.nan)
        for name in dict.fromkeys(of_bag.values()):
            selected = np.array([of_bag.get(bag) == name for bag in bags.tolist()], bool)
            if selected.any():
                places[selected] = self._of_medium(name, selected)[selected]
        known = ~np.isnan(places[:, 0])
        return rows[known], places[known]

    def _of_medium(self, name: str, selected: Array) -> Array:
        member, columns = registry.available()[name], registry.columns_of(name)
        values = np.full((len(selected), WIDTH), np.nan)
        for number, column in enumerate(columns):
            if column in self.table.frame.columns:
                values[:, number] = self._numbers(column)
            elif column in member.PLACE:
                raise FileError(self.path, f"there is no column {column}: {name} needs {', '.join(member.PLACE)}.")
            if column in member.PLACE:
                self._raise_first(selected & ~np.isfinite(values[:, number]), column, "is not a number.")
        self._raise_first(selected & member.misplaced(values), columns[0], member.RULE)
        return values

    def _numbers(self, column: str) -> Array:
        import polars as pl

        text = self.table.frame[column].str.strip_chars()
        numbers = text.cast(pl.Float64, strict=False)
        wrong = (numbers.is_null() | numbers.is_infinite()) & (text != "")
        self._raise_first(wrong.to_numpy(), column, "is not a number.")
        return numbers.fill_null(float("nan")).to_numpy()

    def _raise_first(self, wrong: Array, column: str, what: str) -> None:
        if wrong.any():
            row = int(wrong.argmax())
            value = self.table.frame[column][row]
            raise self.table.locator.fault(f"{value!r}: {what}", row, column)


@dataclass(frozen=True)
class Spans:
    """Start and end in seconds of windows of sound, read with their instances.

    Parameters
    ----------
    names : sequence of str
        The bags.
    codes : ndarray of shape (n_instances,), int
        The position in `names` of each instance's bag.
    values : ndarray of shape (n_instances, 2)
        Start and end of each instance, in seconds.

    Examples
    --------
    >>> spans = Spans(["a"], np.array([0, 0]), np.array([[0.0, 3.0], [3.0, 6.0]]))
    >>> rows, places = spans.rows(["a"], np.array([0, 2]), {0: "sound"})
    >>> rows, places[:, :2]
    (array([0, 1]), array([[0., 3.],
           [3., 6.]]))
    """

    names: Sequence[str]
    codes: Array
    values: Array

    def rows(self, ids: Sequence[str], offsets: Array, of_bag: Mapping[int, str]) -> tuple[Array, Array]:
        """Return the rows of instances and their places, as `Places.rows` does.

        Parameters
        ----------
        ids : sequence of str
            All bags.
        offsets : ndarray of shape (n_bags + 1,)
            Where the instances of each bag begin.
        of_bag : mapping of int to str
            The medium of each bag that has one.

        Returns
        -------
        rows : ndarray of shape (n_places,), int64
        places : ndarray of shape (n_places, 4), float64
        """
        position = {name: number for number, name in enumerate(ids)}
        bags = np.array([position[name] for name in self.names])
        order = np.argsort(self.codes, kind="stable")
        within = np.empty(len(order), np.int64)
        within[order] = np.arange(len(order)) - np.searchsorted(self.codes[order], self.codes[order])
        rows = offsets[bags[self.codes]] + within
        places = np.full((len(rows), WIDTH), np.nan)
        places[:, :2] = self.values
        is_sound = np.array([of_bag.get(bag) == "sound" for bag in bags.tolist()], bool)[self.codes]
        return rows[is_sound], places[is_sound]
