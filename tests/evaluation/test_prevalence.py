"""Intervals for the share of bags with a class: they contain the truth, however good the model is."""

import numpy as np
import pytest

from bagwise.evaluation.prevalence import FEWEST_AUDITS, audited_share

NAN = np.nan


def labelled(rng, truth, score, answers, audits, designed):
    """The labels and audits of a project that asks, besides audits, where its score is least sure."""
    values, audit = np.full(len(truth), NAN), np.zeros(len(truth), bool)
    weights = np.zeros(len(truth))
    for number in range(answers):
        is_open = np.flatnonzero(np.isnan(values))
        audit_now = number % (answers // audits) == 0
        chances = np.exp(-6 * np.abs(score[is_open] - 0.5)) + 0.2 if designed else np.ones(len(is_open))
        chances /= chances.sum()
        place = rng.choice(len(is_open), p=chances) if audit_now else np.abs(score[is_open] - 0.5).argmin()
        bag = is_open[place]
        values[bag], audit[bag] = truth[bag], audit_now
        if audit_now:
            weights[bag] = 1 / chances[place]
    return values, audit, weights


@pytest.mark.parametrize("designed", [False, True])
@pytest.mark.parametrize(("share", "noise"), [(0.3, 0.15), (0.05, 0.1), (0.3, 5.0)])
def test_intervals_contain_the_truth(share, noise, designed):
    rng, hits, widths, runs = np.random.default_rng(0), 0, [], 100
    for _ in range(runs):
        truth = rng.random(500) < share
        score = 0.5 + np.where(truth, 0.3, -0.3) + rng.normal(scale=noise, size=500)
        values, audit, weights = labelled(rng, truth, score, 120, 40, designed)
        interval = audited_share(values, score > 0.5, audit, weights)
        hits += truth.mean() in interval
        widths.append(interval.high - interval.low)
    assert hits >= 0.92 * runs
    # A model that is right makes them narrower than audits alone would: 40 of them give about 0.28 at a share of 0.3.
    assert np.mean(widths) < (0.3 if noise > 1 else 0.2)


def test_few_audits_give_no_interval_unless_everything_is_known():
    values = np.r_[np.ones(5), np.zeros(15), NAN]
    few = np.arange(21) < FEWEST_AUDITS - 1
    assert audited_share(values, values == 1, few) is None
    assert audited_share(values, values == 1, np.arange(21) < FEWEST_AUDITS) is not None
    known = audited_share(values[:20], values[:20] == 1, few[:20] & False)
    assert (known.value, known.low, known.high) == (0.25, 0.25, 0.25)


def test_weights_that_are_alike_change_nothing():
    values = np.r_[np.ones(10), np.zeros(20), np.full(70, NAN)]
    predicted, audit = np.arange(100) % 3 == 0, np.arange(100) < 30
    assert audited_share(values, predicted, audit, np.full(100, 7.0)) == audited_share(values, predicted, audit)
