"""What recorders write into a file beside the sound.

In WAV files they are chunks. In FLAC files they are comments, or blocks that hold the chunks of the WAV file which the
FLAC file was made of (`flac --keep-foreign-metadata`).
"""

import struct
from pathlib import Path
from typing import BinaryIO

from bagwise.ingest.sound.chunks import chunks_of

CHUNKS = (b"guan", b"wamd", b"LIST")
FLAC_APPLICATION, FLAC_COMMENTS = 2, 4
FLAC_KEYS = {b"COMMENT": "ICMT", b"DESCRIPTION": "ICMT", b"ARTIST": "IART"}


def metadata_of(path: Path) -> dict[str, bytes]:
    """Return the contents of `guan` and `wamd`, the comment (`ICMT`) and the artist (`IART`): those that a file has."""
    try:
        with path.open("rb") as file:
            if file.read(4) == b"fLaC":
                return _of_flac(file)
            return _of_chunks({chunk.name: chunk.read(file) for chunk in chunks_of(path) if chunk.name in CHUNKS})
    except (OSError, struct.error):
        return {}


def _of_chunks(chunks: dict[bytes, bytes]) -> dict[str, bytes]:
    found = {name.decode(): content for name, content in chunks.items() if name in (b"guan", b"wamd")}
    content = chunks.get(b"LIST", b"")
    start = 4 if content.startswith(b"INFO") else len(content)
    while start + 8 <= len(content):
        name, size = struct.unpack_from("<4sI", content, start)
        if name in (b"ICMT", b"IART"):
            found[name.decode()] = content[start + 8 : start + 8 + size].rstrip(b"\0")
        start += 8 + size + size % 2
    return found


def _of_flac(file: BinaryIO) -> dict[str, bytes]:
    chunks, found, is_last = dict[bytes, bytes](), dict[str, bytes](), False
    while not is_last and len(header := file.read(4)) == 4:
        kind, size, is_last = header[0] & 0x7F, int.from_bytes(header[1:], "big"), bool(header[0] & 0x80)
        content = file.read(size)
        if kind == FLAC_APPLICATION and content[:4] == b"riff" and content[4:8] in CHUNKS:
            chunks[content[4:8]] = content[12:]
        elif kind == FLAC_COMMENTS:
            found |= _of_comments(content)
    return {**found, **_of_chunks(chunks)}


def _of_comments(content: bytes) -> dict[str, bytes]:
    """Return what the comments of a FLAC file hold; a comment that begins as GUANO does is GUANO."""
    found, start = dict[str, bytes](), 4 + int.from_bytes(content[:4], "little")
    count, start = int.from_bytes(content[start : start + 4], "little"), start + 4
    for _ in range(min(count, len(content) // 4)):
        size = int.from_bytes(content[start : start + 4], "little")
        key, _, value = content[start + 4 : start + 4 + size].partition(b"=")
        start += 4 + size
        if value.lstrip().startswith(b"GUANO|"):
            found["guan"] = value
        elif key.upper() in FLAC_KEYS:
            found[FLAC_KEYS[key.upper()]] = value
    return found
