"""What open pairs may be: labels of the whole pool, drawn from what the answers tell of the model's errors.

Known labels stay as they are. An open pair is unlike its prediction, which was made without the labels of its bag, with

    log-odds of an error = s f(l, z) + shift[side] + effect[side, class],       l = logit of the prediction

    f(l, z)  log-odds of *present*, a + b h(l) + c h(z), h(x) = sign(x) log(1 + |x|), fitted to all answers; z is the
             logit of what the model believed before it knew the label: of an answered pair when it was asked, of an
             open one now. A question is chosen for what the model believes then, so that its answer tells of open
             pairs with the same belief, however few of them are chosen. s = 1 where the class is not predicted, -1
             where it is
    shift    of each side (predicted or not): chosen questions are harder all the same, since a criterion looks at more
             than beliefs, so that the open pairs with the same prediction are wrong less or more often; audits, which
             are drawn at random, tell by how much. Where few of the open pairs are predicted, what is predicted of them
             is wrong more often than chosen pairs tell (by 0.8 in log-odds at a share of 8 %, by nothing from 25 % on):
             the median before any audit is FEW_PREDICTED[0] - FEW_PREDICTED[1] logit(share), within FEWEST_AND_MOST.
             The shift of a source that was not seen before can hardly be predicted (`benchmarks/audit_limits.py`),
             hence the wide prior around these
    effect   of a class: N(-g^2/2, g^2), so that a typical class may differ and the mean of all does not; audits of the
             class alone tell it, since the errors of chosen pairs of a class do not predict those of its open ones
             (correlation of their effects -0.2 to 0.3 on six data sets)

f: Laplace. Shift and effects: exact posteriors on grids, the effects integrated out of that of the shift.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logsumexp, xlog1py

from bagwise.data.labels import Labels
from bagwise.data.metrics import THRESHOLD
from bagwise.evaluation import calibration
from bagwise.kernels import Array

CURVE = np.array([0.0, 0.7, 0.7])
CURVE_SPREAD = np.array([1.5, 0.7, 0.7])
SHIFT_OF_ABSENT = -0.2
"""Median of the shift where the class is not predicted."""
FEW_PREDICTED, FEWEST_AND_MOST = (-0.45, 0.5), (-0.1, 1.0)
SHIFT_SPREAD, SHIFT_FREEDOM = 0.7, 4
CLASS_SPREAD = 0.9
SHIFTS = np.linspace(-4.0, 4.0, 161)
QUANTILES = np.linspace(-3.5, 3.5, 71)
"""Of the standard normal distribution: the grid of class effects."""
TOGETHER = np.linspace(-7.5, 6.5, 281)
"""Sums of a shift and an effect; their likelihood is interpolated between these."""


@dataclass(frozen=True)
class ErrorModel:
    """Draws of everything that the error of an open pair depends on.

    Parameters
    ----------
    curve : ndarray, shape (draws, 3)
        Coefficients of f.
    effects : ndarray, shape (draws, 2, C)
        Shift plus effect of a class, where it is not predicted and where it is.
    """

    curve: Array
    effects: Array

    def label_sets(
        self, probability: Array, belief: Array, labels: Labels, rng: np.random.Generator
    ) -> Iterator[Array]:
        """Yield the labels of all bags, (B, C) of bool, once for every draw.

        Parameters
        ----------
        probability : ndarray, shape (B, C)
            P(class is in bag), predicted without the labels of the bag.
        belief : ndarray, shape (B, C)
            P(class is in bag), as the model believed before it knew the label.
        labels : Labels
            The known labels, which every draw has.
        rng : numpy.random.Generator
            Draws the errors.
        """
        features, predicted = _features(probability, belief), probability > THRESHOLD
        side = np.where(predicted, -1.0, 1.0)
        for curve, effects in zip(self.curve, self.effects, strict=True):
            wrong = rng.random(predicted.shape) < expit(
                side * (features @ curve) + np.where(predicted, effects[1], effects[0])
            )
            yield np.where(labels.known, labels.value, predicted ^ wrong)


def learn(
    probability: Array, belief: Array, labels: Labels, audit: Array, draws: int, rng: np.random.Generator
) -> ErrorModel:
    """Learn how open pairs differ from their predictions.

    Parameters
    ----------
    probability : ndarray, shape (B, C)
        P(class is in bag), predicted without the labels of the bag.
    belief : ndarray, shape (B, C)
        P(class is in bag), as the model believed before it knew the label.
    labels : Labels
        The known labels, at least one.
    audit : ndarray of bool, shape (B, C)
        Which of them are answers to questions drawn at random.
    draws : int
        Number of draws.
    rng : numpy.random.Generator
        Draws them.

    Returns
    -------
    ErrorModel

    Examples
    --------
    >>> probability = np.full((50, 2), 0.2)
    >>> labels = Labels.from_array(np.where(np.arange(50)[:, None] < 20, [[1, 0]], np.nan))
    >>> rng = np.random.default_rng(0)
    >>> model = learn(probability, probability, labels, labels.known, draws=200, rng=rng)
    >>> sets = model.label_sets(probability, probability, labels, rng)
    >>> shares = np.mean([labels[20:].mean(axis=0) for labels in sets], axis=0)
    >>> bool(shares[0] > 0.7 > 0.3 > shares[1])
    True
    """
    features, value = _features(probability, belief), labels.value.astype(float)
    known = features[labels.known]
    mode, curvature = calibration.posterior_mode(
        known, value[labels.known], np.ones(len(known)), CURVE, CURVE_SPREAD**-2.0
    )
    curve = mode + np.linalg.solve(np.linalg.cholesky(curvature).T, rng.standard_normal((len(mode), draws))).T
    predicted, audited = probability > THRESHOLD, audit & labels.known
    effects = np.empty((draws, 2, labels.n_classes))
    medians = SHIFT_OF_ABSENT, _shift_of_predicted(predicted[~labels.known])
    for side, sign in enumerate((1.0, -1.0)):
        of_side = audited & (predicted == bool(side))
        bags, classes = np.nonzero(of_side)
        log_odds = sign * (features[bags, classes] @ mode)
        wrong = labels.value[bags, classes] != predicted[bags, classes]
        by_class = [(log_odds[classes == c], wrong[classes == c]) for c in range(labels.n_classes)]
        effects[:, side] = _draw_effects(by_class, medians[side], draws, rng)
    return ErrorModel(curve, effects)


def _shift_of_predicted(predicted: Array) -> float:
    """Return the median of the shift where the class is predicted, from which open pairs are."""
    return float(np.clip(FEW_PREDICTED[0] - FEW_PREDICTED[1] * _log_odds(predicted), *FEWEST_AND_MOST))


def _log_odds(true: Array) -> float:
    return float(np.log((np.count_nonzero(true) + 0.5) / (np.count_nonzero(~true) + 0.5)))


def _features(probability: Array, belief: Array) -> Array:
    """What f is linear in, shape (B, C, 3)."""
    levelled = (
        np.sign(logits) * np.log1p(np.abs(logits)) for logits in map(calibration.logits_of, (probability, belief))
    )
    return np.stack([np.ones_like(probability), *levelled], axis=-1)


def _draw_effects(by_class: list[tuple[Array, Array]], median: float, draws: int, rng: np.random.Generator) -> Array:
    """Return shift plus effect of every class of one side, (draws, C), from the audits of each class."""
    effects = CLASS_SPREAD * QUANTILES - CLASS_SPREAD**2 / 2
    prior = -(QUANTILES**2) / 2 - logsumexp(-(QUANTILES**2) / 2)
    likelihoods = [_log_likelihood(*audits) for audits in by_class]
    posterior = -xlog1py((SHIFT_FREEDOM + 1) / 2, ((SHIFTS - median) / SHIFT_SPREAD) ** 2 / SHIFT_FREEDOM)
    for likelihood in likelihoods:
        posterior = posterior + logsumexp(_at(SHIFTS[:, None] + effects, likelihood) + prior, axis=1)
    shifts = SHIFTS[_drawn(np.broadcast_to(posterior, (draws, len(SHIFTS))), rng)]
    together = shifts[:, None] + effects
    chosen = [_drawn(_at(together, likelihood) + prior, rng) for likelihood in likelihoods]
    return np.stack([together[np.arange(draws), one] for one in chosen], axis=1)


def _log_likelihood(log_odds: Array, wrong: Array) -> Array:
    """Return the log-probability of the audits of one class for every sum of a shift and an effect, as `TOGETHER`."""
    every = TOGETHER[:, None] + log_odds
    return np.asarray((wrong * every - np.logaddexp(0, every)).sum(axis=1))


def _at(together: Array, likelihood: Array) -> Array:
    return np.interp(together, TOGETHER, likelihood)


def _drawn(log_weights: Array, rng: np.random.Generator) -> Array:
    """Draw a column of every row, with probabilities proportional to the exponentials."""
    cumulated = np.exp(log_weights - log_weights.max(axis=1, keepdims=True)).cumsum(axis=1)
    return np.asarray((cumulated < rng.random((len(cumulated), 1)) * cumulated[:, -1:]).sum(axis=1))
