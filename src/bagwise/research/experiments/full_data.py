"""Every model on fully labelled training folds: the level to reach, and a check of the compared systems."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bagwise import datasets
from bagwise.core.plugins import choose
from bagwise.model import MIMLClassifier
from bagwise.research.baselines import MIMLSVM, ClassFrequency, MIMLfast
from bagwise.research.experiments import systems
from bagwise.research.experiments.measures import REPORTED
from bagwise.research.experiments.runner import Row, key_from
from bagwise.research.experiments.simulation import split


@dataclass(frozen=True)
class Contender:
    """A model with its fixed settings; those of the system `tuned_as` are tuned inside the training fold."""

    title: str
    build: Callable[[systems.Parameters, Any], Any]
    fixed: systems.Parameters
    tuned_as: str | None = None


def _classifier(parameters: systems.Parameters, transformer: Any) -> MIMLClassifier:
    return MIMLClassifier(transformer=transformer, **parameters)


CONTENDERS = {
    "bagwise": Contender("Bagwise, defaults", _classifier, {}),
    "marginal": Contender("Bagwise, marginal likelihood", _classifier, {"objective": "marginal"}, "bagwise"),
    "joint": Contender("Bagwise, joint likelihood", _classifier, {"objective": "joint"}, "bagwise"),
    "mimlfast": Contender("MIMLfast, ours", lambda fixed, _: MIMLfast(**fixed), {}),
    "mimlfast_released": Contender(
        "MIMLfast, released", lambda fixed, _: MIMLfast(**fixed), MIMLfast.released().get_params()
    ),
    "mimlsvm": Contender("MIMLSVM, ours", lambda fixed, _: MIMLSVM(**fixed), {}),
    "mimlsvm_released": Contender(
        "MIMLSVM, released", lambda fixed, _: MIMLSVM(**fixed), MIMLSVM.released().get_params()
    ),
    "class_frequency": Contender("class frequency", lambda *_: ClassFrequency(), {}),
}


@dataclass(frozen=True)
class FullData:
    """One model on one fully labelled training fold."""

    dataset: str
    model: str
    background: bool = False
    folds: int = 10
    fold: int = 0
    seed: int = 0

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
        """Return one row: every metric on the held-out fold and, for the paper's model, the norm of its weights."""
        data = datasets.load(self.dataset, self.seed)
        training, held_out = split(data, self.folds, self.fold, self.seed)
        contender = CONTENDERS[self.model]
        parameters = dict(contender.fixed)
        if contender.tuned_as is not None:
            parameters |= {"background": self.background}
            everything = np.arange(len(training.bags))
            system = systems.get(contender.tuned_as)
            parameters |= systems.tune(system, parameters, training, everything, self.seed + self.fold)
        model = contender.build(parameters, training.transformer).fit(training.bags, training.labels)
        probability = model.predict_proba(held_out.bags)
        row: Row = {
            **asdict(self),
            "strategy": self.strategy,
            "parameters": json.dumps(parameters),
            **{metric.name: metric(held_out.labels.value, probability) for metric in REPORTED},
            "weights_norm": None,
            "norm_bound": None,
        }
        if isinstance(model, MIMLClassifier):
            objective = model.objective_of(model.instances(training.bags), training.labels)
            row |= {"weights_norm": float(np.linalg.norm(model.weights_)), "norm_bound": objective.radius}
        progress(1)
        return [row]
