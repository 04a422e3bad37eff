"""Logistic regression by scikit-learn and by `MIMLClassifier` on bags of one instance: in turn, in one process.

One label of each bag is known, the class of its instance, and there is no background class. Then log P(present) is
log softmax(W x)_y, and the objectives are one:

    ours           F(W) = -(1/N) sum_i log softmax(W x_i)_y_i + (prior/2N) ||W||^2
    scikit-learn   N F(W)/prior with C = 1/prior, where the constant is a feature, since ours is penalised

Both stop when no entry of the gradient of F exceeds the same tolerance (scikit-learn divides by N inside, too).
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from bagwise import Bags, Labels, MIMLClassifier

from .loop import Array

PRIOR, TOLERANCE, MOST_ITERATIONS = 1.0, 1e-6, 1000


def labels_of(y: Array, classes: int) -> Array:
    """Return labels of bags of one instance, (N, C): 1 for its class, the others unknown."""
    return np.where(np.arange(classes) == y[:, None], 1.0, np.nan)


def bags_of(x: Array) -> Bags:
    """Return bags of one instance each."""
    return Bags(x, np.arange(len(x) + 1))


def ours() -> MIMLClassifier:
    """Return our model of features that are standardised and have a constant."""
    return MIMLClassifier(prior=PRIOR, background=False, transformer=None, fit_intercept=False, tol=TOLERANCE)


def theirs() -> LogisticRegression:
    """Return the same model of scikit-learn."""
    return LogisticRegression(C=1 / PRIOR, fit_intercept=False, tol=TOLERANCE, max_iter=MOST_ITERATIONS)


def objective(x: Array, y: Array, weights: Array) -> float:
    """Return F of some weights, (C, d)."""
    model = ours().prepare(bags_of(x), len(weights))
    labels = Labels.from_array(labels_of(y, len(weights)))
    return float(model.objective_of(model.instances(bags_of(x)), labels)(weights)[0])


def timed(fit: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of the processor and the fitted model."""
    start = time.process_time()
    model = fit()
    return time.process_time() - start, model


def main() -> None:
    """Fit both `rounds` times and write seconds, values of F and predicted classes of what is held out."""
    with np.load(sys.argv[1], allow_pickle=False) as task:
        x, y, held_out, rounds = task["x"], task["y"], task["held_out_x"], int(task["rounds"])
    bags, labels = bags_of(x), labels_of(y, int(y.max()) + 1)
    fits = {"ours": lambda: ours().fit(bags, labels), "theirs": lambda: theirs().fit(x, y)}
    for fit in fits.values():  # loads compiled code before the measurement
        fit()
    seconds: dict[str, list[float]] = {name: [] for name in fits}
    models: dict[str, Any] = {}
    for _ in range(rounds):
        for name, fit in fits.items():
            taken, models[name] = timed(fit)
            seconds[name].append(taken)
    np.savez(
        sys.argv[2],
        **{f"{name}_seconds": np.array(some) for name, some in seconds.items()},  # type: ignore[arg-type]
        ours_value=objective(x, y, models["ours"].coef_),
        theirs_value=objective(x, y, models["theirs"].coef_),
        ours_predicted=models["ours"].predict_proba(bags_of(held_out)).argmax(axis=1),
        theirs_predicted=models["theirs"].predict(held_out),
    )


if __name__ == "__main__":
    main()
