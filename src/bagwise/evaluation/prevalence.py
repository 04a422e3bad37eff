"""The share of some bags that have a class, with a 95 % interval that rests on audits alone.

Labelled bags count as they are labelled. The others are in two strata, those in which the class is predicted and those
in which it is not, with n bags each. An audit stands for w = 1 / (the probability with which it was drawn) pairs; with
the audits of a stratum, by predictions that were made without their labels,

    m  =  (sum of w)^2 / sum of w^2                 audits that are worth as much, were all drawn alike
    k  =  m (sum of w over present) / sum of w      how many of them are present
    share of the stratum   ~  Beta(k + 1/2, m - k + 1/2)
    bags with the class    ~  labelled ones + sum over the strata of Binomial(n, share)

So the predictions make the interval narrow where they are right, and do not make it wrong where they are not. Neither a
calibration nor other bags are used: it holds for a site as for all of them, if there are audits enough.
"""

import numpy as np

from bagwise.evaluation.estimate import Interval
from bagwise.kernels import Array

DRAWS = 4000
FEWEST_AUDITS = 20
"""Audits of a class without which there is no interval: with none present in 20, it is 0 to 0.12."""


def audited_share(
    values: Array, predicted: Array, audit: Array, weights: Array | None = None, seed: int = 0
) -> Interval | None:
    """Estimate the share of some bags that have a class. The same input gives the same estimate.

    Parameters
    ----------
    values : ndarray, shape (B,)
        Of these bags: 1 present, 0 absent, nan unknown.
    predicted : ndarray of bool, shape (B,)
        Whether the class is predicted, by a model that did not know the label of the bag.
    audit : ndarray of bool, shape (B,)
        Which of the known labels are answers to questions drawn at random.
    weights : ndarray of float, shape (B,), optional
        How many pairs each audit stands for (`AuditHistory.weights`); by default all alike.
    seed : int
        Seed of the draws.

    Returns
    -------
    Interval or None
        None with fewer than `FEWEST_AUDITS` audits, unless all bags are known.

    Examples
    --------
    >>> predicted = np.arange(400) % 4 == 0
    >>> values = np.where(np.arange(400) < 80, predicted, np.nan)
    >>> share = audited_share(values, predicted, audit=~np.isnan(values))
    >>> 0.25 in share, share.high - share.low < 0.15
    (True, True)
    """
    weights = np.ones(len(values)) if weights is None else weights
    known = ~np.isnan(values)
    drawn = audit & known
    if not known.all() and drawn.sum() < FEWEST_AUDITS:
        return None
    rng = np.random.default_rng([seed, len(values)])
    counted = np.full(DRAWS, values[known].sum())
    for stratum in (predicted, ~predicted):
        audits, present = _effective(values[drawn & stratum], weights[drawn & stratum])
        share = rng.beta(present + 0.5, audits - present + 0.5, size=DRAWS)
        counted += rng.binomial(int((~known & stratum).sum()), share)
    return Interval.of(counted / len(values), len(values))


def _effective(values: Array, weights: Array) -> tuple[float, float]:
    """Return how many audits drawn alike these are worth, and how many of those are present."""
    if not len(values):
        return 0.0, 0.0
    audits = float(weights.sum() ** 2 / (weights @ weights))
    return audits, audits * float(weights @ values) / float(weights.sum())
