"""What was cut so far, on disk: it only grows, and whoever is interrupted goes on with what is whole.

    index.jsonl     a line for every file: its bag's id, where its rows begin, how many, their checksum, and the file
    features.bin    float32, one row after the other
    places.bin      float64, media.WIDTH to a row
    N.EXT           what is shown instead of a file; N is the line in the index
    N.outlines      JSON: the corners of every instance

A line is written after its rows, so a line that is whole has its rows, which the checksum confirms.
"""

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from bagwise.ingest import media
from bagwise.ingest.fingerprints import Seen
from bagwise.ingest.types import Segments
from bagwise.kernels import Array

INDEX, FEATURES, PLACES = "index.jsonl", "features.bin", "places.bin"
ROW_OF_PLACES = media.WIDTH * 8


@dataclass(frozen=True)
class Entry:
    """A file that was cut: the rows of its bag, what it was then, and what lies beside it here."""

    id: str
    first: int
    rows: int
    width: int
    checksum: int
    file: Seen
    shown: str = ""
    outlines: str = ""


class Cache:
    """The cuts of a folder, in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.entries: dict[str, Entry] = {}
        self._lines = self._rows = 0
        self._recover()
        self._index = (folder / INDEX).open("a", encoding="utf-8")
        self._features = (folder / FEATURES).open("ab")
        self._places = (folder / PLACES).open("ab")

    def close(self) -> None:
        """Let go of the files."""
        for file in (self._index, self._features, self._places):
            file.close()

    @property
    def width(self) -> int | None:
        """Features of an instance, once there is one."""
        return next((entry.width for entry in self.entries.values()), None)

    def add(self, name: str, suffix: str, seen: Seen, segment: Segments) -> None:
        """Keep a cut; it is there when its line is."""
        features, places = (
            np.ascontiguousarray(segment.features, np.float32),
            np.ascontiguousarray(segment.places, np.float64),
        )
        for file, values in ((self._features, features), (self._places, places)):
            file.write(values.data)
            file.flush()
        checksum = zlib.crc32(places.data, zlib.crc32(features.data))
        rows, width = features.shape
        entry = Entry(name, self._rows, rows, width, checksum, seen, *self._beside(suffix, segment))
        self._index.write(json.dumps(asdict(entry), ensure_ascii=False) + "\n")
        self._index.flush()
        self.entries[name] = entry
        self._lines += 1
        self._rows += len(features)

    def blocks(self, entries: Sequence[Entry]) -> Iterator[Array]:
        """The features of these, one bag after the other."""
        with (self.folder / FEATURES).open("rb") as file:
            for entry in entries:
                file.seek(4 * entry.first * entry.width)
                values = np.frombuffer(file.read(4 * entry.rows * entry.width), np.float32)
                yield values.reshape(entry.rows, entry.width)

    def places(self, entry: Entry) -> Array:
        """Where the instances of one lie."""
        with (self.folder / PLACES).open("rb") as file:
            file.seek(ROW_OF_PLACES * entry.first)
            return np.frombuffer(file.read(ROW_OF_PLACES * entry.rows), np.float64).reshape(entry.rows, media.WIDTH)

    def _beside(self, suffix: str, segment: Segments) -> tuple[str, str]:
        shown = f"{self._lines}{suffix}" if segment.shown is not None else ""
        outlines = f"{self._lines}.outlines" if segment.outlines is not None else ""
        if segment.shown is not None:
            (self.folder / shown).write_bytes(segment.shown)
        if segment.outlines is not None:
            corners = [np.asarray(one).round(1).ravel().tolist() for one in segment.outlines]
            (self.folder / outlines).write_text(json.dumps(corners, separators=(",", ":")))
        return shown, outlines

    def _recover(self) -> None:
        """Read the index up to the first line whose rows are not whole, and forget what comes after."""
        try:
            lines = (self.folder / INDEX).read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return
        kept = 0
        for line in lines:
            entry = _entry(line)
            if entry is None or not self._is_whole(entry):
                break
            self.entries[entry.id] = entry
            self._lines, self._rows, kept = self._lines + 1, entry.first + entry.rows, kept + len(line)
        width = self.width or 0
        for name, size in ((INDEX, kept), (FEATURES, 4 * self._rows * width), (PLACES, ROW_OF_PLACES * self._rows)):
            with (self.folder / name).open("ab") as file:
                file.truncate(size)

    def _is_whole(self, entry: Entry) -> bool:
        if entry.first != self._rows or entry.width != (self.width or entry.width):
            return False
        try:
            (features,), places = self.blocks([entry]), self.places(entry)
        except (ValueError, OSError):
            return False
        return zlib.crc32(places.tobytes(), zlib.crc32(features.tobytes())) == entry.checksum


def _entry(line: bytes) -> Entry | None:
    try:
        said = json.loads(line)
        return Entry(**{**said, "file": Seen(**said["file"])}) if line.endswith(b"\n") else None
    except (ValueError, TypeError, KeyError):
        return None
