"""Criteria that were tried and not kept still do what their page says."""

import doctest
from pathlib import Path

import numpy as np
import pytest

from bagwise import Bags, MIMLClassifier
from bagwise.core.plugins import discover
from benchmarks import tried
from benchmarks.tried._bandit import ARMS, BanditLearner
from benchmarks.tried._blocks import information_blocks, odds_of_absence, own_gradients
from benchmarks.tried._covariances import covariances

EVERY = pytest.mark.parametrize("name", tried.available())


@pytest.fixture
def model(small):
    return MIMLClassifier(random_state=5).fit(*small)


@pytest.mark.parametrize("name", discover("benchmarks.tried", "bagwise.tried_criteria"))
def test_the_examples_are_right(name):
    assert doctest.testmod(discover("benchmarks.tried", "bagwise.tried_criteria")[name]).failed == 0


@EVERY
def test_the_page_says_how_it_did(name):
    page = Path(__file__).parents[2] / "docs" / "criteria.md"
    assert f"| `{name}` |" in page.read_text()


@EVERY
def test_scores_do_not_depend_on_the_order_of_bags(name, model, small, rng):
    bags, labels = small
    order = rng.permutation(len(bags))
    shuffled = Bags.from_list([bags[b] for b in order], ids=bags.ids[order])
    expected = tried.available()[name](model.pool(bags, labels))
    assert np.isfinite(expected).all()
    assert (expected >= 0).all()
    assert len(np.unique(expected)) > 10
    found = tried.available()[name](model.pool(shuffled, labels.select(order)))
    np.testing.assert_allclose(found, expected[order], rtol=1e-6, atol=1e-9)


def test_the_own_gradient_is_the_block_of_the_whole_one(model, small):
    pool = model.pool(*small)
    for bag in range(12):
        whole = pool.gradients(bag).reshape(4, 5, -1)
        np.testing.assert_allclose(own_gradients(pool)[bag], whole[range(4), range(4)])


def test_information_gain_is_what_an_answer_adds_to_the_log_determinant(model, small):
    pool = model.pool(*small)
    gradients, odds = own_gradients(pool), odds_of_absence(pool)
    before = information_blocks(pool, gradients, odds)
    scores = tried.available()["block_information_gain"](pool)
    for bag, c in np.ndindex(pool.shape):
        after = before[c] + odds[bag, c] * np.outer(gradients[bag, c], gradients[bag, c])
        gain = np.linalg.slogdet(after)[1] - np.linalg.slogdet(before[c])[1]
        assert scores[bag, c] == pytest.approx(gain, abs=1e-9)


def test_covariances_are_those_of_the_inverted_information(model, small):
    pool = model.pool(*small)
    gradients, odds = own_gradients(pool), odds_of_absence(pool)
    information = information_blocks(pool, gradients, odds)
    for c, (covariance, of_class) in enumerate(covariances(pool)):
        expected = gradients[:, c] @ np.linalg.solve(information[c], gradients[:, c].T)
        np.testing.assert_allclose(covariance, expected, atol=1e-9)
        np.testing.assert_array_equal(of_class, odds[:, c])


def test_a_optimal_is_what_an_answer_takes_from_the_variance(model, small):
    pool = model.pool(*small)
    gradients, odds = own_gradients(pool), odds_of_absence(pool)
    information, scores = information_blocks(pool, gradients, odds), tried.available()["a_optimal"](pool)
    for bag, c in np.argwhere(pool.askable)[:6]:
        after = information[c] + odds[bag, c] * np.outer(gradients[bag, c], gradients[bag, c])
        open_pairs = pool.askable[:, c]
        slopes = pool.absent[open_pairs, c, None] * gradients[open_pairs, c]
        lost = [np.einsum("td,td->", slopes, np.linalg.solve(one, slopes.T).T) for one in (information[c], after)]
        assert scores[bag, c] == pytest.approx((lost[0] - lost[1]) / len(open_pairs))


def test_expected_error_is_asked_of_open_pairs_only(model, small):
    pool = model.pool(*small)
    scores = tried.available()["expected_error_reduction"](pool)
    assert np.count_nonzero(scores) == 15
    assert pool.askable[scores > 0].all()


def answered(learner, truth):
    while not learner.exhausted:
        question = learner.ask()
        learner.tell(question, bool(truth[question.bag, question.classes[0]]))
    return learner


def test_the_mixture_is_a_function_of_the_answers(small, rng):
    bags, labels = small
    truth = rng.random((12, 4)) < 0.4
    first = answered(BanditLearner(bags, list("abcd"), labels, audit=0.5), truth)
    again = BanditLearner(bags, list("abcd"), labels, audit=0.5)
    again.replay(first.answers)
    np.testing.assert_array_equal(again.chances, first.chances)
    np.testing.assert_array_equal(again.model.weights_, first.model.weights_)
    assert len(set(first.chances)) > 1


def test_the_mixture_prefers_what_was_paid(small):
    bags, labels = small
    learner = BanditLearner(bags, list("abcd"), labels)
    paid = learner.arm
    learner._pay(0.0)
    assert learner.chances.argmax() == paid
    assert learner.chances.sum() == pytest.approx(1)


def test_an_arm_asks_what_its_criterion_would(small):
    bags, labels = small
    learner = BanditLearner(bags, list("abcd"), labels, audit=0)
    question = learner.ask()
    scores = np.where(learner.pool().askable, list(ARMS.values())[learner.arm](learner.pool()), -1)
    assert scores[question.bag, question.classes[0]] == scores.max()
