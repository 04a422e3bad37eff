"""Whole-bag questions: *which of these are in the bag?*, where that is worth more per second than one class.

The criterion chooses a pair. With `granularity = "bag"` its whole bag is asked about, every class that is still open
for this person; with `"best_value"` only where the bag promises more uncertainty resolved per second of answering than
the pair does. What is said about the bag is one event for each class, as always, the pair that was leased last; all of
them are saved in one transaction.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.learning.criteria.uncertainty import uncertainty
from bagwise.learning.granularity import Seconds
from bagwise.model import ScoredPool
from bagwise.project.answers.answers import WHOLE, SaidOfBag
from bagwise.project.answers.events import Event
from bagwise.project.project import Project
from bagwise.project.queue.leases import Asked
from bagwise.project.storage import queries

FEWEST_TIMED, MOST_TIMED = 10, 200
PAIR, BEST_VALUE = "pair", "best_value"


@dataclass(frozen=True)
class WholeBag:
    """A question about `classes` of one bag, the one that it was leased for first; alone, it is an ordinary one."""

    asked: Asked
    classes: tuple[int, ...]
    beliefs: tuple[float, ...]


def whole_bags(project: Project, questions: Sequence[Asked], annotator: str) -> list[WholeBag]:
    """These questions as the settings want them asked: about pairs, or each about another bag."""
    if project.settings.asking.granularity == PAIR:
        return [WholeBag(one, (one.label_class,), (one.belief,)) for one in questions]
    first_of_bag = {one.bag: one for one in reversed(questions)}
    return [_extended(project, one, annotator) for one in questions if first_of_bag[one.bag] is one]


def _extended(project: Project, asked: Asked, annotator: str) -> WholeBag:
    """The question with the other open classes of its bag, likeliest first, where asking about them pays."""
    belief = project.beliefs(asked.bag)
    open_classes = [c for c in range(len(project.classes)) if _is_open(project, asked.bag, c, annotator)]
    others = sorted((c for c in open_classes if c != asked.label_class), key=lambda c: -belief[c])
    classes = (asked.label_class, *others)
    if project.settings.asking.granularity == BEST_VALUE and not _pays(project, belief[list(classes)]):
        classes = classes[:1]
    return WholeBag(asked, classes, tuple(float(belief[c]) for c in classes))


def _is_open(project: Project, bag: int, label_class: int, annotator: str) -> bool:
    pair = (bag, label_class)
    return not project.contents.is_given(pair) and project.votes.wants(pair, annotator) > 0


def _pays(project: Project, belief: np.ndarray) -> bool:
    """Whether the classes together are more uncertain per second than the first, which was chosen, alone."""
    scores, seconds = uncertainty(ScoredPool(belief[None]))[0], seconds_of(project)
    return bool(scores.sum() / seconds.bag > scores[0] / seconds.pair)


def seconds_of(project: Project) -> Seconds:
    """What answering takes: as measured where enough was answered, else as the settings say."""
    asking = project.settings.asking
    given = Seconds(asking.pair_seconds, asking.again_seconds, asking.bag_seconds)
    timed = [event for event in project.events if event.kind == "answer" and event.seconds]
    again = {new.number for old, new in pairwise(timed) if (old.bag, old.annotator) == (new.bag, new.annotator)}
    pairs = [event for event in timed if event.shown != WHOLE]
    return Seconds(
        _median([event.seconds for event in pairs if event.number not in again], given.pair),
        _median([event.seconds for event in pairs if event.number in again], given.again),
        _median([event.seconds for event in timed if event.shown == WHOLE], given.bag),
    )


def _median(seconds: Sequence[float | None], given: float) -> float:
    newest = [one for one in seconds[-MOST_TIMED:] if one]
    return float(np.median(newest)) if len(newest) >= FEWEST_TIMED else given


def answer_whole(
    project: Project,
    key: str,
    annotator: str,
    classes: Sequence[int],
    present: Collection[int],
    unsure: Collection[int] = (),
    skip: bool = False,
    seconds: float | None = None,
    bag: int | None = None,
) -> list[Event]:
    """Save what was said about the classes of a whole bag, the leased one first: all of it or nothing, and only once.

    With the `bag` it is saved also where the lease is gone.
    """
    found = _bag_of(project, key, classes, bag)
    strangers = (set(present) | set(unsure)) - set(classes)
    if strangers or set(present) & set(unsure):
        raise BagwiseError("Say of each class that was asked whether it is present or unsure, and of no other.")
    usual = "skipped" if skip else "absent"
    answers = [(c, "present" if c in present else "unsure" if c in unsure else usual) for c in classes]
    return project.answer_bag(SaidOfBag(key, annotator, found, answers, seconds))


def _bag_of(project: Project, key: str, classes: Sequence[int], bag: int | None) -> int:
    """The bag of a question that was asked, whether it is answered or not, or as the answer has it."""
    if not classes:
        raise BagwiseError("Name each class that was asked: at least one.")
    project.catch_up()
    done = next((event for event in reversed(project.events) if event.key == key), None)
    with project.database.reading() as connection:
        lease = queries.leases_with(connection, [key]).get(key)
    asked = lease or done
    found, first = (bag, classes[0]) if asked is None else asked.pair
    if found is None or first != classes[0] or bag not in (None, found):
        raise BagwiseError("This question is not known, or was asked too long ago: ask again.")
    return found


def undo_whole(project: Project, annotator: str, key: str) -> list[Event]:
    """Take back the last that this person said: one answer, or all that was said about a whole bag."""
    return project.undo_together(annotator, key)
