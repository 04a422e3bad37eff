"""Text tables (CSV, TSV): read fast where they are valid, with the exact line of an error where they are not."""

import csv
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bagwise.core.errors import FileError
from bagwise.formats._values import MAX_COLUMNS, validate_unique

if TYPE_CHECKING:
    import polars as pl

MAX_HEADER_BYTES = 1 << 23
DELIMITERS = ("\t", ";", ",")
ROWS_AT_ONCE = 50_000
csv.field_size_limit(1 << 24)


@dataclass(frozen=True)
class TextTable:
    """A text table whose header has been read."""

    path: Path
    delimiter: str
    columns: Sequence[str]

    @classmethod
    def open(cls, path: Path) -> "TextTable":
        """Read and validate the header."""
        with path.open("rb") as file:
            first = file.readline(MAX_HEADER_BYTES)
        if len(first) >= MAX_HEADER_BYTES:
            raise FileError(path, f"is longer than {MAX_HEADER_BYTES >> 20} MB: this is not a table.", 1)
        try:
            header = first.decode("utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise FileError(path, "is not UTF-8 text: save it as UTF-8.", 1, error.start + 1) from error
        if "\0" in header:
            raise FileError(path, "has a zero byte: this is not a text table.", 1)
        if header.count('"') % 2:
            raise FileError(path, "a column's name has a line break or a quotation mark that is not closed.", 1)
        delimiter, columns = _split(path, header)
        if len(columns) > MAX_COLUMNS:
            raise FileError(path, f"has {len(columns)} columns; at most {MAX_COLUMNS} are allowed.", 1)
        validate_unique(path, "column", columns)
        return cls(path, delimiter, columns)

    def batches(self) -> Iterator["pl.DataFrame"]:
        """Yield all rows as text, in batches; every row has the width of the header."""
        import polars as pl

        scan = pl.scan_csv(
            self.path,
            separator=self.delimiter,
            infer_schema=False,
            new_columns=list(self.columns),
            glob=False,
        ).with_columns(pl.all().fill_null(""))
        widths_known, done = False, 0
        try:
            for batch in scan.collect_batches(chunk_size=ROWS_AT_ONCE):
                # A row that is too short is read as one whose last cells are empty.
                if not widths_known and (batch[:, -1] == "").any():
                    self._validate_rows()
                    widths_known = True
                filled = batch.filter(~pl.all_horizontal(pl.all() == ""))
                done += len(filled)
                yield filled
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            yield from self._batches_row_by_row(done)

    def _batches_row_by_row(self, done: int) -> Iterator["pl.DataFrame"]:
        """Yield rows from `done` on, which the fast reader could not read, or raise with the line of the error."""
        import polars as pl

        rest = itertools.islice(self.rows(), done, None)
        while part := list(itertools.islice(rest, ROWS_AT_ONCE)):
            yield pl.DataFrame([cells for _, cells in part], dict.fromkeys(self.columns, pl.String), orient="row")

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield (line, cells), slower but with the line; raise for rows of another width."""
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=self.delimiter, strict=True)
            line = 1
            try:
                for number, cells in enumerate(reader):
                    line = reader.line_num
                    if number == 0 or not any(cells):
                        continue
                    if len(cells) != len(self.columns):
                        what = f"has {len(cells)} columns where the header has {len(self.columns)}."
                        raise FileError(self.path, what, line)
                    yield line, cells
            except UnicodeDecodeError as error:
                raise FileError(self.path, "is not UTF-8 text: save it as UTF-8.", self._undecodable()) from error
            except csv.Error as error:
                raise FileError(self.path, f"cannot be read as a table ({error}).", line + 1) from error

    def line_of(self, row: int) -> int:
        """Return the line of a data row, counted from 0; they differ where cells contain line breaks."""
        for number, (line, _) in enumerate(self.rows()):
            if number == row:
                return line
        return row + 2

    def _validate_rows(self) -> None:
        """Raise for the first invalid line, if there is one."""
        for _ in self.rows():
            pass

    def _undecodable(self) -> int:
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    line.decode("utf-8-sig")
                except UnicodeDecodeError:
                    return number
        return 1


def _split(path: Path, header: str) -> tuple[str, list[str]]:
    """Return the delimiter and the columns: the first delimiter that does not split a quoted name."""
    for delimiter in DELIMITERS:
        try:
            columns = [name.strip() for name in next(csv.reader([header], delimiter=delimiter), [])]
        except csv.Error as error:
            raise FileError(path, f"cannot be read as a table ({error}).", 1) from error
        if len(columns) > 1 and not any(name.count('"') % 2 for name in columns):
            return delimiter, columns
    return ",", [header.strip().strip('"')]


def looks_like_text(path: Path) -> bool:
    """Return whether the first bytes are those of a text."""
    with path.open("rb") as file:
        start = file.read(4096)
    return b"\0" not in start and not start.startswith((b"PK\x03\x04", b"PAR1"))


def header_of(path: Path) -> list[str]:
    """Return the columns of a text table; an empty list for other files."""
    if not looks_like_text(path):
        return []
    try:
        return list(TextTable.open(path).columns)
    except FileError:
        return []
