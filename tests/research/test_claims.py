"""Verdicts follow from rows whose truth is known."""

import numpy as np
import polars as pl
import pytest

from bagwise.research.experiments.statistics import compare_pairs, p_value
from bagwise.research.reproduction import claims
from bagwise.research.reproduction.timing import Growth

FOLDS = 10


def curve(strategy, level, dataset="frost", losses=True, noise=0.01, **more):
    """Rows of one strategy whose every metric is as good as `level` says, with folds that differ a little."""
    rng = np.random.default_rng([len(strategy), int(level * 1000)])
    rows = []
    for fold in range(FOLDS):
        shift = rng.normal(0, noise)
        for asked in range(0, 101, 10):
            value = level + shift + asked / 1000
            row = {"strategy": strategy, "dataset": dataset, "folds": FOLDS, "fold": fold, "seed": 0, "asked": asked}
            row |= {"bag_accuracy": value, "average_precision": value, "log_likelihood": value - 1}
            rows.append(row | {"hamming_loss": 1 - value, "one_error": 1 - value, **more})
    return rows


def finding(number, rows=None, growth=()):
    (found,) = [one for one in claims.judge(rows or {}, growth) if one.number == number]
    return found


def selections(ours, others):
    return pl.DataFrame(
        [row for s in claims.OURS for row in curve(s, ours)] + [r for s in claims.OTHERS for r in curve(s, others)]
    )


@pytest.mark.parametrize(
    ("ours", "others", "verdict"), [(0.7, 0.5, "held"), (0.5, 0.7, "not held"), (0.6, 0.6, "undecided")]
)
def test_selection(ours, others, verdict):
    found = finding(2, {"E2": selections(ours, others)})
    assert len(found.evidence) == 2 * 3 * 4
    assert found.verdict == verdict
    if verdict != "undecided":
        assert found.leaning == (24 if verdict == "held" else 0)


def test_a_claim_that_holds_on_one_data_set_only_holds_partly():
    better = selections(0.7, 0.5)
    worse = selections(0.5, 0.5).with_columns(pl.lit("carroll").alias("dataset"))
    found = finding(2, {"E2": pl.concat([better, worse])})
    assert found.verdict == "partly"
    assert found.closest == "frost"


def test_queries_to_full_data():
    full = pl.DataFrame([{"strategy": claims.MARGINAL, "dataset": "frost", "seed": 0, "bag_accuracy": 0.75 / 0.95}])
    full = full.with_columns(pl.lit(1.0).alias("weights_norm"), pl.lit(2.0).alias("norm_bound"))
    early = finding(3, {"E2": selections(0.72, 0.5), "full data": full})
    assert early.verdict == "held"
    assert "more than 100" in early.evidence[0].text
    assert finding(3, {"E2": selections(0.5, 0.72), "full data": full}).verdict == "not held"
    assert finding(6, {"full data": full}).verdict == "held"
    beyond = full.with_columns(pl.lit(0.5).alias("norm_bound"))
    assert finding(6, {"full data": beyond}).verdict == "not held"


def test_against_the_compared_systems():
    pairs = pl.DataFrame([row for s in claims.OURS for row in curve(s, 0.7)] + curve(claims.MIML_AL, 0.5))
    assert finding(4, {"E3a": pairs}).verdict == "held"
    bags = pl.DataFrame(curve(claims.WHOLE_BAGS, 0.7) + curve(claims.MIMLSVM_AL, 0.5))
    assert finding(5, {"E3b": bags}).verdict == "held"
    leads_all_along = bags.with_columns(pl.lit("hja").alias("dataset"))
    assert finding(5, {"E3b": leads_all_along}).verdict == "partly", "it should have been behind at first"


def test_updates_that_go_on_rising_have_not_converged():
    rising = pl.DataFrame([row for name in ("bag_sgd", "pair_sgd", "gd") for row in curve(name, 0.5)])
    found = finding(1, {"E1": rising})
    assert found.count("against") >= 3
    flat = rising.with_columns(
        pl.when(pl.col("asked") == 0).then(-1.0).otherwise(pl.col("log_likelihood").first().over("strategy", "fold"))
        .alias("log_likelihood")
    )  # fmt: skip
    converged = [one for one in finding(1, {"E1": flat}).evidence if "of its gain" in one.text]
    assert {one.speaks for one in converged} == {"for"}


@pytest.mark.parametrize(("power", "verdict"), [(1.0, "held"), (2.0, "not held")])
def test_growth(power, verdict):
    sizes = (100, 200, 400)
    growth = [Growth("uncertainty", "bags", sizes, tuple(1e-6 * size**power for size in sizes))]
    assert growth[0].slope == pytest.approx(power)
    assert finding(7, growth=growth).verdict == verdict


def test_the_test_allows_for_folds_that_share_training_bags():
    gaps = np.random.default_rng(0).normal(0.1, 0.1, size=10)
    plain = p_value(gaps, folds=10**9)
    from scipy.stats import ttest_1samp

    assert plain == pytest.approx(ttest_1samp(gaps, 0).pvalue, rel=1e-6)
    assert p_value(gaps, folds=10) > plain
    assert p_value(np.zeros(10), folds=10) == 1


def test_parts_of_a_curve():
    rows = pl.DataFrame(curve("a", 0.5, noise=0) + curve("b", 0.4, noise=0))
    rows = rows.with_columns(
        pl.when((pl.col("strategy") == "a") & (pl.col("asked") > 10)).then(0.1).otherwise(pl.col("bag_accuracy"))
        .alias("bag_accuracy")
    )  # fmt: skip
    means = {
        part: compare_pairs(rows, "bag_accuracy", [("a", "b")], part)[0].mean for part in ("start", "area", "final")
    }
    assert means["start"] == pytest.approx(0.1)
    assert means["final"] == pytest.approx(0.1 - 0.5)
    assert means["final"] < means["area"] < means["start"]
