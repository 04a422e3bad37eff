"""How good the current model is on new bags of the same source, with 95 % intervals.

Every draw takes a calibration from its posterior (`calibration.py`) and weights on the bags (Bayesian bootstrap, since
the bags are a sample themselves), and computes with the calibrated probabilities q of every pair

    every metric   its expected value under q and w              (`expected` in `data/metrics`)
    precision_c    TP / (TP + FP),   TP = sum_b w_b q_bc [predicted] + half a bag, ...
    recall_c       TP / (TP + FN)

The estimate is the median of the draws and the interval their middle 95 %. An edge that is less than half a case away
from 0 or 1 is 0 or 1: so few cases cannot tell the difference.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from bagwise.data import metrics
from bagwise.data.labels import Labels
from bagwise.data.metrics import THRESHOLD, Metric
from bagwise.evaluation import calibration
from bagwise.kernels import Array

DRAWS = 400
PSEUDO_CASES = 0.5
MOST_BAGS = 2000
FEWEST_ANSWERS = 10
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """An estimate with an interval that contains the true value in 95 of 100 projects.

    Parameters
    ----------
    value : float
        The estimate.
    low, high : float
        The ends of the interval, which contains them.

    Examples
    --------
    >>> 0.85 in Interval(value=0.9, low=0.8, high=0.95)
    True
    """

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, draws: Array, cases: float) -> "Interval":
        """Return the median and the middle 95 % of the draws, with edges as fine as this number of cases allows.

        Parameters
        ----------
        draws : ndarray of float, shape (n_draws,)
            Values between 0 and 1, drawn from what is believed.
        cases : float
            The number of cases, as bags, that the value is a share of.

        Returns
        -------
        Interval
        """
        low, value, high = np.quantile(draws, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2])
        half = 0.5 / max(cases, 1)
        return cls(float(value), 0.0 if low < half else float(low), 1.0 if high > 1 - half else float(high))

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class ClassQuality:
    """Precision and recall of a class; None where it is never predicted, or present in no known label.

    Parameters
    ----------
    precision : Interval or None
        The share of bags with the class among those it is predicted in.
    recall : Interval or None
        The share of bags it is predicted in among those with the class.

    Examples
    --------
    >>> quality = ClassQuality(precision=Interval(0.9, 0.8, 0.95), recall=None)
    >>> quality.precision.low
    0.8
    """

    precision: Interval | None
    recall: Interval | None


@dataclass(frozen=True)
class Quality:
    """The quality of the current model on new bags.

    Parameters
    ----------
    answers, audits : int
        Number of known labels, and how many of them are answers to audit questions.
    metrics : dict of str to Interval or None
        Every metric that has an expected value; None where there are too few answers.
    classes : tuple of ClassQuality
        Precision and recall of every class.

    Examples
    --------
    >>> Quality(answers=3, audits=1).metrics["bag_accuracy"] is None
    True
    """

    answers: int
    audits: int
    metrics: dict[str, Interval | None] = field(default_factory=lambda: dict.fromkeys(metrics.estimable()))
    classes: tuple[ClassQuality, ...] = ()


def estimate(present: Array, out_of_fold: Array, labels: Labels, audit: Array, seed: int = 0) -> Quality:
    """Estimate the quality of a model. The same input gives the same estimate.

    Parameters
    ----------
    present : ndarray, shape (B, C)
        P(class is in bag) by the model.
    out_of_fold : ndarray, shape (B, C)
        The same without the labels of the bag (`crossfit`); bags with NaN are left out.
    labels : Labels
        The known labels.
    audit : ndarray of bool, shape (B, C)
        Which of the known labels are answers to questions drawn at random.
    seed : int
        Seed of the draws.

    Returns
    -------
    Quality

    Examples
    --------
    >>> probability = np.tile([[0.9, 0.2], [0.3, 0.8]], (20, 1))
    >>> labels = Labels.from_array(np.tile([[1, 0], [0, 1]], (20, 1)))
    >>> quality = estimate(probability, probability, labels, audit=labels.known)
    >>> quality.answers, quality.metrics["bag_accuracy"].value > 0.9
    (80, True)
    """
    usable = np.flatnonzero(~np.isnan(out_of_fold).any(axis=1))
    present, out_of_fold, labels, audit = present[usable], out_of_fold[usable], labels.select(usable), audit[usable]
    audits = int((audit & labels.known).sum())
    if labels.n_known < FEWEST_ANSWERS:
        return Quality(labels.n_known, audits, classes=(ClassQuality(None, None),) * labels.n_classes)
    rng = np.random.default_rng([seed, labels.n_known])
    probability = np.where(labels.known, out_of_fold, present)
    answers = answers_of(probability, labels, audit)
    seen = _some(len(labels), rng)
    predicted, logits = probability[seen] > THRESHOLD, calibration.logits_of(probability[seen])
    weights = rng.exponential(size=(DRAWS, len(seen)))
    weights /= weights.sum(axis=1, keepdims=True)
    whole = calibration.overall(answers, DRAWS, rng)
    of_classes = calibration.by_class(answers, labels.n_classes, DRAWS, rng)
    return Quality(
        labels.n_known,
        audits,
        _of_metrics(metrics.estimable(), whole, logits, predicted, weights),
        _of_classes(of_classes, logits, predicted, weights, labels, rng),
    )


def answers_of(probability: Array, labels: Labels, audit: Array) -> calibration.Answers:
    """Return every known label with the prediction that was made without it."""
    bags, classes = np.nonzero(labels.known)
    return calibration.Answers(
        classes,
        calibration.logits_of(probability[bags, classes]),
        labels.value[bags, classes].astype(float),
        audit[bags, classes].astype(bool),
    )


def _some(bags: int, rng: np.random.Generator) -> Array:
    """Return all bags, or `MOST_BAGS` of them: more would hardly change the estimate."""
    return np.arange(bags) if bags <= MOST_BAGS else np.sort(rng.choice(bags, MOST_BAGS, replace=False))


def _each(calibrated: calibration.Calibration, logits: Array, value: Callable[[int, Array], Array]) -> Array:
    """Return value(draw, P(present)) of every draw: one at a time, since all together would not fit in memory."""
    draws = range(len(calibrated.intercept))
    one = (
        calibration.Calibration(calibrated.intercept[i : i + 1], calibrated.slope[i : i + 1])(logits)[0] for i in draws
    )
    return np.array([value(i, present) for i, present in enumerate(one)])


def _of_metrics(
    estimated: Mapping[str, Metric],
    calibrated: calibration.Calibration,
    logits: Array,
    predicted: Array,
    weights: Array,
) -> dict[str, Interval | None]:
    expected = [metric.expected for metric in estimated.values() if metric.expected is not None]
    draws = _each(calibrated, logits, lambda i, q: np.array([value(q, predicted, weights[i]) for value in expected]))
    cases = {"bags": len(predicted), "pairs": predicted.size}
    return {
        name: Interval.of(draws[:, column], cases[metric.resolution])
        for column, (name, metric) in enumerate(estimated.items())
    }


def _of_classes(
    calibrated: calibration.Calibration,
    logits: Array,
    predicted: Array,
    weights: Array,
    labels: Labels,
    rng: np.random.Generator,
) -> tuple[ClassQuality, ...]:
    def counts(i: int, q: Array) -> Array:
        cases = np.stack([q * predicted, (1 - q) * predicted, q * ~predicted])
        return np.asarray(np.tensordot(weights[i], cases, axes=(0, 1)))

    unseen = rng.gamma(PSEUDO_CASES, size=(DRAWS, 3, labels.n_classes)) / len(predicted)
    hits, false, missed = np.moveaxis(_each(calibrated, logits, counts) + unseen, 1, 0)
    share = (hits / (hits + false), hits / (hits + missed))
    cases = (predicted.sum(axis=0), len(predicted) * np.median(hits + missed, axis=0))
    estimable = (predicted.sum(axis=0) > 0, labels.value.sum(axis=0) > 0)
    return tuple(
        ClassQuality(*(Interval.of(share[k][:, c], cases[k][c]) if estimable[k][c] else None for k in range(2)))
        for c in range(labels.n_classes)
    )
