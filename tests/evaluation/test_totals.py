"""The expectation of the estimates over all draws, by enumeration: no simulation."""

from fractions import Fraction

import numpy as np
import pytest

from bagwise.evaluation.totals import total

VALUES = [Fraction(1), Fraction(0), Fraction(1), Fraction(1), Fraction(0)]
CONTROL = [Fraction(3, 4), Fraction(1, 4), Fraction(1, 4), Fraction(7, 8), Fraction(1, 2)]


def probabilities(history, left, design):
    """A distribution over the open pairs that may depend on all answers so far."""
    if design == "uniform":
        weights = {i: Fraction(1) for i in left}
    elif design == "by control":
        weights = {i: Fraction(1, 5) + CONTROL[i] for i in left}
    else:
        weights = {i: 1 + i * sum(VALUES[j] for j, _ in history) for i in left}
    return {i: Fraction(weight, 1) / sum(weights.values()) for i, weight in weights.items()}


def chosen(history, left, adaptive):
    """The pair that is chosen next, which may depend on all answers so far."""
    found = sum(int(VALUES[j]) for j, _ in history)
    return sorted(left)[found % len(left)] if adaptive else max(left)


def every_way(turns, design, adaptive, history=(), weight=Fraction(1)):
    """(probability, history) of everything that can happen; "a" is the turn of an audit, "c" of a chosen answer."""
    left = [i for i in range(len(VALUES)) if i not in {j for j, _ in history}]
    if len(history) == len(turns):
        yield weight, history
    elif turns[len(history)] == "c":
        yield from every_way(turns, design, adaptive, (*history, (chosen(history, left, adaptive), None)), weight)
    else:
        for i, q in probabilities(history, left, design).items():
            yield from every_way(turns, design, adaptive, (*history, (i, q)), weight * q)


def arrays(history):
    values, order = np.full(len(VALUES), np.nan), np.full(len(VALUES), np.inf)
    probability = np.full(len(VALUES), np.nan)
    for time, (i, q) in enumerate(history):
        values[i], order[i] = VALUES[i], time
        if q is not None:
            probability[i] = q
    return values, order, np.array(CONTROL, float), probability


@pytest.mark.parametrize("turns", ["a", "aa", "ca", "acac", "caca", "aaaaa", "cca"])
@pytest.mark.parametrize("design", ["uniform", "by control", "by answers"])
@pytest.mark.parametrize("adaptive", [False, True])
def test_the_expectation_over_all_draws_is_the_total(turns, design, adaptive):
    ways = list(every_way(turns, design, adaptive))
    assert sum(weight for weight, _ in ways) == 1
    expectation = sum(float(weight) * total(*arrays(history)).value for weight, history in ways)
    assert expectation == pytest.approx(float(sum(VALUES)), abs=1e-12)


@pytest.mark.parametrize("turns", ["aa", "aaa"])
def test_without_shrinking_the_variance_is_estimated_without_bias(turns):
    """Where the pool is so large that it hardly shrinks: the same pairs many times over."""
    copies = 20000
    values, control = np.repeat(np.array(VALUES, float), copies), np.repeat(np.array(CONTROL, float), copies)
    n = len(values)
    estimates, squared_errors, weights = [], [], []
    for drawn in np.ndindex(*[len(VALUES)] * len(turns)):
        places = [i * copies + number for number, i in enumerate(drawn)]
        order, probability = np.full(n, np.inf), np.full(n, np.nan)
        order[places], probability[places] = range(len(turns)), 1 / (n - np.arange(len(turns)))
        found = total(np.where(np.isinf(order), np.nan, values), order, control, probability)
        estimates.append(found.value)
        squared_errors.append(found.standard_error**2)
        weights.append(len(VALUES) ** -len(turns))
    assert np.mean(estimates) == pytest.approx(values.sum(), rel=1e-3)
    assert np.mean(squared_errors) == pytest.approx(np.var(estimates), rel=1e-2)


def test_a_whole_bag_is_one_draw():
    values = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    control = np.array([[0.5, 0.25], [0.25, 0.5], [0.0, 0.5]])
    found = []
    for bag in range(3):
        order, probability = np.full((3, 2), np.inf), np.full((3, 2), np.nan)
        order[bag], probability[bag] = 0, 1 / 3
        found.append(total(np.where(np.isinf(order), np.nan, values), order, control, probability).value)
    assert np.mean(found) == pytest.approx(3, abs=1e-12)


def test_what_is_known_from_the_start_counts_as_it_is():
    values, order = np.array([1.0, 0.0, 1.0]), np.full(3, -np.inf)
    assert total(values, order, np.full(3, 0.5), np.full(3, np.nan)).value == 2
    assert total(values, order, np.full(3, 0.5), np.full(3, np.nan)).standard_error == 0


def test_a_right_control_leaves_no_error():
    rng = np.random.default_rng(0)
    truth = (rng.random((30, 3)) < 0.3).astype(float)
    order = np.where(rng.random((30, 3)) < 0.2, rng.random((30, 3)), np.inf)
    values = np.where(np.isinf(order), np.nan, truth)
    probability = np.where(np.isinf(order), np.nan, 0.01)
    found = total(values, order, truth, probability)
    assert found.value == pytest.approx(truth.sum())
    assert found.standard_error == pytest.approx(0, abs=1e-9)


def test_without_audits_the_control_is_all_there_is():
    values, order = np.array([1.0, np.nan]), np.array([0.0, np.inf])
    found = total(values, order, np.array([0.2, 0.7]), np.full(2, np.nan))
    assert found.value == pytest.approx(1.7)
    assert np.isinf(found.standard_error)
