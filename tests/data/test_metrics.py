import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from bagwise.data import metrics


@pytest.fixture
def predictions(rng):
    truth = rng.random((60, 7)) < 0.4
    truth[~truth.any(axis=1), 0] = True
    truth[truth.all(axis=1), 1] = False
    return truth, rng.random((60, 7))


def test_equal_to_scikit_learn_where_it_has_the_same_one(predictions):
    truth, score = predictions
    predicted = score > 0.5
    expected = {
        metrics.bag_accuracy: sklearn_metrics.jaccard_score(truth, predicted, average="samples", zero_division=1),
        metrics.hamming_loss: sklearn_metrics.hamming_loss(truth, predicted),
        metrics.average_precision: sklearn_metrics.label_ranking_average_precision_score(truth, score),
        metrics.coverage: sklearn_metrics.coverage_error(truth, score) - 1,
        metrics.ranking_loss: sklearn_metrics.label_ranking_loss(truth, score),
        metrics.micro_f1: sklearn_metrics.f1_score(truth, predicted, average="micro"),
        metrics.macro_f1: sklearn_metrics.f1_score(truth, predicted, average="macro"),
    }
    for metric, value in expected.items():
        assert metric(truth, score) == pytest.approx(value, abs=1e-12), metric.__name__


def test_ties_count_against_us(predictions):
    truth, _ = predictions
    tied = np.full(truth.shape, 0.7)
    assert metrics.ranking_loss(truth, tied) == 1
    assert metrics.average_precision(truth, tied) == pytest.approx(truth.mean())
    assert metrics.coverage(truth, tied) == truth.shape[1] - 1
    assert metrics.one_error(truth, tied) == pytest.approx(1 - truth.mean())


def test_empty_sets():
    nothing = np.zeros((2, 3), bool)
    low, high = np.full((2, 3), 0.1), np.full((2, 3), 0.9)
    assert metrics.bag_accuracy(nothing, low) == 1
    assert metrics.bag_accuracy(nothing, high) == 0
    for metric in (metrics.one_error, metrics.average_precision, metrics.coverage, metrics.ranking_loss):
        assert np.isnan(metric(nothing, low)), metric.__name__
    one_defined = np.array([[False] * 3, [True, False, False]])
    assert metrics.one_error(one_defined, np.array([[0.9, 0, 0], [0.9, 0, 0]])) == 0


def test_one_error_counts_wrong_tops():
    assert metrics.one_error([[1, 0], [0, 1]], [[0.9, 0.1], [0.9, 0.1]]) == 0.5


@pytest.fixture
def awkward(rng):
    """Bags with no class, with all, and with tied scores among ordinary ones."""
    truth = rng.random((40, 6)) < 0.4
    truth[0], truth[1] = False, True
    return truth, np.round(rng.random((40, 6)), 1)


def test_convention_of_scikit_learn(awkward):
    truth, score = awkward
    expected = {
        metrics.average_precision: sklearn_metrics.label_ranking_average_precision_score(truth, score),
        metrics.coverage: sklearn_metrics.coverage_error(truth, score),
        metrics.ranking_loss: sklearn_metrics.label_ranking_loss(truth, score),
    }
    for metric, value in expected.items():
        assert metric(truth, score, convention="sklearn") == pytest.approx(value, abs=1e-12), metric.__name__
    with pytest.raises(ValueError, match="no one-error"):
        metrics.one_error(truth, score, convention="sklearn")


def test_convention_of_lamda(awkward):
    truth, score = awkward
    precision, wrong_top, depth, loss = [], [], [], []
    for true, s in zip(truth, score, strict=True):
        order = sorted(range(len(s)), key=lambda c: (-s[c], c))
        depth.append(max((int((s >= s[c]).sum()) - 1 for c in np.flatnonzero(true)), default=-1))
        if true.all() or not true.any():
            continue
        found = [order.index(c) + 1 for c in np.flatnonzero(true)]
        precision.append(np.mean([sum(other <= rank for other in found) / rank for rank in found]))
        wrong_top.append(not any(true[c] for c in range(len(s)) if s[c] == s.max()))
        pairs = [(a, b) for a in np.flatnonzero(true) for b in np.flatnonzero(~true)]
        loss.append(np.mean([s[a] <= s[b] for a, b in pairs]))
    for metric, values in (
        (metrics.average_precision, precision),
        (metrics.one_error, wrong_top),
        (metrics.coverage, depth),
        (metrics.ranking_loss, loss),
    ):
        assert metric(truth, score, convention="lamda") == pytest.approx(np.mean(values)), metric.__name__


def test_an_unknown_convention_is_an_error(awkward):
    with pytest.raises(ValueError, match="no metric convention mulan"):
        metrics.ranking_loss(*awkward, convention="mulan")


def test_an_unknown_metric_is_an_error_that_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"no metric 'beauty'.*bag_accuracy.*ranking_loss"):
        metrics.get("beauty")
    with pytest.raises(ValueError, match=r"no expected value.*hamming_loss"):
        metrics.get_estimable("coverage")


def test_a_function_is_a_metric_once_it_says_whether_more_is_better():
    def share_predicted(truth, probability):
        return float((np.asarray(probability) > 0.5).mean())

    with pytest.raises(ValueError, match="more_is_better"):
        metrics.get(share_predicted)
    share_predicted.more_is_better = False
    metric = metrics.get(share_predicted)
    assert (metric.name, metric.title, metric.goodness(0.25)) == ("share_predicted", "share predicted", 0.75)
    assert metric([[1, 0]], [[0.9, 0.9]]) == 1
    assert metrics.get(metric) is metric


def test_a_function_of_the_package_is_the_metric_of_its_file():
    assert metrics.get(metrics.hamming_loss) == metrics.get("hamming_loss")
    assert metrics.get("f1") is metrics.get("micro_f1")


def slow_auc(truth, score):
    """The mean over classes of the share of pairs of instances that are in the right order; ties count half."""
    areas = []
    for label_class in range(score.shape[1]):
        of_class = [s for t, s in zip(truth, score[:, label_class], strict=True) if t == label_class]
        others = [s for t, s in zip(truth, score[:, label_class], strict=True) if t >= 0 and t != label_class]
        if of_class and others:
            won = sum((a > b) + 0.5 * (a == b) for a in of_class for b in others)
            areas.append(won / (len(of_class) * len(others)))
    return float(np.mean(areas)) if areas else np.nan


@pytest.mark.parametrize("levels", [2, 5, 10**6])
def test_instance_auc_counts_pairs(rng, levels):
    truth = rng.integers(-1, 4, 60)
    score = rng.integers(0, levels, (60, 5)) / levels
    assert metrics.instance_auc(truth, score) == pytest.approx(slow_auc(truth, score), abs=1e-12)


def test_instance_auc_where_it_is_not_defined():
    assert np.isnan(metrics.instance_auc([-1, -1], [[0.1, 0.9], [0.2, 0.8]]))
    assert np.isnan(metrics.instance_auc([0, 0], [[0.1, 0.9], [0.2, 0.8]]))
    assert np.isnan(metrics.instance_auc([], np.empty((0, 2))))


def test_instance_auc_of_a_constant_is_a_half():
    assert metrics.instance_auc([0, 1, 2, 1], np.full((4, 3), 0.3)) == 0.5


@pytest.mark.parametrize("levels", [3, 1000])
def test_the_metrics_of_classes_are_those_of_scikit_learn(rng, levels):
    truth = rng.random((40, 5)) < [0.5, 0.1, 0.3, 0.9, 0.2]
    truth[0], truth[1] = True, False
    score = rng.integers(0, levels, truth.shape) / levels
    found = sklearn_metrics.average_precision_score(truth, score, average="macro")
    assert metrics.class_average_precision(truth, score) == pytest.approx(found, abs=1e-12)
    assert metrics.roc_auc(truth, score) == pytest.approx(sklearn_metrics.roc_auc_score(truth, score), abs=1e-12)


def test_the_metrics_of_classes_leave_out_what_is_not_defined(rng):
    truth, score = rng.random((20, 3)) < 0.5, rng.random((20, 3))
    truth[0], truth[1] = True, False
    of_two = metrics.class_average_precision(truth[:, :2], score[:, :2]), metrics.roc_auc(truth[:, :2], score[:, :2])
    truth[:, 2] = False
    assert (metrics.class_average_precision(truth, score), metrics.roc_auc(truth, score)) == of_two
    assert np.isnan(metrics.class_average_precision(np.zeros((4, 2)), np.ones((4, 2))))
    assert np.isnan(metrics.roc_auc(np.ones((4, 2)), np.ones((4, 2))))
