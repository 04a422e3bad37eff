"""The paper's system in NumPy, written as its formulas: expected gradient length from every gradient, and a step.

The step is the projected one on all known labels of the answered bag, as in `bag_sgd`.
"""

import numpy as np

from . import formulas
from .loop import Array, Task, run

STEP = 0.1


class Paper:
    """Continues from the common start with one step per answer."""

    def __init__(self, task: Task) -> None:
        self.bags, self.held_out = task.standardised
        self.known, self.value = task.known.copy(), np.where(task.known, task.truth, 0)
        self.weights = task.start_weights.copy()
        self.steps, self.penalty = 0, float(task.penalty)
        largest, outputs = max(map(len, self.bags)), len(self.weights)
        self.radius = np.sqrt(2 / self.penalty * max(np.log(outputs), largest / (outputs - 1)))

    def scores(self) -> Array:
        """Return the scores of every pair."""
        return formulas.expected_gradient_length(self.bags, self.weights, int(self.known.sum()))

    def ask(self) -> tuple[int, int]:
        """Return the open pair with the largest score."""
        scores = np.where(self.known, -np.inf, self.scores())
        bag, label_class = np.unravel_index(int(np.argmax(scores)), scores.shape)
        return int(bag), int(label_class)

    def tell(self, bag: int, label_class: int, present: bool) -> None:
        """Take one step and project into the ball that contains the minimiser."""
        self.known[bag, label_class], self.value[bag, label_class] = True, present
        eta = STEP / (self.penalty * self.steps + 1)
        change = self.gradient(bag) - self.penalty * int(self.known[bag].sum()) * self.weights
        self.weights = self.weights + eta * change
        norm = float(np.linalg.norm(self.weights))
        self.weights *= min(1.0, self.radius / norm)
        self.steps += 1

    def gradient(self, bag: int) -> Array:
        """Return the gradient of the log-likelihood of the known labels of a bag."""
        (_, if_present), (_, if_absent) = formulas.gradients(self.bags[bag], self.weights)
        value = self.value[bag].astype(bool)
        known = self.known[bag]
        return np.asarray(if_present[known & value].sum(axis=0) + if_absent[known & ~value].sum(axis=0))

    def predict(self) -> Array:
        """Return P(present)."""
        return np.array([1 - formulas.probabilities(x, self.weights)[1] for x in self.held_out])


if __name__ == "__main__":
    run(Paper)
