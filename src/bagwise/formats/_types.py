"""What every format reads into and writes from."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bagwise.bags import Bags
from bagwise.errors import FileError
from bagwise.kernels import Array
from bagwise.labels import Labels

MOST_COLUMNS = 65_536
MOST_BYTES_PER_BYTE = 2_000
"""What compressed data may grow by; real tables stay far below, bombs far above."""
ALWAYS_ALLOWED = 1 << 28

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
        row, column = {b: i for i, b in enumerate(ids)}, {c: i for i, c in enumerate(classes)}
        values = np.full((len(ids), len(classes)), np.nan)
        for number, (bag, name, value) in enumerate(triples):
            before = values[row[bag], column[name]]
            if not np.isnan(before) and before != value:
                line = lines[number] if lines is not None else None
                raise FileError(path, f"bag {bag} is both present and absent for class {name}.", line)
            values[row[bag], column[name]] = value
        return cls(ids, classes, values)


@dataclass(frozen=True)
class PredictionTable:
    """P(class is in bag) and, for every pair, the instance of the bag that carries most of it."""

    ids: Sequence[str]
    classes: Sequence[str]
    probability: Array
    evidence: Array

    def rows(self) -> Iterator[tuple[str, str, float, int]]:
        """(bag, class, probability, evidence)."""
        for b, bag in enumerate(self.ids):
            for c, name in enumerate(self.classes):
                yield bag, name, float(self.probability[b, c]), int(self.evidence[b, c])


@dataclass(frozen=True)
class Source:
    """Instances in a file, not read yet: `codes` says for every row which of the `ids` it belongs to.

    Rows of one bag need not lie together. `blocks` reads them in the order of `codes`, some at a time.
    """

    path: Path
    ids: Sequence[str]
    codes: Array
    n_features: int
    dtype: np.dtype
    blocks: Callable[[], Iterator[Array]] = field(repr=False)
    labels: LabelTable | None = None
    row_name: str = "row"
    first_row: int = 1
    features: Sequence[str] | None = None

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
        refuse_not_numbers(path, together.dtype)
        dtype = np.dtype(np.float32 if together.dtype == np.float32 else np.float64)
        return cls(path, ids, codes, width, dtype, lambda: iter([together]), labels)

    def __post_init__(self) -> None:
        if len(self.ids) == 0:
            raise FileError(self.path, "there are no bags in it.")
        if self.n_features == 0:
            raise FileError(self.path, "there are no features in it: every instance needs at least one number.")
        if self.n_features > MOST_COLUMNS:
            raise FileError(self.path, f"it has {self.n_features} features; at most {MOST_COLUMNS} are allowed.")

    def checked_blocks(self) -> Iterator[Array]:
        """The rows, every value finite; the first that is not is named by row and column."""
        done = 0
        for block in self.blocks():
            finite = np.isfinite(block)
            if not finite.all():
                row, column = np.argwhere(~finite)[0]
                what = "missing (NaN)" if np.isnan(block[row, column]) else "infinite"
                name = self.features[column] if self.features else int(column) + 1
                line = done + int(row) + self.first_row
                raise FileError(self.path, f"a feature is {what}: fill or drop it first.", line, name, self.row_name)
            done += len(block)
            yield block
        if done != len(self.codes):
            raise FileError(self.path, f"it announced {len(self.codes)} instances but {done} came.")

    def to_bags(self) -> Bags:
        """Everything in memory."""
        sizes = np.bincount(self.codes, minlength=len(self.ids))
        order = np.argsort(self.codes, kind="stable")
        instances = np.concatenate(list(self.checked_blocks())).astype(self.dtype, copy=False)
        return Bags(instances[order], np.concatenate([[0], np.cumsum(sizes)]), list(self.ids))


def _shape(array: Array) -> str:
    return " x ".join(map(str, array.shape))


def refuse_not_numbers(path: Path, dtype: np.dtype) -> None:
    """Features must be numbers."""
    if dtype.kind not in "fiub":
        raise FileError(path, f"its features are of type {dtype}: they must be numbers.")


def label_value(text: str, path: Path, line: int | None = None, column: str | int | None = None) -> float:
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
        raise FileError(path, what, line, column)
    raise FileError(path, f"{text!r} is no label: write 1 (present), 0 (absent) or leave it empty.", line, column)


def label_matrix(path: Path, ids: Sequence[str], classes: Sequence[str], values: Array) -> LabelTable:
    """A (bags x classes) matrix of 1, 0 and NaN."""
    values = np.asarray(values)
    if values.shape != (len(ids), len(classes)):
        raise FileError(path, f"its labels are {_shape(values)} for {len(ids)} bags and {len(classes)} classes.")
    refuse_repeated(path, "class", classes)
    if values.dtype.kind not in "fiub":
        raise FileError(path, f"its labels are of type {values.dtype}: they must be 1 (present) or 0 (absent).")
    values = values.astype(float)
    wrong = ~(np.isnan(values) | (values == 0) | (values == 1))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        label_value(f"{values[row, column]:g}", path, int(row) + 1, classes[int(column)])
    return LabelTable(ids, classes, values)


def refuse_repeated(path: Path, kind: str, names: Sequence[str]) -> None:
    """Names must be unique and not empty."""
    seen: set[str] = set()
    for name in names:
        if not name.strip():
            raise FileError(path, f"a {kind} has no name.")
        if name in seen:
            raise FileError(path, f"the {kind} {name} is there twice.")
        seen.add(name)


def as_labels(table: LabelTable) -> Labels:
    """Without the names."""
    return Labels.from_array(table.values)


def numbered(count: int) -> list[str]:
    """Names where a file has none: 1, 2, ..."""
    return [str(number) for number in range(1, count + 1)]
