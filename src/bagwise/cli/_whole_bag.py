"""A whole-bag question in the terminal: one key for each class, a full stop sends.

A class has the same key in every question, by its position in the project: of more classes than there are keys, the
others have a slash before theirs. Where instances are shown, a class is pressed once for *present*, and once more for
*present, and it is the marked one*.
"""

from collections.abc import Iterator

from rich.markup import escape

from bagwise.cli._app import say
from bagwise.cli._keyed_answer import QUIT, UNDO, KeyedAnswer
from bagwise.cli._one_class import show_source
from bagwise.project import Lease, Project, whole_bag_answers

CLASS_KEYS = "1234567890abcdefghijklmoprtvwxy"
NEXT_KEYS = "/"
SEND, SKIP = ".", "s"
WHOLE_HELP = "\\[s]kip  \\[z] undo  \\[q]uit"


def key_of(label_class: int) -> str:
    """Return what is pressed for the class at this position of the project: `1`, or of the 32nd class `/1`.

    >>> key_of(0), key_of(30), key_of(31)
    ('1', 'y', '/1')
    """
    row, place = divmod(label_class, len(CLASS_KEYS))
    return NEXT_KEYS * row + CLASS_KEYS[place]


def show_whole(project: Project, lease: Lease, pointing: bool) -> None:
    """Print the bag and the classes, each with its key, and where instances are shown with its marked instance."""
    twice = "; press a key twice where it is the marked instance" if pointing else ""
    say(f"Which of these are in bag [bold]{escape(str(project.contents.ids[lease.bag]))}[/]? \\[{SEND}] sends{twice}")
    say("[dim]What you do not press is saved as absent.[/]", end="  ")
    show_source(project, lease.bag)
    words = []
    for label_class, marked in sorted(zip(lease.question.classes, lease.question.evidence, strict=True)):
        mark = f" (instance {marked})" if pointing else ""
        words.append(f"{escape(f'[{key_of(label_class)}]')} {escape(project.classes[label_class])}{mark}")
    say("  ".join(words))


def checked(lease: Lease, pressed: Iterator[str], pointing: bool) -> KeyedAnswer | str:
    """Return the answer that was sent; the key itself to undo or to quit."""
    classes = lease.question.classes
    place_of = {key_of(label_class): place for place, label_class in enumerate(classes)}
    times, most, before = [0] * len(classes), 2 if pointing else 1, ""
    for key in pressed:
        if key == NEXT_KEYS:
            before += key
            continue
        key, before = before + key, ""
        if key in (UNDO, QUIT):
            return key
        if key in (SEND, SKIP):
            present = [c for c, count in zip(classes, times, strict=True) if count]
            marked = zip(times, lease.question.evidence, strict=True)
            where = tuple((one,) if count == 2 else () for count, one in marked)
            return KeyedAnswer(whole_bag_answers(classes, present, skip=key == SKIP), where if any(where) else ())
        if key in place_of:
            times[place_of[key]] = (times[place_of[key]] + 1) % (most + 1)
    return QUIT
