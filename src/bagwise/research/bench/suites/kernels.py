"""Cost of scoring every pair of a pool, relative to one matrix product, in time and memory.

The floor is the bare product X @ W.T over the same pool. The expected gradient length is also compared with forming
every gradient as the paper writes it, and peak memory with 1.3 times the data plus two score matrices.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.kernels import Array
from bagwise.kernels.arithmetic.blocks import single_threaded_blas
from bagwise.learning import criteria
from bagwise.model import MIMLClassifier
from bagwise.research.bench.external.runners import formulas
from bagwise.research.bench.figures import Figure, Report
from bagwise.research.bench.memory import peak_memory
from bagwise.research.bench.pools import SMALL, STANDARD, PoolSize, RandomPool
from bagwise.research.bench.timing import Job, Log, ratios_to

DESCRIPTION = "scoring all pairs of a pool, relative to the bare product X @ W.T"
FLOOR = "bare product X @ W.T"
EGL, EGL_OF_SOME = "EGL of all pairs", "our EGL of the same pairs"
GOALS = {
    "uncertainty of all pairs": 1.7,
    "uncertainty, standardised, with background": 1.7,
    EGL: 3.0,
}
EXPLICIT, EXPLICIT_GOAL = "EGL by forming every gradient", 100.0
EXPLICIT_BAGS = 2_000


@dataclass(frozen=True)
class Size:
    """The pool and the number of rounds; forming every gradient is slow and gets fewer."""

    pool: PoolSize
    rounds: int
    explicit_rounds: int


FULL, QUICK = Size(STANDARD, rounds=15, explicit_rounds=3), Size(SMALL, rounds=5, explicit_rounds=1)


def measure(size: Size, log: Log) -> Report:
    """Measure both criteria, the explicit gradients and the memory."""
    pool = RandomPool(size.pool)
    jobs = _jobs(pool)
    log(f"{size.rounds} rounds in alternation, on all cores and on one")
    found, notes = ratios_to(FLOOR, {FLOOR: pool.product, **jobs}, size.rounds)
    figures = [replace(figure, goal=GOALS.get(name)) for name, figure in found.items()]
    log("EGL by forming every gradient")
    explicit, difference = _explicit(pool, size.explicit_rounds)
    log("memory")
    figures += [explicit, peak_memory(PoolSize(size.pool.bags))]
    note = f"EGL differs from the formed gradients by {difference:.1e} of its value at most."
    return Report("kernels", str(size.pool), tuple(figures), notes=(note, *notes))


def _jobs(pool: RandomPool) -> dict[str, Job]:
    labels = pool.labels()
    raw = MIMLClassifier.from_weights(pool.weights)
    default = MIMLClassifier(max_iter=3).fit(pool.bags, labels)

    def gram_matrices() -> None:
        _ = raw.instances(pool.bags).grams

    uncertainty = criteria.get("uncertainty")
    return {
        "uncertainty of all pairs": lambda: uncertainty(raw.pool(pool.bags, labels)),
        "uncertainty, standardised, with background": lambda: uncertainty(default.pool(pool.bags, labels)),
        EGL: _expected_gradient_length(raw, pool.bags, labels),
        "Gram matrices for EGL, once": gram_matrices,
    }


def _expected_gradient_length(model: MIMLClassifier, bags: Bags, labels: Labels) -> Callable[[], Array]:
    """Return a job that scores with cached Gram matrices, as a learner does."""
    instances = model.instances(bags)
    return lambda: criteria.get("expected_gradient_length")(model.pool_of(model.scorer(instances), labels))


def _explicit(pool: RandomPool, rounds: int) -> tuple[Figure, float]:
    """Measure both on some of the bags; return the figure and the largest relative difference of the scores."""
    chosen = np.arange(min(EXPLICIT_BAGS, len(pool.bags)))
    bags, labels = pool.bags.select(chosen), pool.labels().select(chosen)
    ours = _expected_gradient_length(MIMLClassifier.from_weights(pool.weights), bags, labels)
    as_list = list(bags)

    def explicit() -> Array:
        return formulas.expected_gradient_length(as_list, pool.weights, labels.n_known)

    with single_threaded_blas():  # products this small are slower on several threads
        difference = float(np.max(np.abs(ours() / explicit() - 1)))
        found, _ = ratios_to(EGL_OF_SOME, {EGL_OF_SOME: ours, EXPLICIT: explicit}, rounds)
    return replace(found[EXPLICIT], larger_is_better=True, goal=EXPLICIT_GOAL), difference
