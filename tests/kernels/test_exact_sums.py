"""Sums that are the same however their terms are ordered and split, and as good as they can be."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from bagwise import Bags
from bagwise.kernels.arithmetic.exact_sums import add_rows, splitters, total
from bagwise.model.features import fit_transformer

NUMBERS = st.floats(-1e30, 1e30, allow_subnormal=False, width=64)


def summed(parts, largest, count, centre=0.0, squared=False):
    split_by = splitters(np.array([largest]), count)
    found = []
    for part in parts:
        sums = np.zeros_like(split_by)
        add_rows(sums, split_by, np.asarray(part, float).reshape(-1, 1), np.array([centre]), squared)
        found.append(sums)
    return total(np.sum(found, axis=0))[0]


@settings(deadline=None)  # the kernel is compiled in the first
@given(st.lists(NUMBERS, min_size=1, max_size=50), st.randoms(), st.integers(0, 50))
def test_order_and_split_do_not_matter(values, random, cut):
    largest = max(map(abs, values))
    whole = summed([values], largest, len(values))
    shuffled = random.sample(values, len(values))
    assert summed([shuffled[:cut], shuffled[cut:]], largest, len(values)) == whole
    assert whole == pytest.approx(math.fsum(values), rel=1e-15, abs=largest * 1e-28)


def test_the_scaler_is_that_of_scikit_learn_and_knows_nothing_of_the_order(rng):
    x = (rng.normal(size=(500, 6)) * [1, 1e-6, 1e6, 1, 1, 1] + [0, 5, -1e6, 1e3, 0, 0]).astype(np.float32)
    x[:, 4] = 7.25
    bags = Bags(x, np.arange(0, 501, 5))
    ours, theirs = fit_transformer("standardise", bags), StandardScaler().fit(x)
    np.testing.assert_allclose(ours.mean_, theirs.mean_, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(ours.scale_, theirs.scale_, rtol=1e-9)
    assert ours.scale_[4] == 1
    np.testing.assert_allclose(ours.transform(x), theirs.transform(x), rtol=1e-4, atol=1e-6)
    again = fit_transformer("standardise", bags.select(rng.permutation(100)))
    np.testing.assert_array_equal(again.mean_, ours.mean_)
    np.testing.assert_array_equal(again.scale_, ours.scale_)


@pytest.mark.parametrize("options", [{"with_std": False}, {"with_mean": False}])
def test_a_scaler_that_does_one_thing_only_does_not_do_the_other(rng, options):
    from bagwise import MIMLClassifier

    bags = Bags(rng.normal(3, 2, size=(60, 4)), np.arange(0, 61, 3))
    model = MIMLClassifier(transformer=StandardScaler(**options), fit_intercept=False).prepare(bags, 2)
    expected = StandardScaler(**options).fit_transform(bags.instances)
    np.testing.assert_allclose(model.instances(bags).transformed(0, 60), expected)
