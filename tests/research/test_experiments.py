import json
import os
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from bagwise import ActiveLearner, BagwiseError, datasets
from bagwise.research.experiments import systems
from bagwise.research.experiments.curves import mean_curves
from bagwise.research.experiments.runner import run_all
from bagwise.research.experiments.simulation import Simulation, first_labelled, split
from bagwise.research.experiments.statistics import queries_to

DATA = datasets.load("synthetic", bags=60)


def test_folds_are_a_partition():
    held_out = [split(DATA, 7, fold, seed=3)[1].bags.ids for fold in range(7)]
    assert sorted(np.concatenate(held_out)) == list(range(60))
    training, test = split(DATA, 7, 2, seed=3)
    assert not set(training.bags.ids) & set(test.bags.ids)
    assert len(training.bags) + len(test.bags) == 60


@pytest.mark.parametrize(("initial", "count"), [(0.1, 6), (5, 5), (0, 0), (60, 60)])
def test_as_many_bags_are_labelled_as_requested(initial, count):
    assert len(set(first_labelled(DATA.labels, initial, seed=0))) == count


def test_the_first_bags_show_every_class_where_possible():
    for seed in range(10):
        first = first_labelled(DATA.labels, 6, seed)
        assert DATA.labels.value[first].any(axis=0).all()


def test_too_many_first_bags_are_refused():
    with pytest.raises(BagwiseError, match="initial=61"):
        first_labelled(DATA.labels, 61, seed=0)


@pytest.mark.parametrize("granularity", ["pair", "bag"])
def test_rows_are_on_the_grid_and_whole_bags_count_once_paid(granularity):
    rows = Simulation("synthetic", granularity=granularity, queries=30, evaluate_every=4, update="bag_sgd").run()
    assert [row["asked"] for row in rows] == [*range(0, 30, 4), 30]
    assert rows[0]["bag_accuracy"] == Simulation("synthetic", queries=1, evaluate_every=1).run()[0]["bag_accuracy"]
    if granularity == "bag":
        assert rows[1]["bag_accuracy"] == rows[0]["bag_accuracy"], "a bag costs six queries: after four none is paid"


def test_an_exhausted_pool_keeps_its_last_value():
    rows = Simulation("synthetic", initial=268, queries=60, evaluate_every=20, update="bag_sgd").run()
    assert [row["asked"] for row in rows] == [0, 20, 40, 60]
    assert rows[-1]["bag_accuracy"] == rows[-2]["bag_accuracy"]


class Counted(Simulation):
    """A simulation that records every run in a file, whose path is its title: workers may have an older environment."""

    def run(self, progress=lambda _: None):
        with Path(self.title).open("a") as marks:
            marks.write(f"{self.fold}\n")
        if os.environ.get("FAIL") == str(self.fold):
            raise KeyboardInterrupt
        return super().run(progress)


@pytest.mark.slow
def test_an_interrupted_run_resumes_where_it_stopped(tmp_path, monkeypatch):
    marks = tmp_path / "marks"
    monkeypatch.setenv("BAGWISE_THREADS", "1")
    simulations = [
        Counted("synthetic", queries=3, evaluate_every=1, folds=4, fold=fold, title=str(marks)) for fold in range(3)
    ]
    monkeypatch.setenv("FAIL", "1")
    with pytest.raises(KeyboardInterrupt):
        run_all(simulations, tmp_path / "runs")
    monkeypatch.delenv("FAIL")
    rows = run_all(simulations, tmp_path / "runs")
    again = run_all(simulations, tmp_path / "runs")
    assert marks.read_text().split() == ["0", "1", "1", "2"]
    assert rows.equals(again)
    monkeypatch.setenv("BAGWISE_THREADS", "2")
    assert run_all(simulations, tmp_path / "elsewhere").equals(rows), "in worker processes, the same bit for bit"


@pytest.mark.parametrize("field", ["criterion", "granularity", "update", "system"])
def test_a_name_that_does_not_exist_is_refused_before_anything_runs(field):
    with pytest.raises(BagwiseError, match="'magic': choose one of"):
        Simulation("digits", **{field: "magic"})


def test_runs_stored_by_earlier_versions_are_found():
    """The keys were computed before fields were added and `scouting` was renamed `cold_start`."""
    assert Simulation("digits").key == "a6fb2fe030df8fe5840b"
    assert Simulation("digits", cold_start=True, detailed=True, title="x").key == "8b340fcb5807bcff5e6d"
    assert Simulation("digits", noise="estimate", again=True).key == "178e5440e3d1d78e7b5e"


def test_every_field_of_a_specification_is_in_its_key():
    one = Simulation("digits")
    others = [replace(one, fold=1), replace(one, seed=1), replace(one, criterion="random"), replace(one, penalty=1.0)]
    assert len({specification.key for specification in [one, *others]}) == 5
    assert Simulation("digits").key == one.key


@pytest.mark.parametrize("system", systems.SYSTEMS)
def test_every_system_runs_and_is_tuned_on_the_first_labels_only(system):
    simulation = Simulation(
        "synthetic", system=system, tuned=True, queries=24, evaluate_every=12, classes_per_query=6, initial=9, folds=5
    )
    rows = simulation.run()
    assert [row["asked"] for row in rows] == [0, 12, 24]
    chosen = json.loads(rows[0]["parameters"])
    candidates = systems.get(system).candidates
    assert any(candidate.items() <= chosen.items() for candidate in candidates)
    preset = candidates == ({},)
    assert preset or len(candidates) == len(systems.get("bagwise").candidates), "the same budget for all that is tuned"


def test_curves_are_means_over_runs():
    rows = pl.DataFrame(
        {
            "strategy": ["a"] * 4,
            "fold": [0, 0, 1, 1],
            "seed": [0] * 4,
            "folds": [5] * 4,
            "asked": [0, 10, 0, 10],
            "bag_accuracy": [0.2, 0.6, 0.4, 0.8],
        }
    )
    curves = mean_curves(rows, "bag_accuracy")
    assert curves["mean"].to_list() == pytest.approx([0.3, 0.7])
    half = 1.96 * np.std([0.2, 0.4], ddof=1) * np.sqrt(1 / 2 + 1 / 4)
    assert curves["high"].to_list() == pytest.approx([0.3 + half, 0.7 + half]), "folds share their training bags"
    assert queries_to(rows, "bag_accuracy", 0.65) == {"a": 10}
    assert queries_to(rows, "bag_accuracy", 0.9) == {"a": None}


class Told(ActiveLearner):
    """A learner that remembers its answers for the test."""

    answers_told: ClassVar = []

    def _learn(self, answer):
        Told.answers_told.append(answer)
        super()._learn(answer)


def pointed(monkeypatch, **options):
    """The positive answers of a short simulation, each with the classes of the instances of its bag."""
    monkeypatch.setattr(systems, "ActiveLearner", Told)
    Told.answers_told = []
    Simulation("digits", queries=60, evaluate_every=60, update="bag_sgd", **options).run()
    training, _ = split(datasets.load("digits", 0), 10, 0, 0)
    of_bags = np.split(training.instance_labels, training.bags.offsets[1:-1])
    return [(answer, of_bags[answer.bag]) for answer in Told.answers_told if answer.present == (True,)]


def test_a_click_is_on_an_instance_of_the_class(monkeypatch):
    answers = pointed(monkeypatch, pointing="click")
    assert len(answers) > 5
    for answer, digits in answers:
        ((instance,),) = answer.where
        assert digits[instance] == answer.classes[0]


def test_a_key_is_about_the_marked_instance(monkeypatch):
    answers = pointed(monkeypatch, pointing="key")
    assert {bool(answer.where) for answer, _ in answers} == {True, False}
    for answer, digits in answers:
        if answer.where:
            assert digits[answer.where[0][0]] == answer.classes[0]
        else:
            assert digits[answer.elsewhere[0][0]] != answer.classes[0]


def test_pointing_may_be_wrong_or_missing(monkeypatch):
    answers = pointed(monkeypatch, pointing="click", pointing_wrong=0.5, pointing_missing=0.4)
    right = [bool(digits[answer.where[0][0]] == answer.classes[0]) for answer, digits in answers if answer.where]
    assert {True, False} == set(right)
    assert 0 < len(right) < len(answers)


def test_pointing_needs_labels_of_instances():
    with pytest.raises(BagwiseError, match="have no labels"):
        Simulation("birds", pointing="click", queries=1).run()
    with pytest.raises(BagwiseError, match="must be one of"):
        Simulation("digits", pointing="finger")


def test_instances_are_measured_where_their_classes_are_known():
    rows = Simulation("digits", queries=1, evaluate_every=1, update="bag_sgd").run()
    assert all(0 <= row["instance_auc"] <= 1 and 0 <= row["instance_accuracy"] <= 1 for row in rows)
