"""Experiment 1: the updates as batch solvers on fully labelled data, by epoch."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import numpy as np

from bagwise import datasets
from bagwise.data.metrics.bag_accuracy import bag_accuracy
from bagwise.datasets import Dataset
from bagwise.kernels import Array
from bagwise.model import MIMLClassifier, solvers
from bagwise.research.experiments.runner import Row, key_from
from bagwise.research.experiments.simulation import split
from bagwise.research.experiments.systems import Parameters

STEP_SIZES = (0.01, 0.03, 0.1, 0.3)
TRIAL_EPOCHS = 20
SHOWN = (0, 1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500, 800, 1100, 1500)


@dataclass(frozen=True)
class Training:
    """One solver on one training fold."""

    dataset: str
    solver: str
    background: bool = False
    penalty: float = 1e-4
    epochs: int = 1500
    folds: int = 10
    fold: int = 0
    seed: int = 0

    @property
    def strategy(self) -> str:
        """Return the name under which runs are compared."""
        return self.solver

    @property
    def key(self) -> str:
        """Return a hash of everything that determines the rows."""
        return key_from({**asdict(self), "kind": "training"})

    @property
    def steps(self) -> int:
        """Return the amount of work."""
        return self.epochs

    def run(self, progress: Callable[[int], None] = lambda _: None) -> list[Row]:
        """Return rows of log-likelihood and held-out bag accuracy at the epochs in SHOWN."""
        data = datasets.load(self.dataset, self.seed)
        training, held_out = split(data, self.folds, self.fold, self.seed)
        tuned = solvers.capabilities(self.solver).step_size
        parameters: Parameters = {"step_size": self._best_step(training)} if tuned else {}
        rows: list[Row] = []
        described = {**asdict(self), "strategy": self.strategy, "parameters": json.dumps(parameters)}

        def show(epoch: int, log_likelihood: float, model: MIMLClassifier) -> None:
            accuracy = bag_accuracy(held_out.labels.value, model.predict_proba(held_out.bags))
            per_label = log_likelihood / training.labels.n_known
            rows.append({**described, "asked": epoch, "log_likelihood": per_label, "bag_accuracy": accuracy})

        self._fit(training, self.epochs, parameters, show, progress)
        last = rows[-1]
        return rows + [{**last, "asked": epoch} for epoch in SHOWN if last["asked"] < epoch <= self.epochs]

    def _fit(
        self,
        training: Dataset,
        epochs: int,
        parameters: Parameters,
        show: Callable[[int, float, MIMLClassifier], None],
        progress: Callable[[int], None],
    ) -> float:
        """Run the solver and return the last log-likelihood."""
        model = MIMLClassifier(
            self.solver,
            penalty=self.penalty,
            background=self.background,
            transformer=training.transformer,
            random_state=self.seed,
            **parameters,
        ).prepare(training.bags, training.labels.n_classes)
        objective = model.objective_of(model.instances(training.bags), training.labels)
        epoch, log_likelihood = 0, objective.log_likelihood(model.weights_)
        show(0, log_likelihood, model)

        def record(weights: Array, value: float | None) -> None:
            nonlocal epoch, log_likelihood
            epoch += 1
            progress(1)
            if epoch in SHOWN or epoch == epochs:
                log_likelihood = objective.log_likelihood(weights, value)
                show(epoch, log_likelihood, model.set_state(solvers.State(weights)))

        settings = replace(model.settings(), max_iter=epochs, tolerance=0.0)
        solvers.get(self.solver).fit(objective, model.weights_, settings, record)
        return log_likelihood

    def _best_step(self, training: Dataset) -> float:
        """Return the step size with the highest training likelihood after a few epochs; held-out bags are not used."""

        def nothing(*_: object) -> None:
            return None

        reached = [self._fit(training, TRIAL_EPOCHS, {"step_size": step}, nothing, nothing) for step in STEP_SIZES]
        return STEP_SIZES[int(np.argmax(reached))]
