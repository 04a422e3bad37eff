"""Numbers that must not depend on the processor: right to the last digits, and in an order that is written down."""

import math
import os
import subprocess
import sys
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import rosen, rosen_der

from bagwise.evaluation.noise.rates import INSIDE, PRIOR_HIGH, PRIOR_RIGHT
from bagwise.kernels.arithmetic import elementary
from bagwise.kernels.arithmetic.cholesky import inverse_diagonal, inverse_of_lower, pivoted_cholesky
from bagwise.kernels.arithmetic.clustering import k_means, squared_distances
from bagwise.kernels.arithmetic.minimise import minimise
from bagwise.kernels.arithmetic.product import padded
from bagwise.kernels.arithmetic.sums import add_columns, dot, inner, transposed_product
from bagwise.model.nystroem import NystroemMap

ULPS = 4

positive = st.floats(1e-300, 1e300)
nonpositive = st.floats(-700, 0)
moderate = st.floats(-500, 500)


def units_off(found, exact):
    """By how many units of its last digit a number is off."""
    return abs(mpmath.mpf(float(found)) - exact) / mpmath.mpf(math.ulp(float(exact)))


@given(positive)
def test_log(x):
    assert units_off(elementary.log(x), mpmath.log(x)) < ULPS


@given(st.one_of(st.floats(-1 + 1e-12, 1e300), st.floats(-1e-3, 1e-3)))
def test_log1p(x):
    with mpmath.workdps(50):
        assert units_off(elementary.log1p(x), mpmath.log1p(x)) < ULPS


@given(st.floats(-690, 690))
def test_log_of_likely_has_the_bits_of_the_logarithms_with_branches(z):
    p, complement = elementary.expit(z), elementary.expit(-z)
    expected = elementary.log(p) if p < 0.5 else elementary.log1p(-complement)
    assert elementary.log_of_likely(float(p), float(complement)) == expected


@given(moderate)
def test_exp(x):
    assert units_off(elementary.exp(x), mpmath.exp(x)) < ULPS


@given(st.one_of(nonpositive, st.floats(-1, 0)))
def test_expm1(x):
    with mpmath.workdps(50):
        assert units_off(elementary.expm1_nonpositive(x), mpmath.expm1(x)) < ULPS


@given(moderate)
def test_expit_and_its_logarithm(x):
    with mpmath.workdps(300):
        share = 1 / (1 + mpmath.exp(-mpmath.mpf(x)))
        assert units_off(elementary.expit(x), share) < ULPS
        assert units_off(elementary.log_expit(x), mpmath.log(share)) < ULPS


@given(moderate, moderate)
def test_logaddexp(a, b):
    assert math.isclose(elementary.logaddexp(a, b), np.logaddexp(a, b), rel_tol=1e-14, abs_tol=1e-14)


def test_limits_of_elementary_functions():
    assert elementary.log(0.0) == -np.inf
    assert elementary.log1p(-1.0) == -np.inf
    assert elementary.exp(-1e6) == 0
    assert elementary.exp(0.0) == 1
    assert elementary.logit(0.5) == 0
    np.testing.assert_array_equal(elementary.log([[1.0, np.inf]]), [[0, np.inf]])


LOGARITHMS = """
import sys
from bagwise.kernels.arithmetic import elementary
from bagwise.kernels.arithmetic.compile import kernel

@kernel
def in_a_kernel(x):
    return elementary.log_of(x)

for use in sys.argv[1:]:
    if use == "kernel":
        assert in_a_kernel(1.0) == 0
    elif use == "number":
        assert elementary.log_of(float("inf")) == float("inf")
    else:
        found = elementary.log([1.0, float("inf"), float("nan")]).tolist()
        assert str(found) == "[0.0, inf, nan]", found
"""


@pytest.mark.slow
@pytest.mark.parametrize(("first", "then"), [("kernel", ["array", "number"]), ("array", ["number"])])
def test_what_is_compiled_first_is_not_loaded_for_another_use(first, then, tmp_path):
    script = tmp_path / "logarithms.py"
    script.write_text(LOGARITHMS)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for uses in ([first], then):
        done = subprocess.run(
            [sys.executable, script, *uses], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{uses}: {done.returncode} {done.stderr}"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "classes", "features"), [(1, 1, 1), (5, 3, 4), (129, 14, 38), (300, 51, 128)])
def test_a_transposed_product_is_right_and_summed_in_the_order_of_the_rows(rows, classes, features, dtype, rng):
    factors = rng.normal(size=(rows, padded(classes))).astype(dtype)
    x = rng.normal(size=(rows, features)).astype(dtype)
    found = transposed_product(factors, x, classes)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found, factors[:, :classes].T.astype(float) @ x.astype(float), atol=tolerance)
    of_first = transposed_product(factors[:, :8].copy(), x[:, :1].copy(), 1)
    assert of_first[0, 0] == found[0, 0], "a number depends on its own class and feature alone"
    sums = np.ones(classes)
    add_columns(sums, factors)
    np.testing.assert_allclose(sums, 1 + factors[:, :classes].sum(axis=0), atol=tolerance)


@given(st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_sums_of_products(length, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=length), rng.normal(size=length)
    exact = math.fsum(a * b)
    assert math.isclose(dot(a, b), exact, rel_tol=1e-12, abs_tol=1e-12)
    assert inner(a, b) == dot(a, b)


@pytest.mark.parametrize("size", [2, 10, 50])
def test_minimising_ends_where_the_gradient_is_flat_and_never_climbs(size):
    seen = []
    found, iterations = minimise(
        lambda x: (rosen(x), rosen_der(x)), np.full(size, -1.2), 2000, 1e-6, lambda _, value: seen.append(value)
    )
    np.testing.assert_allclose(found, 1, atol=1e-3)
    assert iterations == len(seen)
    assert all(after <= before for before, after in pairwise(seen))


def test_minimising_stops_after_as_many_iterations_as_allowed():
    _, iterations = minimise(lambda x: (rosen(x), rosen_der(x)), np.full(5, -1.2), 3, 0.0)
    assert iterations == 3


def test_minimising_goes_around_what_is_infinite():
    def barrier(x):
        with np.errstate(invalid="ignore", divide="ignore"):
            inside = x[0] < 1
            return (float(x[0] ** 2 - 5 * x[0] - np.log(1 - x[0])) if inside else np.inf), np.array(
                [2 * x[0] - 5 + 1 / (1 - x[0])]
            )

    found, _ = minimise(barrier, np.array([-30.0]), 100, 1e-9)
    assert abs(2 * found[0] - 5 + 1 / (1 - found[0])) < 1e-6


def test_a_pivoted_factor_explains_the_matrix_and_leaves_out_what_is_explained(rng):
    rows = rng.normal(size=(6, 4))
    matrix = rows @ rows.T
    pivots, lower = pivoted_cholesky(matrix, 1e-10)
    assert len(pivots) == 4, "of rank four"
    np.testing.assert_allclose(lower @ lower.T, matrix[np.ix_(pivots, pivots)], atol=1e-10)
    np.testing.assert_allclose(inverse_of_lower(lower) @ lower, np.eye(4), atol=1e-10)
    positive_matrix = matrix + np.eye(6)
    np.testing.assert_allclose(inverse_diagonal(positive_matrix, 1e-12), np.linalg.inv(positive_matrix).diagonal())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_k_means_finds_clusters_that_are_apart(dtype, rng):
    middles = 10 * rng.permutation(np.eye(6))
    rows = (np.repeat(middles, 30, axis=0) + 0.1 * rng.normal(size=(180, 6))).astype(dtype)
    centres = k_means(rows, 6, 20, seed=1)
    nearest = squared_distances(rows, centres).argmin(axis=1)
    assert len({tuple(set(nearest[start : start + 30])) for start in range(0, 180, 30)}) == 6
    for cluster in range(6):
        np.testing.assert_allclose(centres[cluster], rows[nearest == cluster].mean(axis=0), atol=1e-4)
    np.testing.assert_array_equal(k_means(rows, 6, 20, seed=1), centres)


def test_the_nystroem_map_has_the_products_of_the_kernel(rng):
    rows = rng.normal(size=(50, 3)) * [1, 10, 100]

    class Scaler:
        mean_, scale_ = rows.mean(axis=0), rows.std(axis=0)

    mapped = NystroemMap().fit(rows, Scaler).transform(rows)
    scaled = (rows - Scaler.mean_) / Scaler.scale_
    np.testing.assert_allclose(mapped[:, :3], scaled)
    kernel = np.exp(-((scaled[:, None] - scaled) ** 2).sum(axis=2) / (2 * 3))
    np.testing.assert_allclose(mapped[:, 3:] @ mapped[:, 3:].T, 3 * kernel, atol=1e-6)


def test_the_rate_before_any_answer_has_the_interval_of_its_prior():
    assert math.isclose(PRIOR_HIGH, 1 - (1 - INSIDE) ** (1 / PRIOR_RIGHT), rel_tol=1e-12)
