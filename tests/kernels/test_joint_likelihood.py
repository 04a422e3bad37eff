import numpy as np
import pytest

from bagwise import Bags, BagwiseError, Labels, MIMLClassifier
from bagwise.kernels import log_likelihood_and_gradient
from bagwise.model import objective as objective_module
from tests.oracles.joint import joint_by_enumeration
from tests.oracles.model import softmax


def joint(logits, known):
    """Log-likelihood and derivative by the logits, through the public kernel with identity features."""
    logits = np.asarray(logits, float)
    n, outputs = logits.shape
    value, mask = np.array([known]) == 1, ~np.isnan(np.array([known]))
    everything = np.ones(1, bool)
    total, by_weight, _ = log_likelihood_and_gradient(
        np.eye(n), np.array([0, n]), np.ascontiguousarray(logits.T), np.zeros(outputs), value, mask, everything
    )
    return total, by_weight.T


@pytest.mark.parametrize("background", [False, True])
def test_equal_to_enumeration(rng, background):
    checked = 0
    for _ in range(200):
        classes, n = rng.integers(1, 5), rng.integers(1, 5)
        logits = 2 * rng.normal(size=(n, classes + background))
        known = rng.choice([1.0, 0.0, np.nan], size=classes)
        expected, posterior = joint_by_enumeration(logits, known)
        if logits.shape[1] < 2 or np.isinf(expected):
            continue
        total, derivative = joint(logits, known)
        assert total == pytest.approx(expected, abs=1e-12)
        np.testing.assert_allclose(derivative, posterior - softmax(logits), atol=1e-12)
        checked += 1
    assert checked > 80


def test_equal_to_enumeration_in_logarithms(rng):
    """A shift of 900 in one class makes its probabilities underflow; shifting all logits of the oracle undoes that."""
    for _ in range(60):
        n = int(rng.integers(2, 5))
        logits = 2 * rng.normal(size=(n, 4))
        known = np.array([1.0, rng.choice([1.0, 0.0, np.nan]), np.nan])
        logits[:, 0] -= 900
        total, derivative = joint(logits, known)
        # P(E) is first order in exp(-900): exactly one instance has class 0.
        log_p0 = logits[:, 0] - np.log(np.exp(logits[:, 1:]).sum(axis=1))
        expected = -np.inf
        for i in range(n):
            others = np.delete(logits[:, 1:], i, axis=0)
            log_rest, _ = joint_by_enumeration(others, known[1:])
            expected = np.logaddexp(expected, log_p0[i] + log_rest)
        assert total == pytest.approx(expected, rel=1e-10)
        assert np.isfinite(derivative).all()
        np.testing.assert_allclose(derivative.sum(axis=1), 0, atol=1e-9)
        assert derivative[:, 0].sum() == pytest.approx(1)


def test_improbable_labels_stay_finite():
    total, derivative = joint([[800.0, 0, 0], [800.0, 0, 0]], [np.nan, 1.0, 1.0])
    assert total == pytest.approx(np.log(2) - 1600)
    np.testing.assert_allclose(derivative, [[-1, 0.5, 0.5]] * 2, atol=1e-12)


def test_one_known_label_is_the_marginal_likelihood(rng):
    x, offsets, weights = rng.normal(size=(9, 3)), np.array([0, 4, 9]), rng.normal(size=(4, 3))
    for c in range(4):
        for value in (True, False):
            known, values = np.zeros((2, 4), bool), np.full((2, 4), value)
            known[:, c] = True
            arguments = (x, offsets, weights, np.zeros(4), values, known)
            marginal, together = (log_likelihood_and_gradient(*arguments, np.full(2, flag)) for flag in (False, True))
            assert together[0] == pytest.approx(marginal[0], rel=1e-12)
            np.testing.assert_allclose(together[1], marginal[1], atol=1e-12)


def test_large_bags_stay_finite(rng):
    logits = rng.normal(size=(200, 12)) * 4 - 8 * np.arange(12)
    known = np.array([1.0] * 8 + [0.0, np.nan, 0.0])
    total, derivative = joint(logits, known)
    assert np.isfinite(total)
    np.testing.assert_allclose(derivative.sum(axis=1), 0, atol=1e-9)


def test_a_model_fitted_jointly(small):
    bags, labels = small
    few = Labels(labels.value & (np.cumsum(labels.value, axis=1) <= 1), labels.known)
    model = MIMLClassifier(objective="joint").fit(bags, few)
    objective = model.objective_of(model.instances(bags), few)
    value, gradient = objective(model.weights_)
    assert np.abs(gradient).max() < 1e-5
    assert value < objective(MIMLClassifier().fit(bags, few).weights_)[0]


def test_many_positives_fall_back_to_the_marginal_objective(small, monkeypatch):
    bags, labels = small
    few = Labels(labels.value & (np.cumsum(labels.value, axis=1) <= 2), labels.known)
    monkeypatch.setattr(objective_module, "MOST_POSITIVES_TOGETHER", -1)
    model = MIMLClassifier(objective="joint").fit(bags, few)
    np.testing.assert_array_equal(model.weights_, MIMLClassifier().fit(bags, few).weights_)


def test_labels_that_the_model_cannot_explain_are_an_error():
    bags = Bags.from_list([[[0.0]], [[1.0], [2.0]]])
    with pytest.raises(BagwiseError, match="position 0 has 1 instances but 2 classes"):
        MIMLClassifier(objective="joint").fit(bags, [[1, 1], [0, 1]])
    with pytest.raises(BagwiseError, match="position 1 is known to have none"):
        MIMLClassifier(objective="joint", background=False).fit(bags, [[1, 0], [0, 0]])
    MIMLClassifier(objective="joint", background=True).fit(bags, [[1, 0], [0, 0]])
    with pytest.raises(BagwiseError, match="no objective 'both'"):
        MIMLClassifier(objective="both").fit(bags, [[1, 0], [0, 1]])
    with pytest.raises(BagwiseError, match="needs one of gd, lbfgs, replay"):
        MIMLClassifier("bag_sgd", objective="joint").fit(bags, [[1, 0], [0, 1]])
