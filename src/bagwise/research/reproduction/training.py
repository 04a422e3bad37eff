"""Experiment 1: the updates as batch solvers on fully labelled data, by epoch."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from bagwise import datasets
from bagwise.data.metrics.bag_accuracy import bag_accuracy
from bagwise.kernels import Array
from bagwise.model import MIMLClassifier, solvers
from bagwise.research.experiments.runner import Row, key_from
from bagwise.research.experiments.simulation import keyed_seed, split
from bagwise.research.experiments.updates import Steps, best_constants

TRIAL_EPOCHS = 20
SHOWN = (0, 1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500, 800, 1100, 1500)
CONVERGED = 1e-5
"""Gradient descent goes on until no entry of the gradient of F is larger."""


@dataclass(frozen=True)
class Training:
    """One solver on one training fold; `penalised` is whether stochastic steps include the gradient of the penalty."""

    dataset: str
    solver: str
    background: bool = False
    penalty: float = 1e-4
    epochs: int = 1500
    most_epochs: int = 20_000
    penalised: bool = False
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
        """Return rows of log-likelihood and held-out bag accuracy at the epochs in SHOWN, and where it ended.

        The stochastic solvers run for `epochs`; gradient descent goes on to convergence, or to `most_epochs`.
        """
        data = datasets.load(self.dataset, self.seed)
        training, held_out = split(data, self.folds, self.fold, self.seed)
        seed = keyed_seed(self.seed, self.fold)
        solver: str | Steps = self.solver
        parameters: dict[str, float] = {}
        if stochastic := solvers.capabilities(self.solver).step_size:
            steps = Steps(self.solver, self.penalised)
            of_model = {"penalty": self.penalty, "background": self.background}
            parameters = asdict(best_constants(steps, training, TRIAL_EPOCHS, seed, **of_model))
            solver = replace(steps, offset=parameters["offset"])
        model = MIMLClassifier(
            solver,
            penalty=self.penalty,
            background=self.background,
            transformer=training.transformer,
            step_size=parameters.get("step_size", 0.1),
            random_state=seed,
        ).prepare(training.bags, training.labels.n_classes)
        objective = model.objective_of(model.instances(training.bags), training.labels)
        rows: list[Row] = []
        described = {**asdict(self), "strategy": self.strategy, "parameters": json.dumps(parameters)}

        def show(epoch: int, log_likelihood: float) -> None:
            accuracy = bag_accuracy(held_out.labels.value, model.predict_proba(held_out.bags))
            per_label = log_likelihood / training.labels.n_known
            rows.append({**described, "asked": epoch, "log_likelihood": per_label, "bag_accuracy": accuracy})

        epoch = 0
        show(0, objective.log_likelihood(model.weights_))

        def record(weights: Array, value: float | None) -> None:
            nonlocal epoch
            epoch += 1
            if epoch <= self.epochs:
                progress(1)
            model.set_state(solvers.State(weights))
            if epoch in SHOWN or epoch == self.epochs:
                show(epoch, objective.log_likelihood(weights, value))

        most = self.epochs if stochastic else max(self.most_epochs, self.epochs)
        settings = replace(model.settings(), max_iter=most, tolerance=0.0 if stochastic else CONVERGED)
        solvers.get(solver).fit(objective, model.weights_, settings, record)
        if epoch not in (row["asked"] for row in rows):
            show(epoch, objective.log_likelihood(model.weights_))
        ended = rows[-1]
        # A solver that converged earlier stays where it is.
        later = [{**ended, "asked": shown} for shown in SHOWN if ended["asked"] < shown <= self.epochs]
        return [row | {"ended": epoch} for row in rows + later]
