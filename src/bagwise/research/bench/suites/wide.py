"""A thousand features, as embeddings have: learning and selecting, and memory, in float32 and float16.

`tell` + `ask` with the default criterion and update, and its mean over one interval of refits. The floor of
both types is the bare product X @ W.T of the same pool in float32. Memory is that of scoring the pool, over an
allowance for its features, in their own type, and the scores. A project with the features in float16, as `bagwise init
--float16` makes it, is compared with one in float32: the CPU time of the import, the bytes on disk, and by how much the
probabilities of the fitted models differ.
"""

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bagwise.formats import LabelTable, Source
from bagwise.kernels import Array
from bagwise.project import Project
from bagwise.research.bench.figures import Figure, Report
from bagwise.research.bench.memory import peak_memory
from bagwise.research.bench.pools import LABELLED, AskTellLoop, PoolSize, RandomPool
from bagwise.research.bench.suites.learner import between_refits
from bagwise.research.bench.timing import Log, ratios_to

DESCRIPTION = "tell + ask, refits, memory and projects at 1,024 and 1,536 features, in float32 and float16"
FLOOR = "bare product X @ W.T, float32"
TYPES = ("float32", "float16")
IMPORTS = 3
GOALS = {"float32": 1.0}


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
    loops = {names[dtype]: AskTellLoop(pool) for dtype, pool in pools.items()}
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
            replace(found[name], details={"features": f"{megabytes:.0f} MB"}, goal=GOALS.get(dtype)),
            replace(between_refits(loops[name], floor, f"{name}, mean with a refit"), floor=FLOOR),
            peak_memory(replace(one, dtype=dtype), f"peak memory while scoring, {one.features:,} features, {dtype}"),
        ]
    log(f"projects with {one.features:,} features in both types")
    return [*figures, _project(floor, one.features)], notes


@dataclass(frozen=True)
class _Made:
    """A project: the CPU time that making it took, its bytes on disk, and P(class in bag) by the model fitted to it."""

    seconds: float
    stored: int
    probability: Array


def _project(pool: RandomPool, features: int) -> Figure:
    """The import of a project in float16 over the same in float32."""
    small, large = _Made(0, 0, np.empty(0)), _Made(0, 0, np.empty(0))
    times: dict[str, list[float]] = {dtype: [] for dtype in TYPES}
    for last in range(IMPORTS - 1, -1, -1):
        large, small = (_made(pool, dtype, fitted=not last) for dtype in TYPES)
        times["float32"].append(large.seconds)
        times["float16"].append(small.seconds)
    difference = float(np.abs(small.probability - large.probability).max())
    return Figure.of(
        f"import of a project, {features:,} features, float16",
        "the same in float32",
        [one / other for one, other in zip(times["float16"], times["float32"], strict=True)],
        seconds=float(np.median(times["float16"])),
        floor_seconds=float(np.median(times["float32"])),
        details={
            "on disk": f"{small.stored / 1e6:.0f} of {large.stored / 1e6:.0f} MB",
            "largest difference of probabilities": f"{difference:.1g}",
        },
    )


def _made(pool: RandomPool, dtype: str, fitted: bool) -> _Made:
    bags = [pool.bags[place] for place in range(len(pool.bags))]
    ids = [str(place) for place in range(len(bags))]
    source = replace(Source.of_bags(Path("pool.npz"), bags, ids), dtype=np.dtype(dtype))
    labels = LabelTable(ids[:LABELLED], pool.classes, pool.truth[:LABELLED].astype(float))
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        with Project.create(Path(folder) / "project", source, labels) as project:
            seconds = time.process_time() - start
            stored = sum(path.stat().st_size for path in project.folder.rglob("*") if path.is_file())
            probability = project.fit_model().predict_proba(project.bags) if fitted else np.empty(0)
    return _Made(seconds, stored, probability)
