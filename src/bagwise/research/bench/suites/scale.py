"""Growth of the time of one question with bags, instances per bag, classes and features.

One `tell` + `ask` with `bag_sgd` while one size doubles repeatedly and the other sizes stay. The figure is the slope of
log time against log size, fitted in every round; the floor is proportional growth, slope 1. The time is the CPU time of
all threads, which measures the work whatever else runs on the machine.
"""

import time
from dataclasses import dataclass, replace

from bagwise.research.bench.figures import Figure, Report
from bagwise.research.bench.pools import CRITERIA, AskTellLoop, PoolSize, RandomPool
from bagwise.research.bench.timing import Log, time_alternating
from bagwise.research.reproduction.timing import Growth

DESCRIPTION = "growth of tell + ask with bags, instances per bag, classes and features"
UNIT = "slope of log time against log size"
FLOOR = "proportional growth, slope 1"
DIMENSIONS = {"bags": "bags", "instances": "instances per bag", "classes": "classes", "features": "features"}
MOST_IN_BAGS = 1.1


@dataclass(frozen=True)
class Size:
    """The smallest pool, the factors by which it grows, and the rounds."""

    smallest: PoolSize
    factors: tuple[int, ...]
    rounds: int


FULL = Size(PoolSize(2_500), (1, 2, 4, 8), rounds=9)
QUICK = Size(PoolSize(250), (1, 2, 4), rounds=3)


def measure(size: Size, log: Log) -> Report:
    """Measure every dimension with both criteria."""
    figures = []
    for dimension in DIMENSIONS:
        pools = _pools(size, dimension)
        for criterion in CRITERIA:
            log(f"{CRITERIA[criterion]} while the number of {DIMENSIONS[dimension]} grows")
            figures.append(_growth(pools, criterion, dimension, size.rounds))
    return Report("scale", f"from {size.smallest}, times {_words(size.factors)}", tuple(figures), UNIT)


def _pools(size: Size, dimension: str) -> dict[int, RandomPool]:
    sizes = [factor * getattr(size.smallest, dimension) for factor in size.factors]
    return {one: RandomPool(replace(size.smallest, **{dimension: one})) for one in sizes}


def _growth(pools: dict[int, RandomPool], criterion: str, dimension: str, rounds: int) -> Figure:
    loops = {str(size): AskTellLoop(pool, criterion, "bag_sgd") for size, pool in pools.items()}
    times = time_alternating(loops, rounds, clock=time.process_time)
    sizes = tuple(pools)
    by_round = [Growth(criterion, dimension, sizes, seconds) for seconds in zip(*times.values(), strict=True)]
    details = {f"{end}": f"{size:,}: {1000 * min(times[str(size)]):.1f} ms" for end, size in _ends(sizes)}
    name = f"tell + ask, {CRITERIA[criterion]}, by {DIMENSIONS[dimension]}"
    goal = MOST_IN_BAGS if dimension == "bags" else None
    return Figure.of(name, FLOOR, [one.slope for one in by_round], goal=goal, details=details)


def _ends(sizes: tuple[int, ...]) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("smallest", sizes[0]), ("largest", sizes[-1])


def _words(factors: tuple[int, ...]) -> str:
    return ", ".join(str(factor) for factor in factors)
