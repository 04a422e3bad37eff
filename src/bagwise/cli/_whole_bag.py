"""A whole-bag question in the terminal: one key for each class, a full stop sends."""

from collections.abc import Iterator, Sequence

from rich.markup import escape

from bagwise.cli._app import say
from bagwise.learning.questions import Question
from bagwise.project import Project

CLASS_KEYS = "1234567890abcdefghijklmoprtvwxy"
SEND, SKIP, UNDO, QUIT = ".szq"


def classes_with_keys(question: Question) -> tuple[int, ...]:
    """The classes of the question that there are keys for; the others stay open."""
    return question.classes[: len(CLASS_KEYS)]


def show_whole(project: Project, bag: int, classes: Sequence[int]) -> None:
    """Print the bag and the classes, each with its key."""
    keys = zip(CLASS_KEYS, classes, strict=False)
    say(f"Which of these are in bag [bold]{escape(str(project.contents.ids[bag]))}[/]? \\[{SEND}] sends")
    say("  ".join(f"\\[{key}] {escape(project.classes[c])}" for key, c in keys))


def checked(classes: Sequence[int], pressed: Iterator[str]) -> tuple[str, list[int]]:
    """The key that ended the answer, and the classes that were ticked by then."""
    class_of = dict(zip(CLASS_KEYS, classes, strict=False))
    ticked: set[int] = set()
    for key in pressed:
        if key in (SEND, SKIP, UNDO, QUIT):
            return key, sorted(ticked)
        if key in class_of:
            ticked ^= {class_of[key]}
    return QUIT, []
