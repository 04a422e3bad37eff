"""The suite of data sets with embeddings: its plan, and a report of rows that are known."""

import polars as pl

from bagwise.research.experiments import embedded, embedded_report
from bagwise.research.experiments.efficiency import OURS, RANDOM


def test_both_arms_have_the_same_folds_and_start_from_nothing():
    runs = embedded.plan(["scenes", "manuals"], embedded.QUICK)
    assert len(runs) == 2 * 2 * embedded.QUICK.fold_count
    assert {(one.initial, one.seed, one.queries) for one in runs} == {(0.0, embedded.SEED, embedded.QUICK.questions)}
    by_arm = [[(one.dataset, one.fold) for one in runs if one.strategy == arm] for arm in (OURS, RANDOM)]
    assert by_arm[0] == by_arm[1]
    assert {one.model for one in embedded.ceilings(["scenes"], embedded.QUICK)} == {"bagwise"}


def test_the_report_says_what_is_gained(tmp_path):
    rows = pl.DataFrame(
        {"dataset": "scenes", "strategy": arm, "seed": embedded.SEED, "fold": fold, "folds": 10, "asked": asked}
        | dict.fromkeys(embedded_report.METRICS, level + 0.1 * fold + asked / 1000)
        for arm, level in ((OURS, 0.5), (RANDOM, 0.25))
        for fold in range(2)
        for asked in (0, 100)
    )
    ceilings = pl.DataFrame({"dataset": ["scenes"], **{name: [0.875] for name in embedded_report.METRICS}})
    page = embedded_report.write(rows, ceilings, tmp_path, embedded.QUICK).read_text(encoding="utf-8")
    line = "| scenes | 0.600 | 0.350 | +0.250 (+0.250 to +0.250) | yes | 0.650 | 0.400 | 0.875 |"
    assert page.count(line) == len(embedded_report.METRICS)
    assert "## ROC-AUC" in page
