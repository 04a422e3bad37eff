"""Decisions: calibrated probabilities, and the threshold above which a class is predicted.

    P'(class in bag) = sigma(a + b logit P)                a, b from out-of-fold predictions (`calibration.py`)
    threshold = 1/2 + n / (n + SHRUNK_BY) (t - 1/2),   t best for the metric by the calibrated probabilities themselves

A class with enough answers has its own threshold: its calibration is shrunk towards that of all classes, and for
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
from bagwise.kernels import Array

FEWEST = 50
SHRUNK_BY = 100
FEWEST_OF_CLASS, FEWEST_OF_EITHER, CLASS_SHRUNK_BY = 30, 5, 50
THRESHOLDS = np.linspace(0.2, 0.8, 25)
SUREST = 1e-6


@dataclass(frozen=True)
class Decisions:
    """A calibration of a model's probabilities and thresholds for them.

    Examples
    --------
    >>> Decisions().predict(np.array([[0.4, 0.6]]))
    array([[False,  True]])
    """

    intercept: float = 0.0
    slope: float = 1.0
    threshold: float = 0.5
    of_classes: tuple[float, ...] = ()

    def thresholds(self, n_classes: int) -> Array:
        """Return the threshold of every class for the uncalibrated probabilities, shape (C,)."""
        usual = _uncalibrated(self.threshold, self.intercept, self.slope)
        return np.array(self.of_classes or [usual] * n_classes)

    def probabilities(self, probability: Array) -> Array:
        """Return calibrated probabilities; the given ones where nothing was learned."""
        if (self.intercept, self.slope) == (0.0, 1.0):
            return probability
        one = calibration.Calibration(np.array([self.intercept]), np.array([self.slope]))
        return one(calibration.logits_of(probability))

    def predict(self, probability: Array) -> Array:
        """Return which classes are predicted, shape (B, C), from the uncalibrated probabilities."""
        return np.asarray(probability > self.thresholds(probability.shape[1]))


def learn(
    present: Array,
    out_of_fold: Array,
    labels: Labels,
    audit: Array,
    metric: str | Callable[..., float] = DEFAULT,
) -> Decisions:
    """Return the calibration and the thresholds that are best for a metric.

    Parameters
    ----------
    present : ndarray, shape (B, C)
        P(class is in bag) by the model.
    out_of_fold, labels, audit
        As for `bagwise.evaluation.estimate`.
    metric : str or callable
        A metric that has an expected value (`bagwise.metrics`), as "bag_accuracy" or "f1".

    Returns
    -------
    Decisions
        Unchanged defaults with fewer than 50 answers or without an audit among them.

    Examples
    --------
    >>> probability = np.tile([[0.9, 0.2], [0.3, 0.8]], (20, 1))
    >>> labels = Labels.from_array(np.tile([[1, 0], [0, 1]], (20, 1)))
    >>> learn(probability, probability, labels, audit=labels.known, metric="f1").predict(probability)[:2]
    array([[ True, False],
           [False,  True]])
    """
    best_for = metrics.get_estimable(metric)
    usable = np.flatnonzero(~np.isnan(out_of_fold).any(axis=1))
    present, out_of_fold, labels, audit = present[usable], out_of_fold[usable], labels.select(usable), audit[usable]
    if labels.n_known < FEWEST or not (audit & labels.known).any():
        return Decisions()
    probability = np.where(labels.known, out_of_fold, present)
    answers = calibration.Answers.of(probability, labels, audit)
    found = calibration.most_likely(answers)
    decisions = Decisions(float(found.intercept[0]), float(found.slope[0]))
    calibrated = decisions.probabilities(probability)
    share = labels.n_known / (labels.n_known + SHRUNK_BY)
    best = _best_threshold(best_for, calibrated)
    decisions = replace(decisions, threshold=0.5 + share * (best - 0.5))
    of_classes = calibration.most_likely_by_class(answers, labels.n_classes)
    return replace(decisions, of_classes=_of_classes(decisions, of_classes, probability, labels, best_for))


def _of_classes(
    decisions: Decisions, found: calibration.Calibration, probability: Array, labels: Labels, metric: Metric
) -> tuple[float, ...]:
    """Return a threshold for every class: the common one where it has too few answers, and near it where few."""
    usual = decisions.thresholds(labels.n_classes)
    calibrated = found(calibration.logits_of(probability))
    for c in np.flatnonzero(_has_enough_labels(labels)):
        best = _best_threshold(metric, calibrated[:, c : c + 1]) if metric.by_class else decisions.threshold
        own = _uncalibrated(best, float(found.intercept[c]), float(found.slope[c]))
        share = labels.known[:, c].sum() / (labels.known[:, c].sum() + CLASS_SHRUNK_BY)
        usual[c] = expit(logit(usual[c]) + share * (logit(own) - logit(usual[c])))
    return tuple(float(one) for one in usual)


def _has_enough_labels(labels: Labels) -> Array:
    """Return which classes have enough labels, present and absent, for their own threshold."""
    present, known = labels.value.sum(axis=0), labels.known.sum(axis=0)
    either = np.minimum(present, known - present)
    return np.asarray((known >= FEWEST_OF_CLASS) & (either >= FEWEST_OF_EITHER))


def _uncalibrated(threshold: float, intercept: float, slope: float) -> float:
    """Return the uncalibrated probability that calibration maps to the threshold."""
    return float(np.clip(expit((logit(threshold) - intercept) / slope), SUREST, 1 - SUREST))


def _best_threshold(metric: Metric, calibrated: Array) -> float:
    """The threshold whose predictions have the best expected value of the metric; of equal ones the lowest."""
    assert metric.expected is not None
    values = [metric.goodness(metric.expected(calibrated, calibrated > threshold)) for threshold in THRESHOLDS]
    return float(THRESHOLDS[int(np.argmax(values))])
