"""The chunks of WAV (RIFF, RF64, BW64, W64) and AIFF files: what they are called, where they begin, how long they are.

A chunk is its name, its size and its content, padded to an even number of bytes (of eight in W64). RF64 and BW64 are
RIFF over 4 GB: sizes that do not fit are in the chunk `ds64`. W64 has names of 16 bytes; its sizes include the name.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

UNKNOWN = 0xFFFF_FFFF
"""The size that is written where `ds64` has it, and where it is not known yet."""

PLACEHOLDERS = (range(1), range(0x7FFF_F000, 0x8000_0001), range(0xFFFF_0000, 0x1_0000_0000))
"""Sizes that programs write before they know them: nothing, or as much as fits into 31 or 32 bits."""

UNCOMPRESSED = (1, 3, 0xFFFE)
"""The kinds of WAV whose samples have a fixed size: integers, floats, and those of the extensible header."""

W64_NAME = b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00"
MOST = 10_000
"""Chunks after which a file is taken for damaged."""


@dataclass(frozen=True)
class Chunk:
    """A chunk of a file: `name`, and where its content begins; `size` is what the file says, and may be too large."""

    name: bytes
    start: int
    size: int

    def read(self, file: BinaryIO, most: int = 1 << 20) -> bytes:
        """Return the content, at most `most` bytes of it."""
        file.seek(self.start)
        return file.read(min(self.size, most))


def chunks_of(path: Path) -> list[Chunk]:
    """Return the chunks of a file as far as it goes; none for a file of another kind."""
    with path.open("rb") as file:
        head = file.read(40)
        if head[:4] in (b"RIFF", b"RF64", b"BW64"):
            return list(_chunks(file, "<", 12))
        if head[:4] == b"FORM":
            return list(_chunks(file, ">", 12))
        if head[:16] == W64_NAME:
            return list(_w64_chunks(file))
    return []


def announced_frames(path: Path) -> int | None:
    """Return how many samples of a channel the header of a WAV or AIFF file announces; None where it does not say."""
    chunks = {chunk.name: chunk for chunk in reversed(chunks_of(path))}
    with path.open("rb") as file:
        if b"COMM" in chunks:
            common = chunks[b"COMM"].read(file, 8)
            return struct.unpack(">I", common[2:6])[0] if len(common) == 8 else None
        if b"fmt " not in chunks or b"data" not in chunks or _is_placeholder(chunks[b"data"].size):
            return None
        layout = chunks[b"fmt "].read(file, 16).ljust(16, b"\0")
    kind, *_, frame, _ = struct.unpack("<HHIIHH", layout)
    return chunks[b"data"].size // frame if kind in UNCOMPRESSED and frame else None


def missing_header(path: Path) -> tuple[bytes, int]:
    """Return the header that a WAV file should have, and where its sound begins; nothing and 0 if its own will do.

    libsndfile does not read BW64, nor files with chunks of odd size that are not padded, and believes a recorder that
    lost power before it wrote the size of the sound.
    """
    with path.open("rb") as file:
        name, length = file.read(4), file.seek(0, 2)
        chunks = {chunk.name: chunk for chunk in reversed(chunks_of(path))}
        data, layout = chunks.get(b"data"), chunks.get(b"fmt ")
        if data is None or layout is None:
            return b"", 0
        is_unfinished = data.size == 0 and not _is_chunk(file, data.start, length)
        if not (name == b"BW64" or is_unfinished or data.start % 2):
            return b"", 0
        size = length - data.start if is_unfinished else min(data.size, length - data.start)
        content = layout.read(file)
    body = b"fmt " + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)
    if size < UNKNOWN - 100:
        return b"RIFF" + struct.pack("<I", size + len(body) + 12) + b"WAVE" + body + b"data" + struct.pack(
            "<I", size
        ), data.start
    sizes = b"ds64" + struct.pack("<IQQQI", 28, size + len(body) + 48, size, 0, 0)
    return b"RF64\xff\xff\xff\xffWAVE" + sizes + body + b"data\xff\xff\xff\xff", data.start


def _is_placeholder(size: int) -> bool:
    return any(size in sizes for sizes in PLACEHOLDERS)


def _is_chunk(file: BinaryIO, start: int, length: int) -> bool:
    """Return whether a whole chunk, or nothing, follows here."""
    file.seek(start)
    header = file.read(8)
    return len(header) < 8 or (_is_name(file, start) and start + 8 + struct.unpack("<I", header[4:])[0] <= length)


def _chunks(file: BinaryIO, order: str, start: int) -> Iterator[Chunk]:
    length, large = file.seek(0, 2), 0
    for _ in range(MOST):
        file.seek(start)
        header = file.read(8)
        if len(header) < 8:
            return
        name, size = struct.unpack(f"{order}4sI", header)
        if name == b"ds64":
            large = struct.unpack("<Q", file.read(16)[8:].ljust(8, b"\0"))[0]
        if name == b"data" and size == UNKNOWN and large:
            size = large
        yield Chunk(name, start + 8, size)
        start += 8 + size
        if size % 2 and not (start + 4 <= length and _is_name(file, start)):
            start += 1


def _is_name(file: BinaryIO, start: int) -> bool:
    """Return whether a chunk begins here: some programs do not pad chunks of odd size."""
    file.seek(start)
    name = file.read(4)
    return len(name) == 4 and all(32 < byte < 127 for byte in name[:3])


def _w64_chunks(file: BinaryIO) -> Iterator[Chunk]:
    start = 40
    for _ in range(MOST):
        file.seek(start)
        header = file.read(24)
        if len(header) < 24:
            return
        name, size = header[:4], struct.unpack("<Q", header[16:])[0]
        yield Chunk(name, start + 24, max(0, size - 24))
        start += max(24, size + -size % 8)
