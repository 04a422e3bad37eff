"""What every format reads into and writes from."""

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

MOST_COLUMNS = 65_536
MOST_PAIRS = 200_000_000
MOST_BYTES_PER_BYTE = 100
"""What compressed data may grow by, beyond what is always allowed; features stay far below."""
ALWAYS_ALLOWED = 1 << 28
NOT_IN_NAMES = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

PRESENT = {"1", "1.0", "true", "yes", "present", "positive"}
ABSENT = {"0", "0.0", "false", "no", "absent", "negative"}
UNKNOWN = {"", "nan", "na", "null", "none", "?", "unknown", "unsure", "uncertain"}


@dataclass(frozen=True)
class LabelTable:
    """Labels by name: 1 present, 0 absent, NaN unknown; `unsure` marks unknown pairs that somebody could not tell."""

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
        """Something wrong with these labels, naming the file and the line where they came from."""
        if self.path is None:
            return BagwiseError(f"The labels: {what}")
        line = self.lines.get(bag) if self.lines is not None and bag is not None else None
        return FileError(self.path, what, line)

    def triples(self) -> Iterator[tuple[str, str, str]]:
        """(bag, class, present | absent | unsure) for all that is not merely unknown."""
        for b, c in zip(*np.nonzero(self._said), strict=True):
            value = self.values[b, c]
            yield self.ids[b], self.classes[c], "unsure" if np.isnan(value) else "present" if value else "absent"

    @property
    def _said(self) -> Array:
        known = ~np.isnan(self.values)
        return known if self.unsure is None else known | self.unsure

    @classmethod
    def from_triples(
        cls, path: Path, triples: Sequence[tuple[str, str, float]], lines: Sequence[int] | None = None
    ) -> "LabelTable":
        """From (bag, class, value); a pair said twice must be said alike."""
        ids = list(dict.fromkeys(bag for bag, _, _ in triples))
        classes = list(dict.fromkeys(name for _, name, _ in triples))
        if len(ids) * len(classes) > MOST_PAIRS:
            raise FileError(path, f"it names {len(ids)} bags and {len(classes)} classes: that is no table of labels.")
        row, column = {b: i for i, b in enumerate(ids)}, {c: i for i, c in enumerate(classes)}
        values = np.full((len(ids), len(classes)), np.nan)
        for number, (bag, name, value) in enumerate(triples):
            before = values[row[bag], column[name]]
            if not np.isnan(before) and before != value:
                line = lines[number] if lines is not None else None
                raise FileError(path, f"bag {bag} is both present and absent for class {name}.", line)
            values[row[bag], column[name]] = value
        places = (
            {bag: line for (bag, _, _), line in zip(reversed(triples), reversed(lines), strict=True)} if lines else None
        )
        return cls(ids, classes, values, path=path, lines=places)


@dataclass(frozen=True)
class PredictionTable:
    """P(class is in bag) and, for every pair, the instance of the bag that carries most of it.

    Above its threshold a class is predicted; without thresholds, above a half. `model` names the model that they come
    from, where that is known.
    """

    ids: Sequence[str]
    classes: Sequence[str]
    probability: Array
    evidence: Array
    thresholds: Array | None = None
    model: str = ""

    @property
    def predicted(self) -> Array:
        """Which classes are predicted in which bags."""
        return np.asarray(self.probability > (0.5 if self.thresholds is None else self.thresholds))

    def rows(self) -> Iterator[tuple[str, str, float, int]]:
        """(bag, class, probability, evidence)."""
        for b, bag in enumerate(self.ids):
            for c, name in enumerate(self.classes):
                yield bag, name, float(self.probability[b, c]), int(self.evidence[b, c])


@dataclass(frozen=True)
class Place:
    """How to name a row of a file, counted from 0: a text has lines, and a row may begin later than its number says."""

    path: Path
    name: str = "row"
    line_of: Callable[[int], int] = field(default=lambda row: row + 1, repr=False)

    def fault(self, what: str, row: int, column: str | int | None = None) -> FileError:
        """Something wrong in a row."""
        return FileError(self.path, what, self.line_of(row), column, self.name)


@dataclass(frozen=True)
class Table:
    """Rows and columns of text, and how to name a row."""

    frame: "pl.DataFrame"
    place: Place


@dataclass(frozen=True)
class Source:
    """Instances in a file, not read yet: `codes` says for every row which of the `ids` it belongs to.

    Rows of one bag need not lie together. `blocks` reads them in the order of `codes`, some at a time. `spans` (rows x
    2): where each lies in its recording, in seconds, if the file tells; rows of one bag do lie together then.
    """

    path: Path
    ids: Sequence[str]
    codes: Array
    n_features: int
    dtype: np.dtype
    blocks: Callable[[], Iterator[Array]] = field(repr=False)
    labels: LabelTable | None = None
    place: "Place | None" = None
    features: Sequence[str] | None = None
    spans: Array | None = None

    @classmethod
    def of_bags(
        cls, path: Path, bags: Sequence[Array], ids: Sequence[str], labels: LabelTable | None = None
    ) -> "Source":
        """From bags that are in memory already; they must all be as wide as the first."""
        if not bags:
            raise FileError(path, "there are no bags in it.")
        width = bags[0].shape[1]
        for name, bag in zip(ids, bags, strict=True):
            if bag.ndim != 2 or bag.shape[1] != width or bag.size == 0:
                raise FileError(path, f"bag {name} is {_shape(bag)} where the first is {_shape(bags[0])}.")
        codes = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
        together = np.concatenate(bags)
        validate_numbers(path, together.dtype)
        dtype = np.dtype(np.float32 if together.dtype == np.float32 else np.float64)
        return cls(path, ids, codes, width, dtype, lambda: iter([together]), labels)

    def __post_init__(self) -> None:
        if len(self.ids) == 0:
            raise FileError(self.path, "there are no bags in it.")
        if self.n_features == 0:
            raise FileError(self.path, "there are no features in it: every instance needs at least one number.")
        if self.n_features > MOST_COLUMNS:
            raise FileError(self.path, f"it has {self.n_features} features; at most {MOST_COLUMNS} are allowed.")
        validate_names(self.path, "bag", self.ids)

    def with_features(self, names: Sequence[str]) -> "Source":
        """The same with its features in the order of `names`; without names of its own they are taken as they are."""
        if not names or not self.features or list(self.features) == list(names):
            return self
        place = {name: number for number, name in enumerate(self.features)}
        missing = [name for name in names if name not in place]
        strange = [name for name in self.features if name not in set(names)]
        if missing or strange:
            what = f"the feature {missing[0]} is missing" if missing else f"there is no feature {strange[0]} elsewhere"
            raise FileError(self.path, f"{what}: instances must have the features {', '.join(list(names)[:5])}, ...")
        order = [place[name] for name in names]
        blocks = self.blocks
        return replace(self, features=list(names), blocks=lambda: (block[:, order] for block in blocks()))

    def checked_blocks(self, dtype: npt.DTypeLike | None = None) -> Iterator[Array]:
        """The rows as `dtype`, every value finite; the first that is not is named by row and column."""
        done = 0
        for given in self.blocks():
            with np.errstate(over="ignore", invalid="ignore"):
                block = np.ascontiguousarray(given, dtype=self.dtype if dtype is None else dtype)
            finite = np.isfinite(block)
            if not finite.all():
                row, column = np.argwhere(~finite)[0]
                value = given[row, column]
                what = "missing (NaN)" if np.isnan(value) else "infinite" if np.isinf(value) else "too large to be kept"
                name = self.features[column] if self.features else int(column) + 1
                place = self.place or Place(self.path)
                raise place.fault(f"a feature is {what}: fill or drop it first.", done + int(row), name)
            done += len(block)
            yield block
        if done != len(self.codes):
            raise FileError(self.path, f"it announced {len(self.codes)} instances but {done} came.")

    def to_bags(self) -> Bags:
        """Everything in memory."""
        sizes = np.bincount(self.codes, minlength=len(self.ids))
        order = np.argsort(self.codes, kind="stable")
        instances = np.concatenate(list(self.checked_blocks()))
        return Bags(instances[order], np.concatenate([[0], np.cumsum(sizes)]), list(self.ids))


def _shape(array: Array) -> str:
    return " x ".join(map(str, array.shape))


def validate_numbers(path: Path, dtype: np.dtype) -> None:
    """Features must be numbers."""
    if dtype.kind not in "fiub":
        raise FileError(path, f"its features are of type {dtype}: they must be numbers.")


def label_value(
    text: str, path: Path, line: int | None = None, column: str | int | None = None, row: str = "line"
) -> float:
    """1, 0 or NaN from what people write for present, absent and unknown; -1 means either and is refused."""
    word = text.strip().lower()
    if word in PRESENT:
        return 1.0
    if word in ABSENT:
        return 0.0
    if word in UNKNOWN:
        return float("nan")
    if word in ("-1", "-1.0"):
        what = "-1 means absent to some and unknown to others: write 0 for absent and leave unknown empty."
        raise FileError(path, what, line, column, row)
    what = f"{text!r} is no label: write 1 (present), 0 (absent) or leave it empty."
    raise FileError(path, what, line, column, row)


def label_matrix(path: Path, ids: Sequence[str], classes: Sequence[str], values: Array) -> LabelTable:
    """A (bags x classes) matrix of 1, 0 and NaN."""
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
    """Names must be unique and not empty."""
    validate_names(path, kind, names)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise FileError(path, f"the {kind} {name} is there twice.")
        seen.add(name)


def validate_names(path: Path, kind: str, names: Sequence[str]) -> None:
    """Names must be there and hold no control characters: they go into tables, terminals and pages."""
    for name in names:
        if not name.strip():
            raise FileError(path, f"a {kind} has no name.")
        if NOT_IN_NAMES.search(name):
            raise FileError(path, f"the name of the {kind} {name!r} holds a control character or a line break.")


def as_labels(table: LabelTable) -> Labels:
    """Without the names."""
    return Labels.from_array(table.values)


def numbered(count: int) -> list[str]:
    """Names where a file has none: 1, 2, ..."""
    return [str(number) for number in range(1, count + 1)]
