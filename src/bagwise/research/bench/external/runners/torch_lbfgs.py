"""The same objective with torch: autograd and torch.optim.LBFGS, strong Wolfe line search, in the same stages.

F(W) = -(1/|L|) sum log P(label) + penalty/2 ||W||^2, all labels known, a background class, standardised features.
"""

import sys
import time

import numpy as np
import torch

from .loop import Array

ITERATIONS, MEMORY, FIRST_PENALTY, FIRST_TOLERANCE, TOLERANCE = 1000, 20, 10.0, 1e-4, 1e-6
WARM = 20


class Objective:
    """F on flat instances; the sum over the instances of a bag is an index_add."""

    def __init__(self, x: Array, offsets: Array, truth: Array) -> None:
        deviation = x.std(axis=0)
        seen = (x - x.mean(axis=0)) / np.where(deviation == 0, 1, deviation)
        self.x = torch.from_numpy(np.column_stack([seen, np.ones(len(x))]))
        self.bag = torch.from_numpy(np.repeat(np.arange(len(truth)), np.diff(offsets)))
        self.truth = torch.from_numpy(truth.astype(float))
        self.penalty = 1 / truth.size

    @property
    def start(self) -> torch.Tensor:
        """Return zero weights."""
        return torch.zeros(self.truth.shape[1] + 1, self.x.shape[1], dtype=torch.float64)

    def loss(self, weights: torch.Tensor) -> torch.Tensor:
        """Return the mean negative log-likelihood."""
        p = torch.softmax(self.x @ weights.T, dim=1)[:, : self.truth.shape[1]]
        terms = torch.log1p(-p.clamp(max=1 - 1e-12))
        absent = torch.zeros_like(self.truth).index_add(0, self.bag, terms).clamp(max=-1e-300)
        present = torch.log(-torch.expm1(absent))
        return -torch.where(self.truth > 0, present, absent).mean()


def minimise(objective: Objective, most: int = ITERATIONS) -> Array:
    """Return (seconds, F) at every evaluation: first roughly with ten times the penalty, then with it."""
    weights = objective.start.requires_grad_()
    trace: list[tuple[float, float]] = []
    start = time.process_time()
    for factor, tolerance, iterations in ((FIRST_PENALTY, FIRST_TOLERANCE, most // 2), (1.0, TOLERANCE, most)):
        optimiser = torch.optim.LBFGS(
            [weights],
            max_iter=iterations,
            history_size=MEMORY,
            tolerance_grad=tolerance,
            tolerance_change=1e-12,
            line_search_fn="strong_wolfe",
        )

        def closure(factor: float = factor, optimiser: torch.optim.Optimizer = optimiser) -> torch.Tensor:
            optimiser.zero_grad()
            loss = objective.loss(weights)
            squares = objective.penalty / 2 * (weights**2).sum()
            value = loss + factor * squares
            weights.grad = torch.autograd.grad(value, weights)[0]
            trace.append((time.process_time() - start, float((loss + squares).detach())))
            return value

        optimiser.step(closure)
    return np.array(trace)


def main() -> None:
    """Fit `rounds` times and write the traces."""
    with np.load(sys.argv[1], allow_pickle=False) as task:
        objective = Objective(task["x"], task["offsets"], task["truth"])
        probe, rounds = torch.from_numpy(task["probe"]), int(task["rounds"])
    at_probe = objective.loss(probe) + objective.penalty / 2 * (probe**2).sum()
    minimise(objective, most=WARM)
    traces = {f"trace{number}": minimise(objective) for number in range(rounds)}
    np.savez(sys.argv[2], at_probe=at_probe.numpy(), **traces)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
