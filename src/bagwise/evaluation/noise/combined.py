"""Several answers about one pair as one label and the rate at which it is wrong.

P(answers | W) is proportional to (1 - f) P(counts | W) + f P(opposite | W), with f/(1 - f) the product of e/(1 - e) of
those who answer the same and (1 - e)/e of those who answer the opposite. So the model learns exactly as
much from one label with rate f as from all the answers.
"""

from collections.abc import Iterable

import numpy as np

NEARLY_HALF = 0.499


def flip_of(counts: bool, answers: Iterable[tuple[bool, float]]) -> float:
    """Return the rate at which the label `counts` is wrong, given every (answer, rate of its person).

    Where the opposite answers weigh more the label is kept with a rate of nearly 1/2, so that nothing is learned from
    it: which label counts is decided by the votes of the project.

    Parameters
    ----------
    counts : bool
        The label: whether the class is in the bag.
    answers : iterable of (bool, float)
        Every answer, and the rate, from 0 to below 1/2, at which its person is wrong.

    Returns
    -------
    float
        Between 0 and 0.499.

    Examples
    --------
    >>> round(flip_of(True, [(True, 0.1), (True, 0.1), (False, 0.1)]), 3)
    0.1
    """
    given = list(answers)
    if len(given) == 1 and given[0][0] == counts:
        return min(given[0][1], NEARLY_HALF)  # through odds and back would round a third of all rates
    odds = 1.0
    for answer, rate in given:
        if rate == 0 and answer == counts:
            return 0.0
        odds *= rate / (1 - rate) if answer == counts else (1 - rate) / max(rate, np.finfo(float).tiny)
    return float(min(odds / (1 + odds), NEARLY_HALF))
