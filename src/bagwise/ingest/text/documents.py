"""Documents as text, whatever bytes they were written in."""

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

from bagwise.core.errors import FileError

MOST_BYTES = 16_000_000
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""UTF-32 before UTF-16: its mark begins with that one's."""
NOT_TEXT = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
MOST_STRANGE = 0.01
SAMPLE = 1 << 16


@dataclass(frozen=True)
class Document:
    """A text, and its UTF-8 where the file is in something else."""

    text: str
    converted: bytes | None


def open_document(path: Path) -> Document:
    """The text of a file in UTF-8, UTF-16, UTF-32 or, where it is none of these, Windows' or ISO's Latin."""
    if (size := path.stat().st_size) > MOST_BYTES:
        what = f"has {size / 1e6:.0f} MB of text, more than {MOST_BYTES / 1e6:.0f}: split it into chapters."
        raise FileError(path, what)
    raw = path.read_bytes()
    encoding = _encoding(raw)
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise FileError(path, f"begins as {encoding} text but is damaged.") from error
    strange = len(NOT_TEXT.findall(text[:SAMPLE]))
    if "\0" in text or strange > MOST_STRANGE * min(len(text), SAMPLE):
        raise FileError(path, "holds NUL bytes or control characters: it is no text.")
    if not text.strip():
        raise FileError(path, "there is no text in it.")
    return Document(text, None if encoding == "utf-8" else text.encode("utf-8"))


def _encoding(raw: bytes) -> str:
    for mark, name in MARKS:
        if raw.startswith(mark):
            return name
    if (wide := _without_mark(raw[:SAMPLE])) is not None:
        return wide
    for name in ("utf-8", "cp1252"):
        try:
            raw.decode(name)
        except UnicodeDecodeError:
            continue
        return name
    return "latin-1"


def _without_mark(sample: bytes) -> str | None:
    """UTF-16 of a western language has a NUL beside nearly every letter, all on one side."""
    pairs = len(sample) // 2
    behind, before = sample[1 : 2 * pairs : 2].count(0), sample[: 2 * pairs : 2].count(0)
    if pairs and behind > 0.7 * pairs and before < 0.05 * pairs:
        return "utf-16-le"
    if pairs and before > 0.7 * pairs and behind < 0.05 * pairs:
        return "utf-16-be"
    return None
