"""Whether a classifier's scores say anything about the known labels.

The joint model cannot tell: with few labels its features explain them whatever the scores are. So the scores are tried
alone, z_ic = b s_ic - l for the classes and 0 for the background, with one slope b and one level l for all of them:

    gain     = max_{b, l} log L(b, l) - max_l log L(0, l)      over the known labels of bags, as `kernels.cpu.gradient`
    deficit  = max_l log L(0, l) - log L(1, 0)

Scores help where b > 0 and the gain is at least `LEAST_GAIN`. By chance, twice the gain of useless scores is a squared
normal number, of which 5 % are larger than 2 LEAST_GAIN. Where all answers were yes a constant explains them as well:
so scores also help that explain the labels as they are, with a deficit of at most `MOST_DEFICIT`. Scores that were
ignored help again from `GAIN_OF_IGNORED` on, since they are looked at many times. Until `FEWEST` labels are known,
scores are trusted.

How far they are trusted. Slopes have the prior mean 1: the scores are right. But an embedding of a trained model
(`features.MANY_FEATURES`) tells what a classifier tells, and what it misses at the site as well; and labels that the
scores explain teach the features nothing. There the prior mean falls with the labels of a class (docs/scores.md):

    slope_mean = 1 / (1 + known labels / (`LABELS_PER_CLASS` classes))
"""

from dataclasses import dataclass

import numpy as np

from bagwise.data.labels import Labels
from bagwise.kernels import Array, Instances, log_likelihood_and_gradient
from bagwise.kernels.arithmetic.minimise import minimise
from bagwise.model.features import MANY_FEATURES

FEWEST = 10
LEAST_GAIN, GAIN_OF_IGNORED = 2.0, 6.0
MOST_DEFICIT = 2.5
ITERATIONS, TOLERANCE = 30, 1e-3
LABELS_PER_CLASS = 5


@dataclass(frozen=True)
class Usefulness:
    """What the scores alone explain of the known labels: the gain, 0 where the slope is negative, and the deficit."""

    gain: float
    deficit: float

    def helps(self, ignored: bool) -> bool:
        """Return whether the scores are to be used; `ignored` says that they have not been."""
        if ignored:
            return self.gain >= GAIN_OF_IGNORED
        return self.gain >= LEAST_GAIN or self.deficit <= MOST_DEFICIT


def slope_mean(n_features: int, n_known: int, classes: int) -> float:
    """Return the prior mean of the slopes of scores.

    Examples
    --------
    >>> slope_mean(n_features=38, n_known=100, classes=5), slope_mean(n_features=1024, n_known=100, classes=5)
    (1.0, 0.2)
    """
    return 1.0 if n_features < MANY_FEATURES else 1 / (1 + n_known / (LABELS_PER_CLASS * classes))


def usefulness_of(instances: Instances, labels: Labels, learnable: Array, n_outputs: int) -> Usefulness:
    """Return how well the scores of these bags predict their known labels."""
    if labels.n_known < FEWEST:
        return Usefulness(GAIN_OF_IGNORED, 0.0)
    scores = np.ascontiguousarray(instances.x[:, instances.n_features :])
    classes = instances.n_scores

    def by_scores(slope: float, level: float) -> tuple[float, Array]:
        weights, bias = np.zeros((n_outputs, classes)), np.zeros(n_outputs)
        np.fill_diagonal(weights, slope)
        bias[:classes] = -level
        total, by_weight, by_bias = log_likelihood_and_gradient(
            scores,
            instances.offsets,
            weights.astype(scores.dtype),
            bias.astype(scores.dtype),
            labels.value,
            learnable,
            np.zeros(len(labels), bool),
            labels.flip,
            instances.evidence,
        )
        by_slope, by_level = float(np.trace(by_weight[:classes])), -float(by_bias[:classes].sum())
        return -total, -np.array([by_slope, by_level])

    def constant(point: Array) -> tuple[float, Array]:
        value, gradient = by_scores(0.0, float(point[0]))
        return value, gradient[1:]

    def calibrated(point: Array) -> tuple[float, Array]:
        return by_scores(*point.tolist())

    level, _ = minimise(constant, np.zeros(1), ITERATIONS, TOLERANCE)
    found, _ = minimise(calibrated, np.array([0.0, level[0]]), ITERATIONS, TOLERANCE)
    of_constant = constant(level)[0]
    gain = of_constant - calibrated(found)[0] if found[0] > 0 else 0.0
    return Usefulness(gain, calibrated(np.array([1.0, 0.0]))[0] - of_constant)
