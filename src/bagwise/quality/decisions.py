"""Decisions: calibrated probabilities, and the threshold above which a class is said to be in a bag.

    P'(class in bag) = sigma(a + b logit P)                a, b from out-of-fold predictions (`calibration.py`)
    threshold = 1/2 + n / (n + SHRUNK_BY) (t - 1/2),   t best for the metric by the calibrated probabilities themselves

Below `FEWEST` answers, or without an audit among them, nothing is changed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bagwise.discovery import choose
from bagwise.kernels import Array
from bagwise.labels import Labels
from bagwise.quality import calibration
from bagwise.quality.estimate import answers_of
from bagwise.quality.jaccard import expected_jaccard

FEWEST = 50
SHRUNK_BY = 100
THRESHOLDS = np.linspace(0.2, 0.8, 25)


@dataclass(frozen=True)
class Decisions:
    """What to make of a model's probabilities.

    >>> Decisions().predict(np.array([[0.4, 0.6]]))
    array([[False,  True]])
    """

    intercept: float = 0.0
    slope: float = 1.0
    threshold: float = 0.5

    def probabilities(self, probability: Array) -> Array:
        """Calibrated probabilities; those given where nothing was learned."""
        if (self.intercept, self.slope) == (0.0, 1.0):
            return probability
        one = calibration.Calibration(np.array([[self.intercept]]), np.array([[self.slope]]))
        return np.asarray(one(calibration.logits_of(probability))[0])

    def predict(self, probability: Array) -> Array:
        """Which classes to say are in which bags, from the model's own probabilities."""
        return np.asarray(self.probabilities(probability) > self.threshold)


def learn(present: Array, out_of_fold: Array, labels: Labels, audit: Array, metric: str = "bag_accuracy") -> Decisions:
    """Calibration and threshold for the metric; arguments as for `estimate`."""
    expected = choose("metric of a decision", metric, EXPECTED)
    told = np.flatnonzero(~np.isnan(out_of_fold).any(axis=1))
    present, out_of_fold, labels, audit = present[told], out_of_fold[told], labels.select(told), audit[told]
    if labels.n_known < FEWEST or not (audit & labels.known).any():
        return Decisions()
    probability = np.where(labels.known, out_of_fold, present)
    found = calibration.most_likely(answers_of(probability, labels, audit))
    decisions = Decisions(float(found.intercept[0, 0]), float(found.slope[0, 0]))
    calibrated = decisions.probabilities(probability)
    values = [expected(calibrated, calibrated > threshold) for threshold in THRESHOLDS]
    share = labels.n_known / (labels.n_known + SHRUNK_BY)
    best = float(THRESHOLDS[int(np.argmax(values))])
    return Decisions(decisions.intercept, decisions.slope, 0.5 + share * (best - 0.5))


def _bag_accuracy(present: Array, predicted: Array) -> float:
    return float(expected_jaccard(present, predicted).mean())


def _hamming(present: Array, predicted: Array) -> float:
    return float(np.where(predicted, present, 1 - present).mean())


def _f1(present: Array, predicted: Array) -> float:
    return float(2 * (present * predicted).sum() / max(present.sum() + predicted.sum(), 1e-12))


EXPECTED: dict[str, Callable[[Array, Array], float]] = {
    "bag_accuracy": _bag_accuracy,
    "hamming_loss": _hamming,
    "f1": _f1,
}
