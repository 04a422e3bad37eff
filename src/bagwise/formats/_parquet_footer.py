"""How many values the columns of a Parquet file hold, from its footer: nothing is unpacked for it.

Polars tells the number of rows, but not how long the lists in them are before it has unpacked them. The footer is a
structure of Thrift's compact protocol (parquet.thrift: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData).
"""

import struct
from collections import Counter
from pathlib import Path
from typing import Any

MAGIC = b"PAR1"
ROW_GROUPS, COLUMNS, META_DATA, PATH, VALUES = 4, 1, 3, 3, 5
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID = range(1, 14)


class Damaged(ValueError):
    """The bytes are not the footer of a Parquet file."""


def values_of_columns(path: Path) -> Counter[str]:
    """The number of values by column; of a column of lists those in all lists."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        tail = file.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != MAGIC or length + 8 > size:
            raise Damaged
        file.seek(size - 8 - length)
        footer = file.read(length)
    found: Counter[str] = Counter()
    try:
        for group in _Reader(footer).struct()[ROW_GROUPS]:
            for column in group[COLUMNS]:
                about = column[META_DATA]
                found[about[PATH][0].decode()] += about[VALUES]
    except (IndexError, KeyError, TypeError, AttributeError, UnicodeDecodeError, RecursionError, struct.error) as error:
        raise Damaged from error
    return found


class _Reader:
    """Values of the compact protocol, one after the other; a structure becomes a dictionary by field number."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

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
        return self.data[self.at - count : self.at]

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
