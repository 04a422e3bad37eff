"""The embeddings of BirdNET-Analyzer and of the Python package birdnet: a table, or a folder of texts.

A table has a row for each window, and the embedding as comma-separated numbers in one quoted cell:

    file_path,start,end,embedding            BirdNET-Analyzer 2.2 and later (`--file_output`), in seconds
    input,start_time,end_time,embedding      the package birdnet (`to_csv`), as hours:minutes:seconds

A recording is a bag, called by its path below the folder that all recordings are in. A folder has texts, of

    NAME.birdnet.embeddings.txt              BirdNET-Analyzer 1: lines `start<tab>end<tab>comma-separated numbers`
    NAME_START_END.birdnet.embeddings.txt    BirdNET-Analyzer 2.0 and 2.1: one window, comma-separated numbers

in which the bag is NAME. A database of BirdNET-Analyzer is one of perch-hoplite.
"""

import re
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import BinaryIO

import numpy as np

from bagwise.core.errors import FileError
from bagwise.formats._text import header_of
from bagwise.formats._types import RowLocator, Source
from bagwise.formats._values import below_common_folder, path_of_any_system, validated_place
from bagwise.kernels import Array

DESCRIPTION = "BirdNET's embeddings: a CSV, or a folder of texts (.csv, .birdnet.embeddings.txt)"
SUFFIXES = (".birdnet.embeddings.txt",)
HEADERS = (["file_path", "start", "end", "embedding"], ["input", "start_time", "end_time", "embedding"])
ONE_WINDOW = re.compile(r"(.+)_(\d+(?:\.\d+)?)_(\d+(?:\.\d+)?)")
CLOCK = re.compile(rb"(\d+):([0-5]?\d):([0-5]?\d(?:\.\d+)?)")
MAX_LINE_BYTES = 1 << 24
ROWS_AT_ONCE = 1024


def recognises(path: Path) -> bool:
    """Return whether it is a table with the columns of BirdNET."""
    return header_of(path) in HEADERS


def read(path: Path, bag_column: str | None = None) -> Source:
    """Read recordings and times of windows now, embeddings line by line when they are needed."""
    number_of: dict[PurePath, int] = {}
    codes, positions, lines, times = array("q"), array("q"), array("q"), array("d")
    width, before, code = 0, b"", 0
    with path.open("rb") as file:
        for line, position, row in _lines(path, file):
            name, start, end, cell = _cells(path, line, row)
            if not codes or name != before:
                before, code = name, number_of.setdefault(_recording(path, line, name), len(number_of))
            times.extend(_span(path, line, start, end))
            codes.append(code)
            positions.append(position)
            lines.append(line)
            width = width or cell.count(b",") + 1
    if not codes:
        raise FileError(path, "contains no windows below the header.", 2)
    # The windows of a recording follow one another: an extraction that was continued has them in two places.
    order = np.argsort(np.array(codes), kind="stable")
    of_row = np.array(lines)[order]
    return Source(
        path,
        below_common_folder(list(number_of)),
        np.array(codes)[order],
        width,
        np.dtype(np.float32),
        lambda: _rows_at(path, np.array(positions)[order], of_row, width),
        locator=RowLocator(path, "line", lambda row: int(of_row[row])),
        spans=np.array(times).reshape(-1, 2)[order],
    )


def _lines(path: Path, file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Yield number, position and text of the lines below the header; one line is in memory at a time."""
    position = len(file.readline(MAX_LINE_BYTES))
    number = 1
    while row := file.readline(MAX_LINE_BYTES):
        number += 1
        if len(row) == MAX_LINE_BYTES:
            raise FileError(path, f"is longer than {MAX_LINE_BYTES >> 20} MB: this is not a window.", number)
        if row.strip():
            yield number, position, row
        position += len(row)


def _cells(path: Path, line: int, row: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """The recording, start, end and embedding; read from the end, as commas in the recording are not quoted."""
    row = row.rstrip()
    opens = row.rfind(b'"', 0, -1)
    before = row[:opens].rstrip(b" ,").rsplit(b",", 2)
    if not row.endswith(b'"') or opens < 1 or len(before) != 3:
        raise FileError(path, "is not a recording, start, end and the embedding in quotation marks.", line)
    name, start, end = (cell.strip() for cell in before)
    if name.startswith(b'"') and name.endswith(b'"') and len(name) > 1:
        name = name[1:-1].replace(b'""', b'"')
    return name, start.strip(b'"'), end.strip(b'"'), row[opens + 1 : -1]


def _recording(path: Path, line: int, name: bytes) -> PurePath:
    try:
        found = path_of_any_system(name.decode())
    except UnicodeDecodeError as error:
        raise FileError(path, "is not UTF-8 text: save it as UTF-8.", line) from error
    if not found.name:
        raise FileError(path, "the recording is missing.", line)
    return found


def _span(path: Path, line: int, *cells: bytes) -> Iterator[float]:
    place = {}
    for column, cell in zip(("start", "end"), cells, strict=True):
        clock = CLOCK.fullmatch(cell)
        try:
            hours, minutes, seconds = (float(part) for part in clock.groups()) if clock else (0.0, 0.0, float(cell))
        except ValueError:
            seconds = np.nan
        if not np.isfinite(seconds):
            raise FileError(path, f"{cell.decode(errors='replace')!r} is not a time.", line, column)
        place[column] = 3600 * hours + 60 * minutes + seconds
    return iter(validated_place(place, path, line).values())


def _rows_at(path: Path, positions: Array, lines: Array, width: int) -> Iterator[Array]:
    with path.open("rb") as file:
        for first in range(0, len(positions), ROWS_AT_ONCE):
            block = []
            for row in range(first, min(first + ROWS_AT_ONCE, len(positions))):
                file.seek(positions[row])
                line = int(lines[row])
                block.append(_embedding(path, line, _cells(path, line, file.readline(MAX_LINE_BYTES))[3], width))
            yield np.array(block)


def _embedding(path: Path, line: int, cell: bytes, width: int) -> Array:
    numbers = cell.split(b",")
    if len(numbers) != width:
        raise FileError(path, f"the embedding has {len(numbers)} numbers where the first has {width}.", line)
    try:
        return np.array(numbers, np.float32)
    except ValueError as error:
        raise FileError(path, "the embedding holds something that is not a number.", line) from error


def recognises_folder(folder: Path) -> bool:
    """Return whether it contains texts with the suffix of BirdNET."""
    return any(True for _ in _files(folder))


def read_folder(folder: Path) -> Source:
    """Read the times of windows now, their embeddings when they are needed."""
    files = sorted(_files(folder))
    names = [path.relative_to(folder).as_posix().removesuffix(SUFFIXES[0]) for path in files]
    with files[0].open("rb") as file:
        one_window = b"\t" not in file.readline(MAX_LINE_BYTES)
    return _of_windows(folder, files, names) if one_window else _of_recordings(folder, files, names)


def _files(folder: Path) -> Iterator[Path]:
    return folder.rglob(f"*{SUFFIXES[0]}")


def _of_recordings(folder: Path, files: Sequence[Path], ids: Sequence[str]) -> Source:
    """A text for each recording, a line for each window."""
    spans = [np.array([span for _, span, _ in _windows(path)]) for path in files]
    for path, one in zip(files, spans, strict=True):
        if not len(one):
            raise FileError(path, "is empty.")
    codes = np.repeat(np.arange(len(files)), [len(one) for one in spans])
    width = next(_windows(files[0]))[2].count(b",") + 1

    def blocks() -> Iterator[Array]:
        for path in files:
            yield np.array([_embedding(path, line, cell, width) for line, _, cell in _windows(path)])

    return Source(folder, ids, codes, width, np.dtype(np.float32), blocks, spans=np.concatenate(spans))


def _windows(path: Path) -> Iterator[tuple[int, tuple[float, ...], bytes]]:
    """Yield line, span and embedding of the windows of a recording."""
    with path.open("rb") as file:
        for line, row in enumerate(file, start=1):
            cells = row.rstrip(b"\r\n").split(b"\t")
            if len(cells) != 3:
                raise FileError(path, "a line must be start, end and the embedding, with tabs between.", line)
            yield line, tuple(_span(path, line, *cells[:2])), cells[2]


def _of_windows(folder: Path, files: Sequence[Path], names: Sequence[str]) -> Source:
    """A text for each window, which is called by its recording and times."""
    found: list[tuple[str, float, float, Path]] = []
    for path, name in zip(files, names, strict=True):
        parts = ONE_WINDOW.fullmatch(name)
        if parts is None:
            raise FileError(path, "has no times: it must be called NAME_START_END, or have lines with tabs.")
        start, end = _span(path, 1, parts[2].encode(), parts[3].encode())
        found.append((parts[1], start, end, path))
    found.sort()
    ids, codes = np.unique([one[0] for one in found], return_inverse=True)
    width = found[0][3].read_bytes().count(b",") + 1

    def blocks() -> Iterator[Array]:
        for first in range(0, len(found), ROWS_AT_ONCE):
            some = (path for *_, path in found[first : first + ROWS_AT_ONCE])
            yield np.array([_embedding(path, 1, path.read_bytes().strip(), width) for path in some])

    spans = np.array([one[1:3] for one in found])
    return Source(folder, ids.tolist(), codes, width, np.dtype(np.float32), blocks, spans=spans)
