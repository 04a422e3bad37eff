"""The share of the bags of a project that have a class, with 95 % intervals.

Labelled bags count as they are labelled. Of the n others, with probabilities q calibrated as for the quality of the
model (`calibration.py`, which audits keep honest), every draw takes a calibration from its posterior and

    present  ~  Binomial(n, mean of q)        which spreads a little more than n bags of different q would

Of one site there is no calibration of its own: what holds on average may not hold there. Audits are drawn at random
from all open pairs, so k present ones of m at the site say by themselves how many of the bags there that were not
chosen to be asked about have the class: a share ~ Beta(k + 1/2, m - k + 1/2).
"""

import numpy as np

from bagwise.data.labels import Labels
from bagwise.evaluation import calibration
from bagwise.evaluation.estimate import DRAWS, FEWEST_ANSWERS, MOST_BAGS, Interval, answers_of
from bagwise.kernels import Array

FEWEST_AUDITS = 20
"""Audits of a class at a site without which there is no interval for it: with none present in 20, it is 0 to 0.12."""


def prevalence(
    present: Array, out_of_fold: Array, labels: Labels, audit: Array, seed: int = 0
) -> tuple[Interval | None, ...]:
    """Estimate the share of bags with each class. The same input gives the same estimate.

    Parameters
    ----------
    present, out_of_fold : ndarray, shape (B, C)
        P(class is in bag) by the model, and without the labels of the bag; as for `estimate`.
    labels : Labels
        The known labels.
    audit : ndarray of bool, shape (B, C)
        Which of them are answers to questions drawn at random.
    seed : int
        Seed of the draws.

    Returns
    -------
    tuple of Interval or None
        For each class; None where there are too few answers or no audit.

    Examples
    --------
    >>> probability = np.tile([[0.9], [0.1]], (200, 1))
    >>> labels = Labels.from_array(np.concatenate([np.tile([[1.0], [0.0]], (50, 1)), np.full((300, 1), np.nan)]))
    >>> (share,) = prevalence(probability, probability, labels, audit=labels.known)
    >>> 0.5 in share, share.high - share.low < 0.2
    (True, True)
    """
    usable = np.flatnonzero(~np.isnan(out_of_fold).any(axis=1))
    audits = int((audit & labels.known).sum())
    if labels.select(usable).n_known < FEWEST_ANSWERS or audits == 0:
        return (None,) * labels.n_classes
    rng = np.random.default_rng([seed, labels.n_known])
    probability = np.where(labels.known, out_of_fold, present)
    answers = answers_of(probability[usable], labels.select(usable), audit[usable])
    calibrated = calibration.by_class(answers, labels.n_classes, DRAWS, rng)
    found = []
    for c in range(labels.n_classes):
        known = labels.known[:, c]
        others = np.flatnonzero(~known)
        counted = np.full(DRAWS, int(labels.value[known, c].sum()))
        if len(others):
            seen = others if len(others) <= MOST_BAGS else rng.choice(others, MOST_BAGS, replace=False)
            of_class = calibration.Calibration(calibrated.intercept[:, c : c + 1], calibrated.slope[:, c : c + 1])
            mean = of_class(calibration.logits_of(present[seen, c : c + 1])).mean(axis=(1, 2))
            counted = counted + rng.binomial(len(others), mean)
        found.append(Interval.of(counted / len(known), len(known)))
    return tuple(found)


def audited_share(values: Array, audit: Array, seed: int = 0) -> Interval | None:
    """Estimate the share of some bags that have a class from the audits among them alone.

    Parameters
    ----------
    values : ndarray, shape (B,)
        Of these bags: 1 present, 0 absent, nan unknown.
    audit : ndarray of bool, shape (B,)
        Which of the known ones are answers to questions drawn at random.
    seed : int
        Seed of the draws.

    Returns
    -------
    Interval or None
        None with fewer than `FEWEST_AUDITS` audits, unless all bags are known.

    Examples
    --------
    >>> values = np.concatenate([np.ones(10), np.zeros(30), np.full(160, np.nan)])
    >>> share = audited_share(values, ~np.isnan(values))
    >>> 0.25 in share, audited_share(values[:12], np.zeros(12, bool)).value > 0.8
    (True, True)
    """
    known = ~np.isnan(values)
    drawn = audit & known
    if not known.all() and drawn.sum() < FEWEST_AUDITS:
        return None
    rng = np.random.default_rng([seed, len(values)])
    present = int(values[drawn].sum())
    share = rng.beta(present + 0.5, drawn.sum() - present + 0.5, size=DRAWS)
    counted = values[known].sum() + rng.binomial(int((~known).sum()), share)
    return Interval.of(counted / len(values), len(values))
