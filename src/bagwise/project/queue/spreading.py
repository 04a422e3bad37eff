"""Spreading: questions take turns over groups of bags, as sites, so that none is left behind.

The next question is about the group with the fewest answers so far, those leased counted as given; within a group it is
the best one by the ranking. Where the best questions of all are about a few groups only, the trainer ranks some about
the others as well (`about_other_groups`). Audits are drawn from everything, whatever their groups.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from bagwise.kernels import Array
from bagwise.learning.base import NothingToAsk
from bagwise.learning.learner import ActiveLearner
from bagwise.learning.questions import Question
from bagwise.project.answers.events import Event
from bagwise.project.storage.bag_files import BagFiles

ROUNDS = 8
NO_HOUR = 24


def groups_of(files: BagFiles, spread: str) -> Array | None:
    """Return the group of each bag, (B,) of int; None where questions are not spread.

    Parameters
    ----------
    files : BagFiles
        The files of all bags.
    spread : {"", "site", "site and hour"}
        What the groups are; bags of an unknown site, or an unknown hour, are a group too.

    Returns
    -------
    ndarray or None
    """
    if not spread:
        return None
    if spread == "site":
        return files.site_of
    hours = (files.begins - files.begins.astype("datetime64[D]")).astype("timedelta64[h]").astype(np.int64)
    return np.asarray(files.site_of * (NO_HOUR + 1) + np.where(np.isnat(files.begins), NO_HOUR, hours))


class GroupCounts:
    """How many answers were given about each group.

    Parameters
    ----------
    groups : ndarray, shape (B,)
        The group of each bag.
    """

    def __init__(self, groups: Array) -> None:
        self.groups = groups
        self._counts: Counter[int] = Counter()
        self._applied = 0

    def after(self, events: Sequence[Event]) -> Counter[int]:
        """Return the number of answers by group after these events, which are all so far."""
        for event in events[self._applied :]:
            if event.kind == "answer" and event.answer != "skipped":
                self._counts[int(self.groups[event.bag])] += 1
            elif event.kind == "retraction" and event.replaces and events[event.replaces - 1].answer != "skipped":
                self._counts[int(self.groups[event.bag])] -= 1
        self._applied = len(events)
        return self._counts.copy()


def in_turns(
    questions: Sequence[Question],
    groups: Array,
    counts: Counter[int],
    free: Callable[[Sequence[Question]], Iterator[Question]],
    count: int,
) -> list[Question]:
    """Return up to `count` questions, each about the group with the fewest answers by then.

    Parameters
    ----------
    questions : sequence of Question
        Best first.
    groups : ndarray, shape (B,)
        The group of each bag.
    counts : Counter of int
        How many answers each group has.
    free : callable
        Yields those of some questions that may be asked now.
    count : int
        How many are wanted.

    Returns
    -------
    list of Question
        Of groups with as many answers, the one with the better question comes first.

    Examples
    --------
    >>> ranking = [Question(bag, (0,)) for bag in (0, 1, 2, 3)]
    >>> [one.bag for one in in_turns(ranking, np.array([7, 7, 7, 9]), Counter({7: 1}), iter, 3)]
    [3, 0, 1]
    """
    by_group: dict[int, list[Question]] = {}
    for question in questions:
        by_group.setdefault(int(groups[question.bag]), []).append(question)
    turns = [(counts[group], place, free(some)) for place, (group, some) in enumerate(by_group.items())]
    heapify(turns)
    chosen: list[Question] = []
    while turns and len(chosen) < count:
        given, place, left = heappop(turns)
        for question in left:
            chosen.append(question)
            heappush(turns, (given + len(question.classes), place, left))
            break
    return chosen


def about_other_groups(
    learner: ActiveLearner, questions: Sequence[Question], groups: Array, count: int
) -> list[Question]:
    """Return questions about groups that none of the chosen questions is about, as far as these may be asked.

    Parameters
    ----------
    learner : ActiveLearner
        Ranks them; afterwards it is as before.
    questions : sequence of Question
        The ranking so far.
    groups : ndarray, shape (B,)
        The group of each bag.
    count : int
        The most questions to rank at a time.

    Returns
    -------
    list of Question
        None of them is an audit.
    """
    candidates, found = learner.candidates, list[Question]()
    left = np.ones(len(groups), bool) if candidates is None else candidates
    chosen = [question for question in questions if not question.audit]
    try:
        for _ in range(ROUNDS):
            left = left & ~np.isin(groups, groups[[question.bag for question in chosen]])
            if not left.any():
                break
            learner.candidates = left
            chosen = [question for question in learner.rank(count) if not question.audit]
            found += chosen
            if not chosen:
                break
    except NothingToAsk:
        pass
    finally:
        learner.candidates = candidates
    return found
