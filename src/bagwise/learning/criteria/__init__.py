"""Criteria: ONE FILE = ONE CRITERION, found by its name: f(pool) -> scores (bags, classes), larger = ask sooner.

A criterion scores every pair and selects none: known pairs, ties and the arg-max are the business of the granularity.
A function works wherever the name of a criterion does, as in `ActiveLearner(..., criterion=my_function)`.

A criterion may declare `RISES_WITH` in its file, or `rises_with` as an attribute of the function: that a score depends
only on the pair's own bag and on totals of the pool, and never falls when

    "nearest_side"      min(P1, P0) rises
    "gradient_length"   P0 and ||grad log P0|| both rise

Then the best pairs are found without scoring all of them (`top_k`), and the criterion works on a cluster.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from bagwise.core.errors import BagwiseError
from bagwise.core.plugins import choose, declared, discover, member_function
from bagwise.kernels import Array
from bagwise.model.scored_pool import ScoredPool

GROUP = "bagwise.criteria"
BOUNDS = ("nearest_side", "gradient_length")
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


@cache
def rises_with(criterion: str | Criterion) -> str | None:
    """Return what a criterion declares to rise with, None where it declares nothing.

    Parameters
    ----------
    criterion : str or callable
        The name of a criterion, or the criterion itself.

    Returns
    -------
    {"nearest_side", "gradient_length"} or None

    Raises
    ------
    BagwiseError
        Where it declares anything else.

    Examples
    --------
    >>> rises_with("uncertainty"), rises_with("information_gain")
    ('nearest_side', None)
    """
    # A criterion that a program added to `available` has no file of its own.
    member: Any = criterion if callable(criterion) else discover(__name__, GROUP).get(criterion, get(criterion))
    found: str | None = declared(member, "RISES_WITH")
    if found is not None and found not in BOUNDS:
        raise BagwiseError(
            f"The criterion {criterion!r} declares RISES_WITH = {found!r}: choose one of {', '.join(BOUNDS)}."
        )
    return found


globals().update(available())
