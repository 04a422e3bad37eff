"""Bayesian calibration, learned from the answers: from predicted probabilities to how often they are right.

    logit P(class c in bag b) = a + b l_bc + [chosen] (d0 + d1 l_bc) + a_c + b_c l_bc,      l = logit of the prediction

`l` is a prediction made without the pair's own label. Audit questions are drawn at random from all open pairs, so they
determine (a, b) directly. Chosen questions are harder than others with the same prediction; they are allowed their own
intercept and slope, off by some (d0, d1) ~ N((0, SLOPE_OF_CHOSEN), DEVIATION). So chosen answers, however many,
determine (a, b) up to that difference, and audits determine the rest. Class effects (a_c, b_c) ~ N(0, CLASS) carry
precision and recall; for them a chosen answer counts as CHOSEN_WEIGHT of one. Slopes are in units of b.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from bagwise.data.labels import Labels
from bagwise.kernels import Array

LARGEST_LOGIT = 8.0
INTERCEPT, SLOPE = 1.5, 1.5
DEVIATION = (0.5, 0.3)
SLOPE_OF_CHOSEN = -0.18
CLASS = (1.15, 0.6)
CHOSEN_WEIGHT = 0.25
LEAST_SLOPE, LEAST_SLOPE_UNIT = 0.05, 0.3
NEWTON_STEPS, CLOSE_ENOUGH = 60, 1e-6


@dataclass(frozen=True)
class Answers:
    """Known labels, one row each: the class, the logit of a prediction made without it, and whether it is an audit."""

    classes: Array
    logits: Array
    present: Array
    audit: Array

    def __len__(self) -> int:
        return len(self.classes)

    @classmethod
    def of(cls, probability: Array, labels: Labels, audit: Array) -> "Answers":
        """Return every known label with the prediction that was made without it."""
        known = np.nonzero(labels.known)
        return cls(
            known[1], logits_of(probability[known]), labels.value[known].astype(float), audit[known].astype(bool)
        )


@dataclass(frozen=True)
class Calibration:
    """Intercept and slope: (1,) for all classes alike, or (classes,)."""

    intercept: Array
    slope: Array

    def __call__(self, logits: Array) -> Array:
        """Return P(present), shape (bags, classes)."""
        return np.asarray(expit(self.intercept + self.slope * logits))


def logits_of(probability: Array) -> Array:
    """Return logits, limited so that an overconfident model does not dominate everything else."""
    return np.asarray(np.clip(logit(np.clip(probability, 1e-12, 1 - 1e-12)), -LARGEST_LOGIT, LARGEST_LOGIT))


def most_likely(answers: Answers) -> Calibration:
    """Return the calibration for all classes together where the posterior is highest."""
    mean, spread = _prior(answers)
    mode, _ = posterior_mode(_shared(answers), answers.present, np.ones(len(answers)), mean, spread**-2.0)
    return Calibration(mode[:1], np.maximum(mode[1:2], LEAST_SLOPE))


def most_likely_by_class(answers: Answers, n_classes: int) -> Calibration:
    """Return the calibration for every class where the posterior is highest."""
    design, present, weights, mean, spread = _with_classes(answers, n_classes)
    mode, _ = posterior_mode(design, present, weights, mean, spread**-2.0)
    intercept, slope = mode[-2 * n_classes : -n_classes], mode[-n_classes:]
    return Calibration(mode[0] + intercept, np.maximum(mode[1] + slope, LEAST_SLOPE))


def _with_classes(answers: Answers, n_classes: int) -> tuple[Array, Array, Array, Array, Array]:
    """Return the design, the labels, the weights, and mean and spread of (a, b, d0, d1, a_c, b_c)."""
    rows = np.arange(len(answers))
    effects = np.zeros((len(answers), 2 * n_classes))
    effects[rows, answers.classes] = 1
    effects[rows, n_classes + answers.classes] = answers.logits
    mean, spread = _prior(answers)
    spread_of_effects = np.repeat([CLASS[0], CLASS[1] * _slope_unit(answers)], n_classes)
    return (
        np.hstack([_shared(answers), effects]),
        answers.present,
        np.where(answers.audit, 1.0, CHOSEN_WEIGHT),
        np.concatenate([mean, np.zeros(2 * n_classes)]),
        np.concatenate([spread, spread_of_effects]),
    )


def _shared(answers: Answers) -> Array:
    chosen = ~answers.audit
    return np.column_stack([np.ones(len(answers)), answers.logits, chosen, chosen * answers.logits])


def _prior(answers: Answers) -> tuple[Array, Array]:
    """Mean and spread of (a, b, d0, d1)."""
    unit = _slope_unit(answers)
    return np.array([0, 1, 0, SLOPE_OF_CHOSEN * unit]), np.array([INTERCEPT, SLOPE, DEVIATION[0], DEVIATION[1] * unit])


def _slope_unit(answers: Answers) -> float:
    """Return the slope fitted to all answers together: 0.4 for letters, 2.3 for digits."""
    simple = _shared(answers)[:, :2]
    mode, _ = posterior_mode(
        simple, answers.present, np.ones(len(answers)), np.array([0.0, 1.0]), np.array([INTERCEPT, SLOPE]) ** -2.0
    )
    return max(float(mode[1]), LEAST_SLOPE_UNIT)


def posterior_mode(design: Array, present: Array, weights: Array, mean: Array, precision: Array) -> tuple[Array, Array]:
    """Return the mode of a logistic posterior and its curvature, by Newton steps that are halved until the cost falls.

    Parameters
    ----------
    design : ndarray, shape (answers, p)
        Log-odds of *present* are `design @ point`.
    present, weights : ndarray, shape (answers,)
        The answers, and how much each counts.
    mean, precision : ndarray, shape (p,)
        Of the normal prior.

    Returns
    -------
    mode : ndarray, shape (p,)
    curvature : ndarray, shape (p, p)
    """

    def cost(point: Array) -> float:
        margin = design @ point
        return float(weights @ (np.logaddexp(0, margin) - present * margin) + precision @ (point - mean) ** 2 / 2)

    point = mean.astype(float)
    for _ in range(NEWTON_STEPS):
        probability = expit(design @ point)
        gradient = design.T @ (weights * (probability - present)) + precision * (point - mean)
        curvature = (design.T * (weights * probability * (1 - probability))) @ design + np.diag(precision)
        step = np.linalg.solve(curvature, gradient)
        current = cost(point)
        while cost(point - step) > current and np.abs(step).max() > CLOSE_ENOUGH:
            step = step / 2
        point = point - step
        if np.abs(step).max() < CLOSE_ENOUGH:
            break
    return point, curvature
