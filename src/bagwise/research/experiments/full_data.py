"""Every model on all labels of a training fold, or on a share of them drawn at random.

The level to reach, a check of the compared systems, and the joint against the marginal likelihood.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bagwise import datasets
from bagwise.core.plugins import choose
from bagwise.data.labels import Labels
from bagwise.model import MIMLClassifier
from bagwise.research.baselines import MIMLSVM, ClassFrequency, MIMLfast
from bagwise.research.experiments import systems
from bagwise.research.experiments.measures import REPORTED
from bagwise.research.experiments.runner import Row, key_from
from bagwise.research.experiments.simulation import keyed_seed, split
from bagwise.research.experiments.updates import ExpectationMaximisation


@dataclass(frozen=True)
class Contender:
    """A model of given parameters; `ours` says whether these are of our classifier."""

    title: str
    parameters: systems.Parameters
    build: Callable[..., Any] = MIMLClassifier

    @property
    def ours(self) -> bool:
        """Whether it is our own model."""
        return self.build is MIMLClassifier


CONTENDERS = {
    "bagwise": Contender("Bagwise, defaults", {"background": True}),
    "marginal": Contender("Bagwise, marginal likelihood", {}),
    "joint": Contender("Bagwise, joint likelihood", {"objective": "joint"}),
    "em": Contender("Bagwise, joint likelihood by EM", {"objective": "joint", "solver": ExpectationMaximisation()}),
    "penalty": Contender("Bagwise, marginal likelihood, penalty 1e-4", {"penalty": 1e-4}),
    "mimlfast": Contender("MIMLfast, ours", {}, MIMLfast),
    "mimlfast_released": Contender("MIMLfast, released", MIMLfast.released().get_params(), MIMLfast),
    "mimlsvm": Contender("MIMLSVM, ours", {}, MIMLSVM),
    "mimlsvm_released": Contender("MIMLSVM, released", MIMLSVM.released().get_params(), MIMLSVM),
    "class_frequency": Contender("class frequency", {}, ClassFrequency),
}


@dataclass(frozen=True)
class FullData:
    """One model on one training fold, with a share `known` of its labels."""

    dataset: str
    model: str
    background: bool = False
    folds: int = 10
    fold: int = 0
    seed: int = 0
    known: float = 1.0

    def __post_init__(self) -> None:
        choose("model", self.model, CONTENDERS)

    @property
    def strategy(self) -> str:
        """Return the name under which runs are compared."""
        return CONTENDERS[self.model].title

    @property
    def key(self) -> str:
        """Return a hash of everything that determines the rows."""
        return key_from({**asdict(self), "kind": "full data"})

    @property
    def steps(self) -> int:
        """Return the amount of work."""
        return 1

    def run(self, progress: Callable[[int], None] = lambda _: None) -> list[Row]:
        """Return one row: every metric on the held-out fold and, for our model, its objective and norm."""
        data = datasets.load(self.dataset, self.seed)
        training, held_out = split(data, self.folds, self.fold, self.seed)
        contender = CONTENDERS[self.model]
        of_ours = {"background": self.background, "transformer": training.transformer}
        parameters = (of_ours if contender.ours else {}) | contender.parameters
        labels = self._shown(training.labels)
        model = contender.build(**parameters).fit(training.bags, labels)
        probability = model.predict_proba(held_out.bags)
        row: Row = {
            **asdict(self),
            "strategy": self.strategy,
            "parameters": json.dumps(contender.parameters, default=lambda one: type(one).__name__),
            **{metric.name: metric(held_out.labels.value, probability) for metric in REPORTED},
            "objective_value": None,
            "weights_norm": None,
            "norm_bound": None,
        }
        if isinstance(model, MIMLClassifier):
            objective = model.objective_of(model.instances(training.bags), labels)
            row |= {"objective_value": objective(model.weights_)[0], "norm_bound": objective.radius}
            row["weights_norm"] = float(np.linalg.norm(model.weights_))
        progress(1)
        return [row]

    def _shown(self, labels: Labels) -> Labels:
        if self.known >= 1:
            return labels
        rng = np.random.default_rng([keyed_seed(self.seed, self.fold), 4])
        return Labels(labels.value, labels.known & (rng.random(labels.known.shape) < self.known))
