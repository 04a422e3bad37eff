"""Metrics: ONE FILE = ONE METRIC, found by its name: f(truth, probability) -> float (Tsoumakas et al. 2009).

`truth` is (bags, classes) of 0/1, `probability` the predicted P(present). A label set is what exceeds `THRESHOLD`.
Ranks count ties against us, r(c) = #{c' : s_c' >= s_c}, as scikit-learn does. Bags for which a ranking metric is not
defined (no true class, and for the ranking loss all classes) are left out of its mean; NaN if none is left.

The ranking metrics take `convention`, to compare with figures obtained elsewhere. "sklearn": as scikit-learn, a bag
without a true class, or with all, is perfectly ranked, and coverage counts ranks from 1. "lamda": as the scripts of the
LAMDA group, such bags are left out (coverage keeps them, an empty one as -1), ties of average precision go to the first
class, and one true class among tied top classes forgives the others.

A metric's file, or the attributes of its function in lower case, declare

    MORE_IS_BETTER   True or False; required
    TITLE            its name in tables and figures (default: the name with spaces)
    DESCRIPTION      one sentence about it, on a scale where more is better (default: the first line of its docstring)
    GOODNESS_TITLE   what 1 - value is called where less is better (default: "1 - TITLE")
    TAKES            "bags" (default) or "instances": what the rows of `probability` are
    IN_EXPERIMENTS   whether simulations and comparisons report it (default: True)
    ALIAS            a second name
    expected(present, predicted, weights=None)
                     its expected value where the truth is not known but P(present), (bags, classes), is; `predicted`
                     are the predicted sets and `weights` (bags,) sum to 1. It must be between 0 and 1. A metric that
                     has it is estimated for projects, can be the goal of the stopping rules, and thresholds can be
                     learned for it
    RESOLUTION       "bags" (default) or "pairs": what one right or wrong case of the estimate is
    BY_CLASS         whether thresholds for it are chosen class by class, by `expected` of one column (default: False)
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy.typing as npt

from bagwise.core.errors import BagwiseError
from bagwise.core.plugins import choose, declared, discover, member_function
from bagwise.data.metrics._arrays import CONVENTIONS, THRESHOLD
from bagwise.kernels import Array

__all__ = ["CONVENTIONS", "DEFAULT", "THRESHOLD", "ExpectedValue", "Metric", "available", "estimable", "get"]

DEFAULT = "bag_accuracy"
GROUP = "bagwise.metrics"
ROWS = ("bags", "instances")
RESOLUTIONS = ("bags", "pairs")


class ExpectedValue(Protocol):
    """The expected value of a metric under P(present).

    Examples
    --------
    >>> import numpy as np
    >>> expected = get("hamming_loss").expected
    >>> expected(present=np.array([[0.75, 0.25]]), predicted=np.array([[True, False]]))
    0.25
    """

    def __call__(self, present: Array, predicted: Array, weights: Array | None = None) -> float:
        """Return the expectation over bags, which `weights` may weight.

        Parameters
        ----------
        present : ndarray of float, shape (bags, classes)
            P(class is in bag).
        predicted : ndarray of bool, shape (bags, classes)
            The predicted sets.
        weights : ndarray of float, shape (bags,), optional
            The weight of each bag; they sum to 1. The default is the same for all.

        Returns
        -------
        float
            Between 0 and 1.
        """
        ...


@dataclass(frozen=True)
class Metric:
    """A metric and what it declares about itself, see `bagwise.metrics`. Calling it computes its value.

    Parameters
    ----------
    name : str
        The name by which it is found.
    function : callable
        f(truth, probability) -> float.
    title : str
        Its name in tables and figures.
    more_is_better : bool
        False for a loss.
    goodness_title : str
        What `goodness` is called: the title, or for a loss that of 1 - value.
    description : str
        One sentence about it, on a scale where more is better.
    takes : {"bags", "instances"}
        What the rows of `probability` are.
    in_experiments : bool
        Whether simulations and comparisons report it.
    expected : ExpectedValue, optional
        Its expected value under probabilities; None where it cannot be estimated.
    resolution : {"bags", "pairs"}
        What one right or wrong case of an estimate is.
    by_class : bool
        Whether thresholds for it are chosen class by class.

    Examples
    --------
    >>> metric = get("hamming_loss")
    >>> metric.title, metric.more_is_better
    ('Hamming loss', False)
    >>> metric([[1, 0]], [[0.9, 0.8]])
    0.5
    >>> metric.goodness(0.25)
    0.75
    """

    name: str
    function: Callable[..., float]
    title: str
    more_is_better: bool
    goodness_title: str
    description: str
    takes: str = "bags"
    in_experiments: bool = True
    expected: ExpectedValue | None = None
    resolution: str = "bags"
    by_class: bool = False

    def __call__(self, truth: npt.ArrayLike, probability: npt.ArrayLike) -> float:
        """Return the value of the metric.

        Parameters
        ----------
        truth : array-like of {0, 1}, shape (bags, classes)
            Whether each class is in each bag.
        probability : array-like of float, shape (bags, classes)
            P(class is in bag).

        Returns
        -------
        float
        """
        return self.function(truth, probability)

    def goodness(self, value: float) -> float:
        """Return the value on a scale where more is better: itself, or 1 - value.

        Parameters
        ----------
        value : float
            A value of the metric.

        Returns
        -------
        float
        """
        return value if self.more_is_better else 1 - value


@cache
def available() -> dict[str, Metric]:
    """Return every metric by name, the default one first.

    Returns
    -------
    dict of str to Metric
        The files of this package and the entry points of `bagwise.metrics`.

    Examples
    --------
    >>> list(available())[:3]
    ['bag_accuracy', 'average_precision', 'class_average_precision']
    """
    members = discover(__name__, GROUP)
    return {name: _metric(name, members[name]) for name in sorted(members, key=lambda name: (name != DEFAULT, name))}


@cache
def estimable() -> dict[str, Metric]:
    """Return the metrics that can be estimated from probabilities, by name.

    Returns
    -------
    dict of str to Metric
        The metrics whose `expected` is not None, the default one first.

    Examples
    --------
    >>> list(estimable())
    ['bag_accuracy', 'hamming_loss', 'micro_f1']
    """
    return {name: metric for name, metric in available().items() if metric.expected is not None}


def get(metric: "str | Metric | Callable[..., float]") -> Metric:
    """Return a metric.

    Parameters
    ----------
    metric : str or callable
        The name of a metric, or a function f(truth, probability) with the attributes described in `bagwise.metrics`.

    Returns
    -------
    Metric

    Raises
    ------
    BagwiseError
        Where there is no metric of that name (the message lists those that exist), or a function does not say
        whether more is better.

    Examples
    --------
    >>> get("bag_accuracy")([[1, 0]], [[0.9, 0.1]])
    1.0
    >>> def always_half(truth, probability):
    ...     return 0.5
    >>> always_half.more_is_better = True
    >>> get(always_half).title
    'always half'
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        return choose("metric", _aliases().get(metric, metric), available())
    return _metric(getattr(metric, "__name__", type(metric).__name__), metric)


def get_estimable(metric: "str | Metric | Callable[..., float]") -> Metric:
    """Return a metric that has an expected value; an error where it has none lists those that do."""
    found = get(metric)
    if found.expected is None:
        raise BagwiseError(
            f"The metric {found.name!r} has no expected value under probabilities: choose one of "
            f"{', '.join(estimable())}."
        )
    return found


@cache
def _aliases() -> dict[str, str]:
    members = discover(__name__, GROUP)
    return {alias: name for name, member in members.items() if (alias := declared(member, "ALIAS"))}


def _metric(name: str, member: Any) -> Metric:
    function = member_function(name, member)
    more_is_better = declared(member, "MORE_IS_BETTER")
    if not isinstance(more_is_better, bool):
        raise BagwiseError(f"The metric {name!r} must declare `more_is_better`: True, or False for a loss.")
    title = declared(member, "TITLE", name.replace("_", " "))
    metric = Metric(
        name=name,
        function=function,
        title=title,
        more_is_better=more_is_better,
        goodness_title=declared(member, "GOODNESS_TITLE", title if more_is_better else f"1 - {title}"),
        description=declared(member, "DESCRIPTION", (function.__doc__ or title).strip().split("\n")[0]),
        takes=declared(member, "TAKES", "bags"),
        in_experiments=declared(member, "IN_EXPERIMENTS", True),
        expected=declared(member, "expected"),
        resolution=declared(member, "RESOLUTION", "bags"),
        by_class=declared(member, "BY_CLASS", False),
    )
    for what, value, known in (("TAKES", metric.takes, ROWS), ("RESOLUTION", metric.resolution, RESOLUTIONS)):
        if value not in known:
            raise BagwiseError(f"The metric {name!r} declares {what} = {value!r}: choose one of {', '.join(known)}.")
    return metric


globals().update({name: metric.function for name, metric in available().items()})
