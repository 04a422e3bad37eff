"""A thousand features, as embeddings have: learning and selecting, and memory, in float32 and float16.

`tell` + `ask` with `replay` and the criterion `uncertainty`, and its mean over one interval of refits. The floor of
both types is the bare product X @ W.T of the same pool in float32. Memory is that of scoring the pool, over an
allowance for its features, in their own type, and the scores.
"""

from dataclasses import dataclass, replace

from bagwise.research.bench.figures import Figure, Report
from bagwise.research.bench.memory import peak_memory
from bagwise.research.bench.pools import AskTellLoop, PoolSize, RandomPool
from bagwise.research.bench.suites.learner import between_refits
from bagwise.research.bench.timing import Log, ratios_to

DESCRIPTION = "tell + ask, refits and memory at 1,024 and 1,536 features, in float32 and float16"
FLOOR = "bare product X @ W.T, float32"
TYPES = ("float32", "float16")


@dataclass(frozen=True)
class Size:
    """The pool, the numbers of features, the rounds, and the answers before the first round."""

    pool: PoolSize
    features: tuple[int, ...]
    rounds: int
    warm: int


FULL = Size(PoolSize(2_000), (1024, 1536), rounds=9, warm=10)
QUICK = Size(PoolSize(200, classes=10), (1024,), rounds=3, warm=2)


def measure(size: Size, log: Log) -> Report:
    """Measure every number of features in both types."""
    figures: list[Figure] = []
    notes: tuple[str, ...] = ()
    for features in size.features:
        found, notes = _at(replace(size.pool, features=features), size, log)
        figures += found
    numbers = " and ".join(f"{features:,}" for features in size.features)
    return Report("wide", f"{size.pool.bags:,} bags of {numbers} features", tuple(figures), notes=notes)


def _at(one: PoolSize, size: Size, log: Log) -> tuple[list[Figure], tuple[str, ...]]:
    pools = {dtype: RandomPool(replace(one, dtype=dtype)) for dtype in TYPES}
    names = {dtype: f"tell + ask, {one.features:,} features, {dtype}" for dtype in TYPES}
    log(f"{size.warm} answers with {one.features:,} features in each type, then {size.rounds} rounds")
    loops = {names[dtype]: AskTellLoop(pool, "uncertainty", "replay") for dtype, pool in pools.items()}
    for loop in loops.values():
        for _ in range(size.warm):
            loop()
    floor = pools["float32"]
    found, notes = ratios_to(FLOOR, {FLOOR: floor.product, **loops}, size.rounds)
    figures = []
    for dtype, name in names.items():
        log(f"a refit, and memory, in {dtype}")
        megabytes = pools[dtype].bags.instances.nbytes / 1e6
        figures += [
            replace(found[name], details={"features": f"{megabytes:.0f} MB"}),
            replace(between_refits(loops[name], floor, f"{name}, mean with a refit"), floor=FLOOR),
            peak_memory(replace(one, dtype=dtype), f"peak memory while scoring, {one.features:,} features, {dtype}"),
        ]
    return figures, notes
