"""How long people take to answer: measured where enough answers were timed, else as the settings say."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bagwise.learning.granularity import Seconds
from bagwise.project.answers.events import WHOLE_BAG, Event, Pointing
from bagwise.project.settings import Asking

FEWEST_TIMED, MOST_TIMED = 10, 200
PLAIN, BY_KEY, BY_CLICK, WHOLE = "plain", "pointed by key", "pointed by click", "whole bag"
KINDS = (PLAIN, BY_KEY, BY_CLICK, WHOLE)
"""Kinds of answers that take different times."""


@dataclass(frozen=True)
class Timed:
    """How many answers of a kind were timed, and the median of the newest `MOST_TIMED`."""

    answers: int
    seconds: float


def kind_of(event: Event) -> str:
    """Return the kind of an answer.

    One about one class is plain, or points with one key at the marked instance or away from it, or points with a click
    at others.

    Parameters
    ----------
    event : Event
        An answer.

    Returns
    -------
    str
        One of `KINDS`.
    """
    if event.shown == WHOLE_BAG:
        return WHOLE
    if not event.where and not event.elsewhere:
        return PLAIN
    marked = (event.marked,) if event.marked is not None else ()
    return BY_KEY if event.pointing in (Pointing(marked), Pointing((), marked)) else BY_CLICK


def answering_times(events: Sequence[Event]) -> dict[str, Timed]:
    """Return how long each kind of answer took, for those that were timed.

    Parameters
    ----------
    events : sequence of Event
        All events of the project.

    Returns
    -------
    dict of str to Timed
        By kind; only kinds of which some were timed.

    Examples
    --------
    >>> answering_times([])
    {}
    """
    timed = [(kind_of(event), event.seconds) for event in _timed(events)]
    found = {kind: [seconds for one, seconds in timed if one == kind and seconds] for kind in KINDS}
    return {
        kind: Timed(len(seconds), float(np.median(seconds[-MOST_TIMED:]))) for kind, seconds in found.items() if seconds
    }


def answering_seconds(events: Sequence[Event], asking: Asking) -> Seconds:
    """Return median seconds of the kinds of answers, and the share of the answers *present* that took a click.

    Parameters
    ----------
    events : sequence of Event
        All events of the project; the newest `MOST_TIMED` of each kind count.
    asking : Asking
        The settings used where fewer than `FEWEST_TIMED` were timed.

    Returns
    -------
    Seconds

    Examples
    --------
    >>> answering_seconds([], Asking(pair_seconds=5))
    Seconds(pair=5, again=2.0, bag=10.0, pointed=5.0, clicked=0.0)
    """
    timed = _timed(events)
    again = {new.number for old, new in pairwise(timed) if (old.bag, old.annotator) == (new.bag, new.annotator)}
    of_kind: dict[str, list[Event]] = {kind: [] for kind in KINDS}
    for event in timed:
        of_kind[kind_of(event)].append(event)
    by_key = sorted(of_kind[PLAIN] + of_kind[BY_KEY], key=lambda event: event.number)
    by_click = of_kind[BY_CLICK]
    pair = _median([event for event in by_key if event.number not in again], asking.pair_seconds)
    present = [event for event in by_key if event.answer == "present"][-MOST_TIMED:]
    clicks = by_click[-MOST_TIMED:]
    return Seconds(
        pair,
        _median([event for event in by_key if event.number in again], asking.again_seconds),
        _median(of_kind[WHOLE], asking.bag_seconds),
        # As much longer as the settings say, whatever an answer by key takes.
        _median(by_click, max(pair + asking.pointed_seconds - asking.pair_seconds, pair)),
        len(clicks) / (len(clicks) + len(present)) if clicks else 0.0,
    )


def _timed(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if event.kind == "answer" and event.seconds]


def _median(events: Sequence[Event], default: float) -> float:
    newest = [event.seconds for event in events[-MOST_TIMED:] if event.seconds]
    return float(np.median(newest)) if len(newest) >= FEWEST_TIMED else default
