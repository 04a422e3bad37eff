"""Where in its bag's file every instance lies: a table with bag, instance and the columns of the medium."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from bagwise import formats
from bagwise.core.errors import FileError
from bagwise.formats import Table
from bagwise.ingest.media import _registry as known
from bagwise.kernels import Array

WIDTH = 4
"""Numbers kept of a place; no medium has more."""


@dataclass(frozen=True)
class Places:
    """A table of places that has been read and not been looked at yet."""

    path: Path
    table: Table

    @classmethod
    def read(cls, path: Path) -> "Places":
        """CSV or Parquet; columns that no medium knows are left alone."""
        table = formats.read_table(path)
        for name in ("bag", "instance"):
            if name not in table.frame.columns:
                raise FileError(path, f"there is no column {name}: places need bag, instance and where it lies.")
        return cls(path, table)

    def rows(self, ids: Sequence[str], offsets: Array, of_bag: Mapping[int, str]) -> tuple[Array, Array]:
        """(row of the instance, its place) of all instances in bags that have a medium, `of_bag`."""
        position = {name: number for number, name in enumerate(ids)}
        bags = np.array([position.get(name, -1) for name in self.table.frame["bag"]], np.int64)
        self._refuse(bags < 0, "bag", "there is no such bag in the project.")
        instance = self._numbers("instance")
        sizes = np.diff(offsets)[bags]
        wrong = (instance != np.floor(instance)) | (instance < 0) | ~(instance < sizes)
        self._refuse(wrong, "instance", "the bag has no such instance; they are counted from 0.")
        rows = offsets[bags] + instance.astype(np.int64)
        again = pl.Series(rows).is_duplicated().to_numpy()
        self._refuse(again, "instance", "this instance has two places.")
        places = np.full((len(bags), WIDTH), np.nan)
        for name in dict.fromkeys(of_bag.values()):
            mine = np.array([of_bag.get(bag) == name for bag in bags.tolist()], bool)
            if mine.any():
                places[mine] = self._of_medium(name, mine)[mine]
        there = ~np.isnan(places[:, 0])
        return rows[there], places[there]

    def _of_medium(self, name: str, mine: Array) -> Array:
        module, columns = known.available()[name], known.columns_of(name)
        values = np.full((len(mine), WIDTH), np.nan)
        for number, column in enumerate(columns):
            if column in self.table.frame.columns:
                values[:, number] = self._numbers(column)
            elif column in module.PLACE:
                raise FileError(self.path, f"there is no column {column}: {name} needs {', '.join(module.PLACE)}.")
            if column in module.PLACE:
                self._refuse(mine & ~np.isfinite(values[:, number]), column, "is not a number.")
        self._refuse(mine & module.misplaced(values), columns[0], module.RULE)
        return values

    def _numbers(self, column: str) -> Array:
        text = self.table.frame[column].str.strip_chars()
        numbers = text.cast(pl.Float64, strict=False)
        wrong = (numbers.is_null() | numbers.is_infinite()) & (text != "")
        self._refuse(wrong.to_numpy(), column, "is not a number.")
        return numbers.fill_null(float("nan")).to_numpy()

    def _refuse(self, wrong: Array, column: str, what: str) -> None:
        if wrong.any():
            row = int(wrong.argmax())
            value = self.table.frame[column][row]
            raise self.table.place.fault(f"{value!r}: {what}", row, column)


@dataclass(frozen=True)
class Spans:
    """Start and end of windows of sound that came with their instances, those of a bag together."""

    names: Sequence[str]
    codes: Array
    values: Array

    def rows(self, ids: Sequence[str], offsets: Array, of_bag: Mapping[int, str]) -> tuple[Array, Array]:
        """As `Places.rows`."""
        position = {name: number for number, name in enumerate(ids)}
        bags = np.array([position[name] for name in self.names])
        within = np.arange(len(self.codes)) - np.searchsorted(self.codes, self.codes)
        rows = offsets[bags[self.codes]] + within
        places = np.full((len(rows), WIDTH), np.nan)
        places[:, :2] = self.values
        heard = np.array([of_bag.get(bag) == "sound" for bag in bags.tolist()], bool)[self.codes]
        return rows[heard], places[heard]
