"""The statistics against cases computed by hand, and against simulated runs whose truth is known."""

import math

import numpy as np
import polars as pl
import pytest

from bagwise.research.experiments.statistics import (
    EQUIVALENT,
    INCONCLUSIVE,
    INFERIOR,
    SUPERIOR,
    Ratio,
    compare_pairs,
    differences,
    of_draws,
    of_runs,
)

FOLDS, SEEDS = 5, 10
RUNS = FOLDS * SEEDS
SIMULATED = 1000


def two_degrees(t):
    """P(T > t) of Student's t with two degrees of freedom, which has a closed form."""
    return 0.5 - t / (2 * math.sqrt(2 + t * t))


def test_the_corrected_t_by_hand():
    one = of_runs(np.array([0.1, 0.2, 0.3]), folds=5)
    error = 0.1 * math.sqrt(1 / 3 + 1 / 4)
    quantile = 0.95 * math.sqrt(2) / math.sqrt(1 - 0.95**2)
    assert one.error == pytest.approx(error)
    assert one.p == pytest.approx(2 * two_degrees(0.2 / error))
    assert one.interval() == pytest.approx((0.2 - quantile * error, 0.2 + quantile * error))
    assert of_draws(np.array([0.1, 0.2, 0.3])).p == pytest.approx(2 * two_degrees(0.2 / (0.1 / math.sqrt(3))))


def test_two_one_sided_tests_by_hand():
    one = of_draws(np.array([-0.01, 0.0, 0.04]))
    error = one.error
    assert one.mean == pytest.approx(0.01)
    assert one.p_within(0.03) == pytest.approx(max(two_degrees(0.04 / error), two_degrees(0.02 / error)))
    low, high = one.interval(0.9)
    margin = max(-low, high)
    assert one.p_within(margin) == pytest.approx(0.05), "the 90 % interval just fits"


def test_of_a_single_run_nothing_can_be_said():
    one = of_runs(np.array([0.4]), folds=5)
    assert (one.p, one.interval()) == (1.0, (-math.inf, math.inf))
    assert one.p_within(0.5) == 0.5


def rows_of(gaps, metric="bag_accuracy", dataset="hja"):
    """Rows of strategies `a` and `b`, (seeds x folds), whose areas differ by the gaps."""
    return pl.DataFrame(
        {"strategy": name, "dataset": dataset, "seed": seed, "fold": fold, "folds": FOLDS, "asked": asked}
        | {metric: 0.5 + sign * gaps[seed, fold] / 2 + asked / 1000}
        for name, sign in (("a", 1), ("b", -1))
        for seed in range(gaps.shape[0])
        for fold in range(gaps.shape[1])
        for asked in (0, 10)
    )


def compared(gaps, metric="bag_accuracy", drawn=()):
    (one,) = compare_pairs(rows_of(gaps, metric), metric, [("a", "b")], drawn=drawn)
    return one


SPREAD = np.linspace(-1, 1, RUNS).reshape(FOLDS, SEEDS).T


@pytest.mark.parametrize(
    ("mean", "spread", "outcome"),
    [
        (0.05, 0.02, SUPERIOR),
        (-0.05, 0.02, INFERIOR),
        (0.004, 0.02, EQUIVALENT),
        (0.02, 0.1, INCONCLUSIVE),
        (0.01, 0.001, SUPERIOR),
    ],
)
def test_outcomes(mean, spread, outcome):
    assert compared(mean + spread * SPREAD).outcome == outcome
    opposite = {SUPERIOR: INFERIOR, INFERIOR: SUPERIOR}.get(outcome, outcome)
    assert compared(mean + spread * SPREAD, "hamming_loss").outcome == opposite, "of a loss, less is better"


def test_draws_count_where_they_are_independent():
    gaps = 0.02 + np.linspace(-0.05, 0.05, SEEDS)[:, None] + np.zeros(FOLDS)
    by_runs, by_draws = compared(gaps), compared(gaps, drawn=["hja"])
    assert (by_runs.unit, by_draws.unit, by_runs.runs, by_draws.runs) == ("runs", "draws", RUNS, RUNS)
    assert by_runs.mean == pytest.approx(by_draws.mean)
    direct = of_draws(gaps[:, 0])
    assert (by_draws.low, by_draws.high) == pytest.approx(direct.interval())


def overlapping(rng, mean, deviation=0.03):
    """Gaps of runs that share bags: any two have the correlation that the correction assumes, 1/folds."""
    shared, own = rng.normal(size=1), rng.normal(size=RUNS)
    return mean + deviation * (math.sqrt(1 / FOLDS) * shared + math.sqrt(1 - 1 / FOLDS) * own)


def rate(event):
    rng = np.random.default_rng(0)
    return np.mean([event(rng) for _ in range(SIMULATED)])


def test_error_rates_of_the_corrected_t():
    assert rate(lambda rng: of_runs(overlapping(rng, 0), FOLDS).p < 0.05) == pytest.approx(0.05, abs=0.02)
    naive = rate(lambda rng: of_draws(overlapping(rng, 0)).p < 0.05)
    assert naive > 0.4, "which is what is corrected"
    at_the_margin = rate(lambda rng: of_runs(overlapping(rng, 0.03), FOLDS).p_within(0.03) < 0.05)
    assert at_the_margin == pytest.approx(0.05, abs=0.02)


def test_power_of_fifty_runs():
    """With a standard deviation of .03 between runs a difference of .05 is found, with .02 that nothing differs."""
    assert rate(lambda rng: of_runs(overlapping(rng, 0.05), FOLDS).p < 0.05) > 0.9
    assert rate(lambda rng: of_runs(overlapping(rng, 0.0, deviation=0.02), FOLDS).p_within(0.03) < 0.05) > 0.85


def test_error_rate_and_power_of_ten_draws():
    def means(rng, mean):
        return mean + rng.normal(0, 0.02, SEEDS) + rng.normal(0, 0.05, (FOLDS, SEEDS)).mean(axis=0)

    assert rate(lambda rng: of_draws(means(rng, 0)).p < 0.05) == pytest.approx(0.05, abs=0.02)
    assert rate(lambda rng: of_draws(means(rng, 0.04)).p < 0.05) > 0.9


def test_ratio_of_questions():
    never = Ratio.of(np.array([math.inf, 100.0]), np.array([200.0, 200.0]))
    assert never.high == math.inf, "what was never reached was not reached earlier"
    two = Ratio.of(np.array([100.0, 400.0]), np.array([200.0, 200.0]))
    assert (two.mean, two.low, two.high) == pytest.approx((1.0, 0.5, 2.0))

    def upper(rng, ratio):
        questions = 1000 * np.exp(rng.normal(0, 0.15, (2, SEEDS)))
        return Ratio.of(ratio * questions[0], questions[1]).high

    rng = np.random.default_rng(1)
    assert np.mean([upper(rng, 0.75) < 0.75 for _ in range(200)]) < 0.08
    assert np.mean([upper(rng, 0.5) < 0.75 for _ in range(200)]) > 0.9


def test_every_strategy_against_one():
    gaps = np.full((1, 10), 0.1)
    (one,) = differences(rows_of(gaps), "bag_accuracy", "b")
    assert (one.first, one.better, one.worse) == ("a", True, False)
    assert one.mean == pytest.approx(0.1)
    (reverse,) = differences(rows_of(gaps), "bag_accuracy", "a")
    assert reverse.worse
    assert reverse.mean == pytest.approx(-0.1)


def test_holm_corrects_for_all_that_is_compared_at_once():
    gaps = np.random.default_rng(3).normal(0.02, 0.03, (SEEDS, FOLDS))
    rows = rows_of(gaps)
    twice = pl.concat([rows, rows.with_columns(pl.lit("frost").alias("dataset"))])
    alone, together = (compare_pairs(one, "bag_accuracy", [("a", "b")])[0] for one in (rows, twice))
    assert together.p == alone.p
    assert together.p_holm == pytest.approx(2 * alone.p_holm)


def test_parts_of_a_curve():
    at = {0: 0.1, 10: 0.3, 50: 0.4, 100: 0.8}
    rows = pl.DataFrame(
        {"strategy": name, "dataset": "d", "seed": 0, "fold": fold, "folds": 2, "asked": asked}
        | {"bag_accuracy": (value if name == "a" else 0.0) + 0.01 * fold}
        for name in "ab"
        for fold in range(2)
        for asked, value in at.items()
    )
    parts = {
        part: compare_pairs(rows, "bag_accuracy", [("a", "b")], part)[0].mean
        for part in ("start", "early", "area", "final")
    }
    assert parts == pytest.approx({"start": 0.1, "early": 0.2, "area": 0.4, "final": 0.8})
