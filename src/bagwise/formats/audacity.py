r"""Audacity label tracks: `start<tab>end<tab>class`, in seconds; a line `\<tab>low<tab>high` has the frequencies in Hz.

A track is about one recording, the bag, which has its name without `.txt`. The tracks of several recordings are a zip
file. A label is a place where its class is present; `wren [absent]` is one where it is not, and `wren [unsure]` says
nothing. A point label is an instant; at 0 it is about the whole recording.
"""

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.formats._detections import DetectionTable
from bagwise.formats._label_table import LabelTable, PlacedLabel
from bagwise.formats._text import looks_like_text
from bagwise.formats._values import ALWAYS_ALLOWED_BYTES, MAX_BYTES_PER_BYTE, Place, place_from, validated_place

DESCRIPTION = "Audacity label track (.txt), or a zip file of them"
SUFFIXES = (".audacity.zip", ".audacity.txt")
TRACK = ".txt"
FREQUENCIES = "\\"
MARKS = {"present": True, "absent": False, "unsure": None}
MARK = re.compile(rf" \[({'|'.join(MARKS)})\]$")
NOT_IN_FILE_NAMES = re.compile(r'[%<>:"|?*\\\x00-\x1f]')
"""What the names of tracks in a zip file have as %XX."""


def recognises(path: Path) -> bool:
    """Return whether the first line begins with two numbers and tabs, or it is a zip file of texts."""
    if zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            return False
        return bool(names) and all(name.lower().endswith((TRACK, "/")) for name in names)
    if path.suffix.lower() in (".csv", ".tsv") or not looks_like_text(path):
        return False
    with path.open("rb") as file:
        cells = file.readline(4096).removeprefix(b"\xef\xbb\xbf").split(b"\t")
    return len(cells) in (2, 3) and all(_is_number(cell) for cell in cells[:2])


def read_labels(path: Path, bag_column: str | None = None) -> LabelTable:
    """Read one track, or all in a zip file."""
    triples: list[tuple[str, str, float]] = []
    lines: list[int] = []
    placed: list[PlacedLabel] = []
    for bag, raw in _tracks(path):
        for line, text, place in _labels(path, raw):
            name, value = _said(text)
            if place and value is not None:
                placed.append(PlacedLabel(bag, name, value, None, place, line))
            elif not place:
                triples.append((bag, name, np.nan if value is None else value))
                lines.append(line)
    if not triples and not placed:
        raise FileError(path, "contains no labels.")
    return replace(LabelTable.from_triples(path, triples, lines, placed), of_files=True)


def write_labels(table: LabelTable, path: Path) -> None:
    """Write a zip file with one track for each recording, or the only track."""
    tracks: dict[str, list[str]] = {}
    placed = table.placed_by("start")
    for bag, name, answer in table.triples_but(placed):
        tracks.setdefault(bag, []).append(_label({}, name, answer))
    for one in placed:
        label = _label(one.place, one.label_class, "present" if one.present else "absent")
        tracks.setdefault(one.bag, []).append(label)
    _write(tracks, path)


def write_detections(table: DetectionTable, path: Path) -> None:
    """Write the track of each recording with detections; one whose place is not known is a label at 0.

    Where some labels of a track have a band, those without get all frequencies: Audacity reads both, but crowsetta and
    scikit-maad read a track only if every label has a band, or none.
    """
    rates = dict(table.files.select("file", "rate").iter_rows())
    banded = {recording for recording, place, _ in table.placed() if "low" in place}
    tracks: dict[str, list[str]] = {}
    for recording, place, row in table.placed():
        rate = rates.get(recording) if recording in banded and "low" not in place else None
        band = {} if rate is None else {"low": 0.0, "high": rate / 2}
        tracks.setdefault(recording, []).append(_label({**place, **band}, row["class"]))
    _write(tracks, path)


def _write(tracks: dict[str, list[str]], path: Path) -> None:
    if path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for bag, labels in tracks.items():
                archive.writestr(f"{_file_name(bag)}{TRACK}", "".join(labels))
        return
    if len(tracks) > 1:
        raise BagwiseError(
            f"{path}: a label track is about one recording, and {len(tracks)} have labels: write a .zip."
        )
    path.write_text("".join(line for labels in tracks.values() for line in labels), encoding="utf-8")


def _tracks(path: Path) -> Iterator[tuple[str, bytes]]:
    if not zipfile.is_zipfile(path):
        name = path.name
        for suffix in (SUFFIXES[1], TRACK):
            name = name.removesuffix(suffix)
        yield name, path.read_bytes()
        return
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
            if unpacked > max(ALWAYS_ALLOWED_BYTES, MAX_BYTES_PER_BYTE * path.stat().st_size):
                raise FileError(
                    path, f"would unpack to {unpacked / 1e9:.1f} GB, far more than labels should: it is not read."
                )
            for member in archive.infolist():
                if not member.is_dir():
                    yield unquote(member.filename[: -len(TRACK)]), archive.read(member)
    except FileError:
        raise
    except Exception as error:  # zlib.error and whatever a damaged file provokes
        raise FileError(path, f"is damaged: it cannot be read as a zip file ({type(error).__name__}).") from error


def _labels(path: Path, raw: bytes) -> list[tuple[int, str, dict[str, float]]]:
    """The line, class and place of every label of a track."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(path, "is not UTF-8 text: save it as UTF-8.") from error
    found: list[tuple[int, str, dict[str, float]]] = []
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        cells = line.rstrip("\n").split("\t")
        if not any(cell.strip() for cell in cells):
            continue
        if cells[0] == FREQUENCIES:
            if len(cells) != 3 or not found:
                raise FileError(path, "a line of frequencies needs a label before it, and low and high.", number)
            _add_band(path, found[-1][2], cells[1:], number)
            continue
        if len(cells) < 2:
            raise FileError(path, "a label needs start, end and a class, with tabs between.", number)
        if len(cells) < 3 or not cells[2].strip():
            raise FileError(path, "the label has no text, which names the class.", number)
        place = place_from({"start": cells[0], "end": cells[1]}, path, number)
        if "start" not in place:
            raise FileError(path, "a label needs start, end and a class, with tabs between.", number)
        found.append((number, "\t".join(cells[2:]), {} if place["end"] == 0 else place))
    return found


def _add_band(path: Path, place: dict[str, float], cells: Sequence[str], number: int) -> None:
    """Add the frequencies; -1 is Audacity's word for one that is not known, and without both there is no band."""
    if not all(_is_number(cell.encode()) for cell in cells):
        raise FileError(path, "low or high is not a number.", number)
    low, high = map(float, cells)
    if place and low >= 0 and high >= 0:
        validated_place({**place, "low": low, "high": high}, path, number)
        place |= {"low": low, "high": high}


def _label(place: Place, name: str, answer: str = "present") -> str:
    """The line of a label, and that of its frequencies where they are known."""
    start, end = (float(place.get(column, 0.0)) for column in ("start", "end"))
    line = f"{start!r}\t{end!r}\t{_text(name, answer)}\n"
    if "low" in place:
        line += f"{FREQUENCIES}\t{float(place['low'])!r}\t{float(place['high'])!r}\n"
    return line


def _text(name: str, answer: str) -> str:
    """The text of a label; a class that is present needs no mark unless its name looks like one."""
    return name if answer == "present" and not MARK.search(name) else f"{name} [{answer}]"


def _said(text: str) -> tuple[str, bool | None]:
    """The class of a label, and whether it is present; None for unsure."""
    mark = MARK.search(text)
    return (text, True) if mark is None else (text[: mark.start()], MARKS[mark[1]])


def _is_number(cell: bytes) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _file_name(bag: str) -> str:
    """The name of a bag's track in a zip file, which never leads out of the folder it is unpacked into."""
    parts = NOT_IN_FILE_NAMES.sub(lambda match: f"%{ord(match[0]):02X}", bag).split("/")
    if not all(parts):
        return "%2F".join(parts)
    return "/".join(part.replace(".", "%2E") if set(part) == {"."} else part for part in parts)
