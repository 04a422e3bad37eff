"""How close scoring every pair of a pool comes to the cost of one matrix product, in time and in memory.

The floor is the bare product X @ W.T over the same pool. The expected gradient length is also compared with forming
every gradient as the paper writes it, and peak memory with 1.3 times the data plus two score matrices.
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bagwise import criteria
from bagwise.bench._figures import Figure, Report
from bagwise.bench._foreign.runners import formulas
from bagwise.bench._measuring import Job, Say, busy, figure_of, seconds, side_by_side
from bagwise.bench._pools import SMALL, STANDARD, PoolSize, RandomPool
from bagwise.kernels import Array
from bagwise.model import MIMLClassifier

DESCRIPTION = "scoring all pairs of a pool, beside the bare product X @ W.T"
FLOOR = "bare product X @ W.T"
EGL = "EGL of all pairs"
GOALS = {
    "uncertainty of all pairs": 1.7,
    "uncertainty, standardised, with background": 1.7,
    EGL: 3.0,
}
EXPLICIT_GOAL = 100.0
DATA_ALLOWED, SCORES_ALLOWED = 1.3, 2


@dataclass(frozen=True)
class Size:
    """The pool and how often it is scored; forming every gradient is slow and done less often."""

    pool: PoolSize
    rounds: int
    explicit_rounds: int


FULL, QUICK = Size(STANDARD, rounds=15, explicit_rounds=3), Size(SMALL, rounds=5, explicit_rounds=1)


def measure(size: Size, say: Say) -> Report:
    """Both criteria, the explicit gradients, the memory."""
    pool = RandomPool(size.pool)
    jobs = _jobs(pool)
    say(f"{size.rounds} rounds side by side")
    times = side_by_side({FLOOR: pool.product, **jobs}, size.rounds)
    figures = [figure_of(name, FLOOR, times[name], times[FLOOR], goal=GOALS.get(name)) for name in jobs]
    say("EGL by forming every gradient")
    explicit, difference = _explicit(pool, jobs[EGL], size.explicit_rounds)
    say("memory")
    figures += [explicit, _memory(size.pool.bags)]
    note = f"EGL differs from the formed gradients by {difference:.1e} of its value at most."
    return Report("kernels", str(size.pool), tuple(figures), notes=(note, *busy(times[FLOOR])))


def _jobs(pool: RandomPool) -> dict[str, Job]:
    labels = pool.labels()
    raw = MIMLClassifier.from_weights(pool.weights)
    default = MIMLClassifier(max_iter=3).fit(pool.bags, labels)
    instances = raw.instances(pool.bags)

    def gram_matrices() -> None:
        _ = raw.instances(pool.bags).grams

    def expected_gradient_length() -> Array:
        return criteria.get("expected_gradient_length")(raw.pool_of(raw.scorer(instances), labels))

    uncertainty = criteria.get("uncertainty")
    return {
        "uncertainty of all pairs": lambda: uncertainty(raw.pool(pool.bags, labels)),
        "uncertainty, standardised, with background": lambda: uncertainty(default.pool(pool.bags, labels)),
        EGL: expected_gradient_length,
        "Gram matrices for EGL, once": gram_matrices,
    }


def _explicit(pool: RandomPool, ours: Job, rounds: int) -> tuple[Figure, float]:
    """Times of both, and the largest relative difference between their scores."""
    found: list[Array] = []
    bags, n_known = list(pool.bags), pool.labels().n_known
    slow = [
        seconds(lambda: found.append(formulas.expected_gradient_length(bags, pool.weights, n_known)))
        for _ in range(rounds)
    ]
    fast = [seconds(ours) for _ in range(rounds)]
    difference = float(np.max(np.abs(np.asarray(ours()) / found[0] - 1)))
    how = {"larger_is_better": True, "goal": EXPLICIT_GOAL}
    return figure_of("EGL by forming every gradient", EGL, slow, fast, **how), difference


def _memory(bags: int) -> Figure:
    """Peak memory in a process of its own, so that nothing else counts."""
    command = f"from bagwise.bench.kernels import memory_share; print(memory_share({bags}))"
    done = subprocess.run([sys.executable, "-c", command], check=True, capture_output=True, text=True)  # noqa: S603
    floor = f"{DATA_ALLOWED} times the data + {SCORES_ALLOWED} score matrices"
    return Figure.of("peak memory while scoring", floor, [float(done.stdout)], goal=1.0)


def memory_share(count: int) -> float:
    """Peak memory of this process above an almost empty pool while scoring one of `count` bags, over the allowance."""
    small, large = PoolSize(20), PoolSize(count)
    model = _score_once(RandomPool(small))
    before = _peak()
    pool = RandomPool(large)
    _score_once(pool, model)
    scores = large.bags * large.classes * pool.bags.instances.itemsize
    return (_peak() - before) / (DATA_ALLOWED * pool.bags.instances.nbytes + SCORES_ALLOWED * scores)


def _score_once(pool: RandomPool, model: MIMLClassifier | None = None) -> MIMLClassifier:
    model = model or MIMLClassifier.from_weights(pool.weights)
    for name in ("uncertainty", "expected_gradient_length"):
        criteria.get(name)(model.pool(pool.bags))
    return model


def _peak() -> int:
    """Peak resident memory in bytes (getrusage would count the parent's before the fork)."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return 1024 * int(found[1])
