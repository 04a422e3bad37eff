"""The answer to a question in the terminal, as keys gave it."""

from dataclasses import dataclass

from bagwise.learning.questions import Instances

UNDO, QUIT = "z", "q"
"""Keys that end a question without an answer."""


@dataclass(frozen=True)
class KeyedAnswer:
    """An answer for each class of a question, and what it points at.

    Parameters
    ----------
    answers : tuple of str
        One for each class.
    where, elsewhere : tuple of tuple of int
        For each class the instances that are of it, and those that are not; empty for none.
    """

    answers: tuple[str, ...]
    where: tuple[Instances, ...] = ()
    elsewhere: tuple[Instances, ...] = ()
