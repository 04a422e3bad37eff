"""What files say in their cells: labels, numbers of instances, places and names, validated."""

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

import numpy as np

from bagwise.core.errors import FileError
from bagwise.kernels import Array

if TYPE_CHECKING:
    pass

MAX_COLUMNS = 65_536
MAX_PAIRS = 200_000_000
MAX_BYTES_PER_BYTE = 100
"""The largest compression ratio above ALWAYS_ALLOWED_BYTES; features stay far below."""
ALWAYS_ALLOWED_BYTES = 1 << 28
MOST_LISTED = 12
NOT_IN_NAMES = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

PRESENT = {"1", "1.0", "true", "yes", "present", "positive"}
ABSENT = {"0", "0.0", "false", "no", "absent", "negative"}
UNKNOWN = {"", "nan", "na", "null", "none", "?", "unknown", "unsure", "uncertain"}

PLACE_COLUMNS = ("start", "end", "low", "high", "x", "y", "width", "height", "first", "last")
"""The columns of places in all media: seconds and Hz, pixels, characters."""

Place = Mapping[str, float]


def shape_of(array: Array) -> str:
    """Return the shape of an array in words: `3 x 4`."""
    return " x ".join(map(str, array.shape))


def label_value(
    text: str, path: Path, line: int | None = None, column: str | int | None = None, row: str = "line"
) -> float:
    """Return 1, 0 or nan from the usual words for present, absent and unknown; -1 is ambiguous and refused."""
    word = text.strip().lower()
    if word in PRESENT:
        return 1.0
    if word in ABSENT:
        return 0.0
    if word in UNKNOWN:
        return float("nan")
    if word in ("-1", "-1.0"):
        what = "-1 can mean absent or unknown: write 0 for absent and leave unknown empty."
        raise FileError(path, what, line, column, row)
    what = f"{text!r} is not a label: write 1 (present), 0 (absent) or leave it empty."
    raise FileError(path, what, line, column, row)


def whole_number(text: str, path: Path, line: int | None, column: str, row: str = "line") -> int:
    """Return the position of an instance from text."""
    word = text.strip().removesuffix(".0")
    if not (word.isascii() and word.isdigit()):
        what = f"{text!r} is not the number of an instance: they are counted 0, 1, 2, ..."
        raise FileError(path, what, line, column, row)
    return int(word)


def place_from(
    cells: Mapping[str, str],
    path: Path,
    line: int | None = None,
    row: str = "line",
    names: Mapping[str, str] | None = None,
) -> dict[str, float]:
    """Return a place from the text of its columns, validated; empty cells are left out.

    Parameters
    ----------
    cells : mapping of str to str
        Text by column of `PLACE_COLUMNS`.
    path, line, row
        Named in errors.
    names : mapping of str to str, optional
        What the file calls the columns.

    Examples
    --------
    >>> place_from({"start": "1.5", "end": "2", "low": ""}, Path("labels.csv"))
    {'start': 1.5, 'end': 2.0}
    """
    place = {}
    for column, text in cells.items():
        if not text.strip():
            continue
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise FileError(path, f"{text!r} is not a number.", line, (names or {}).get(column, column), row)
        place[column] = value
    return validated_place(place, path, line, row)


def validated_place(
    place: dict[str, float], path: Path, line: int | None = None, row: str = "line"
) -> dict[str, float]:
    """Return the place, or raise a FileError for one that ends before it begins or has only one of two limits."""
    for low, high in (("start", "end"), ("low", "high"), ("first", "last")):
        if (low in place) != (high in place):
            raise FileError(
                path,
                f"the place has {low if low in place else high} alone: {low} and {high} go together.",
                line,
                None,
                row,
            )
        if low in place and place[high] < place[low]:
            raise FileError(path, f"{high} is before {low}." if low != "low" else "high is below low.", line, None, row)
    for column in ("start", "low", "first"):
        if place.get(column, 0) < 0:
            raise FileError(path, f"{column} is negative.", line, None, row)
    box = [column for column in ("x", "y", "width", "height") if column in place]
    if box and (len(box) < 4 or place["width"] <= 0 or place["height"] <= 0):
        raise FileError(path, "a box needs x, y, and a width and a height above 0.", line, None, row)
    if "low" in place and "start" not in place:
        raise FileError(path, "low and high need start and end.", line, None, row)
    return place


def validate_numbers(path: Path, dtype: np.dtype) -> None:
    """Raise a FileError unless features are numbers."""
    if dtype.kind not in "fiub":
        raise FileError(path, f"its features are of type {dtype}: they must be numbers.")


def validate_unique(path: Path, kind: str, names: Sequence[str]) -> None:
    """Raise a FileError unless names are valid and unique."""
    validate_names(path, kind, names)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise FileError(path, f"the {kind} {name} appears twice.")
        seen.add(name)


def validate_names(path: Path, kind: str, names: Sequence[str]) -> None:
    """Raise a FileError for empty names and control characters: names go into tables, terminals and pages."""
    for name in names:
        if not name.strip():
            raise FileError(path, f"a {kind} has no name.")
        if NOT_IN_NAMES.search(name):
            raise FileError(path, f"the name of the {kind} {name!r} holds a control character or a line break.")


def listed(names: Sequence[str]) -> str:
    """Return names of variables in one line, `nothing` where there are none; those of damaged files are made visible.

    Examples
    --------
    >>> listed(["bags", "targets"])
    'bags, targets'
    """
    shown = [NOT_IN_NAMES.sub("?", name) for name in names[:MOST_LISTED]]
    return ", ".join([*shown, *(["..."] if len(names) > MOST_LISTED else [])]) or "nothing"


def numbered(count: int) -> list[str]:
    """Return names for a file without any: 1, 2, ..."""
    return [str(number) for number in range(1, count + 1)]


def path_of_any_system(text: str) -> PurePath:
    """Return the path that a file names, which may have been written under Windows."""
    return PureWindowsPath(text) if "\\" in text else PurePosixPath(text)


def below_common_folder(paths: Sequence[PurePath]) -> list[str]:
    """Return paths below the folder that all of them are in, with slashes.

    Examples
    --------
    >>> below_common_folder([PurePosixPath("/data/north/a.wav"), PurePosixPath("/data/south/b.wav")])
    ['north/a.wav', 'south/b.wav']
    """
    folders = zip(*(path.parts[:-1] for path in paths), strict=False)
    shared = sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, folders))
    return ["/".join(path.parts[shared:]) for path in paths]


def names_of_files(files: Sequence[str]) -> list[str]:
    """Return the names of bags for files that a program lists; whole paths are cut to what is below a common folder.

    Examples
    --------
    >>> names_of_files(["north/a.wav", "b.wav"]), names_of_files(["/data/north/a.wav"])
    (['north/a.wav', 'b.wav'], ['a.wav'])
    """
    paths = [path_of_any_system(file) for file in files]
    return below_common_folder(paths) if paths and all(path.is_absolute() for path in paths) else list(files)
