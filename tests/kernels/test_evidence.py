"""What is known of single instances, in the likelihood and in the probabilities of bags."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bagwise import BagwiseError, InstanceLabel, InstanceLabels, Labels, MIMLClassifier
from bagwise.kernels import Instances, bag_probabilities, gradient_lengths, log_likelihood_and_gradient
from bagwise.model import solvers
from tests.kernels.test_kernels import BOTH
from tests.oracles.evidence import likelihood_by_enumeration
from tests.oracles.model import presence_by_enumeration, softmax

EVERY = pytest.mark.parametrize("name", solvers.available())


def bag_of(rng, largest_rate=0.0, outputs=4):
    """A bag, its labels, what is said of its instances: true of one labelling of them, so nothing contradicts."""
    n = int(rng.integers(1, 4))
    logits = 2 * rng.normal(size=(n, outputs))
    truth = rng.integers(0, outputs, n)
    inside = np.isin(np.arange(outputs - 1), truth)
    known = np.where(rng.random(outputs - 1) < 0.7, inside.astype(float), np.nan)
    said = [
        (i, c, bool(truth[i] == c), largest_rate * float(rng.random()))
        for i in range(n)
        for c in range(outputs - 1)
        if rng.random() < 0.3 and (truth[i] != c or known[c] == 1)
    ]
    return logits, known, said


def labels_of(known, said):
    instances = InstanceLabels(len(known), {0: [InstanceLabel(*one) for one in said]})
    return Labels(np.array([known]) == 1, ~np.isnan(np.array([known])), instances=instances)


def likelihood(logits, known, said, flips=None, joint=False, dtype=float):
    logits = np.asarray(logits, dtype)
    n, outputs = logits.shape
    labels = labels_of(known, said)
    offsets = np.array([0, n])
    evidence = labels.evidence(offsets, outputs)
    total, by_weight, _ = log_likelihood_and_gradient(
        np.eye(n, dtype=dtype),
        offsets,
        np.ascontiguousarray(logits.T),
        np.zeros(outputs, dtype),
        labels.value,
        labels.learnable(offsets, evidence),
        np.full(1, joint),
        None if flips is None else flips[None],
        evidence,
    )
    return total, by_weight.T


def slope(function, logits, step=1e-6):
    result = np.zeros_like(logits)
    for place in np.ndindex(logits.shape):
        moved = np.zeros_like(logits)
        moved[place] = step
        result[place] = (function(logits + moved) - function(logits - moved)) / (2 * step)
    return result


@settings(max_examples=150)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.45]), st.booleans())
def test_equal_to_enumeration(seed, largest_rate, joint):
    logits, known, said = bag_of(np.random.default_rng(seed), largest_rate)
    total, derivative = likelihood(logits, known, said, joint=joint)
    assert total == pytest.approx(likelihood_by_enumeration(logits, known, said, joint=joint), abs=1e-9)
    expected = slope(lambda z: likelihood_by_enumeration(z, known, said, joint=joint), logits)
    np.testing.assert_allclose(derivative, expected, atol=1e-6)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]))
def test_with_labels_that_may_be_wrong(seed, largest_rate):
    rng = np.random.default_rng(seed)
    logits, known, said = bag_of(rng, largest_rate)
    flips = 0.4 * rng.random(len(known)) + 0.01
    total, derivative = likelihood(logits, known, said, flips)
    assert total == pytest.approx(likelihood_by_enumeration(logits, known, said, flips), abs=1e-9)
    expected = slope(lambda z: likelihood_by_enumeration(z, known, said, flips), logits)
    np.testing.assert_allclose(derivative, expected, atol=1e-6)


@BOTH
@pytest.mark.parametrize("size", [80.0, 1e4])
def test_extreme_logits_are_finite_and_right(dtype, size):
    """The class said not to be there has nearly all of the probability, and so have classes known to be absent."""
    logits = np.array([[size, 0.0, -size, 1.0], [0.5, size, 0.0, -size]])
    said = [(0, 0, False, 0.0)]
    known = [1.0, np.nan, 0.0]
    total, derivative = likelihood(logits, known, said, dtype=dtype)
    # Of the second instance only; of the first, class 0 is barred: log P = log sum exp(others) - logits[0, 0].
    others = np.log(np.exp(0.0) + np.exp(-size) + np.exp(1.0))
    expected = (others - size) + (0.5 - size)
    assert total == pytest.approx(expected, rel=1e-5 if dtype == np.float32 else 1e-12)
    assert np.isfinite(derivative).all()
    assert derivative[0, 0] == pytest.approx(-1)
    assert derivative[1, 0] == pytest.approx(1)


def test_an_instance_label_is_a_bag_of_one_instance_with_all_labels_known(rng):
    """Taken together, that is: one by one, the other labels of the bag would count once more."""
    for _ in range(20):
        logits, label_class = 3 * rng.normal(size=(1, 4)), int(rng.integers(3))
        every = np.where(np.arange(3) == label_class, 1.0, 0.0)
        pointed = likelihood(logits, np.where(every == 1, 1.0, np.nan), [(0, label_class, True, 0.0)])
        alone = likelihood(logits, every, [], joint=True)
        assert pointed[0] == pytest.approx(alone[0], abs=1e-12)
        np.testing.assert_allclose(pointed[1], alone[1], atol=1e-12)
        assert pointed[0] == pytest.approx(np.log(softmax(logits)[0, label_class]))


def test_none_of_the_classes_is_the_background(rng):
    logits = rng.normal(size=(2, 4))
    total, _ = likelihood(logits, [np.nan] * 3, [(1, c, False, 0.0) for c in range(3)])
    assert total == pytest.approx(np.log(softmax(logits)[1, 3]))


def test_probabilities_and_gradients_of_bags_are_conditional(rng):
    """A known instance counts for its class alone, so that for the other classes the bag is as if it lacked it."""
    x, weights = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    labels = labels_of([1.0, np.nan, np.nan, np.nan], [(2, 0, True, 0.0)])
    offsets, bias = np.array([0, 4]), np.zeros(5)
    evidence = labels.evidence(offsets, 5)
    present, absent = bag_probabilities(x, offsets, weights, bias, 4, evidence)
    without = presence_by_enumeration(np.delete(x, 2, axis=0), weights)
    assert present[0, 0] == pytest.approx(1)
    assert absent[0, 0] == 0
    np.testing.assert_allclose(present[0, 1:], without[1:4], rtol=1e-9)
    given = Instances(x, offsets, np.zeros(3), np.ones(3), False, evidence)
    fewer = Instances(np.delete(x, 2, axis=0), np.array([0, 3]), np.zeros(3), np.ones(3), False)
    np.testing.assert_allclose(
        gradient_lengths(given, weights, bias, 4)[0][0, 1:], gradient_lengths(fewer, weights, bias, 4)[0][0, 1:]
    )


def test_a_class_in_none_of_the_instances_teaches_what_they_are_not(rng):
    """Present, but no instance of the bag is it: the label is known, the instances are not of the class."""
    logits = rng.normal(size=(2, 4))
    total, _ = likelihood(logits, [1.0, np.nan, np.nan], [(0, 0, False, 0.0), (1, 0, False, 0.0)])
    assert total == pytest.approx(np.log1p(-softmax(logits)[:, 0]).sum())


def test_contradictions_teach_nothing_unless_they_have_rates():
    twice = InstanceLabels(2, {0: [InstanceLabel(0, 0, True), InstanceLabel(0, 1, True)]})
    offsets, absent = np.array([0, 1]), np.zeros((1, 2), bool)
    assert twice.evidence(offsets, 3, absent) is None
    assert [conflict.classes for conflict in twice.conflicts()] == [(0, 1)]
    doubted = InstanceLabels(2, {0: [InstanceLabel(0, 0, True, 0.1), InstanceLabel(0, 1, True, 0.2)]})
    weights = doubted.evidence(offsets, 3, absent).weights[0]
    np.testing.assert_allclose(np.exp(weights), [0.9 * 0.2, 0.1 * 0.8, 0.1 * 0.2])


@EVERY
def test_every_solver_learns_which_instance_it_is(name):
    """Two sounds in every bag, both classes in it: only pointing tells which is which."""
    rng = np.random.default_rng(0)
    bags = [np.array([[-2.0], [2.0]]) + 0.1 * rng.normal(size=(2, 1)) for _ in range(8)]
    pointed = np.tile([0.0, 1.0], 8)
    model = MIMLClassifier(name, max_iter=30, random_state=0, background=False)
    assert (model.fit(bags, np.ones((8, 2)), pointed).predict_instance_proba(bags).argmax(axis=1) == pointed).all()
    backwards = model.fit(bags, np.ones((8, 2)), 1 - pointed).predict_instance_proba(bags)
    assert (backwards.argmax(axis=1) == 1 - pointed).all()


@EVERY
def test_no_instance_label_changes_no_bit(name, small):
    bags, labels = small
    plain, with_none = (
        MIMLClassifier(name, max_iter=10, random_state=1).fit(bags, labels, given).weights_
        for given in (None, np.full(bags.offsets[-1], np.nan))
    )
    np.testing.assert_array_equal(plain, with_none)


def test_the_minimiser_is_within_its_ball(small):
    bags, labels = small
    rng = np.random.default_rng(5)
    for _ in range(5):
        said = np.where(rng.random(bags.offsets[-1]) < 0.4, -1, np.nan)
        model = MIMLClassifier(prior=0.1, background=True).fit(bags, labels, said)
        objective = model.objective_of(
            model.instances(bags), labels.with_instances(InstanceLabels.from_array(said, bags.offsets, 4))
        )
        assert np.linalg.norm(model.weights_) <= objective.radius


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([0.0], "Instance labels have shape"),
        ([7.0, 0.0], "The label of instance 0 is 7"),
        ([[2.0, 0.0], [0.0, 0.0]], "Instance labels are 1"),
        ([1.0, np.nan], "known to be absent"),
        ([[1.0, 1.0], [0.0, 0.0]], "Contradictory|absent"),
    ],
)
def test_bad_instance_labels_are_refused_with_a_reason(given, message):
    with pytest.raises(BagwiseError, match=message):
        MIMLClassifier().fit([[[0.0], [1.0]]], [[1, 0]], given)
