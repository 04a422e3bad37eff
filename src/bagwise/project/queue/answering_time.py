"""How long people take to answer: measured where enough answers were timed, else as the settings say."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from bagwise.learning.granularity import Seconds
from bagwise.project.answers.events import WHOLE_BAG, Event
from bagwise.project.settings import Asking

FEWEST_TIMED, MOST_TIMED = 10, 200


def answering_seconds(events: Sequence[Event], asking: Asking) -> Seconds:
    """Median seconds for a pair, for one more class of the same bag, and for a whole bag.

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
    Seconds(pair=5, again=2.0, bag=10.0)
    """
    timed = [event for event in events if event.kind == "answer" and event.seconds]
    again = {new.number for old, new in pairwise(timed) if (old.bag, old.annotator) == (new.bag, new.annotator)}
    pairs = [event for event in timed if event.shown != WHOLE_BAG]
    return Seconds(
        _median([event.seconds for event in pairs if event.number not in again], asking.pair_seconds),
        _median([event.seconds for event in pairs if event.number in again], asking.again_seconds),
        _median([event.seconds for event in timed if event.shown == WHOLE_BAG], asking.bag_seconds),
    )


def _median(seconds: Sequence[float | None], default: float) -> float:
    newest = [one for one in seconds[-MOST_TIMED:] if one]
    return float(np.median(newest)) if len(newest) >= FEWEST_TIMED else default
