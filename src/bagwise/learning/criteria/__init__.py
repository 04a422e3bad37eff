"""Criteria: ONE FILE = ONE CRITERION, found by its name: f(pool) -> scores (bags x classes), larger = ask sooner.

A criterion scores every pair and selects none: known pairs, ties and the arg-max are the granularity's business.

Its file may say `RISES_WITH`: that a score depends on the pair's own bag and on totals of the pool alone, and never
falls when "nearest_side", min(P1, P0), or "gradient_length", both P0 and ||grad log P0||, rises. Then the best pairs
are found without scoring all of them (`top_k`).
"""

from collections.abc import Callable
from functools import cache

from bagwise.core.plugins import choose, discover, member_function
from bagwise.kernels import Array
from bagwise.model.scored_pool import ScoredPool

GROUP = "bagwise.criteria"
Criterion = Callable[[ScoredPool], Array]


@cache
def available() -> dict[str, Criterion]:
    """Every criterion by name."""
    return {name: member_function(name, one) for name, one in discover(__name__, GROUP).items()}


@cache
def rises_with(name: str) -> str | None:
    """What a criterion says about itself, see above."""
    said: str | None = getattr(discover(__name__, GROUP).get(name), "RISES_WITH", None)
    return said


def get(name: str) -> Criterion:
    """The criterion called `name`."""
    return choose("criterion", name, available())


globals().update(available())
