"""Intervals for the share of bags with a class: they contain the truth, however good the model is."""

import numpy as np
import pytest

from bagwise.evaluation.prevalence import FEWEST_AUDITS, audited_share

NAN = np.nan


def labelled(rng, truth, score, answers, audits):
    """The labels and audits of a project that asks, besides audits, where its score is least sure."""
    values, audit = np.full(len(truth), NAN), np.zeros(len(truth), bool)
    for number in range(answers):
        is_open = np.flatnonzero(np.isnan(values))
        audit_now = number % (answers // audits) == 0
        bag = rng.choice(is_open) if audit_now else is_open[np.abs(score[is_open] - 0.5).argmin()]
        values[bag], audit[bag] = truth[bag], audit_now
    return values, audit


@pytest.mark.parametrize(("share", "noise"), [(0.3, 0.15), (0.05, 0.1), (0.3, 5.0)])
def test_intervals_contain_the_truth(share, noise):
    rng, hits, widths, runs = np.random.default_rng(0), 0, [], 100
    for _ in range(runs):
        truth = rng.random(500) < share
        score = 0.5 + np.where(truth, 0.3, -0.3) + rng.normal(scale=noise, size=500)
        values, audit = labelled(rng, truth, score, 120, 40)
        interval = audited_share(values, score > 0.5, audit)
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
