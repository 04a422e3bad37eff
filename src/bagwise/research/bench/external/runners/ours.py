"""Bagwise itself, as installed where this runs: with its defaults, or as the paper's system."""

import sys

import numpy as np

from bagwise import ActiveLearner, Bags, MIMLClassifier, Question

from .loop import Array, Task, converse


class Ours:
    """The learner behind the interface of the other peers."""

    def __init__(self, task: Task, model: MIMLClassifier, **how: object) -> None:
        bags = Bags(task.x, task.offsets)
        labels = np.where(task.known, task.truth, np.nan)
        classes = [str(c) for c in range(task.truth.shape[1])]
        self.learner = ActiveLearner(bags, classes, labels, model, **how)  # type: ignore[arg-type]
        self.held_out = Bags(task.held_out_x, task.held_out_offsets)
        self.question: Question = self.learner.ask()

    def ask(self) -> tuple[int, int]:
        """Its next question."""
        self.question = self.learner.ask()
        return self.question.bag, self.question.classes[0]

    def tell(self, bag: int, label_class: int, present: bool) -> None:  # noqa: ARG002
        """Learn the answer."""
        self.learner.tell(self.question, present)

    def predict(self) -> Array:
        """P(present)."""
        return self.learner.predict_proba(self.held_out)


def default(task: Task) -> Ours:
    """As a user gets it."""
    return Ours(task, MIMLClassifier())


def paper(task: Task) -> Ours:
    """Expected gradient length and bag steps; its fit to the labels at the start is the common start of the others."""
    model = MIMLClassifier(penalty=float(task.penalty), background=False)
    how = {"criterion": "expected_gradient_length", "update": "bag_sgd", "audit": 0.0, "cold_start": False}
    return Ours(task, model, **how)


if __name__ == "__main__":
    converse({"default": default, "paper": paper}[sys.argv[3]])
