"""Decisions: calibrated probabilities, and the threshold above which a class is said to be in a bag.

    P'(class in bag) = sigma(a + b logit P)                a, b from out-of-fold predictions (`calibration.py`)
    threshold = 1/2 + n / (n + SHRUNK_BY) (t - 1/2),   t best for the metric by the calibrated probabilities themselves

A class with enough answers of its own has a threshold of its own: its calibration leans on that of all classes, and for
F1, which is a matter of each class, so does the best t. Thresholds of classes are kept as they apply to the model's own
probabilities. Below `FEWEST` answers, or without an audit among them, nothing is changed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit

from bagwise.core.plugins import choose
from bagwise.data.labels import Labels
from bagwise.evaluation import calibration
from bagwise.evaluation.estimate import answers_of
from bagwise.evaluation.expected_jaccard import expected_jaccard
from bagwise.kernels import Array

FEWEST = 50
SHRUNK_BY = 100
FEWEST_OF_CLASS, FEWEST_OF_EITHER, CLASS_SHRUNK_BY = 30, 5, 50
THRESHOLDS = np.linspace(0.2, 0.8, 25)
SUREST = 1e-6


@dataclass(frozen=True)
class Decisions:
    """What to make of a model's probabilities.

    >>> Decisions().predict(np.array([[0.4, 0.6]]))
    array([[False,  True]])
    """

    intercept: float = 0.0
    slope: float = 1.0
    threshold: float = 0.5
    of_classes: tuple[float, ...] = ()

    def thresholds(self, n_classes: int) -> Array:
        """Where to cut the model's own probabilities of every class."""
        usual = _uncalibrated(self.threshold, self.intercept, self.slope)
        return np.array(self.of_classes or [usual] * n_classes)

    def probabilities(self, probability: Array) -> Array:
        """Calibrated probabilities; those given where nothing was learned."""
        if (self.intercept, self.slope) == (0.0, 1.0):
            return probability
        one = calibration.Calibration(np.array([[self.intercept]]), np.array([[self.slope]]))
        return np.asarray(one(calibration.logits_of(probability))[0])

    def predict(self, probability: Array) -> Array:
        """Which classes to say are in which bags, from the model's own probabilities."""
        return np.asarray(probability > self.thresholds(probability.shape[1]))


def learn(present: Array, out_of_fold: Array, labels: Labels, audit: Array, metric: str = "bag_accuracy") -> Decisions:
    """Calibration and threshold for the metric; arguments as for `estimate`."""
    expected = choose("metric of a decision", metric, EXPECTED)
    told = np.flatnonzero(~np.isnan(out_of_fold).any(axis=1))
    present, out_of_fold, labels, audit = present[told], out_of_fold[told], labels.select(told), audit[told]
    if labels.n_known < FEWEST or not (audit & labels.known).any():
        return Decisions()
    probability = np.where(labels.known, out_of_fold, present)
    answers = answers_of(probability, labels, audit)
    found = calibration.most_likely(answers)
    decisions = Decisions(float(found.intercept[0, 0]), float(found.slope[0, 0]))
    calibrated = decisions.probabilities(probability)
    values = [expected(calibrated, calibrated > threshold) for threshold in THRESHOLDS]
    share = labels.n_known / (labels.n_known + SHRUNK_BY)
    best = float(THRESHOLDS[int(np.argmax(values))])
    decisions = replace(decisions, threshold=0.5 + share * (best - 0.5))
    of_classes = calibration.most_likely_by_class(answers, labels.n_classes)
    return replace(decisions, of_classes=_of_classes(decisions, of_classes, probability, labels, metric))


def _of_classes(
    decisions: Decisions, found: calibration.Calibration, probability: Array, labels: Labels, metric: str
) -> tuple[float, ...]:
    """A threshold for every class; that of all where the class has too few answers, and near it where it has few."""
    usual = decisions.thresholds(labels.n_classes)
    calibrated = found(calibration.logits_of(probability))[0]
    for c in np.flatnonzero(_tellable(labels)):
        best = decisions.threshold
        if metric == "f1":
            best = float(max(THRESHOLDS, key=lambda t: _f1(calibrated[:, c], calibrated[:, c] > t)))
        own = _uncalibrated(best, float(found.intercept[0, c]), float(found.slope[0, c]))
        share = labels.known[:, c].sum() / (labels.known[:, c].sum() + CLASS_SHRUNK_BY)
        usual[c] = expit(logit(usual[c]) + share * (logit(own) - logit(usual[c])))
    return tuple(float(one) for one in usual)


def _tellable(labels: Labels) -> Array:
    """Which classes have enough labels, of either kind, for a threshold of their own."""
    present, known = labels.value.sum(axis=0), labels.known.sum(axis=0)
    either = np.minimum(present, known - present)
    return np.asarray((known >= FEWEST_OF_CLASS) & (either >= FEWEST_OF_EITHER))


def _uncalibrated(threshold: float, intercept: float, slope: float) -> float:
    """The model's own probability that calibration makes the threshold."""
    return float(np.clip(expit((logit(threshold) - intercept) / slope), SUREST, 1 - SUREST))


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
