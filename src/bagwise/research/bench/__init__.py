"""Benchmarks: ONE FILE = ONE SUITE, found by its name. Every figure is a ratio to a floor measured in the same run.

A suite has DESCRIPTION, two sizes FULL and QUICK, and measure(size, say) -> Report; `say` tells a person what it is at.
"""

from functools import cache
from typing import Any, Protocol, cast

from bagwise.core.plugins import choose, discover
from bagwise.research.bench._figures import Document, Figure, Report
from bagwise.research.bench._measuring import Say

__all__ = ["DEFAULT", "Document", "Figure", "Report", "Suite", "available", "get"]

DEFAULT = ("kernels", "learner")


class Suite(Protocol):
    """What the file of a suite has."""

    DESCRIPTION: str
    FULL: Any
    QUICK: Any

    def measure(self, size: Any, say: Say) -> Report:
        """All figures of the suite."""
        ...


@cache
def available() -> dict[str, Suite]:
    """Every suite by name."""
    return cast(dict[str, Suite], discover(__name__, "bagwise.bench_suites"))


def get(name: str) -> Suite:
    """The suite called `name`."""
    return choose("suite", name, available())
