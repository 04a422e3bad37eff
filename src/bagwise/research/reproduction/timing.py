"""Times: growth of selection with the pool, cost of the joint likelihood, and how long a reproduction takes.

Times differ between runs and machines, so they are not rows of a specification: every reproduction measures them.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bagwise import datasets
from bagwise.data.bags import Bags
from bagwise.kernels.arithmetic.blocks import use_one_thread
from bagwise.learning.learner import ActiveLearner
from bagwise.model import MIMLClassifier
from bagwise.model.solvers import State
from bagwise.research.experiments.runner import Specification

BASE = {"bags": 1000, "instances per bag": 10, "classes": 20, "features": 32}
FACTORS = (1, 2, 4, 8)
CRITERIA = ("uncertainty", "expected_gradient_length")
REPEATS = 7


@dataclass(frozen=True)
class Growth:
    """Seconds of one question while one size of the pool grows; `slope` is that of log time against log size."""

    criterion: str
    size: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]

    @property
    def slope(self) -> float:
        """Return the slope: 1 if the cost is proportional to the size."""
        return float(np.polyfit(np.log(self.sizes), np.log(self.seconds), 1)[0])


@dataclass(frozen=True)
class FitTime:
    """Seconds to fit all labels of a data set with either likelihood."""

    dataset: str
    background: bool
    marginal: float
    joint: float


def fastest(job: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the processor's seconds of the fastest of some calls: other load on the machine only adds to them."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        job()
        times.append(time.process_time() - start)
    return min(times)


def selection_growth() -> list[Growth]:
    """Time one question of either criterion while bags, instances, classes or features grow; one thread."""
    use_one_thread()
    found = []
    for criterion in CRITERIA:
        for size in BASE:
            sizes = tuple(BASE[size] * factor for factor in FACTORS)
            seconds = tuple(_ask_seconds(criterion, {**BASE, size: one}) for one in sizes)
            found.append(Growth(criterion, size, sizes, seconds))
    return found


def _ask_seconds(criterion: str, size: dict[str, int]) -> float:
    rng = np.random.default_rng(0)
    count, per_bag, classes, features = size.values()
    bags = Bags(rng.standard_normal((count * per_bag, features)), np.arange(0, count * per_bag + 1, per_bag))
    labels = np.full((count, classes), np.nan)
    labels[:20] = rng.random((20, classes)) < 0.3
    learner = ActiveLearner(bags, [str(c) for c in range(classes)], labels, MIMLClassifier(max_iter=5), criterion)
    weights = learner.model.weights_

    def ask() -> None:
        # As after an answer: what a learner thinks of a small pool is remembered as long as its weights are the same.
        learner.model.set_state(State(weights.copy()))
        learner.ask()

    ask()
    return fastest(ask)


def likelihood_times(names: Sequence[str], backgrounds: Sequence[bool] = (False, True)) -> list[FitTime]:
    """Time both likelihoods on all labels of each data set with the paper's penalty; one thread."""
    use_one_thread()
    found = []
    for name in names:
        data = datasets.load(name)
        for background in backgrounds:

            def fit(objective: str, data: datasets.Dataset = data, background: bool = background) -> float:
                model = MIMLClassifier(
                    objective=objective, penalty=1e-4, background=background, transformer=data.transformer
                )
                return fastest(lambda: model.fit(data.bags, data.labels), repeats=3)

            found.append(FitTime(name, background, fit("marginal"), fit("joint")))
    return found


@dataclass(frozen=True)
class Cost:
    """Number of cells of a kind, and the seconds of processor time of one of them."""

    cells: int
    seconds: float

    @classmethod
    def measured(cls, cells: Sequence[Specification], samples: Sequence[Specification]) -> "Cost":
        """Run the samples here, in one thread, and keep nothing of them but the time."""
        use_one_thread()
        start = time.process_time()
        for sample in samples:
            sample.run(lambda _: None)
        return cls(len(cells), (time.process_time() - start) / len(samples))

    @property
    def hours(self) -> float:
        """Return the hours of one core for all cells."""
        return self.cells * self.seconds / 3600
