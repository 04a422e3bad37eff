"""Criteria: ONE FILE = ONE CRITERION, found by its name: f(pool) -> scores (bags x classes), larger = ask sooner.

A criterion scores every pair and selects none: known pairs, ties and the arg-max are the granularity's business.
"""

from collections.abc import Callable
from functools import cache

from bagwise.discovery import choose, discover
from bagwise.kernels import Array
from bagwise.model.pool import Pool

Criterion = Callable[[Pool], Array]


@cache
def available() -> dict[str, Criterion]:
    """Every criterion by name."""
    return {name: getattr(module, name) for name, module in discover(__name__).items()}


def get(name: str) -> Criterion:
    """The criterion called `name`."""
    return choose("criterion", name, available())


globals().update(available())
