"""The efficiency suite: what is run from nothing, and what the report says of rare positives."""

import numpy as np
import polars as pl
import pytest

from bagwise import datasets
from bagwise.learning.cold_start import ColdStart
from bagwise.research.experiments import efficiency, efficiency_report, systems
from bagwise.research.experiments.efficiency import NO_SEARCH, OURS, RANDOM
from bagwise.research.experiments.simulation import Simulation


def test_every_set_starts_from_nothing_with_and_without_search():
    runs = efficiency.plan(efficiency.SETS, efficiency.QUICK)
    nothing = [one for one in runs if one.initial == 0 and one.seed == efficiency.SEARCH_SEED]
    for arm, searches in ((OURS, True), (NO_SEARCH, False)):
        of_arm = [one for one in nothing if one.strategy == arm]
        assert {one.dataset for one in of_arm} == set(efficiency.SETS)
        assert {one.search for one in of_arm} == {searches}
    assert len({one.key for one in runs}) == len(runs)
    assert "scarce" not in {one.dataset for one in runs if one.seed == efficiency.SEED}


def test_the_search_of_a_simulation_can_be_left_out():
    data, system = datasets.load("synthetic"), systems.get("bagwise")
    nothing = data.labels.hide(np.arange(len(data.bags)))
    for labels, search, expected in (
        (nothing, True, True),
        (nothing, False, ColdStart(searches=False)),
        (data.labels, False, False),
    ):
        how = systems.Strategy(update="bag_sgd", cold_start=True, search=search)
        assert system.learner(data, labels, system.model({}, data.transformer), how, 0).cold_start == expected
    assert Simulation("digits").key != Simulation("digits", search=False).key


@pytest.mark.slow
def test_the_yes_after_discovery_are_counted_from_the_last_class_that_it_found():
    rows = Simulation(
        "digits", update="bag_sgd", queries=150, initial=0, evaluate_every=50, cold_start=True, detailed=True
    ).run()
    found, last = rows[-1]["all_found_after"], rows[-1]
    assert found < 50
    assert last["yes"] - rows[1]["yes"] <= last["yes_after_discovery"] + (last["asked"] - found - 100)
    assert last["yes_after_discovery"] <= min(100, last["yes"] - 10)


def test_the_report_compares_with_and_without_search():
    shares = efficiency_report._prevalence("rare", efficiency.SEARCH_SEED)
    rare = [place for place, share in enumerate(shares) if share < efficiency_report.RARE_BELOW]
    rows = pl.DataFrame(
        {"dataset": "rare", "strategy": arm, "seed": 1, "fold": fold, "folds": 10, "asked": asked}
        | {"bag_accuracy": level + asked / 1000, "yes_after_discovery": round(100 * level) + fold}
        | {"recall": [level if place in rare else None for place in range(len(shares))]}
        for arm, level in ((OURS, 0.5), (RANDOM, 0.1), (NO_SEARCH, 0.25))
        for fold in range(2)
        for asked in (0, 100, 200, 400)
    )
    text = efficiency_report._search(rows)
    assert "| 25.5 | 50.5 | 0.25 | 0.50 |" in text
    assert "| rare | 0.350 → 0.600 | 0.450 → 0.700 | 0.650 → 0.900 | +0.250 ± 0.000 | +0.250 ± 0.000 |" in text
    assert f"| {NO_SEARCH} |" + " 0.25 |" * len(rare) in text
    assert RANDOM not in text
