"""The types that formats read into and write from."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bagwise.core.errors import FileError
from bagwise.data.bags import Bags
from bagwise.formats._detections import BagSpan
from bagwise.formats._label_table import LabelTable
from bagwise.formats._values import MAX_COLUMNS, shape_of, validate_names, validate_numbers
from bagwise.kernels import Array

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class PredictionTable:
    """Predictions by the names of bags and classes.

    Parameters
    ----------
    ids : sequence of str
        The bags.
    classes : sequence of str
        The classes.
    probability : ndarray of shape (n_bags, n_classes)
        P(class is in bag).
    evidence : ndarray of shape (n_bags, n_classes), int
        The instance of the bag, counted from 0, that contributes most to each probability.
    thresholds : ndarray of shape (n_classes,), optional
        A class is predicted above its threshold (default: 0.5).
    model : str
        The name of the model that they come from; empty where it is not known.
    spans : sequence of BagSpan, optional
        The file of each bag, or the seconds of one, and where and when it was recorded.
    evidence_times : ndarray of shape (n_bags, n_classes, 2), optional
        Start and end of the evidence in its file, in seconds; nan where they are not known.

    Examples
    --------
    >>> table = PredictionTable(["a"], ["wren", "robin"], np.array([[0.75, 0.25]]), np.array([[0, 1]]))
    >>> list(table.rows())
    [('a', 'wren', 0.75, 0), ('a', 'robin', 0.25, 1)]
    >>> table.predicted
    array([[ True, False]])
    """

    ids: Sequence[str]
    classes: Sequence[str]
    probability: Array
    evidence: Array
    thresholds: Array | None = None
    model: str = ""
    spans: Sequence[BagSpan] | None = None
    evidence_times: Array | None = None

    @property
    def predicted(self) -> Array:
        """Which classes are predicted in which bags, (n_bags, n_classes)."""
        return np.asarray(self.probability > (0.5 if self.thresholds is None else self.thresholds))

    def rows(self) -> Iterator[tuple[str, str, float, int]]:
        """Yield (bag, class, probability, evidence)."""
        for b, bag in enumerate(self.ids):
            for c, name in enumerate(self.classes):
                yield bag, name, float(self.probability[b, c]), int(self.evidence[b, c])


@dataclass(frozen=True)
class RowLocator:
    """Names a row of a file in errors.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        What a row is called, as "line".
    line_of : callable
        Maps a row, counted from 0, to the number to report; in a text, cells may contain line breaks.

    Examples
    --------
    >>> print(RowLocator(Path("bags.csv"), "line", lambda row: row + 2).fault("is not a number.", 0, "weight"))
    bags.csv, line 2, column weight: is not a number.
    """

    path: Path
    name: str = "row"
    line_of: Callable[[int], int] = field(default=lambda row: row + 1, repr=False)

    def fault(self, what: str, row: int, column: str | int | None = None) -> FileError:
        """Return an error about a row, counted from 0.

        Parameters
        ----------
        what : str
            What is wrong and what to do.
        row : int
            The row, counted from 0.
        column : str or int, optional
            The name or number of the column.

        Returns
        -------
        FileError
            To be raised.
        """
        return FileError(self.path, what, self.line_of(row), column, self.name)


@dataclass(frozen=True)
class Table:
    """A table of text.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows, with all columns as strings.
    locator : RowLocator
        Names rows in errors.

    Examples
    --------
    >>> import polars as pl
    >>> table = Table(pl.DataFrame({"bag": ["a", "b"]}), RowLocator(Path("places.csv")))
    >>> table.frame["bag"].to_list()
    ['a', 'b']
    """

    frame: "pl.DataFrame"
    locator: RowLocator


@dataclass(frozen=True)
class Source:
    """The instances of a file, whose features are not read yet.

    Parameters
    ----------
    path : Path
        The file, named in errors.
    ids : sequence of str
        The bags.
    codes : ndarray of shape (n_instances,), int
        The position in `ids` of each row's bag. Rows of one bag need not be contiguous.
    n_features : int
        The number of features.
    dtype : numpy.dtype
        The type to store features in.
    blocks : callable
        Returns an iterator over arrays (rows, n_features), in the order of `codes`.
    labels : LabelTable, optional
        The labels in the file.
    locator : RowLocator, optional
        Names rows in errors.
    features : sequence of str, optional
        The names of the features.
    spans : ndarray of shape (n_instances, 2), optional
        Start and end of each instance in its recording, in seconds; rows of one bag must be contiguous then.

    Examples
    --------
    >>> source = Source.of_bags(Path("made.npz"), [np.ones((2, 3)), np.zeros((1, 3))], ["a", "b"])
    >>> source.to_bags()
    Bags(2 bags, 3 instances, 3 features)
    """

    path: Path
    ids: Sequence[str]
    codes: Array
    n_features: int
    dtype: np.dtype
    blocks: Callable[[], Iterator[Array]] = field(repr=False)
    labels: LabelTable | None = None
    locator: "RowLocator | None" = None
    features: Sequence[str] | None = None
    spans: Array | None = None

    @classmethod
    def of_bags(
        cls, path: Path, bags: Sequence[Array], ids: Sequence[str], labels: LabelTable | None = None
    ) -> "Source":
        """Return the source of bags in memory.

        Parameters
        ----------
        path : Path
            The file, named in errors.
        bags : sequence of ndarray of shape (n_b, n_features)
            The instances of each bag.
        ids : sequence of str
            The bags.
        labels : LabelTable, optional
            The labels in the file.

        Returns
        -------
        Source
        """
        if not bags:
            raise FileError(path, "contains no bags.")
        width = bags[0].shape[1]
        for name, bag in zip(ids, bags, strict=True):
            if bag.ndim != 2 or bag.shape[1] != width or bag.size == 0:
                raise FileError(path, f"bag {name} is {shape_of(bag)} where the first is {shape_of(bags[0])}.")
        codes = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
        instances = np.concatenate(bags)
        validate_numbers(path, instances.dtype)
        dtype = np.dtype(np.float32 if instances.dtype == np.float32 else np.float64)
        return cls(path, ids, codes, width, dtype, lambda: iter([instances]), labels)

    def __post_init__(self) -> None:
        if len(self.ids) == 0:
            raise FileError(self.path, "contains no bags.")
        if self.n_features == 0:
            raise FileError(self.path, "contains no features: every instance needs at least one number.")
        if self.n_features > MAX_COLUMNS:
            raise FileError(self.path, f"has {self.n_features} features; at most {MAX_COLUMNS} are allowed.")
        validate_names(self.path, "bag", self.ids)

    def with_features(self, names: Sequence[str]) -> "Source":
        """Return the source with its features in the order of `names`; a source without names is returned as it is.

        Parameters
        ----------
        names : sequence of str
            The names of all features, in the wanted order.

        Returns
        -------
        Source

        Raises
        ------
        FileError
            If a feature is missing or not expected.
        """
        if not names or not self.features or list(self.features) == list(names):
            return self
        position = {name: number for number, name in enumerate(self.features)}
        missing = [name for name in names if name not in position]
        unexpected = [name for name in self.features if name not in set(names)]
        if missing or unexpected:
            what = f"the feature {missing[0]} is missing" if missing else f"the feature {unexpected[0]} is not expected"
            raise FileError(self.path, f"{what}: instances must have the features {', '.join(list(names)[:5])}, ...")
        order = [position[name] for name in names]
        blocks = self.blocks
        return replace(self, features=list(names), blocks=lambda: (block[:, order] for block in blocks()))

    def checked_blocks(self, dtype: npt.DTypeLike | None = None) -> Iterator[Array]:
        """Yield the rows as `dtype`; the first value that is not finite raises an error with its row and column.

        Parameters
        ----------
        dtype : dtype, optional
            The type of the features (default: that of the source).

        Yields
        ------
        ndarray of shape (rows, n_features)
        """
        done = 0
        for given in self.blocks():
            with np.errstate(over="ignore", invalid="ignore"):
                block = np.ascontiguousarray(given, dtype=self.dtype if dtype is None else dtype)
            finite = np.isfinite(block)
            if not finite.all():
                row, column = np.argwhere(~finite)[0]
                value = given[row, column]
                what = (
                    "missing (NaN)" if np.isnan(value) else "infinite" if np.isinf(value) else "too large to be stored"
                )
                name = self.features[column] if self.features else int(column) + 1
                locator = self.locator or RowLocator(self.path)
                raise locator.fault(f"a feature is {what}: fill or drop it first.", done + int(row), name)
            done += len(block)
            yield block
        if done != len(self.codes):
            raise FileError(self.path, f"announces {len(self.codes)} instances but contains {done}.")

    def to_bags(self) -> Bags:
        """Read everything into memory."""
        sizes = np.bincount(self.codes, minlength=len(self.ids))
        order = np.argsort(self.codes, kind="stable")
        instances = np.concatenate(list(self.checked_blocks()))
        return Bags(instances[order], np.concatenate([[0], np.cumsum(sizes)]), list(self.ids))
