"""How close scoring every pair of a pool comes to the cost of one matrix product, in time and in memory.

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
from bagwise.research.bench._figures import Figure, Report
from bagwise.research.bench._foreign.runners import formulas
from bagwise.research.bench._measuring import Job, Say, against
from bagwise.research.bench._memory import peak_memory
from bagwise.research.bench._pools import SMALL, STANDARD, PoolSize, RandomPool

DESCRIPTION = "scoring all pairs of a pool, beside the bare product X @ W.T"
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
    """The pool and how often it is scored; forming every gradient is slow and done less often."""

    pool: PoolSize
    rounds: int
    explicit_rounds: int


FULL, QUICK = Size(STANDARD, rounds=15, explicit_rounds=3), Size(SMALL, rounds=5, explicit_rounds=1)


def measure(size: Size, say: Say) -> Report:
    """Both criteria, the explicit gradients, the memory."""
    pool = RandomPool(size.pool)
    jobs = _jobs(pool)
    say(f"{size.rounds} rounds side by side, on all cores and on one")
    found, notes = against(FLOOR, {FLOOR: pool.product, **jobs}, size.rounds)
    figures = [replace(figure, goal=GOALS.get(name)) for name, figure in found.items()]
    say("EGL by forming every gradient")
    explicit, difference = _explicit(pool, size.explicit_rounds)
    say("memory")
    figures += [explicit, peak_memory(size.pool.bags)]
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
    """Scoring with the Gram matrices kept, as a learner keeps them."""
    instances = model.instances(bags)
    return lambda: criteria.get("expected_gradient_length")(model.pool_of(model.scorer(instances), labels))


def _explicit(pool: RandomPool, rounds: int) -> tuple[Figure, float]:
    """Both on some of the bags, and the largest relative difference between their scores."""
    chosen = np.arange(min(EXPLICIT_BAGS, len(pool.bags)))
    bags, labels = pool.bags.select(chosen), pool.labels().select(chosen)
    ours = _expected_gradient_length(MIMLClassifier.from_weights(pool.weights), bags, labels)
    as_list = list(bags)

    def explicit() -> Array:
        return formulas.expected_gradient_length(as_list, pool.weights, labels.n_known)

    with single_threaded_blas():  # products this small are slower on several threads
        difference = float(np.max(np.abs(ours() / explicit() - 1)))
        found, _ = against(EGL_OF_SOME, {EGL_OF_SOME: ours, EXPLICIT: explicit}, rounds)
    return replace(found[EXPLICIT], larger_is_better=True, goal=EXPLICIT_GOAL), difference
