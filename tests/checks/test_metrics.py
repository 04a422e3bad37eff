"""What every metric must pass, whichever package it comes from."""

import itertools

import numpy as np
import pytest

from bagwise import metrics

OF_BAGS = {name: metric for name, metric in metrics.available().items() if metric.takes == "bags"}
EVERY = pytest.mark.parametrize("metric", metrics.available().values(), ids=metrics.available())
EVERY_OF_BAGS = pytest.mark.parametrize("metric", OF_BAGS.values(), ids=OF_BAGS)
EVERY_ESTIMABLE = pytest.mark.parametrize("metric", metrics.estimable().values(), ids=metrics.estimable())


@pytest.fixture
def predictions(rng):
    truth = rng.random((60, 7)) < 0.4
    truth[~truth.any(axis=1), 0] = True
    truth[truth.all(axis=1), 1] = False
    return truth, rng.random((60, 7))


@EVERY
def test_it_is_found_by_name_and_as_a_function(metric):
    assert metrics.get(metric.name) is metric
    assert getattr(metrics, metric.name) is metric.function
    assert metric.title
    assert metric.description


@EVERY_OF_BAGS
def test_the_direction_is_as_declared(metric, predictions):
    truth, score = predictions
    right, wrong = (metric.goodness(metric(truth, value)) for value in (truth * 1.0, ~truth * 1.0))
    assert right > wrong
    assert right >= metric.goodness(metric(truth, score)) >= wrong


@EVERY_OF_BAGS
def test_shapes_must_agree(metric):
    with pytest.raises(ValueError, match="shape"):
        metric([[1, 0]], [[0.5]])


@EVERY_OF_BAGS
def test_unknown_labels_are_not_counted(metric):
    with pytest.raises(ValueError, match="unknown"):
        metric([[1, np.nan]], [[0.9, 0.9]])
    with pytest.raises(ValueError, match="missing or infinite"):
        metric([[1, 0]], [[0.9, np.nan]])


@EVERY_OF_BAGS
def test_order_of_bags_and_classes_does_not_matter(metric, predictions, rng):
    truth, score = predictions
    bags, classes = rng.permutation(60), rng.permutation(7)
    assert metric(truth[bags][:, classes], score[bags][:, classes]) == pytest.approx(metric(truth, score), abs=1e-12)


@EVERY_ESTIMABLE
def test_expected_value_where_everything_is_certain(metric, predictions):
    truth, score = predictions
    expected = metric.expected(truth.astype(float), score > metrics.THRESHOLD)
    assert expected == pytest.approx(metric(truth, score), abs=1e-12)


@EVERY_ESTIMABLE
def test_expected_value_is_the_mean_over_all_truths(metric, rng):
    present, predicted = rng.random((3, 3)), rng.random((3, 3)) < 0.5
    truths = np.array(list(itertools.product([0, 1], repeat=9))).reshape(-1, 3, 3)
    chances = np.where(truths, present, 1 - present).prod(axis=(1, 2))
    enumerated = chances @ [metric(truth, predicted.astype(float)) for truth in truths]
    # F1 is taken as the ratio of expected counts, which differs from the expected ratio where there are few pairs.
    assert metric.expected(present, predicted) == pytest.approx(enumerated, abs=0.05 if metric.by_class else 1e-9)


@EVERY_ESTIMABLE
def test_weights_of_bags_count_as_repeated_bags(metric, rng):
    present, predicted = rng.random((4, 5)), rng.random((4, 5)) < 0.5
    times = np.array([3, 1, 0, 4])
    repeated = metric.expected(np.repeat(present, times, axis=0), np.repeat(predicted, times, axis=0))
    assert metric.expected(present, predicted, times / times.sum()) == pytest.approx(repeated)
    assert metric.expected(present, predicted, np.full(4, 0.25)) == pytest.approx(metric.expected(present, predicted))
    assert 0 <= repeated <= 1
