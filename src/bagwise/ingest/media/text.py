"""Text: an instance is a passage, from its first to its last character, counted from 0."""

from pathlib import Path

from bagwise.core.errors import FileError
from bagwise.ingest.media._types import Type
from bagwise.kernels import Array

DESCRIPTION = "text (UTF-8; .txt, .md)"
# Whatever marks are in it: it is shown as it is.
TYPES = {".txt": Type("text/plain; charset=utf-8"), ".md": Type("text/plain; charset=utf-8")}
PLACE = ("first", "last")
OPTIONAL = ()
RULE = "first must not be negative, and last not before first."


def misplaced(places: Array) -> Array:
    """Passages that are empty or begin before the text."""
    first, last = places[:, :2].T
    found: Array = (first < 0) | (last < first)
    return found


def refuse(path: Path) -> None:
    """What is not UTF-8 would be shown wrong, and its passages in other places."""
    try:
        path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(path, "is not UTF-8 text: save it as UTF-8.") from error
