import os
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bagwise.kernels import (
    Instances,
    bag_probabilities,
    gradient_lengths,
    hashed_grid,
    hashed_uniform,
    instance_probabilities,
    log_likelihood_and_gradient,
    mix,
)
from bagwise.kernels.arithmetic import blocks
from bagwise.kernels.cpu import instances as instances_module
from tests.oracles import model as oracle

TOLERANCE = {np.float64: 1e-9, np.float32: 1e-4}
BOTH = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def make(rng, sizes, features=3, classes=4, scale=1.0, dtype=np.float64):
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    x = rng.normal(size=(offsets[-1], features)).astype(dtype)
    weights = (scale * rng.normal(size=(classes, features))).astype(dtype)
    return x, offsets, weights, np.zeros(classes, dtype)


def plain(x, offsets):
    return Instances(x, offsets, np.zeros(x.shape[1], x.dtype), np.ones(x.shape[1], x.dtype), False)


def bags_of(x, offsets):
    return [x[a:b].astype(float) for a, b in pairwise(offsets)]


@BOTH
def test_instance_probabilities_are_a_softmax(rng, dtype):
    x, _, weights, bias = make(rng, [300], dtype=dtype, scale=3)
    expected = oracle.softmax(x.astype(float) @ weights.T.astype(float))
    np.testing.assert_allclose(instance_probabilities(x, weights, bias, 4), expected, rtol=5 * TOLERANCE[dtype])


@BOTH
def test_gradient_equals_the_papers_triple_sum(rng, dtype):
    x, offsets, weights, bias = make(rng, [1, 4, 2, 6, 3], dtype=dtype)
    labels = rng.choice([1.0, 0.0, np.nan], size=(5, 4))
    known = ~np.isnan(labels)
    total, by_weight, _ = log_likelihood_and_gradient(x, offsets, weights, bias, labels == 1, known)
    bags = bags_of(x, offsets)
    gradient = oracle.triple_sum_gradient(bags, weights.astype(float), labels)
    np.testing.assert_allclose(total, oracle.log_likelihood(bags, weights.astype(float), labels), rtol=TOLERANCE[dtype])
    np.testing.assert_allclose(by_weight, gradient, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_gradient_equals_finite_differences_with_a_background_class(rng):
    x, offsets, weights, _ = make(rng, [3, 1, 5], classes=4)
    bias = rng.normal(size=4)
    value, known = rng.random((3, 3)) < 0.5, rng.random((3, 3)) < 0.8

    def total(w, b):
        return log_likelihood_and_gradient(x, offsets, w, b, value, known)[0]

    _, by_weight, by_bias = log_likelihood_and_gradient(x, offsets, weights, bias, value, known)
    step = 1e-6
    for index in np.ndindex(weights.shape):
        moved = np.zeros_like(weights)
        moved[index] = step
        slope = (total(weights + moved, bias) - total(weights - moved, bias)) / (2 * step)
        assert slope == pytest.approx(by_weight[index], abs=1e-7)
    for c in range(4):
        moved = np.zeros_like(bias)
        moved[c] = step
        slope = (total(weights, bias + moved) - total(weights, bias - moved)) / (2 * step)
        assert slope == pytest.approx(by_bias[c], abs=1e-7)


@BOTH
@pytest.mark.parametrize("logits", oracle.EXTREME)
@pytest.mark.parametrize("value", [(1, 1, 1), (0, 0, 0), (1, 0, 1), (0, 1, 0)])
def test_extreme_logits_are_finite_and_right(dtype, logits, value):
    """Identity features make the logits exactly the weights' columns."""
    logits = np.array(logits)
    n = len(logits)
    x, weights = np.eye(n, dtype=dtype), np.ascontiguousarray(logits.T.astype(dtype))
    value = np.array([value], bool)
    known = np.ones_like(value)
    bias = np.zeros(3, dtype)
    total, by_weight, _ = log_likelihood_and_gradient(x, np.array([0, n]), weights, bias, value, known)
    expected_total, expected = oracle.exact_likelihood(weights.T.astype(float), value[0], known[0])
    smallest = 1e-36 if dtype == np.float32 else 1e-300
    np.testing.assert_allclose(total, expected_total, rtol=TOLERANCE[dtype], atol=smallest)
    np.testing.assert_allclose(by_weight, expected.T, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] ** 2)


@BOTH
def test_likelihood_of_a_bag_of_5000(rng, dtype):
    """P(absent) underflows there; its logarithm must not."""
    x, offsets, weights, bias = make(rng, [5000, 3], features=5, classes=30, dtype=dtype)
    value, known = np.zeros((2, 30), bool), np.ones((2, 30), bool)
    value[1] = True
    total, by_weight, _ = log_likelihood_and_gradient(x, offsets, weights, bias, value, known)
    large, small = (np.log1p(-oracle.softmax(bag @ weights.T.astype(float))) for bag in bags_of(x, offsets))
    expected = large.sum() + np.log(-np.expm1(small.sum(axis=0))).sum()
    assert total == pytest.approx(expected, rel=TOLERANCE[dtype])
    labels = np.where(value, 1.0, 0.0)
    gradient = oracle.fast_gradient(bags_of(x, offsets), weights.astype(float), labels)
    np.testing.assert_allclose(by_weight, gradient, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * abs(gradient).max())


def test_gram_and_gradient_forms_agree_on_a_bag_of_5000(rng, monkeypatch):
    from bagwise.kernels.cpu import gradient_length

    x, offsets, weights, bias = make(rng, [5000], features=4, classes=5)
    monkeypatch.setattr(gradient_length, "_gram_is_cheaper", lambda *_: np.array([True]))
    by_gram = gradient_lengths(plain(x, offsets), weights, bias, 5)[0]
    monkeypatch.setattr(gradient_length, "_gram_is_cheaper", lambda *_: np.array([False]))
    by_gradient = gradient_lengths(plain(x, offsets), weights, bias, 5)[0]
    np.testing.assert_allclose(by_gram, by_gradient, rtol=1e-9)


def test_cached_gram_matrices_change_nothing(rng, monkeypatch):
    """Of few bags all matrices are cached; where a length comes from the gradient, it still does."""
    x, offsets, weights, bias = make(rng, [1, 2, 40, 3, 7, 90, 12], features=9, classes=3)
    all_cached = gradient_lengths(plain(x, offsets), weights, bias, 3)
    monkeypatch.setattr(instances_module, "FEW_ENTRIES", 0)
    few_cached = gradient_lengths(plain(x, offsets), weights, bias, 3)
    for one, other in zip(all_cached, few_cached, strict=True):
        np.testing.assert_array_equal(one, other)


def test_blocks_and_threads_change_nothing(rng, monkeypatch):
    x, offsets, weights, bias = make(rng, rng.integers(1, 9, size=200), features=20, classes=7)
    value, known = rng.random((200, 7)) < 0.3, rng.random((200, 7)) < 0.5

    def everything():
        return [
            *bag_probabilities(x, offsets, weights, bias, 6),
            *gradient_lengths(plain(x, offsets), weights, bias, 6),
            *log_likelihood_and_gradient(x, offsets, weights, bias, value, known)[1:],
        ]

    whole = everything()
    monkeypatch.setattr(blocks, "LOGITS_PER_BLOCK", 300)
    monkeypatch.setenv("BAGWISE_THREADS", "1")
    in_blocks = everything()
    monkeypatch.setenv("BAGWISE_THREADS", "3")
    in_threads = everything()
    for one, two, three in zip(whole, in_blocks, in_threads, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-13)
        np.testing.assert_array_equal(two, three)


def test_folding_the_standardisation_equals_standardising(rng):
    x, offsets, _, _ = make(rng, [3, 5, 2], features=4)
    x = x * [1e-3, 1.0, 1e3, 1e4] + [5.0, -3.0, 100.0, 0.0]
    instances = Instances(x, offsets, x.mean(axis=0), x.std(axis=0), intercept=True)
    seen_weights = rng.normal(size=(4, 5))
    seen = instances.transformed(0, len(x))
    zero = np.zeros(4)
    value, known = rng.random((3, 4)) < 0.5, np.ones((3, 4), bool)
    direct = log_likelihood_and_gradient(seen, offsets, seen_weights, zero, value, known)
    folded = log_likelihood_and_gradient(x, offsets, *instances.fold(seen_weights), value, known)
    assert folded[0] == pytest.approx(direct[0], rel=1e-12)
    np.testing.assert_allclose(instances.unfold(*folded[1:]), direct[1], rtol=1e-8, atol=1e-10)
    by_gram = gradient_lengths(instances, *instances.fold(seen_weights), 4)[0]
    np.testing.assert_allclose(by_gram, gradient_lengths(plain(seen, offsets), seen_weights, zero, 4)[0], rtol=1e-9)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32))
@settings(max_examples=50)
def test_keyed_numbers_belong_to_their_pair(seed, bag):
    keys = mix(np.arange(bag, bag + 5, dtype=np.uint64))
    together = hashed_uniform(seed, keys[:, None], np.arange(4)[None, :])
    alone = hashed_uniform(seed, keys[3:4], np.array([2]))
    assert together[3, 2] == alone[0]
    assert ((together >= 0) & (together < 1)).all()


def split_mix_64(key):
    """As published, in whole numbers of any size."""
    bits = 2**64 - 1
    z = (key + 0x9E3779B97F4A7C15) & bits
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & bits
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & bits
    return z ^ (z >> 31)


@given(*[st.integers(0, 2**64 - 1)] * 2, st.integers(0, 2**43))
@settings(max_examples=50)
def test_keyed_numbers_are_hashes_of_seed_bag_and_class(seed, key, label_class):
    assert mix(np.array([key], np.uint64)).tolist() == [split_mix_64(key)]
    mixed = split_mix_64(split_mix_64(key ^ split_mix_64(seed)) ^ split_mix_64(label_class))
    drawn = hashed_uniform(seed, np.array([key], np.uint64), np.array([label_class]))
    assert drawn.tolist() == [(mixed >> 11) * 2.0**-53]


def test_keyed_numbers_are_uniform_and_differ_between_seeds():
    keys = mix(np.arange(20_000, dtype=np.uint64))
    draws = hashed_uniform(1, keys[:, None], np.arange(3)[None, :])
    counts = np.histogram(draws, bins=20, range=(0, 1))[0]
    assert abs(counts - 3000).max() < 5 * np.sqrt(3000)
    assert abs(np.corrcoef(draws.T)[0, 1]) < 0.03
    other = hashed_uniform(2, keys[:, None], np.arange(3)[None, :])
    assert abs(np.corrcoef(draws[:, 0], other[:, 0])[0, 1]) < 0.03


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_can_score(rng, monkeypatch):
    monkeypatch.setattr(blocks, "LOGITS_PER_BLOCK", 64)
    monkeypatch.setenv("BAGWISE_THREADS", "2")
    x, offsets, weights, bias = make(rng, [4] * 40)
    expected = bag_probabilities(x, offsets, weights, bias, 4)[0]
    child = os.fork()
    if child == 0:
        same = np.array_equal(bag_probabilities(x, offsets, weights, bias, 4)[0], expected)
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_lots_of_a_grid_are_those_of_its_pairs(rng):
    keys = rng.integers(0, 2**63, 40, dtype=np.uint64)
    expected = hashed_uniform(7, keys[:, None], np.arange(13)[None, :])
    np.testing.assert_array_equal(hashed_grid(7, keys, 13), expected)
