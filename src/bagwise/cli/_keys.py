"""Read one key at a time, without Enter, from a terminal; from other input, one character at a time."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

INTERRUPT = "\x03"


@contextmanager
def keys() -> Iterator[Iterator[str]]:
    """Yield the keys that are pressed, in lower case, until the input ends."""
    if not sys.stdin.isatty():
        yield _lower_case(_read_character)
        return
    try:
        import termios
        import tty
    except ImportError:
        # Windows: its console gives one key at a time without being set up for it.
        import msvcrt

        yield _lower_case(msvcrt.getwch)  # type: ignore[attr-defined]
        return

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield _lower_case(_read_character)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _read_character() -> str:
    return sys.stdin.read(1)


def _lower_case(read: Callable[[], str]) -> Iterator[str]:
    while character := read():
        if character == INTERRUPT:
            raise KeyboardInterrupt
        if not character.isspace():
            yield character.lower()
