"""Labels that are wrong at a known rate: what they are worth to the model, and that they go wherever labels go."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bagwise import ActiveLearner, BagwiseError, Labels, MIMLClassifier
from bagwise.kernels import log_likelihood_and_gradient
from bagwise.model import solvers
from tests.kernels.test_kernels import BOTH, TOLERANCE, make
from tests.oracles import model as oracle

EVERY = pytest.mark.parametrize("name", solvers.available())


@BOTH
@pytest.mark.parametrize("logits", oracle.EXTREME)
@pytest.mark.parametrize("value", [(1, 1, 1), (0, 0, 0), (1, 0, 1), (0, 1, 0)])
@pytest.mark.parametrize("flip", [(0.1, 0.1, 0.1), (0.0, 0.3, 0.0), (1e-6, 0.0, 0.49)])
def test_extreme_logits_are_finite_and_right(dtype, logits, value, flip):
    logits = np.array(logits)
    n = len(logits)
    x, weights = np.eye(n, dtype=dtype), np.ascontiguousarray(logits.T.astype(dtype))
    value, known, flip = np.array([value], bool), np.ones((1, 3), bool), np.array([flip])
    bias = np.zeros(3, dtype)
    total, by_weight, _ = log_likelihood_and_gradient(x, np.array([0, n]), weights, bias, value, known, flip=flip)
    expected_total, expected = oracle.exact_likelihood(weights.T.astype(float), value[0], known[0], flip[0])
    np.testing.assert_allclose(total, expected_total, rtol=TOLERANCE[dtype], atol=1e-15)
    # Labels of different rates pull at one another: what is left of them is as exact as the pulls.
    np.testing.assert_allclose(by_weight, expected.T, rtol=TOLERANCE[dtype], atol=4 * np.finfo(dtype).eps)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 0.49))
def test_gradient_equals_finite_differences(seed, largest):
    rng = np.random.default_rng(seed)
    x, offsets, weights, _ = make(rng, [3, 1, 5], classes=4)
    bias = rng.normal(size=4)
    value, known = rng.random((3, 3)) < 0.5, rng.random((3, 3)) < 0.8
    flip = largest * rng.random((3, 3))

    def total(b):
        return log_likelihood_and_gradient(x, offsets, weights, b, value, known, flip=flip)[0]

    by_bias = log_likelihood_and_gradient(x, offsets, weights, bias, value, known, flip=flip)[2]
    for c in range(4):
        moved = np.zeros(4)
        moved[c] = 1e-6
        assert (total(bias + moved) - total(bias - moved)) / 2e-6 == pytest.approx(by_bias[c], abs=1e-7)


@EVERY
def test_a_rate_of_zero_changes_no_bit(name, small):
    bags, labels = small
    plain, doubted = (
        MIMLClassifier(name, max_iter=10, random_state=1).fit(bags, given).weights_
        for given in (labels, labels.doubted(0.0))
    )
    np.testing.assert_array_equal(plain, doubted)


@EVERY
def test_less_is_learned_from_labels_that_may_be_wrong(name, small):
    """The more doubtful the labels, the less a model that fits them insists on them."""
    bags, labels = small
    sure = []
    for rate in (0.0, 0.2, 0.4):
        model = MIMLClassifier(name, max_iter=20, random_state=1).fit(bags, labels.doubted(rate))
        probability = model.predict_proba(bags)[labels.known]
        sure.append(np.where(labels.value[labels.known], probability, 1 - probability).mean())
    assert sure[0] > sure[1] > sure[2] > 0.5


def test_the_joint_objective_does_not_take_rates(small):
    bags, labels = small
    with pytest.raises(BagwiseError, match="joint objective takes labels as certain"):
        MIMLClassifier(objective="joint").fit(bags, labels.doubted(0.1))


@pytest.mark.parametrize("rate", [-0.1, 0.5, np.nan, np.inf])
def test_impossible_rates_are_an_error(rate):
    with pytest.raises(BagwiseError, match="at least 0 and less than"):
        Labels([[1, 0]], [[1, 1]], rate)
    with pytest.raises(BagwiseError, match="at least 0 and less than"):
        Labels.unknown(1, 2).record(0, 0, True, rate)


def test_rates_go_where_labels_go():
    labels = Labels([[1, 0], [0, 1]], [[1, 1], [1, 0]], [[0.1, 0.2], [0.3, 0.4]])
    assert labels.flip.tolist() == [[0.1, 0.2], [0.3, 0.0]]
    assert labels.select([1]).flip.tolist() == [[0.3, 0.0]]
    assert labels.hide([0]).flip.tolist() == [[0.0, 0.0], [0.3, 0.0]]
    copied = labels.copy()
    copied.forget(0, 1)
    assert copied.flip.tolist() == [[0.1, 0.0], [0.3, 0.0]]
    assert labels.flip[0, 1] == 0.2
    assert copied != labels
    copied.record(0, 1, False, 0.2)
    assert copied == labels
    assert Labels([[1]], [[1]]) == Labels([[1]], [[1]], 0.0)


@pytest.mark.slow
@EVERY
def test_a_learner_remembers_and_replays_rates(name, small):
    bags, labels = small

    def learner(**more):
        return ActiveLearner(bags, list("abcd"), labels, MIMLClassifier(max_iter=5), update=name, **more)

    one, certain = learner(), learner()
    for number in range(12):
        question = one.ask()
        one.tell(question, number % 2 == 0, flip=0.05 * (number % 3))
        if number == 5:
            one.undo()
    certain.replay([type(a)(a.bag, a.classes, a.present, a.audit) for a in one.answers])
    again, remembered = learner(), learner(snapshot=one.snapshot())
    again.replay(one.answers)
    for other in (again, remembered):
        np.testing.assert_array_equal(one.model.weights_, other.model.weights_)
        assert one.answers == other.answers
        assert one.labels == other.labels
    assert not np.array_equal(one.model.weights_, certain.model.weights_)
    answered = one.answers[0]
    one.revise(answered.bag, answered.classes[0], True, flip=0.25)
    assert one.labels.flip[answered.bag, answered.classes[0]] == 0.25
