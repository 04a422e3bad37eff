"""Whether a classifier's scores say anything about the known labels.

The joint model cannot tell: with few labels its features explain them whatever the scores are. So the scores are tried
alone, z_ic = b s_ic - l for the classes and 0 for the background, with one slope b and one level l for all of them:

    gain = max_{b, l} log L(b, l) - max_l log L(0, l)        over the known labels of bags, as `kernels.cpu.gradient`

Scores help where b > 0 and the gain is at least `LEAST_GAIN`. By chance, twice the gain of useless scores is a squared
normal number, of which 5 % are larger than 2 LEAST_GAIN. Until `FEWEST` labels are known, scores are trusted.
"""

import numpy as np

from bagwise.data.labels import Labels
from bagwise.kernels import Array, Instances, log_likelihood_and_gradient
from bagwise.kernels.arithmetic.minimise import minimise

FEWEST = 10
LEAST_GAIN = 2.0
ITERATIONS, TOLERANCE = 30, 1e-3


def helps(instances: Instances, labels: Labels, learnable: Array, n_outputs: int) -> bool:
    """Return whether the scores of these bags help to predict their known labels."""
    if labels.n_known < FEWEST:
        return True
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
    return bool(found[0] > 0 and constant(level)[0] - calibrated(found)[0] >= LEAST_GAIN)
