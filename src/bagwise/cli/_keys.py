"""One key at a time, without Enter, where there is a terminal; else one character at a time."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPT = "\x03"


@contextmanager
def keys() -> Iterator[Iterator[str]]:
    """Yields the keys pressed, in lower case, until the input ends."""
    if not sys.stdin.isatty():
        yield _characters()
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield _characters()
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _characters() -> Iterator[str]:
    while character := sys.stdin.read(1):
        if character == INTERRUPT:
            raise KeyboardInterrupt
        if not character.isspace():
            yield character.lower()
