"""MP3 files whose header does not say how long they are: libsndfile guesses from the first block, and stops there.

Where the bit rate varies, the guess is wrong, and most of a recording would be lost. Such a file gets the header that
is missing: a silent block in front with the number of all blocks (Xing), as encoders write it.
"""

import mmap
import struct
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

TAG, TAG_HEADER = b"ID3", 10
LENGTHS = (b"Xing", b"Info", b"VBRI")
KILOBITS = {
    1: (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    2: (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
RATES = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}
KIND = 0xFFFE0C00
"""The bits of a header that all blocks of a file share: version, layer and rate."""


class Block(NamedTuple):
    """The header of a block: its four bytes as a number, the bytes of the block, and of what precedes a Xing header."""

    header: int
    size: int
    before: int


def block_of(data: Any, start: int) -> Block | None:
    """Return the block of layer III that begins here; None if there is none."""
    if start + 4 > len(data):
        return None
    header = struct.unpack(">I", data[start : start + 4])[0]
    version, layer, bits, rate = header >> 19 & 3, header >> 17 & 3, header >> 12 & 15, header >> 10 & 3
    if header >> 21 != 0x7FF or version == 1 or layer != 1 or bits in (0, 15) or rate == 3:
        return None
    is_first_version, is_mono = version == 3, header >> 6 & 3 == 3
    kilobits = KILOBITS[1 if is_first_version else 2][bits - 1]
    size = (144 if is_first_version else 72) * 1000 * kilobits // RATES[version][rate] + (header >> 9 & 1)
    before = {(True, True): 17, (True, False): 32, (False, True): 9, (False, False): 17}[is_first_version, is_mono]
    return Block(header, size, 4 + before)


def missing_length(path: Path) -> tuple[bytes, int]:
    """Return the block that an MP3 file lacks, and where its sound begins; nothing and 0 if it has one."""
    status = path.stat()
    return _missing_length(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=256)
def _missing_length(path: Path, size: int, changed: int) -> tuple[bytes, int]:  # noqa: ARG001 (they tell a new content)
    if size < TAG_HEADER:
        return b"", 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = _after_tag(data)
        first = block_of(data, start)
        if first is None or data[start + first.before : start + first.before + 4] in LENGTHS or first.size < 192:
            return b"", 0
        if data[start + 36 : start + 40] in LENGTHS:
            return b"", 0
        header = struct.pack(">I", first.header).ljust(first.before, b"\0")
        length = b"Xing" + struct.pack(">II", 1, sum(1 for _ in _blocks(data, start)))
        return (header + length).ljust(first.size, b"\0"), start


def _after_tag(data: Any) -> int:
    if data[:3] != TAG:
        return 0
    size: int = sum((byte & 0x7F) << shift for byte, shift in zip(data[6:10], (21, 14, 7, 0), strict=True))
    return TAG_HEADER + size + (TAG_HEADER if data[5] & 0x10 else 0)


def _blocks(data: Any, start: int) -> Iterator[int]:
    """Yield where each complete block begins; what lies between blocks is skipped."""
    kind = None
    while start >= 0 and start + 4 <= len(data):
        block = block_of(data, start)
        if block is None or (kind is not None and block.header & KIND != kind):
            start = data.find(b"\xff", start + 1)
            continue
        kind = block.header & KIND
        if start + block.size <= len(data):
            yield start
        start += block.size
