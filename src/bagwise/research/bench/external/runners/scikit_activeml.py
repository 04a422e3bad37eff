"""scikit-activeml on bag means, one binary problem per class.

Uncertainty sampling with logistic regression, or expected model change maximisation, which is its expected gradient
length: it is for regression, so it gets the labels as 0 and 1; logistic regression predicts.
"""

import sys

import numpy as np
from skactiveml.classifier import SklearnClassifier
from skactiveml.pool import ExpectedModelChangeMaximization, UncertaintySampling
from skactiveml.regressor import SklearnRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from .loop import Array, BinaryProblems, Task, run


class Uncertainty(BinaryProblems):
    """Least confidence."""

    def __init__(self, task: Task) -> None:
        self.models = [SklearnClassifier(LogisticRegression(), classes=[0, 1]) for _ in range(task.truth.shape[1])]
        self.strategy = UncertaintySampling(method="least_confident", random_state=0)
        super().__init__(task)

    def learn_and_score(self, label_class: int, y: Array, open_bags: Array) -> Array:
        """Call `query` with a fitted model, so that it is fitted once."""
        model = self.models[label_class].fit(self.x, y)
        found = self.strategy.query(self.x, y, model, fit_clf=False, candidates=open_bags, return_utilities=True)
        return np.asarray(found[1][0][open_bags])

    def predict(self) -> Array:
        """Return P(present) by class."""
        return np.column_stack([model.predict_proba(self.held_out)[:, 1] for model in self.models])


class ExpectedModelChange(Uncertainty):
    """The length of the expected gradient of a linear regression."""

    def __init__(self, task: Task) -> None:
        self.change = ExpectedModelChangeMaximization(random_state=0)
        super().__init__(task)

    def learn_and_score(self, label_class: int, y: Array, open_bags: Array) -> Array:
        """Its own regression scores; the classifier is only for predictions."""
        self.models[label_class].fit(self.x, y)
        found = self.change.query(self.x, y, SklearnRegressor(Ridge()), candidates=open_bags, return_utilities=True)
        return np.asarray(found[1][0][open_bags])


if __name__ == "__main__":
    run({"uncertainty": Uncertainty, "expected_model_change": ExpectedModelChange}[sys.argv[3]])
