"""The types that formats read into and write from."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bagwise.core.errors import BagwiseError, FileError
from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.kernels import Array

if TYPE_CHECKING:
    import polars as pl

MAX_COLUMNS = 65_536
MAX_PAIRS = 200_000_000
MAX_BYTES_PER_BYTE = 100
"""The largest compression ratio above ALWAYS_ALLOWED_BYTES; features stay far below."""
ALWAYS_ALLOWED_BYTES = 1 << 28
NOT_IN_NAMES = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

PRESENT = {"1", "1.0", "true", "yes", "present", "positive"}
ABSENT = {"0", "0.0", "false", "no", "absent", "negative"}
UNKNOWN = {"", "nan", "na", "null", "none", "?", "unknown", "unsure", "uncertain"}


@dataclass(frozen=True)
class LabelTable:
    """Labels by the names of bags and classes.

    Parameters
    ----------
    ids : sequence of str
        The bags.
    classes : sequence of str
        The classes.
    values : ndarray of shape (n_bags, n_classes)
        1 present, 0 absent, nan unknown.
    unsure : ndarray of shape (n_bags, n_classes), bool, optional
        Unknown pairs that an annotator answered with *unsure*.
    path : Path, optional
        The file that they come from, named in errors.
    lines : mapping of str to int, optional
        The line of each bag in that file.

    Examples
    --------
    >>> table = LabelTable(["a"], ["wren", "robin"], np.array([[1.0, np.nan]]))
    >>> list(table.triples())
    [('a', 'wren', 'present')]
    """

    ids: Sequence[str]
    classes: Sequence[str]
    values: Array
    unsure: Array | None = None
    path: Path | None = None
    lines: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        if self.path is not None:
            validate_names(self.path, "bag", self.ids)
            validate_names(self.path, "class", self.classes)

    def fault(self, what: str, bag: str | None = None) -> BagwiseError:
        """Return an error about these labels that names their file and line.

        Parameters
        ----------
        what : str
            What is wrong and what to do.
        bag : str, optional
            The bag whose line is named.

        Returns
        -------
        BagwiseError
            To be raised; a FileError where the file is known.
        """
        if self.path is None:
            return BagwiseError(f"The labels: {what}")
        line = self.lines.get(bag) if self.lines is not None and bag is not None else None
        return FileError(self.path, what, line)

    def triples(self) -> Iterator[tuple[str, str, str]]:
        """Yield (bag, class, present | absent | unsure) for all pairs that were answered."""
        for b, c in zip(*np.nonzero(self._answered), strict=True):
            value = self.values[b, c]
            yield self.ids[b], self.classes[c], "unsure" if np.isnan(value) else "present" if value else "absent"

    @property
    def _answered(self) -> Array:
        known = ~np.isnan(self.values)
        return known if self.unsure is None else known | self.unsure

    @classmethod
    def from_triples(
        cls, path: Path, triples: Sequence[tuple[str, str, float]], lines: Sequence[int] | None = None
    ) -> "LabelTable":
        """Return the table of (bag, class, value); a pair that appears twice must have one value.

        Parameters
        ----------
        path : Path
            The file that they come from, named in errors.
        triples : sequence of (str, str, float)
            The bag, the class, and 1 for present, 0 for absent or nan for unknown.
        lines : sequence of int, optional
            The line of each triple in the file.

        Returns
        -------
        LabelTable
            Bags and classes are in the order in which they first appear.
        """
        ids = list(dict.fromkeys(bag for bag, _, _ in triples))
        classes = list(dict.fromkeys(name for _, name, _ in triples))
        if len(ids) * len(classes) > MAX_PAIRS:
            raise FileError(
                path, f"it names {len(ids)} bags and {len(classes)} classes: that is not a table of labels."
            )
        row, column = {b: i for i, b in enumerate(ids)}, {c: i for i, c in enumerate(classes)}
        values = np.full((len(ids), len(classes)), np.nan)
        for number, (bag, name, value) in enumerate(triples):
            before = values[row[bag], column[name]]
            if not np.isnan(before) and before != value:
                line = lines[number] if lines is not None else None
                raise FileError(path, f"bag {bag} is both present and absent for class {name}.", line)
            values[row[bag], column[name]] = value
        line_of_bag = (
            {bag: line for (bag, _, _), line in zip(reversed(triples), reversed(lines), strict=True)} if lines else None
        )
        return cls(ids, classes, values, path=path, lines=line_of_bag)


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
                raise FileError(path, f"bag {name} is {_shape(bag)} where the first is {_shape(bags[0])}.")
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


def _shape(array: Array) -> str:
    return " x ".join(map(str, array.shape))


def validate_numbers(path: Path, dtype: np.dtype) -> None:
    """Raise a FileError unless features are numbers."""
    if dtype.kind not in "fiub":
        raise FileError(path, f"its features are of type {dtype}: they must be numbers.")


def label_value(
    text: str, path: Path, line: int | None = None, column: str | int | None = None, row: str = "line"
) -> float:
    """Return 1, 0 or nan from the usual words for present, absent and unknown; -1 is ambiguous and refused."""
    word = text.strip().lower()
    if word in PRESENT:
        return 1.0
    if word in ABSENT:
        return 0.0
    if word in UNKNOWN:
        return float("nan")
    if word in ("-1", "-1.0"):
        what = "-1 can mean absent or unknown: write 0 for absent and leave unknown empty."
        raise FileError(path, what, line, column, row)
    what = f"{text!r} is not a label: write 1 (present), 0 (absent) or leave it empty."
    raise FileError(path, what, line, column, row)


def label_matrix(path: Path, ids: Sequence[str], classes: Sequence[str], values: Array) -> LabelTable:
    """Return the table of a (bags x classes) matrix of 1, 0 and nan, validated."""
    values = np.asarray(values)
    if values.shape != (len(ids), len(classes)):
        raise FileError(path, f"its labels are {_shape(values)} for {len(ids)} bags and {len(classes)} classes.")
    validate_unique(path, "class", classes)
    if values.dtype.kind not in "fiub":
        raise FileError(path, f"its labels are of type {values.dtype}: they must be 1 (present) or 0 (absent).")
    values = values.astype(float)
    wrong = ~(np.isnan(values) | (values == 0) | (values == 1))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        label_value(f"{values[row, column]:g}", path, int(row) + 1, classes[int(column)], "row")
    return LabelTable(ids, classes, values, path=path)


def validate_unique(path: Path, kind: str, names: Sequence[str]) -> None:
    """Raise a FileError unless names are valid and unique."""
    validate_names(path, kind, names)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise FileError(path, f"the {kind} {name} appears twice.")
        seen.add(name)


def validate_names(path: Path, kind: str, names: Sequence[str]) -> None:
    """Raise a FileError for empty names and control characters: names go into tables, terminals and pages."""
    for name in names:
        if not name.strip():
            raise FileError(path, f"a {kind} has no name.")
        if NOT_IN_NAMES.search(name):
            raise FileError(path, f"the name of the {kind} {name!r} holds a control character or a line break.")


def as_labels(table: LabelTable) -> Labels:
    """Return the labels without the names.

    Parameters
    ----------
    table : LabelTable
        Labels by name.

    Returns
    -------
    Labels
        With the rows of `table.ids` and the columns of `table.classes`.

    Examples
    --------
    >>> as_labels(LabelTable(["a"], ["wren", "robin"], np.array([[1.0, np.nan]])))
    Labels(1 bags, 2 classes, 1 of 2 known)
    """
    return Labels.from_array(table.values)


def numbered(count: int) -> list[str]:
    """Return names for a file without any: 1, 2, ..."""
    return [str(number) for number in range(1, count + 1)]
