"""Several answers about one pair as one: what counts, and the rate at which that is wrong.

P(answers | W) is proportional to (1 - f) P(counts | W) + f P(opposite | W), with f/(1 - f) the product of e/(1 - e) of
those who say the same and (1 - e)/e of those who say the opposite. So one label with rate f is worth exactly as much to
the model as all the answers.
"""

from collections.abc import Iterable

import numpy as np

NEARLY_HALF = 0.499


def flip_of(counts: bool, answers: Iterable[tuple[bool, float]]) -> float:
    """The rate at which the label `counts` is wrong, given every (answer, its person's rate).

    Where the others weigh more the label is kept, and teaches nothing: what counts is decided elsewhere.

    >>> round(flip_of(True, [(True, 0.1), (True, 0.1), (False, 0.1)]), 3)
    0.1
    """
    given = list(answers)
    if len(given) == 1 and given[0][0] == counts:
        return min(given[0][1], NEARLY_HALF)  # through odds and back would round a third of all rates
    odds = 1.0
    for said, rate in given:
        if rate == 0 and said == counts:
            return 0.0
        odds *= rate / (1 - rate) if said == counts else (1 - rate) / max(rate, np.finfo(float).tiny)
    return float(min(odds / (1 + odds), NEARLY_HALF))
