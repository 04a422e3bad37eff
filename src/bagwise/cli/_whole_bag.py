"""A whole-bag question in the terminal: one key for each class, a full stop sends."""

from collections.abc import Iterator
from dataclasses import replace

from rich.markup import escape

from bagwise.cli._app import say
from bagwise.project import Project, WholeBag

CLASS_KEYS = "1234567890abcdefghijklmoprtvwxy"
SEND, SKIP, UNDO, QUIT = ".szq"


def with_keys(question: WholeBag) -> WholeBag:
    """The question about those classes that there are keys for; the others stay open."""
    return replace(question, classes=question.classes[: len(CLASS_KEYS)])


def show_whole(project: Project, question: WholeBag) -> None:
    """The bag and its classes, each with its key."""
    named = zip(CLASS_KEYS, question.classes, strict=False)
    say(f"Which of these are in bag [bold]{escape(question.asked.bag_id)}[/]? \\[{SEND}] sends")
    say("  ".join(f"\\[{key}] {escape(project.classes[c])}" for key, c in named))


def checked(question: WholeBag, pressed: Iterator[str]) -> tuple[str, list[int]]:
    """The key that ended it, and the classes that were ticked by then."""
    places = dict(zip(CLASS_KEYS, question.classes, strict=False))
    ticked: set[int] = set()
    for key in pressed:
        if key in (SEND, SKIP, UNDO, QUIT):
            return key, sorted(ticked)
        if key in places:
            ticked ^= {places[key]}
    return QUIT, []
