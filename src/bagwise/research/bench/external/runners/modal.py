"""modAL on bag means: uncertainty sampling with logistic regression, one learner per class.

modAL 0.4.2.1 calls scikit-learn's checks with an argument that was renamed since; it is translated.
"""

from typing import Any

import numpy as np
from modAL.models import ActiveLearner, learners
from modAL.uncertainty import classifier_uncertainty
from sklearn.linear_model import LogisticRegression

from .loop import Array, BinaryProblems, Task, run


def _renamed(check: Any) -> Any:
    def checked(*arguments: Any, force_all_finite: bool = True, **rest: Any) -> Any:
        return check(*arguments, ensure_all_finite=force_all_finite, **rest)

    return checked


learners.check_X_y = _renamed(learners.check_X_y)


class Modal(BinaryProblems):
    """modAL cannot fit a class with only one known value: its score is 0 until then."""

    def __init__(self, task: Task) -> None:
        self.learners: dict[int, ActiveLearner] = {}
        super().__init__(task)

    def learn_and_score(self, label_class: int, y: Array, open_bags: Array) -> Array:
        """Fit to everything known and return the uncertainty that `query` ranks by."""
        known = ~np.isnan(y)
        if len(np.unique(y[known])) < 2:
            return np.zeros(len(open_bags))
        if label_class not in self.learners:
            learner = ActiveLearner(LogisticRegression(), X_training=self.x[known], y_training=y[known])
            self.learners[label_class] = learner
        else:
            self.learners[label_class].fit(self.x[known], y[known])
        return np.asarray(classifier_uncertainty(self.learners[label_class], self.x[open_bags]))

    def predict(self) -> Array:
        """Return P(present) by class; the known value where there is only one."""
        predicted = np.tile(np.nanmax(self.labels, axis=0), (len(self.held_out), 1))
        for label_class, learner in self.learners.items():
            predicted[:, label_class] = learner.predict_proba(self.held_out)[:, 1]
        return predicted


if __name__ == "__main__":
    run(Modal)
