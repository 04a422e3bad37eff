"""What a Parquet file says of its columns and their pages: nothing is unpacked.

Polars reports the number of rows, but the length of lists only after unpacking them; and it asks for as much memory
as a page says it needs, which ends the process where a damaged header says nonsense. Footer and headers of pages
are structures of Thrift's compact protocol (parquet.thrift: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData,
PageHeader).
"""

import mmap
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MAGIC = b"PAR1"
ROW_GROUPS, COLUMNS, META_DATA, PATH, VALUES = 4, 1, 3, 3, 5
PACKED_SIZE, DATA_AT, DICTIONARY_AT = 7, 9, 11
PAGE_SIZE, PACKED_PAGE_SIZE, DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_2 = 2, 3, 5, 7, 8
PAGE_VALUES = 1
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID = range(1, 14)


class Damaged(ValueError):
    """The bytes are not the footer of a Parquet file."""


@contextmanager
def _nonsense_as_damage() -> Iterator[None]:
    try:
        yield
    except (IndexError, KeyError, TypeError, AttributeError, UnicodeDecodeError, RecursionError, struct.error) as error:
        raise Damaged from error


def values_of_columns(path: Path) -> Counter[str]:
    """Return the number of values by column; for a column of lists, those in all lists."""
    found: Counter[str] = Counter()
    with _nonsense_as_damage(), _content(path) as content:
        for about in _column_chunks(content):
            found[about[PATH][0].decode()] += about[VALUES]
    return found


def validate_pages(path: Path) -> None:
    """Raise `Damaged` where the pages of a column do not hold as many values as the column should have."""
    with _nonsense_as_damage(), _content(path) as content:
        for about in _column_chunks(content):
            at = min(about[DATA_AT], about.get(DICTIONARY_AT) or about[DATA_AT])
            end, values = at + about[PACKED_SIZE], 0
            while at < end:
                reader = _Reader(content, at)
                page = reader.struct()
                if min(at, page[PAGE_SIZE], page[PACKED_PAGE_SIZE]) < 0:
                    raise Damaged
                at = reader.at + page[PACKED_PAGE_SIZE]
                if DICTIONARY_PAGE in page:
                    # An entry takes a byte at least.
                    if not 0 <= page[DICTIONARY_PAGE][PAGE_VALUES] <= page[PAGE_SIZE]:
                        raise Damaged
                elif DATA_PAGE in page or DATA_PAGE_2 in page:
                    header = page.get(DATA_PAGE) or page[DATA_PAGE_2]
                    if min(number for number in header.values() if type(number) is int) < 0:
                        raise Damaged
                    values += header[PAGE_VALUES]
            if values != about[VALUES]:
                raise Damaged


@contextmanager
def _content(path: Path) -> Iterator[mmap.mmap]:
    with path.open("rb") as file:
        if file.seek(0, 2) < 2 * len(MAGIC) + 4:
            raise Damaged
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield content


def _column_chunks(content: mmap.mmap) -> Iterator[dict[int, Any]]:
    """Yield what the footer says of every column of every group of rows."""
    length = int.from_bytes(content[-8:-4], "little")
    if content[-4:] != MAGIC or length + 8 > len(content):
        raise Damaged
    for group in _Reader(content, len(content) - 8 - length).struct()[ROW_GROUPS]:
        for column in group[COLUMNS]:
            yield column[META_DATA]


class _Reader:
    """Reads values of the compact protocol; a structure becomes a dictionary by field number."""

    def __init__(self, data: mmap.mmap, at: int) -> None:
        self.data, self.at = data, at

    def struct(self) -> dict[int, Any]:
        found: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            kind, step = head & 15, head >> 4
            field = field + step if step else self._zigzag()
            found[field] = kind == TRUE if kind in (TRUE, FALSE) else self._value(kind)
        return found

    def _value(self, kind: int) -> Any:
        if kind in (I16, I32, I64):
            return self._zigzag()
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind == STRUCT:
            return self.struct()
        if kind in (LIST, SET):
            head = self._byte()
            count, inner = head >> 4, head & 15
            return [self._value(inner) for _ in range(self._varint() if count == 15 else count)]
        if kind == MAP:
            count = self._varint()
            kinds = self._byte() if count else 0
            return [(self._value(kinds >> 4), self._value(kinds & 15)) for _ in range(count)]
        if kind in (TRUE, FALSE, BYTE):
            return self._byte()
        if kind == DOUBLE:
            return struct.unpack("<d", self._bytes(8))[0]
        if kind == UUID:
            return self._bytes(16)
        raise Damaged

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _bytes(self, count: int) -> bytes:
        self.at += count
        if self.at > len(self.data):
            raise Damaged
        return bytes(self.data[self.at - count : self.at])

    def _varint(self) -> int:
        found, shift = 0, 0
        while True:
            byte = self._byte()
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return found

    def _zigzag(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)
