"""Peak memory while scoring a pool, relative to an allowance without anything of size instances x classes."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from bagwise.learning import criteria
from bagwise.model import MIMLClassifier
from bagwise.research.bench.figures import Figure
from bagwise.research.bench.pools import PoolSize, RandomPool

DATA_ALLOWED, SCORES_ALLOWED = 1.3, 2


def peak_memory(size: PoolSize, name: str = "peak memory while scoring") -> Figure:
    """Measure the peak memory in a new process, so that nothing else counts."""
    code = "from bagwise.research.bench.memory import PoolSize, memory_share"
    command = f"{code}; print(memory_share({size!r}))"
    done = subprocess.run([sys.executable, "-c", command], check=True, capture_output=True, text=True)  # noqa: S603
    floor = f"{DATA_ALLOWED} times the data + {SCORES_ALLOWED} score matrices"
    return Figure.of(name, floor, [float(done.stdout)], goal=1.0)


def memory_share(size: PoolSize) -> float:
    """Return the peak memory of scoring a pool, beyond that of an almost empty one, over the allowance."""
    model = _score_once(RandomPool(replace(size, bags=20)))
    before = peak()
    pool = RandomPool(size)
    _score_once(pool, model)
    scores = size.bags * size.classes * pool.weights.itemsize
    return float((peak() - before) / (DATA_ALLOWED * pool.bags.instances.nbytes + SCORES_ALLOWED * scores))


def _score_once(pool: RandomPool, model: MIMLClassifier | None = None) -> MIMLClassifier:
    model = model or MIMLClassifier.from_weights(pool.weights)
    for name in ("uncertainty", "expected_gradient_length"):
        criteria.get(name)(model.pool(pool.bags))
    return model


def peak() -> int:
    """Return the peak resident memory in bytes (getrusage would include that of the parent before the fork)."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return 1024 * int(found[1])
