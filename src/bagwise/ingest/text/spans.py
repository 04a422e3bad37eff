"""Where paragraphs and sentences begin and end, in characters; the end is exclusive."""

import re
from collections.abc import Iterator

SHORTEST, LONGEST = 30, 2000
BLANK_LINE = re.compile(r"(?:\r\n|\r|\n)[ \t]*(?:\r\n|\r|\n)\s*")
STOP, AFTER, BEFORE = "[.!?\u2026]", "[\"'\u201d\u2019)\\]]", "[\"'\u201c\u2018(\\[]"
# A full stop before a lower-case letter is an abbreviation; in scripts without spaces, a stop always ends a sentence.
END_OF_SENTENCE = re.compile(
    rf"(?:(?<={STOP})|(?<={STOP}{AFTER}))\s+(?={BEFORE}*[^\W_a-z])|(?<=[\u3002\uff01\uff1f])|\n[ \t]*\n\s*"
)


def paragraphs(text: str) -> list[tuple[int, int]]:
    """Return the parts between blank lines; a heading goes with what follows, long parts are split at sentences."""
    found = _joined(list(_between(text, BLANK_LINE, 0, len(text))))
    return [
        part
        for first, end in found
        for part in (_shortened(text, first, end) if end - first > LONGEST else [(first, end)])
    ]


def sentences(text: str) -> list[tuple[int, int]]:
    """Return sentences, none of them across a blank line; those of a few letters go with what follows."""
    found = _joined(list(_between(text, END_OF_SENTENCE, 0, len(text))))
    return [part for first, end in found for part in _pieces(first, end)]


def _shortened(text: str, first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield groups of sentences, as many in each as fit."""
    begin = last = first
    for start, stop in _between(text, END_OF_SENTENCE, first, end):
        if stop - begin > LONGEST and last > begin:
            yield from _pieces(begin, last)
            begin = start
        last = stop
    yield from _pieces(begin, last)


def _pieces(first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield pieces of at most LONGEST characters."""
    for begin in range(first, end, LONGEST):
        yield begin, min(end, begin + LONGEST)


def _between(text: str, mark: re.Pattern[str], first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts between marks, without the space around them."""
    begin = first
    for found in [*mark.finditer(text, first, end), None]:
        stop = found.start() if found is not None else end
        part = text[begin:stop]
        if part.strip():
            yield begin + len(part) - len(part.lstrip()), begin + len(part.rstrip())
        begin = found.end() if found is not None else end


def _joined(parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the parts with those shorter than SHORTEST joined to the next one."""
    found: list[tuple[int, int]] = []
    begin = None
    for first, end in parts:
        begin = first if begin is None else begin
        if end - begin >= SHORTEST:
            found.append((begin, end))
            begin = None
    if begin is not None:
        before = found.pop()[0] if found else begin
        found.append((before, parts[-1][1]))
    return found
