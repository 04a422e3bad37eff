import numpy as np
import polars as pl
import pytest

from bagwise import BagwiseError, datasets
from bagwise.experiments.curves import first_reaching, mean_curves
from bagwise.experiments.simulation import Simulation, first_labelled, run, split

DATA = datasets.load("synthetic", bags=60)


def test_folds_are_a_partition():
    held_out = [split(DATA, 7, fold, seed=3)[1].bags.ids for fold in range(7)]
    assert sorted(np.concatenate(held_out)) == list(range(60))
    training, test = split(DATA, 7, 2, seed=3)
    assert not set(training.bags.ids) & set(test.bags.ids)
    assert len(training.bags) + len(test.bags) == 60


@pytest.mark.parametrize(("initial", "count"), [(0.1, 6), (5, 5), (0, 0), (60, 60)])
def test_as_many_bags_are_labelled_as_said(initial, count):
    assert len(set(first_labelled(DATA.labels, initial, seed=0))) == count


def test_the_first_bags_show_every_class_where_possible():
    for seed in range(10):
        first = first_labelled(DATA.labels, 6, seed)
        assert DATA.labels.value[first].any(axis=0).all()


def test_too_many_first_bags_are_refused():
    with pytest.raises(BagwiseError, match="initial=61"):
        first_labelled(DATA.labels, 61, seed=0)


@pytest.mark.parametrize("granularity", ["pair", "bag"])
def test_rows_lie_on_the_grid_and_whole_bags_count_once_paid(granularity):
    rows = run(Simulation("synthetic", granularity=granularity, queries=30, evaluate_every=4, update="bag_sgd"))
    assert [row["asked"] for row in rows] == list(range(0, 31, 4))
    assert rows[0]["bag_accuracy"] == run(Simulation("synthetic", queries=1, evaluate_every=1))[0]["bag_accuracy"]
    if granularity == "bag":
        assert rows[1]["bag_accuracy"] == rows[0]["bag_accuracy"], "a bag costs six queries: after four none is paid"


def test_an_exhausted_pool_keeps_its_last_value():
    rows = run(Simulation("synthetic", initial=268, folds=10, queries=60, evaluate_every=20, update="bag_sgd"))
    assert [row["asked"] for row in rows] == [0, 20, 40, 60]
    assert rows[-1]["bag_accuracy"] == rows[-2]["bag_accuracy"]


def test_curves_are_means_over_runs():
    rows = pl.DataFrame(
        {
            "strategy": ["a"] * 4,
            "fold": [0, 0, 1, 1],
            "seed": [0] * 4,
            "asked": [0, 10, 0, 10],
            "bag_accuracy": [0.2, 0.6, 0.4, 0.8],
        }
    )
    curves = mean_curves(rows, "bag_accuracy")
    assert curves["mean"].to_list() == pytest.approx([0.3, 0.7])
    assert first_reaching(rows, "bag_accuracy", 0.65) == {"a": 10}
    assert first_reaching(rows, "bag_accuracy", 0.9) == {"a": None}
