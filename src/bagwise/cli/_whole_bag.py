"""A whole-bag question in the terminal: one key for each class, a full stop sends.

Where instances are shown, a class is pressed once for *present*, and once more for *present, and it is the marked one*.
"""

from collections.abc import Iterator, Sequence

from rich.markup import escape

from bagwise.cli._app import say
from bagwise.cli._keyed_answer import QUIT, UNDO, KeyedAnswer
from bagwise.cli._one_class import show_source
from bagwise.learning.questions import Question
from bagwise.project import Lease, Project, whole_bag_answers

CLASS_KEYS = "1234567890abcdefghijklmoprtvwxy"
SEND, SKIP = ".", "s"
WHOLE_HELP = "\\[s]kip  \\[z] undo  \\[q]uit"


def classes_with_keys(question: Question) -> tuple[int, ...]:
    """The classes of the question that there are keys for; the others stay open."""
    return question.classes[: len(CLASS_KEYS)]


def show_whole(project: Project, lease: Lease, classes: Sequence[int], pointing: bool) -> None:
    """Print the bag and the classes, each with its key, and where instances are shown with its marked instance."""
    twice = "; press a key twice where it is the marked instance" if pointing else ""
    say(f"Which of these are in bag [bold]{escape(str(project.contents.ids[lease.bag]))}[/]? \\[{SEND}] sends{twice}")
    show_source(project, lease.bag)
    words = []
    for key, label_class, marked in zip(CLASS_KEYS, classes, lease.question.evidence, strict=False):
        mark = f" (instance {marked})" if pointing else ""
        words.append(f"\\[{key}] {escape(project.classes[label_class])}{mark}")
    say("  ".join(words))


def checked(lease: Lease, classes: Sequence[int], pressed: Iterator[str], pointing: bool) -> KeyedAnswer | str:
    """Return the answer that was sent; the key itself to undo or to quit."""
    place_of = {key: place for place, key in enumerate(CLASS_KEYS[: len(classes)])}
    times, most = [0] * len(classes), 2 if pointing else 1
    for key in pressed:
        if key in (UNDO, QUIT):
            return key
        if key in (SEND, SKIP):
            present = [c for c, count in zip(classes, times, strict=True) if count]
            marked = zip(times, lease.question.evidence, strict=False)
            where = tuple((one,) if count == 2 else () for count, one in marked)
            return KeyedAnswer(whole_bag_answers(classes, present, skip=key == SKIP), where if any(where) else ())
        if key in place_of:
            times[place_of[key]] = (times[place_of[key]] + 1) % (most + 1)
    return QUIT
