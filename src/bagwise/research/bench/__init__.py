"""Benchmarks: every figure is a ratio to a floor that is measured in the same run.

`suites/` has one file per suite; the other modules time, compare, store and show. `bagwise bench` runs them.
"""

from functools import cache
from typing import Any, Protocol, cast

from bagwise.core.plugins import choose, discover
from bagwise.research.bench import suites
from bagwise.research.bench.figures import Document, Figure, Report
from bagwise.research.bench.timing import Log

__all__ = ["DEFAULT", "Document", "Figure", "Report", "Suite", "available", "get"]

DEFAULT = ("kernels", "learner")


class Suite(Protocol):
    """What the module of a suite defines.

    Attributes
    ----------
    DESCRIPTION : str
        One line for `bagwise bench --help`.
    FULL, QUICK : any
        Two sizes for `measure`: that of published figures, and one that only shows that the suite runs.

    Examples
    --------
    >>> class Sums:
    ...     DESCRIPTION = "sums of numbers"
    ...     FULL, QUICK = 1_000_000, 10
    ...     @staticmethod
    ...     def measure(size, log):
    ...         log(f"{size} numbers")
    ...         return Report("sums", str(size), (Figure.of("ours", "numpy", [1.5]),))
    >>> Sums.measure(Sums.QUICK, print).figures[0].ratio
    10 numbers
    1.5
    """

    DESCRIPTION: str
    FULL: Any
    QUICK: Any

    def measure(self, size: Any, log: Log) -> Report:
        """Measure all figures of the suite.

        Parameters
        ----------
        size : any
            `FULL` or `QUICK`.
        log : callable
            Called with what is being measured, as text.

        Returns
        -------
        Report
        """
        ...


@cache
def available() -> dict[str, Suite]:
    """Return every suite by name: those of `suites/` and the entry points of the group `bagwise.bench_suites`.

    Returns
    -------
    dict of str to Suite

    Examples
    --------
    >>> set(DEFAULT) <= set(available())
    True
    """
    return cast(dict[str, Suite], discover(suites.__name__, "bagwise.bench_suites"))


def get(name: str) -> Suite:
    """Return the suite called `name`.

    Parameters
    ----------
    name : str
        The name of a suite.

    Returns
    -------
    Suite

    Raises
    ------
    BagwiseError
        Where there is no suite of that name; the message lists those that exist.

    Examples
    --------
    >>> get("kernels").__name__
    'bagwise.research.bench.suites.kernels'
    """
    return choose("suite", name, available())
