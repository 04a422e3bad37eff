"""What must be true of everything that scores bags, whatever it runs on."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from bagwise.kernels import Instances, absent_gradients, slopes
from tests.oracles import model as oracle
from tests.support.scoring_backends import BACKENDS

TOLERANCE = {np.float64: 1e-9, np.float32: 1e-4}
EVERY = pytest.mark.parametrize(
    ("backend", "dtype"),
    [
        pytest.param(backend, dtype, id=f"{name} {dtype.__name__}")
        for name, backend in BACKENDS.items()
        for dtype in backend.dtypes
    ],
)
# Without a card, fused kernels are interpreted: slowly.
SLOW = {"fused": [pytest.mark.slow]}
DEVICES = [pytest.param(one, id=name, marks=SLOW.get(name, [])) for name, one in BACKENDS.items() if name != "compiled"]


def make(sizes, features=3, classes=4, scale=1.0, dtype=np.float64):
    rng = np.random.default_rng(7)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    x = rng.normal(size=(offsets[-1], features)).astype(dtype)
    weights = (scale * rng.normal(size=(classes, features))).astype(dtype).astype(float)
    return Instances(x, offsets, np.zeros(features), np.ones(features), False), weights


def bags_of(instances):
    return [instances.x[a:b].astype(float) for a, b in pairwise(instances.offsets)]


@EVERY
def test_presence_equals_enumeration_of_all_labellings(backend, dtype):
    instances, weights = make([1, 2, 3, 4, 5], dtype=dtype, scale=2)
    present, absent = backend.bag_probabilities(instances, weights, 4)
    expected = [oracle.presence_by_enumeration(bag, weights) for bag in bags_of(instances)]
    np.testing.assert_allclose(present, expected, rtol=TOLERANCE[dtype])
    np.testing.assert_allclose(absent, 1 - np.array(expected), rtol=TOLERANCE[dtype], atol=1e-12)
    assert present.dtype == dtype


@EVERY
def test_scores_of_a_classifier_count_for_their_own_class_and_not_in_gradients(backend, dtype):
    plain, _ = make([1, 2, 3, 4, 5], dtype=dtype)
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(len(plain.x), 4)).astype(dtype)
    scored = Instances(
        np.hstack([plain.x, scores]),
        plain.offsets,
        np.zeros(7),
        np.append(np.ones(3), np.full(4, np.inf)),
        False,
        n_scores=4,
    )
    weights = rng.normal(size=(5, 4))
    own = slopes(weights[:4, 3])
    expected = [
        oracle.presence_by_enumeration(np.hstack([x, s]), np.hstack([weights[:, :3], np.eye(5, 4) * own]))[:4]
        for x, s in zip(bags_of(plain), bags_of(replace(plain, x=scores)), strict=True)
    ]
    present, _ = backend.bag_probabilities(scored, weights, 4)
    np.testing.assert_allclose(present, expected, rtol=TOLERANCE[dtype])
    lengths, _ = backend.gradient_lengths(scored, weights, 4)
    explicit = [
        np.linalg.norm(absent_gradients(scored, bag, *scored.fold(weights), 4)[..., :3], axis=(1, 2))
        for bag in range(5)
    ]
    np.testing.assert_allclose(lengths, explicit, rtol=10 * TOLERANCE[dtype])


@EVERY
@pytest.mark.parametrize("logits", oracle.EXTREME)
def test_extreme_logits_are_finite_and_right(backend, dtype, logits):
    """Identity features make the logits exactly the weights' columns."""
    n = len(logits)
    nothing = np.zeros(n), np.ones(n)
    instances = Instances(np.eye(n, dtype=dtype), np.array([0, n]), *nothing, False)
    weights = np.array(logits).T.astype(dtype).astype(float)
    present, absent = backend.bag_probabilities(instances, weights, 3)
    _, exact_absent, exact_present = oracle.exact_bag(weights.T)
    smallest = 1e-36 if dtype == np.float32 else 1e-300
    np.testing.assert_allclose(present[0], np.array(exact_present, float), rtol=TOLERANCE[dtype], atol=smallest)
    np.testing.assert_allclose(absent[0], np.array(exact_absent, float), rtol=TOLERANCE[dtype], atol=smallest)


@EVERY
@pytest.mark.parametrize("size", [1, 5_000, 10_000])
def test_bags_of_any_size(backend, dtype, size):
    size = min(size, 300) if backend.slow else size
    instances, weights = make([size, 3], features=5, classes=30, dtype=dtype)
    present, absent = backend.bag_probabilities(instances, weights, 30)
    for b, bag in enumerate(bags_of(instances)):
        log_absent = np.log1p(-oracle.softmax(bag @ weights.T)).sum(axis=0)
        np.testing.assert_allclose(present[b], -np.expm1(log_absent), rtol=TOLERANCE[dtype])
        visible = log_absent > -80
        np.testing.assert_allclose(absent[b, visible], np.exp(log_absent[visible]), rtol=TOLERANCE[dtype])


@EVERY
@pytest.mark.parametrize(
    ("features", "sizes"), [(3, [1, 2, 5]), (40, [1, 4, 10, 12]), (2, [60, 3]), (3, [1, 2, 70, 9, 2])]
)
def test_gradient_lengths_equal_explicit_gradients(backend, dtype, features, sizes):
    """Kept Gram matrices, fresh ones and the gradient form, whichever the sizes call for."""
    instances, weights = make(sizes, features, dtype=dtype, scale=1 / np.sqrt(features))
    lengths, absent = backend.gradient_lengths(instances, weights, 4)
    expected = oracle.expected_gradient_length(bags_of(instances), weights, n_known=0)
    np.testing.assert_allclose(2 * absent * lengths, expected, rtol=TOLERANCE[dtype])


@cache
def exact_lengths(scale, dtype):
    """In as many digits as it takes, which takes a while."""
    instances, weights = make([1, 3, 2], features=16, scale=scale / 4, dtype=dtype)
    return [[oracle.exact_gradient_length(bag, weights, c) for c in range(4)] for bag in bags_of(instances)]


@EVERY
@pytest.mark.parametrize("scale", [20.0, 200.0, 1e4])
def test_gradient_lengths_with_extreme_logits(backend, dtype, scale):
    instances, weights = make([1, 3, 2], features=16, scale=scale / 4, dtype=dtype)
    lengths, absent = backend.gradient_lengths(instances, weights, 4)
    expected = exact_lengths(scale, dtype)
    # Logits of this size carry a rounding error of their own, which the lengths inherit.
    rounding = 16 * np.finfo(dtype).eps * np.abs(instances.x).max() * np.abs(weights).max()
    visible = absent > (1e-30 if dtype == np.float32 else 1e-290)
    got, want = (absent * lengths)[visible], (absent * np.array(expected))[visible]
    # A length is the root of a sum of squares, so those below the root of the smallest number are 0.
    smallest = np.sqrt(np.finfo(dtype).tiny) * 10
    np.testing.assert_allclose(got, want, rtol=TOLERANCE[dtype] + 4 * rounding, atol=smallest)
    assert np.isfinite(lengths).all()


@pytest.mark.parametrize("backend", DEVICES)
def test_devices_score_as_the_cpu_does(backend):
    """Standardised features, a constant, a background class, bags of many sizes, factors of the classes."""
    rng = np.random.default_rng(3)
    sizes = np.concatenate([rng.integers(1, 10, 30), [33, 60, 130]])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    x = (rng.normal(size=(offsets[-1], 20)) * 3 + 5).astype(np.float32)
    instances = Instances(x, offsets, x.mean(axis=0), x.std(axis=0), True)
    weights, factors = rng.normal(size=(18, 21)) / 4, rng.random(17)
    cpu = BACKENDS["compiled"]
    present, absent = cpu.bag_probabilities(instances, weights, 17)
    lengths, _ = cpu.gradient_lengths(instances, weights, 17)
    for got, want in zip(backend.bag_probabilities(instances, weights, 17), (present, absent), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4)
    np.testing.assert_allclose(backend.gradient_lengths(instances, weights, 17)[0], lengths, rtol=1e-4)
    np.testing.assert_allclose(backend.variances(instances, weights, factors), present * absent * factors, rtol=2e-4)
    np.testing.assert_allclose(
        backend.expected_lengths(instances, weights, factors), absent * lengths * factors, rtol=2e-4
    )
