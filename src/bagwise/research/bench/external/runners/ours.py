"""Bagwise itself, with its defaults or as the paper's system."""

import sys

import numpy as np

from bagwise import ActiveLearner, Bags, MIMLClassifier, Question

from .loop import Array, Task, run


class Ours:
    """The learner with the interface of the peers."""

    def __init__(self, task: Task, model: MIMLClassifier, **how: object) -> None:
        bags = Bags(task.x, task.offsets)
        labels = np.where(task.known, task.truth, np.nan)
        classes = [str(c) for c in range(task.truth.shape[1])]
        self.learner = ActiveLearner(bags, classes, labels, model, **how)  # type: ignore[arg-type]
        self.held_out = Bags(task.held_out_x, task.held_out_offsets)
        self.question: Question = self.learner.ask()

    def ask(self) -> tuple[int, int]:
        """Return the bag and class of the next question."""
        self.question = self.learner.ask()
        return self.question.bag, self.question.classes[0]

    def tell(self, bag: int, label_class: int, present: bool) -> None:  # noqa: ARG002
        """Learn the answer."""
        self.learner.tell(self.question, present)

    def predict(self) -> Array:
        """Return P(present)."""
        return self.learner.predict_proba(self.held_out)


def default(task: Task) -> Ours:
    """Return the learner with default settings."""
    return Ours(task, MIMLClassifier())


def paper(task: Task) -> Ours:
    """Return the paper's system: expected gradient length and bag steps, from the start that others share."""
    model = MIMLClassifier(penalty=float(task.penalty), background=False)
    how = {"criterion": "expected_gradient_length", "update": "bag_sgd", "audit": 0.0, "cold_start": False}
    return Ours(task, model, **how)


if __name__ == "__main__":
    run({"default": default, "paper": paper}[sys.argv[3]])
