"""Text: an instance is a passage, from its first to its last character, counted from 0; both belong to it."""

from pathlib import Path

from bagwise.core.errors import FileError
from bagwise.ingest.media._types import Type
from bagwise.kernels import Array

DESCRIPTION = "text (UTF-8; .txt, .md)"
# Markdown is shown as plain text.
TYPES = {".txt": Type("text/plain; charset=utf-8"), ".md": Type("text/plain; charset=utf-8")}
PLACE = ("first", "last")
BAG = "document"
RENDERER = "text"
SEGMENTER = "paragraphs"
RULE = "first must not be negative, and last not before first."


def misplaced(places: Array) -> Array:
    """Return which passages are empty or begin before the text."""
    first, last = places[:, :2].T
    found: Array = (first < 0) | (last < first)
    return found


def validate(path: Path) -> None:
    """Raise a FileError unless the text is UTF-8: else its passages would be elsewhere than shown."""
    try:
        path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(path, "is not UTF-8 text: save it as UTF-8.") from error
