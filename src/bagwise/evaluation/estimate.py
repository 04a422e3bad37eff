"""How good the model is on the bags of the pool, and how many of them have each class, with 95 % intervals.

The model is judged by predictions that it makes without the labels of the bag, as if nothing were known of it. Every
draw is a set of labels of all bags that agrees with what is known (`open_pairs.py`). Of each follow

    every metric   its value for the predicted sets              (those of `data/metrics` with an expected value)
    precision_c    TP / (TP + FP)
    recall_c       TP / (TP + FN)
    prevalence_c   (TP + FN) / bags

The estimate is the median of the draws and the interval their middle 95 %. An edge that is less than half a case away
from 0 or 1 is 0 or 1: so few cases cannot tell the difference.
"""

from dataclasses import dataclass, field

import numpy as np

from bagwise.data import metrics
from bagwise.data.labels import Labels
from bagwise.data.metrics import THRESHOLD
from bagwise.evaluation import open_pairs
from bagwise.kernels import Array

DRAWS = 400
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

    def complement(self) -> "Interval":
        """Return that of 1 minus the share: of recall what is missed, of precision what is a false alarm.

        Returns
        -------
        Interval

        Examples
        --------
        >>> Interval(0.75, 0.5, 1.0).complement()
        Interval(value=0.25, low=0.0, high=0.5)
        """
        return Interval(1 - self.value, 1 - self.high, 1 - self.low)

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class ClassQuality:
    """Precision, recall and prevalence of a class; None where it is never predicted, not found yet, or too early.

    Parameters
    ----------
    precision : Interval or None
        The share of bags with the class among those it is predicted in.
    recall : Interval or None
        The share of bags it is predicted in among those with the class.
    prevalence : Interval or None
        The share of bags with the class.

    Examples
    --------
    >>> quality = ClassQuality(precision=Interval(0.9, 0.8, 0.95))
    >>> quality.precision.low
    0.8
    """

    precision: Interval | None = None
    recall: Interval | None = None
    prevalence: Interval | None = None


@dataclass(frozen=True)
class Quality:
    """The quality of the current model on the bags of the pool.

    Parameters
    ----------
    answers, audits : int
        Number of known labels, and how many of them are answers to audit questions.
    metrics : dict of str to Interval or None
        Every metric that has an expected value; None where there are too few answers.
    classes : tuple of ClassQuality
        Precision, recall and prevalence of every class.

    Examples
    --------
    >>> Quality(answers=3, audits=1).metrics["bag_accuracy"] is None
    True
    """

    answers: int
    audits: int
    metrics: dict[str, Interval | None] = field(default_factory=lambda: dict.fromkeys(metrics.estimable()))
    classes: tuple[ClassQuality, ...] = ()


def estimate(
    out_of_fold: Array, labels: Labels, audit: Array, *, belief: Array | None = None, seed: int = 0
) -> Quality:
    """Estimate the quality of a model. The same input gives the same estimate.

    Give `belief` where questions were chosen by a model: without it intervals hold the truth less often where most
    classes are rare (`docs/quality.md`).

    Parameters
    ----------
    out_of_fold : ndarray, shape (B, C)
        P(class is in bag) by the model, without the labels of the bag (`crossfit`); bags with NaN are left out.
    labels : Labels
        The known labels.
    audit : ndarray of bool, shape (B, C)
        Which of the known labels are answers to questions drawn at random.
    belief : ndarray, shape (B, C), optional
        P(class is in bag) by the model that did not know the label yet: of a known pair when it was asked, of an open
        one now; `out_of_fold` where it is NaN, or not given.
    seed : int
        Seed of the draws.

    Returns
    -------
    Quality

    Examples
    --------
    >>> probability = np.tile([[0.9, 0.2], [0.3, 0.8]], (20, 1))
    >>> labels = Labels.from_array(np.tile([[1, 0], [0, 1]], (20, 1)))
    >>> quality = estimate(probability, labels, audit=labels.known)
    >>> quality.answers, quality.metrics["bag_accuracy"].value > 0.9
    (80, True)
    """
    usable = np.flatnonzero(~np.isnan(out_of_fold).any(axis=1))
    believed = out_of_fold if belief is None else np.where(np.isnan(belief), out_of_fold, belief)
    probability, believed, labels, audit = out_of_fold[usable], believed[usable], labels.select(usable), audit[usable]
    audits = int((audit & labels.known).sum())
    if labels.n_known < FEWEST_ANSWERS:
        return Quality(labels.n_known, audits, classes=(ClassQuality(),) * labels.n_classes)
    rng = np.random.default_rng([seed, labels.n_known])
    errors = open_pairs.learn(probability, believed, labels, audit, DRAWS, rng)
    some = _some(len(labels), rng)
    predicted, known = probability[some] > THRESHOLD, labels.select(some)
    estimated = list(metrics.estimable().values())
    values, counts = [], []
    for drawn in errors.label_sets(probability[some], believed[some], known, rng):
        values.append([metric(drawn, predicted) for metric in estimated])
        counts.append([(drawn & predicted).sum(axis=0), drawn.sum(axis=0)])
    cases = {"bags": len(predicted), "pairs": predicted.size}
    return Quality(
        labels.n_known,
        audits,
        {
            metric.name: Interval.of(of_metric, cases[metric.resolution])
            for metric, of_metric in zip(estimated, np.transpose(values), strict=True)
        },
        _of_classes(np.array(counts), predicted, labels.value.sum(axis=0) > 0),
    )


def _some(bags: int, rng: np.random.Generator) -> Array:
    """Return all bags, or `MOST_BAGS` of them: more would hardly change the estimate."""
    return np.arange(bags) if bags <= MOST_BAGS else np.sort(rng.choice(bags, MOST_BAGS, replace=False))


def _of_classes(counts: Array, predicted: Array, found: Array) -> tuple[ClassQuality, ...]:
    """Return what the draws say of every class, from hits and bags with the class, (draws, 2, C)."""
    bags, n_predicted = len(predicted), predicted.sum(axis=0)

    def of_class(c: int) -> ClassQuality:
        hits, having = counts[:, 0, c], counts[:, 1, c]
        return ClassQuality(
            Interval.of(hits / n_predicted[c], n_predicted[c]) if n_predicted[c] else None,
            Interval.of(hits / np.maximum(having, 1), float(np.median(having))) if found[c] else None,
            Interval.of(having / bags, bags),
        )

    return tuple(of_class(c) for c in range(predicted.shape[1]))
