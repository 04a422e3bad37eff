"""The segments of a folder's files on disk. The cache is append-only: after an interruption, complete entries are used.

    index.jsonl     a line for every file or clip: its bag's id, its first row, rows and width, their checksum, the
                    fingerprint of its file
    features.bin    float32, row by row
    places.bin      float64, media.WIDTH to a row
    scores.bin      records of `types.SCORE`, where the embedder scores classes
    N.EXT           the content to show instead of a file; N is the line in the index
    N.outlines      JSON: the corners of every instance

A line is written after its rows, so a complete line has its rows, which the checksum confirms.
"""

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from bagwise.ingest import media
from bagwise.ingest.clips import Clip
from bagwise.ingest.fingerprints import Fingerprint
from bagwise.ingest.types import SCORE, Segments
from bagwise.kernels import Array

INDEX, FEATURES, PLACES, SCORES = "index.jsonl", "features.bin", "places.bin", "scores.bin"
BYTES_PER_PLACE = media.WIDTH * 8


@dataclass(frozen=True, slots=True)
class Entry:
    """A segmented file or clip: the rows of its bag, the fingerprint of its file, its other files in the cache, scores.

    `clip_of` is the name of the recording that it is a clip of, from `start` to `end` in seconds; empty for a file.
    """

    id: str
    first: int
    rows: int
    width: int
    checksum: int
    file: Fingerprint
    shown: str = ""
    outlines: str = ""
    first_score: int = 0
    scores: int = 0
    clip_of: str = ""
    start: float = 0.0
    end: float = 0.0

    @property
    def source(self) -> str:
        """The name of the file that the bag is, or is a clip of."""
        return self.clip_of or self.id


class Cache:
    """The segments of a folder's files, in a folder of its own.

    Parameters
    ----------
    folder : Path
        Made if it does not exist; incomplete entries at its end are removed.

    Attributes
    ----------
    entries : dict of str to Entry
        The complete entries by the ids of their bags.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     cache = Cache(Path(place))
    ...     segments = Segments(np.ones((2, 3), np.float32), np.full((2, media.WIDTH), np.nan))
    ...     cache.add("a.txt", ".txt", Fingerprint(size=4, changed=0, digest=""), segments)
    ...     cache.close()
    ...     again = Cache(Path(place))
    ...     print(list(again.entries), again.width)
    ...     again.close()
    ['a.txt'] 3
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.entries: dict[str, Entry] = {}
        self._lines = self._rows = self._score_count = 0
        self._recover()
        self._index = (folder / INDEX).open("a", encoding="utf-8")
        self._features = (folder / FEATURES).open("ab")
        self._places = (folder / PLACES).open("ab")
        self._scores = (folder / SCORES).open("ab")

    def close(self) -> None:
        """Close the files."""
        for file in (self._index, self._features, self._places, self._scores):
            file.close()

    @property
    def width(self) -> int | None:
        """The number of features of an instance; None while the cache is empty."""
        return next((entry.width for entry in self.entries.values()), None)

    def add(
        self, name: str, suffix: str, fingerprint: Fingerprint, segments: Segments, clip: Clip | None = None
    ) -> None:
        """Add the segments of a file or clip; they are complete once their line is written.

        Parameters
        ----------
        name : str
            The id of the bag.
        suffix : str
            The suffix of the file, for `segments.shown`.
        fingerprint : Fingerprint
            Of the file.
        segments : Segments
            Its instances.
        clip : Clip, optional
            The part of a recording that the bag is.
        """
        features, places = (
            np.ascontiguousarray(segments.features, np.float32),
            np.ascontiguousarray(segments.places, np.float64),
        )
        scores = np.empty(0, SCORE) if segments.scores is None else np.ascontiguousarray(segments.scores)
        for file, values in ((self._features, features), (self._places, places), (self._scores, scores)):
            file.write(values.tobytes())
            file.flush()
        rows, width = features.shape
        others = self._write_others(suffix, segments)
        checksum = _checksum(features, places, scores)
        part = (clip.file, clip.start, clip.end) if clip is not None else ()
        counted = self._score_count, len(scores)
        entry = Entry(name, self._rows, rows, width, checksum, fingerprint, *others, *counted, *part)
        self._index.write(json.dumps(asdict(entry), ensure_ascii=False) + "\n")
        self._index.flush()
        self.entries[name] = entry
        self._lines += 1
        self._rows += len(features)
        self._score_count += len(scores)

    def blocks(self, entries: Sequence[Entry]) -> Iterator[Array]:
        """Yield the features of each entry, (rows, width).

        Parameters
        ----------
        entries : sequence of Entry
            Entries of this cache.

        Yields
        ------
        ndarray of shape (rows, width), float32
        """
        with (self.folder / FEATURES).open("rb") as file:
            for entry in entries:
                file.seek(4 * entry.first * entry.width)
                values = np.frombuffer(file.read(4 * entry.rows * entry.width), np.float32)
                yield values.reshape(entry.rows, entry.width)

    def places(self, entry: Entry) -> Array:
        """Return the places of an entry's instances, (rows, media.WIDTH).

        Parameters
        ----------
        entry : Entry
            An entry of this cache.

        Returns
        -------
        ndarray of shape (rows, 4), float64
        """
        with (self.folder / PLACES).open("rb") as file:
            file.seek(BYTES_PER_PLACE * entry.first)
            values = np.frombuffer(file.read(BYTES_PER_PLACE * entry.rows), np.float64)
            return values.reshape(entry.rows, media.WIDTH)

    def scores(self, entry: Entry) -> Array:
        """Return the scores of an entry's instances, which count from 0.

        Parameters
        ----------
        entry : Entry
            An entry of this cache.

        Returns
        -------
        ndarray of shape (n_scores,), `types.SCORE`
        """
        if not entry.scores:
            return np.empty(0, SCORE)
        with (self.folder / SCORES).open("rb") as file:
            file.seek(SCORE.itemsize * entry.first_score)
            return np.frombuffer(file.read(SCORE.itemsize * entry.scores), SCORE)

    def _write_others(self, suffix: str, segments: Segments) -> tuple[str, str]:
        shown = f"{self._lines}{suffix}" if segments.shown is not None else ""
        outlines = f"{self._lines}.outlines" if segments.outlines is not None else ""
        if segments.shown is not None:
            (self.folder / shown).write_bytes(segments.shown)
        if segments.outlines is not None:
            corners = [np.asarray(one).round(1).ravel().tolist() for one in segments.outlines]
            (self.folder / outlines).write_text(json.dumps(corners, separators=(",", ":")))
        return shown, outlines

    def _recover(self) -> None:
        """Read the index up to the first incomplete entry, and truncate the files there."""
        try:
            lines = (self.folder / INDEX).read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return
        index_size = 0
        shared: dict[Fingerprint, Fingerprint] = {}
        for line in lines:
            entry = _entry(line, shared)
            if entry is None or not self._is_complete(entry):
                break
            self.entries[entry.id] = entry
            self._lines, self._rows, index_size = self._lines + 1, entry.first + entry.rows, index_size + len(line)
            self._score_count = entry.first_score + entry.scores
        sizes = {
            INDEX: index_size,
            FEATURES: 4 * self._rows * (self.width or 0),
            PLACES: BYTES_PER_PLACE * self._rows,
            SCORES: SCORE.itemsize * self._score_count,
        }
        for name, size in sizes.items():
            with (self.folder / name).open("ab") as file:
                file.truncate(size)

    def _is_complete(self, entry: Entry) -> bool:
        if entry.first != self._rows or entry.width != (self.width or entry.width):
            return False
        try:
            (features,), places, scores = self.blocks([entry]), self.places(entry), self.scores(entry)
        except (ValueError, OSError):
            return False
        return _checksum(features, places, scores) == entry.checksum


def _checksum(*arrays: Array) -> int:
    found = 0
    for values in arrays:
        found = zlib.crc32(values.tobytes(), found)
    return found


def _entry(line: bytes, shared: dict[Fingerprint, Fingerprint]) -> Entry | None:
    """The entry of a line; the clips of a file share its fingerprint, because there may be millions."""
    try:
        fields = json.loads(line)
        fingerprint = Fingerprint(**fields["file"])
        one = shared.setdefault(fingerprint, fingerprint)
        return Entry(**{**fields, "file": one}) if line.endswith(b"\n") else None
    except (ValueError, TypeError, KeyError):
        return None
