"""Criteria: ONE FILE = ONE CRITERION, found by its name: f(pool) -> scores (bags, classes), larger = ask sooner.

A criterion scores every pair and selects none: known pairs, ties and the arg-max are the business of the granularity.
A function works wherever the name of a criterion does, as in `ActiveLearner(..., criterion=my_function)`.

A criterion may declare `RISES_WITH` in its file, or `rises_with` as an attribute of the function: that a score depends
only on the pair's own bag and on totals of the pool, and never falls when

    "nearest_side"      min(P1, P0) rises
    "gradient_length"   P0 and ||grad log P0|| both rise
    "present"           P1 rises

Then the best pairs are found chunk by chunk (`top_k`), and the criterion works on a cluster. On a GPU the
arrays of the pool are torch's. A criterion that declares `SAME_ON_DEVICES = True` as well promises that its scores have
the same bits there, given the same probabilities: that it only adds, subtracts, multiplies, compares, and divides by
arrays, and takes all other numbers from `pool.like` and `pool.uniform`. Then the CPU need not score anything again.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from bagwise.core.errors import BagwiseError
from bagwise.core.plugins import choose, declared, discover, member_function
from bagwise.kernels import Array
from bagwise.model.scored_pool import ScoredPool

GROUP = "bagwise.criteria"
BOUNDS = ("nearest_side", "gradient_length", "present")
Criterion = Callable[[ScoredPool], Array]


@cache
def available() -> dict[str, Criterion]:
    """Return every criterion by name.

    Returns
    -------
    dict of str to callable
        Each is f(pool) -> scores, shape (bags, classes).

    Examples
    --------
    >>> list(available())[:3]
    ['balanced_uncertainty', 'expected_gradient_length', 'information_gain']
    """
    return {name: member_function(name, one) for name, one in discover(__name__, GROUP).items()}


def get(criterion: str | Criterion) -> Criterion:
    """Return a criterion.

    Parameters
    ----------
    criterion : str or callable
        The name of a criterion, or a function f(pool) -> scores, shape (bags, classes).

    Returns
    -------
    callable

    Raises
    ------
    BagwiseError
        Where there is no criterion of that name; the message lists those that exist.

    Examples
    --------
    >>> from bagwise import ScoredPool
    >>> get("uncertainty")(ScoredPool([[0.5, 1.0]]))
    array([[0.5, 0. ]])
    >>> def least_present(pool):
    ...     return pool.absent
    >>> get(least_present) is least_present
    True
    """
    return criterion if callable(criterion) else choose("criterion", criterion, available())


def rises_with(criterion: str | Criterion) -> str | None:
    """Return what a criterion declares to rise with, None where it declares nothing.

    Parameters
    ----------
    criterion : str or callable
        The name of a criterion, or the criterion itself.

    Returns
    -------
    {"nearest_side", "gradient_length", "present"} or None

    Raises
    ------
    BagwiseError
        Where it declares anything else.

    Examples
    --------
    >>> rises_with("uncertainty"), rises_with("information_gain")
    ('nearest_side', None)
    """
    found: str | None = declared(_member(criterion), "RISES_WITH")
    if found is not None and found not in BOUNDS:
        raise BagwiseError(
            f"The criterion {criterion!r} declares RISES_WITH = {found!r}: choose one of {', '.join(BOUNDS)}."
        )
    return found


def same_on_devices(criterion: str | Criterion) -> bool:
    """Return whether a criterion declares that its scores have the same bits on every device.

    Parameters
    ----------
    criterion : str or callable
        The name of a criterion, or the criterion itself.

    Returns
    -------
    bool

    Examples
    --------
    >>> same_on_devices("uncertainty"), same_on_devices("information_gain")
    (True, False)
    """
    return bool(declared(_member(criterion), "SAME_ON_DEVICES"))


def _member(criterion: str | Criterion) -> Any:
    # A criterion that a program added to `available` has no file of its own.
    return criterion if callable(criterion) else _files().get(criterion, get(criterion))


@cache
def _files() -> dict[str, Any]:
    return discover(__name__, GROUP)


globals().update(available())
