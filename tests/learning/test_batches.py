"""Batches that do not repeat themselves, questions by value per second, refits at intervals."""

from itertools import pairwise

import numpy as np
import pytest

from bagwise import ActiveLearner, BagwiseError, ScoredPool, datasets
from bagwise.data.labels import Labels
from bagwise.learning import criteria, granularity
from bagwise.learning.granularity import Seconds


@pytest.fixture(scope="module")
def digits():
    return datasets.load("digits")


def taught(data, **how):
    start = data.labels.hide(np.arange(5, len(data.bags)))
    return ActiveLearner(data.bags, data.classes, start, audit=0, **how)


def test_a_batch_spreads_over_bags_and_classes(digits):
    learner = taught(digits, criterion="uncertainty", cold_start=False)
    batch, best = learner.ask(8), learner.rank(8)
    assert batch[0] == learner.ask()
    assert batch[0].pairs == best[0].pairs
    assert len({one.bag for one in batch}) == 8
    assert len({one.classes for one in batch}) > len({one.classes for one in best})


def test_every_turn_of_a_batch_is_an_audit_or_not_as_it_would_be_alone(digits):
    learner = ActiveLearner(digits.bags, digits.classes, audit=0.3)
    flags = [one.audit for one in learner.ask(30)]
    alone = []
    for _ in range(30):
        question = learner.ask()
        alone.append(question.audit)
        learner.tell(question, None)
    assert flags == alone


def value_pool(present, asked=()):
    labels = Labels.unknown(len(present), len(present[0]))
    for bag, label_class in asked:
        labels.record(bag, label_class, True)
    return ScoredPool(present, labels=labels)


def test_best_value_takes_what_teaches_most_per_second():
    pool = value_pool([[0.5, 0.5, 0.5], [0.5, 0.0, 0.0]])
    scores = criteria.uncertainty(pool)
    whole = granularity.best_value(pool, scores, 1, Seconds(pair=4, again=2, bag=6))[0]
    assert (whole.bag, whole.classes) == (0, (0, 1, 2))
    single = granularity.best_value(pool, scores, 1, Seconds(pair=1, again=1, bag=6))[0]
    assert len(single.classes) == 1
    again = granularity.best_value(pool, scores, 1, Seconds(pair=4, again=1, bag=60), last=1)[0]
    assert (again.bag, again.classes) == (1, (0,))


def test_best_value_counts_the_clicks_that_are_to_be_expected():
    """Both bags teach as much; *yes* is likelier in the second, where half of such answers take a click."""
    pool = value_pool([[0.4], [0.6]])
    scores = criteria.uncertainty(pool)
    assert np.allclose(scores[0], scores[1])
    of_keys = granularity.best_value(pool, scores, 2, Seconds())
    with_clicks = granularity.best_value(pool, scores, 2, Seconds(pointed=8, clicked=0.5))
    assert [one.bag for one in with_clicks] == [0, 1]
    assert with_clicks[0].score == pytest.approx(scores[0, 0] / (4 + 0.5 * 0.4 * 4))
    assert {round(one.score, 12) for one in of_keys} == {round(scores[0, 0] / 4, 12)}


def test_best_value_never_asks_what_is_known():
    pool = value_pool([[0.5, 0.5], [0.5, 0.5]], asked=[(0, 0), (0, 1), (1, 0)])
    chosen = granularity.best_value(pool, criteria.uncertainty(pool), 5)
    assert [(one.bag, one.classes) for one in chosen] == [(1, (1,))]


def test_seconds_must_be_times():
    with pytest.raises(BagwiseError, match="above 0"):
        Seconds(pair=0)
    with pytest.raises(BagwiseError, match="above 0"):
        Seconds(pointed=0)
    with pytest.raises(BagwiseError, match="between 0 and 1"):
        Seconds(clicked=1.5)
    assert Seconds(4, 2, 9, pointed=5).of(1, 1, last=1, click=True) == 3, "a click takes a second more"
    assert [Seconds(4, 2, 9).of(1, classes, last) for classes, last in ((1, 0), (1, 1), (3, 1))] == [4, 2, 9]


def test_a_refit_interval_leaves_the_model_alone_in_between(digits):
    learner = taught(digits, update="lbfgs", refit_every=3)
    weights = []
    for _ in range(6):
        question = learner.ask()
        learner.tell(question, bool(digits.labels.value[question.bag, question.classes[0]]))
        weights.append(learner.model.weights_)
    changed = [not np.array_equal(one, other) for one, other in pairwise(weights)]
    assert changed == [False, True, False, False, True]
    with pytest.raises(BagwiseError, match="refit_every=0"):
        taught(digits, refit_every=0)


def test_refits_from_scratch_escape_a_poor_valley(digits):
    """From a start far away, a warm refit alone stays behind."""
    from bagwise.model.solvers import Settings, State, replay

    learner = taught(digits)
    objective = learner.model.objective_of(learner._pool.chooser.instances, digits.labels)
    far = State(50 * np.random.default_rng(0).standard_normal(learner.model.weights_.shape), replay.REFIT_EVERY - 1)
    refitted = replay.update(objective, far, np.array([0]), np.array([0]), Settings())
    third = State(far.weights, 3 * replay.REFIT_EVERY - 1)
    warm_only = replay.update(objective, third, np.array([0]), np.array([0]), Settings())
    assert objective(refitted.weights)[0] < objective(warm_only.weights)[0]


def test_widening_is_balanced_uncertainty_once_bags_are_labelled(digits):
    few = criteria.widening_uncertainty(value_pool(np.full((50, 2), 0.5).tolist(), asked=[(0, 0)]))
    assert (few < 1e-5).sum() >= 98, "hardly anything known: hardly a bag is drawn"
    pool = taught(digits).pool()
    np.testing.assert_array_equal(criteria.widening_uncertainty(pool), criteria.balanced_uncertainty(pool))
