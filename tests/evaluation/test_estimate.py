"""The estimated quality: what it must be whatever the data, and on a few simulated projects that it is right.

The full measurement is `python benchmarks/coverage.py`.
"""

import importlib
import itertools
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bagwise import BagwiseError, Labels, MIMLClassifier, datasets, evaluation, metrics
from bagwise.data.metrics.bag_accuracy import expected_jaccard
from bagwise.evaluation import Interval, thresholds
from bagwise.evaluation.forecast import Forecast, Point, forecast, needed_answers
from bagwise.evaluation.thresholds import Decisions
from bagwise.model.cross_validation import fold_of
from benchmarks import coverage

shares = st.floats(0, 1)


def by_enumeration(present, predicted):
    total = 0.0
    for true in itertools.product((False, True), repeat=len(present)):
        probability = np.prod(np.where(true, present, 1 - present))
        union = np.count_nonzero(np.logical_or(true, predicted))
        total += probability * (1 if union == 0 else np.count_nonzero(np.logical_and(true, predicted)) / union)
    return total


@given(st.lists(st.tuples(shares, st.booleans()), min_size=1, max_size=7))
def test_expected_jaccard_is_the_sum_over_all_sets(pairs):
    present, predicted = (np.array(column) for column in zip(*pairs, strict=True))
    assert expected_jaccard(present, predicted) == pytest.approx(by_enumeration(present, predicted), abs=1e-9)


@pytest.fixture(scope="module")
def labelled():
    data = datasets.load("synthetic", bags=60, classes=4)
    known = np.random.default_rng(0).random((60, 4)) < 0.4
    return data, Labels(data.labels.value, known)


def test_a_bag_is_predicted_without_its_own_labels(labelled):
    data, labels = labelled
    model = MIMLClassifier().fit(data.bags, labels)
    before = evaluation.crossfit(model, data.bags, labels)
    fold = fold_of(data.bags)
    turned = Labels(np.where((fold == 3)[:, None], ~labels.value, labels.value), labels.known)
    after = evaluation.crossfit(MIMLClassifier().fit(data.bags, turned), data.bags, turned)
    own = (fold == 3) & labels.known.any(axis=1)
    assert own.any()
    np.testing.assert_array_equal(before[own], after[own])
    assert not np.array_equal(before, after)


def test_unlabelled_bags_are_predicted_by_the_model_itself(labelled):
    data, labels = labelled
    hidden = labels.hide(range(10))
    model = MIMLClassifier().fit(data.bags, hidden)
    np.testing.assert_allclose(evaluation.crossfit(model, data.bags, hidden)[:10], model.predict_proba(data.bags)[:10])


def test_where_all_folds_would_take_too_long_some_bags_are_left_out(labelled, monkeypatch):
    data, labels = labelled
    model = MIMLClassifier().fit(data.bags, labels)
    every = evaluation.crossfit(model, data.bags, labels)
    monkeypatch.setattr(importlib.import_module("bagwise.evaluation.crossfit"), "MOST_WORK", 1)
    some = evaluation.crossfit(model, data.bags, labels)
    left_out = labels.known.any(axis=1) & (fold_of(data.bags) != 0)
    np.testing.assert_array_equal(np.isnan(some), left_out[:, None].repeat(4, axis=1))
    np.testing.assert_array_equal(some[~left_out], every[~left_out])
    found = evaluation.estimate(some, labels, labels.known)
    assert found.answers == labels.known[~left_out].sum()


def estimated(data, labels, audit):
    model = MIMLClassifier().fit(data.bags, labels)
    return evaluation.estimate(evaluation.crossfit(model, data.bags, labels), labels, audit)


def test_the_same_labels_give_the_same_estimate(labelled):
    data, labels = labelled
    audit = labels.known & (np.arange(4) == 1)
    assert estimated(data, labels, audit) == estimated(data, labels, audit)


def test_every_estimate_is_in_its_interval_and_between_0_and_1(labelled):
    data, labels = labelled
    found = estimated(data, labels, labels.known)
    assert list(found.metrics) == list(metrics.estimable())
    every = list(found.metrics.values())
    every += [one for each in found.classes for one in (each.precision, each.recall) if one is not None]
    assert len(every) == 8 + len(found.metrics)
    assert all(0 <= one.low <= one.value <= one.high <= 1 for one in every)


def test_audits_make_it_sharper_than_chosen_answers(labelled):
    data, labels = labelled
    audits = estimated(data, labels, labels.known).metrics["bag_accuracy"]
    chosen = estimated(data, labels, np.zeros_like(labels.known)).metrics["bag_accuracy"]
    assert audits.high - audits.low < chosen.high - chosen.low


def test_what_cannot_be_estimated_is_none(labelled):
    data, labels = labelled
    few = Labels(labels.value, labels.known & (np.cumsum(labels.known).reshape(labels.known.shape) <= 5))
    found = estimated(data, few, few.known)
    assert (set(found.metrics.values()), found.answers) == ({None}, 5)
    without = Labels(labels.value & (np.arange(4) != 2), labels.known)
    assert estimated(data, without, without.known).classes[2].recall is None


MISSING_OR_SLOW = ("hja", "hja_full", "scenes", "soundscapes")
"""Data sets whose file may be missing, or that take minutes to make."""


@pytest.mark.slow
def test_intervals_hold_the_truth_and_the_naive_estimate_does_not():
    found = defaultdict(list)
    for source, seed in coverage.specified(2, seed=0):
        if source not in MISSING_OR_SLOW:
            coverage.collect(found, source, coverage.simulate(source, seed))
    for quantity in (*(metric.title for metric in metrics.estimable().values()), "precision", "recall", "prevalence"):
        one = coverage.summary(found["all", quantity])
        assert one["coverage"] >= 0.83, quantity
        assert one["mean_width"] < 0.8, quantity
    loss = coverage.summary(found["all", "Hamming loss"])
    assert abs(loss["mean_error"]) < 0.04 < loss["naive_mean_error"]


def test_decisions_are_left_alone_without_enough_answers_or_audits(labelled):
    data, labels = labelled
    model = MIMLClassifier().fit(data.bags, labels)
    present, out_of_fold = model.predict_proba(data.bags), evaluation.crossfit(model, data.bags, labels)
    assert thresholds.learn(present, out_of_fold, labels, np.zeros_like(labels.known)) == Decisions()
    made = thresholds.learn(present, out_of_fold, labels, labels.known, "f1")
    assert made != Decisions()
    with pytest.raises(BagwiseError, match=r"no metric 'beauty'.*bag_accuracy"):
        thresholds.learn(present, out_of_fold, labels, labels.known, "beauty")


def test_decisions_mend_a_model_that_exaggerates():
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(400, 5))
    truth = rng.random((400, 5)) < 1 / (1 + np.exp(-logits))
    boasting = 1 / (1 + np.exp(-3 * logits))
    labels = Labels(truth, rng.random((400, 5)) < 0.5)
    made = thresholds.learn(boasting, boasting, labels, labels.known)
    assert made.slope == pytest.approx(1 / 3, abs=0.1)
    assert made.intercept == pytest.approx(0, abs=0.3)
    assert np.abs(made.probabilities(boasting) - 1 / (1 + np.exp(-logits))).mean() < 0.05


def on_curve(top, fall, power, answers, width=0.002):
    values = [top - fall * n**-power for n in answers]
    return [Point(n, Interval(v, v - width, v + width)) for n, v in zip(answers, values, strict=True)]


def test_the_forecast_finds_the_answers_of_a_known_curve():
    points = on_curve(0.95, 4.0, 0.75, (50, 100, 200, 300))
    needed = (4.0 / 0.05) ** (1 / 0.75) - 300
    found = forecast(points, 0.9)
    assert found.low <= needed <= found.high
    assert found.needed == pytest.approx(needed, rel=0.25)


def test_a_target_that_is_out_of_reach_is_forecast_as_such():
    found = forecast(on_curve(0.7, 2.0, 1.0, (50, 100, 200, 400)), 0.9)
    assert (found.needed, found.low, found.high) == (None, None, None)


def test_what_is_reached_needs_nothing_more():
    assert forecast(on_curve(0.95, 1.0, 1.0, (50, 100, 200)), 0.8).high == 0


@settings(max_examples=50)
@given(st.lists(st.tuples(shares, shares), min_size=3, max_size=6), shares)
def test_a_forecast_is_never_negative_and_in_order(values, target):
    points = [Point(50 * (i + 1), Interval(v, max(0.0, v - w), min(1.0, v + w))) for i, (v, w) in enumerate(values)]
    found = needed_answers(points, target)
    ordered = [np.inf if one is None else one for one in (found.low, found.needed, found.high)]
    assert 0 <= ordered[0] <= ordered[1] <= ordered[2]
    assert forecast(points, target) == (found if found.is_informative(points[-1].answers) else None)


@pytest.mark.parametrize(
    ("found", "informative"),
    [
        (Forecast(0, 0, 0), True),
        (Forecast(50, 0, 100), True),  # 100 to 200 in all
        (Forecast(50, 0, 101), False),
        (Forecast(500, 200, 500), True),  # 300 to 600 in all
        (Forecast(500, 200, 501), False),
        (Forecast(0, 0, None), False),
        (Forecast(None, 99, None), False),
        (Forecast(None, 100, None), True),  # at least twice as many
        (Forecast(None, None, None), True),
    ],
)
def test_a_forecast_is_made_where_it_tells_what_to_do_after_a_hundred_answers(found, informative):
    assert found.is_informative(100) is informative


def test_it_is_too_early_while_the_quality_is_hardly_known():
    points = [Point(n, Interval(0.7 + n / 2000, 0.55, 0.95)) for n in (50, 100, 200)]
    assert needed_answers(points, 0.85) is not None
    assert forecast(points, 0.85) is None


def test_two_points_are_too_few_for_a_forecast():
    assert forecast(on_curve(0.9, 1.0, 1.0, (50, 100)), 0.8) is None


def skewed(rng, bags):
    """Two classes of which the model is rightly sure of one, and never says more than a third of the other."""
    logits = rng.normal(size=(bags, 2)) * 3
    truth = rng.random((bags, 2)) < 1 / (1 + np.exp(-logits))
    return 1 / (1 + np.exp(-(logits - [0, 4]))), truth


def test_a_class_has_its_own_threshold_where_its_labels_suffice(rng):
    predicted, truth = skewed(rng, 400)
    labels = Labels(truth, rng.random((400, 2)) < 0.6)
    made = thresholds.learn(predicted, predicted, labels, labels.known, "f1")
    honest, shy = made.thresholds(2)
    assert shy < 0.15 < 0.2 < honest
    fresh, so = skewed(rng, 4000)
    f1 = [
        2 * (predicted & so[:, 1]).sum() / (predicted.sum() + so[:, 1].sum())
        for predicted in (made.predict(fresh)[:, 1], fresh[:, 1] > 0.5)
    ]
    assert f1[0] > f1[1] + 0.1


def test_a_class_with_few_labels_has_the_threshold_of_all(rng):
    predicted, truth = skewed(rng, 400)
    known = rng.random((400, 2)) < 0.6
    known[20:, 1] = False
    labels = Labels(truth, known)
    made = thresholds.learn(predicted, predicted, labels, labels.known, "f1")
    assert made.thresholds(2)[1] == Decisions(made.intercept, made.slope, made.threshold).thresholds(2)[1]
    assert Decisions().thresholds(2).tolist() == [0.5, 0.5]
