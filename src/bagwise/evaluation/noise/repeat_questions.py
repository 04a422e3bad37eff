"""The value of one more answer about a pair: the expected reduction of the number of wrong labels.

    now:    min(r, 1 - r)                                                     r = P(class in bag) now
    after:  min(r (1 - e), (1 - r) e)  +  min(r e, (1 - r)(1 - e))            answered present, absent; e: rate wrong

It is the same for a pair without an answer (r is the model's prediction) and for one that has an answer (r is the
prediction and the answer together), so the two can be compared.
"""

import numpy as np
import numpy.typing as npt

from bagwise.kernels import Array


def worth_asking(present: npt.ArrayLike, rate: float) -> Array:
    """Return the expected number of wrong labels that one more answer removes, for each probability.

    Parameters
    ----------
    present : array-like of float
        P(class in bag) of each pair.
    rate : float
        The rate, from 0 to below 1/2, at which the answer would be wrong.

    Returns
    -------
    ndarray of float, of the shape of `present`
        Between 0 and 1/2; 0 where no answer could change the label.

    Examples
    --------
    >>> worth_asking([0.5, 0.9, 0.99], 0.1).round(3)
    array([0.4, 0. , 0. ])
    """
    r = np.asarray(present, float)
    after = np.minimum(r * (1 - rate), (1 - r) * rate) + np.minimum(r * rate, (1 - r) * (1 - rate))
    return np.asarray(np.minimum(r, 1 - r) - after)


def after_answer(present: float, rate: float, answer: bool) -> float:
    """Return P(class in bag) after one more answer.

    Parameters
    ----------
    present : float
        P(class in bag) before the answer.
    rate : float
        The rate, from 0 to below 1/2, at which the answer is wrong.
    answer : bool
        True for *present*, False for *absent*.

    Returns
    -------
    float

    Examples
    --------
    >>> round(after_answer(0.5, 0.1, True), 3)
    0.9
    """
    right, wrong = (present, 1 - present) if answer else (1 - present, present)
    believed = right * (1 - rate) / (right * (1 - rate) + wrong * rate)
    return believed if answer else 1 - believed
