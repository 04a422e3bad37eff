"""Decisions: calibrated probabilities, and the threshold above which a class is said to be in a bag.

    P'(class in bag) = sigma(a + b logit P)                a, b from out-of-fold predictions (`calibration.py`)
    threshold = 1/2 + n / (n + SHRUNK_BY) (t - 1/2),   t best for the metric by the calibrated probabilities themselves

A class with enough answers of its own has a threshold of its own: its calibration leans on that of all classes, and for
metrics that are `BY_CLASS` (F1), so does the best t. Thresholds of classes are kept as they apply to the model's own
probabilities. Below `FEWEST` answers, or without an audit among them, nothing is changed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit

from bagwise.data import metrics
from bagwise.data.labels import Labels
from bagwise.data.metrics import DEFAULT, Metric
from bagwise.evaluation import calibration
from bagwise.evaluation.estimate import answers_of
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


def learn(
    present: Array,
    out_of_fold: Array,
    labels: Labels,
    audit: Array,
    metric: str | Callable[..., float] = DEFAULT,
) -> Decisions:
    """Calibration and threshold for the metric; arguments as for `estimate`."""
    best_for = metrics.get_estimable(metric)
    told = np.flatnonzero(~np.isnan(out_of_fold).any(axis=1))
    present, out_of_fold, labels, audit = present[told], out_of_fold[told], labels.select(told), audit[told]
    if labels.n_known < FEWEST or not (audit & labels.known).any():
        return Decisions()
    probability = np.where(labels.known, out_of_fold, present)
    answers = answers_of(probability, labels, audit)
    found = calibration.most_likely(answers)
    decisions = Decisions(float(found.intercept[0, 0]), float(found.slope[0, 0]))
    calibrated = decisions.probabilities(probability)
    share = labels.n_known / (labels.n_known + SHRUNK_BY)
    best = _best_threshold(best_for, calibrated)
    decisions = replace(decisions, threshold=0.5 + share * (best - 0.5))
    of_classes = calibration.most_likely_by_class(answers, labels.n_classes)
    return replace(decisions, of_classes=_of_classes(decisions, of_classes, probability, labels, best_for))


def _of_classes(
    decisions: Decisions, found: calibration.Calibration, probability: Array, labels: Labels, metric: Metric
) -> tuple[float, ...]:
    """A threshold for every class; that of all where the class has too few answers, and near it where it has few."""
    usual = decisions.thresholds(labels.n_classes)
    calibrated = found(calibration.logits_of(probability))[0]
    for c in np.flatnonzero(_tellable(labels)):
        best = _best_threshold(metric, calibrated[:, c : c + 1]) if metric.by_class else decisions.threshold
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


def _best_threshold(metric: Metric, calibrated: Array) -> float:
    """The threshold whose predictions have the best expected value of the metric; of equal ones the lowest."""
    assert metric.expected is not None
    values = [metric.goodness(metric.expected(calibrated, calibrated > threshold)) for threshold in THRESHOLDS]
    return float(THRESHOLDS[int(np.argmax(values))])
