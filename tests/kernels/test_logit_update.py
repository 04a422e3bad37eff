"""Logits that move and their exponentials are, within stated bounds, what double precision makes of them."""

import numpy as np
import pytest

from bagwise.kernels.arithmetic.product import Linear, padded
from bagwise.kernels.cpu.bounds import bounds_workspace, uncertainty_bounds
from bagwise.kernels.cpu.logit_cache import Move
from bagwise.kernels.cpu.logit_update import FARTHEST, LOG2E, RANKS, exponential_off, exponentials, move
from bagwise.model.weight_change import RANK, WeightChange, fresh_slack, unit_of

PRECISIONS = [np.float32, np.float64]


def kept_logits(x, weights):
    kept = np.zeros((len(x), padded(len(weights))), x.dtype)
    kept[:, : len(weights)] = x @ weights.T
    return kept


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("rank", [0, 1, 4, 7, 8, 12])
@pytest.mark.parametrize(("rows", "features", "classes"), [(1, 1, 2), (2, 8, 8), (37, 13, 51), (64, 128, 9)])
def test_rows_are_moved(rows, features, classes, rank, dtype, rng):
    x = rng.normal(size=(rows, features)).astype(dtype)
    weights = rng.normal(size=(classes, features)).astype(dtype)
    change = Move(0.9, rng.normal(size=(classes, rank)).astype(dtype), rng.normal(size=(rank, features)).astype(dtype))
    before = kept_logits(x, weights)
    after, (first, last) = before.copy(), (rows // 3, rows)
    move(x, after, first, last, *change.packed)
    exact = before[:, :classes].astype(float)
    if rank:
        exact[first:] = 0.9 * exact[first:] + (x.astype(float) @ change.along.astype(float).T @ change.by.T)[first:]
    np.testing.assert_allclose(after[:, :classes], exact, atol=3e-4 if dtype == np.float32 else 1e-12)
    np.testing.assert_array_equal(after[:first], before[:first])


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("scale", [0.1, 5.0, 300.0, 1e5])
@pytest.mark.parametrize("classes", [2, 8, 51])
def test_exponentials_are_right_within_their_bound_wherever_the_tops_were(classes, scale, dtype, rng):
    logits = (scale * rng.normal(size=(23, classes))).astype(dtype)
    bias = rng.normal(size=classes).astype(dtype)
    kept = np.zeros((23, padded(classes)), dtype)
    kept[:, :classes] = logits
    tops = (scale * rng.normal(size=23)).astype(dtype)
    e, label_counts = np.empty_like(kept), np.empty(23, dtype)
    for _ in range(2):
        exponentials(kept, tops, 0, 23, LOG2E * Linear.padded_bias(bias, dtype), e, label_counts)
        assert ((label_counts > 1 / FARTHEST) & (label_counts < FARTHEST)).all()
        z = logits.astype(float) + bias
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        found = e[:, :classes] / label_counts[:, None].astype(float)
        unit = unit_of(dtype)
        off = exponential_off(dtype) + unit * (4 * np.abs(logits).max(axis=1, keepdims=True) + 8 * np.abs(bias).max())
        assert (np.abs(found - p) <= p * np.expm1(2 * off + (classes + 8) * unit) + 1e-30).all()


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_bounds_hold_for_bags_of_any_size(dtype, rng):
    """From one instance to thousands, sure and unsure; with no spread the bound is the number itself."""
    sizes = np.array([1, 2, 70, 1, 3000, 15, 64, 65])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    x = rng.normal(size=(offsets[-1], 6)).astype(dtype)
    weights = rng.normal(size=(5, 6)).astype(dtype)
    kept, sides = kept_logits(x, weights), bounds_workspace(len(sizes), 4, 8, dtype)
    bias = LOG2E * Linear.padded_bias(np.zeros(5, dtype), dtype)
    tops, none = np.zeros(len(x), dtype), np.zeros(len(sizes), dtype)
    uncertainty_bounds(offsets, x, kept, *Move.none(6, dtype).packed, tops, bias, none, sides)
    z = x.astype(float) @ weights.astype(float).T
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    absent = np.multiply.reduceat(1 - p, offsets[:-1], axis=0)[:, :4]
    np.testing.assert_allclose(sides, np.minimum(absent, 1 - absent), atol=2e-4 if dtype == np.float32 else 1e-11)
    wide = bounds_workspace(len(sizes), 4, 8, dtype)
    uncertainty_bounds(offsets, x, kept, *Move.none(6, dtype).packed, tops, bias, none + dtype(0.01), wide)
    assert (wide >= np.minimum(absent, 1 - absent)).all()
    assert (wide <= 0.5).all()


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("enough", [0.0, 1e-3, 1.0])
def test_a_motion_takes_no_more_directions_than_it_needs(enough, dtype, rng):
    before = rng.normal(size=(20, 40))
    singular = 10.0 ** -np.arange(10)
    step = rng.normal(size=(20, 10)) * singular @ np.linalg.qr(rng.normal(size=(40, 10)))[0].T
    after = (0.999 * before + step).astype(dtype)
    motion = WeightChange.between(before, after, enough)
    rank = len(motion.move.along)
    assert rank in RANKS
    assert rank == RANK or motion.left <= 1.01 * enough + 1e-6
    assert rank <= {0.0: RANK, 1e-3: 4, 1.0: 4}[enough]


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize(("features", "scale"), [(3, 1.0), (128, 1.0), (200, 1e4), (131, 1e-3)])
def test_a_logit_moved_many_times_is_within_the_bound_of_its_rounding(features, scale, dtype, rng):
    """Rounding adds up and is bounded; the weights reached are known exactly."""
    x = (rng.normal(size=(60, features)) * rng.exponential(size=(60, 1))).astype(dtype)
    weights = (scale * rng.normal(size=(7, features))).astype(dtype)
    kept, reached, rounding = kept_logits(x, weights), weights.astype(float), 2 * fresh_slack(weights)
    for turn in range(30):
        step = (turn % 3 > 0) * rng.normal(size=(7, 3)) @ rng.normal(size=(3, features))
        weights = (0.99 * weights + 0.1 * scale * step).astype(dtype)
        motion = WeightChange.between(reached, weights, enough=0.01 * scale)
        move(x, kept, 0, 60, *motion.move.packed)
        reached, rounding = motion.reached, rounding + motion.rounding
        off = np.abs(kept[:, :7] - x.astype(float) @ reached.T).max(axis=1)
        assert (off <= rounding * np.linalg.norm(x.astype(float), axis=1)).all()
