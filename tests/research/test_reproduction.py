import json
import re
import shutil
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from bagwise import ActiveLearner, datasets
from bagwise.cli import app
from bagwise.data.metrics.bag_accuracy import bag_accuracy
from bagwise.datasets import synthetic
from bagwise.research.experiments import simulation, systems
from bagwise.research.experiments.full_data import FullData
from bagwise.research.experiments.simulation import Simulation, first_labelled, keyed_seed, split
from bagwise.research.reproduction import claims, plan, rows, timing
from tests.conftest import in_one_process

ROOT = Path(__file__).parents[2]
TINY = plan.Size(
    seeds=(1,), sensitivity_seeds=(1,), folds=4, of_folds=2, epochs=3, most_epochs=3, most_queries=12,
    most_bag_queries=2, pair_grid=6, bag_grid=1, checkpoints=2,
)  # fmt: skip

SOME = (plan.REFITS, plan.ONLINE_BAG, "E3a", "E3b", "full-data", "E1", "E2-joint", "likelihoods")
"""One analysis of every kind."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Everything that `reproduce` writes, from a tiny version of every kind of analysis."""
    folder = tmp_path_factory.mktemp("reproduction")
    with pytest.MonkeyPatch.context() as patch, in_one_process():
        patch.setattr(plan, "QUICK", TINY)
        patch.setattr(plan, "KNOWN", (0.3,))
        patch.setattr(synthetic, "load", partial(synthetic.load, bags=40, features=4))
        patch.setattr(timing, "BASE", {"bags": 40, "instances per bag": 2, "classes": 3, "features": 4})
        chosen = [option for name in SOME for option in ("--experiment", name)]
        arguments = ["reproduce", "--quick", *chosen, "--datasets", "synthetic", "--out", str(folder)]
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert "Report: " in result.stdout
    return folder


@pytest.mark.slow
def test_every_figure_is_drawn(folder):
    for figure in plan.FIGURES:
        pictures = list((folder / "figures").glob(f"figure-{figure.number}-*.svg"))
        assert len(pictures) == (2 if figure.experiment == "E2" else 1)
    assert (folder / "figures" / "forest.svg").stat().st_size > 5000


@pytest.mark.slow
def test_the_page_has_no_marks_of_markdown(folder):
    text = (folder / "report.html").read_text()
    paragraphs = re.findall("<p>(.*?)</p>", text)
    assert not any(mark in paragraph for paragraph in paragraphs for mark in ("`", "](", "*"))
    assert '<a href="appendix.md">appendix</a>' in text
    assert "<code>bagwise reproduce</code>" in text


@pytest.mark.slow
def test_every_claim_gets_a_verdict_with_evidence(folder):
    found = json.loads((folder / "results.json").read_text())["claims"]
    settings = {number: sum(one["claim"] == number for one in found) for number in claims.TEXTS}
    assert settings == {1: 1, 2: 3, 3: 3, 4: 2 * 3, 5: 3, 6: 1, 7: 1}
    assert {one["verdict"] for one in found} <= {claims.HELD, claims.NOT_HELD, "inconclusive"}
    assert all(piece["text"] for one in found for piece in one["evidence"])


@pytest.mark.slow
def test_the_page_is_short_and_leads_to_the_appendix(folder):
    page, appendix = ((folder / name).read_text() for name in ("README.md", "appendix.md"))
    assert len(page.splitlines()) < 100
    assert len(re.findall(r"!\[", page)) == 6, "a forest plot and five figures"
    for linked in re.findall(r"\]\((figures/[^)]+)\)", page + appendix):
        assert (folder / linked).exists()
    assert "Too few runs" in page


@pytest.mark.slow
def test_the_report_opens_in_a_browser_and_loads_nothing_from_elsewhere(folder, page):
    requested = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto((folder / "report.html").as_uri())
    assert page.faults == []
    assert [url for url in requested if not url.startswith("file:")] == []
    assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
    assert page.locator("script").count() == 0
    summary = page.get_by_text("Claim 2, refits, prior 1").first
    table = summary.locator("xpath=following-sibling::table")
    assert not table.is_visible()
    summary.click()
    assert table.is_visible()


@pytest.mark.slow
def test_the_report_can_be_written_from_the_compact_rows(folder, monkeypatch):
    monkeypatch.setattr(plan, "KNOWN", (0.3,))
    cells = {name: plan.cells(plan.ANALYSES[name], ["synthetic"], TINY) for name in SOME}
    read = rows.read(folder / "rows.parquet", cells)
    found = [(one.number, one.setting, one.verdict()) for one in claims.judge(read)]
    told = json.loads((folder / "results.json").read_text())["claims"]
    assert found == [(one["claim"], one["model"], one["verdict"]) for one in told if one["claim"] != 7]


@pytest.mark.slow
def test_what_is_finished_can_be_reported_without_running_anything(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "QUICK", TINY)
    monkeypatch.setattr(timing, "selection_growth", list)
    monkeypatch.setattr(Simulation, "run", None)
    monkeypatch.setattr(timing, "likelihood_times", lambda *_: [])
    chosen = ["--experiment", "E3a", "--experiment", "E3b"]
    arguments = ["reproduce", "--quick", "--finished", *chosen, "--datasets", "synthetic", "--out"]
    nothing = CliRunner().invoke(app, [*arguments, str(tmp_path / "empty")])
    assert "No analysis is finished" in str(nothing.exception) + nothing.output
    shutil.copytree(folder / "runs", tmp_path / "runs")
    for cell in plan.cells(plan.ANALYSES["E3b"], ["synthetic"], TINY)[:1]:
        (tmp_path / "runs" / f"{cell.key}.parquet").unlink()
    result = CliRunner().invoke(app, [*arguments, str(tmp_path)], catch_exceptions=False)
    assert result.exit_code == 0
    reported = json.loads((tmp_path / "results.json").read_text())["checksums"]
    assert list(reported) == ["E3a"]
    cells = {name: plan.cells(plan.ANALYSES[name], ["synthetic"], TINY) for name in ("E1", "E3a", "E3b")}
    left = rows.unfinished(cells, tmp_path)
    assert {name: len(some) for name, some in left.items()} == {"E1": 0, "E3a": 0, "E3b": 1}


@pytest.mark.slow
def test_a_run_goes_on_from_the_rows_of_another_machine(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "QUICK", TINY)
    monkeypatch.setattr(timing, "selection_growth", list)
    monkeypatch.setattr(timing, "likelihood_times", lambda *_: [])
    shutil.copy(folder / "rows.parquet", tmp_path)
    of_analysis = plan.cells(plan.ANALYSES["E3b"], ["synthetic"], TINY)
    missing, unplanned = of_analysis[1].key, of_analysis[2].key
    known = rows.stored(tmp_path)
    changed = known.filter(pl.col("key") != missing).with_columns(pl.col("key").replace(unplanned, "of another plan"))
    changed.write_parquet(tmp_path / "rows.parquet")
    ran = []
    run = Simulation.run
    monkeypatch.setattr(Simulation, "run", lambda one, *progress: (ran.append(one.key), run(one, *progress))[1])
    monkeypatch.setattr(synthetic, "load", partial(synthetic.load, bags=40, features=4))
    arguments = ["reproduce", "--quick", "--experiment", "E3b", "--datasets", "synthetic", "--out", str(tmp_path)]
    with in_one_process():
        assert CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code == 0
    assert ran == [missing, unplanned]
    kept = rows.stored(tmp_path)
    others = kept.filter(pl.col("key") == "of another plan")
    assert others.height == known.filter(pl.col("key") == unplanned).height, "rows of other plans are not lost"
    assert kept.filter(pl.col("key") != "of another plan").sort(pl.all()).equals(known.sort(pl.all()))
    assert "of another plan" not in rows.read(tmp_path / "rows.parquet", {"E3b": of_analysis})["E3b"]["key"]


@pytest.mark.usefixtures("one_process")
def test_an_estimate_runs_none_of_the_final_seeds(tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "FULL", TINY)
    ran = []
    monkeypatch.setattr(FullData, "run", lambda one, _: ran.append((one.seed, one.fold)))
    arguments = ["reproduce", "--estimate", "--experiment", "full-data", "--datasets", "synthetic"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path)], catch_exceptions=False)
    assert set(ran) == {(plan.DEVELOPMENT, 0)}
    assert "hours of one core" in result.stdout
    assert not list(tmp_path.iterdir())


def test_the_seeds_of_the_final_runs_are_fresh():
    assert len(set(plan.SEEDS)) == 10
    assert plan.DEVELOPMENT not in plan.SEEDS
    written = re.compile("|".join(f"{seed:_}|{seed}" for seed in plan.SEEDS))
    elsewhere = [
        file
        for folder in ("src", "tests", "benchmarks", "tools")
        for file in (ROOT / folder).rglob("*.py")
        if written.search(file.read_text(encoding="utf-8"))
    ]
    assert [file.name for file in elsewhere] == ["plan.py"]


def test_no_two_runs_share_random_numbers():
    seeds = [keyed_seed(seed, fold) for seed, fold in product((*plan.SEEDS, *range(10)), range(5))]
    assert len(set(seeds)) == len(seeds)
    assert Simulation("frost", seed=3, fold=1).run_seed == Simulation("frost", seed=2, fold=2).run_seed
    one, other = (Simulation("frost", seed=s, fold=f, keyed=True) for s, f in ((3, 1), (2, 2)))
    assert one.run_seed != other.run_seed
    assert one.key != Simulation("frost", seed=3, fold=1).key


def test_every_arm_has_the_same_folds_and_first_labels():
    for name in (plan.REFITS, "E3a", "E2-penalty"):
        cells = plan.cells(plan.ANALYSES[name], ["frost"], plan.FULL)
        seeds = plan.SEEDS if plan.ANALYSES[name].main else plan.SEEDS[:4]
        runs = {(one.seed, one.fold) for one in cells}
        assert runs == set(product(seeds, range(5)))
        assert len({one.run_seed for one in cells}) == len(runs), "keyed by (seed, fold) and nothing else"
        assert len({one.key for one in cells}) == len(cells)
        assert {one.initial for one in cells} == {0.05}


def test_the_letters_are_asked_to_exhaustion():
    for name in plan.DRAWN:
        data = datasets.load(name)
        most = 0
        for fold in range(plan.FULL.folds):
            training, _ = split(data, plan.FULL.folds, fold, 0)
            labelled = len(first_labelled(training.labels, 0.05, 0))
            most = max(most, len(training.bags) - labelled)
        pairs = most * data.labels.n_classes
        assert 0 <= plan.TO_EXHAUSTION[name] - pairs < plan.FULL.pair_grid
        assert 0 <= plan.BAGS_TO_EXHAUSTION[name] - most < plan.FULL.bag_grid


def test_the_model_of_the_main_analysis_is_not_tuned():
    cells = plan.cells(plan.ANALYSES[plan.REFITS], ["frost"], TINY)
    assert {(one.prior, one.penalty, one.tuned, one.tuned_on_all, one.background) for one in cells} == {
        (1.0, None, False, False, False)
    }
    fixed = plan.cells(plan.ANALYSES["E2-penalty"], ["frost"], TINY)
    assert {(one.prior, one.penalty) for one in fixed} == {(None, 1e-4)}


def test_checkpoints_and_exhaustion(monkeypatch):
    monkeypatch.setattr(synthetic, "load", partial(synthetic.load, bags=40, features=4))
    alike = {"evaluate_every": 10, "checkpoints": 2, "update": "refits", "folds": 4, "keyed": True, "audit": 0.0}
    told = Simulation("synthetic", queries=40, **alike).run()
    assert [row["asked"] for row in told if row["scratch_accuracy"] is not None] == [10, 20]
    data = datasets.load("synthetic", 0)
    learner = ActiveLearner(data.bags, data.classes, data.labels.hide(np.arange(5, 40)))
    first = bag_accuracy(data.labels.value, learner.predict_proba(data.bags))
    assert simulation._from_scratch(learner, data, data) == first, "a first fit is one from scratch"
    assert len({row["exhausted_accuracy"] for row in told}) == 1
    to_the_end = Simulation("synthetic", queries=200, **alike).run()
    assert to_the_end[-1]["bag_accuracy"] == to_the_end[-1]["exhausted_accuracy"]


def test_the_tuned_penalty_is_not_at_an_edge(monkeypatch):
    """The best of the powers of ten is far below where the search starts."""
    monkeypatch.setattr(systems, "_inner_score", lambda _, parameters, *__: -abs(np.log10(parameters["penalty"]) + 6))
    data = datasets.load("synthetic", bags=10)
    assert systems.best_penalty({}, data, 0) == {"penalty": pytest.approx(1e-6)}
    tuned = Simulation("synthetic", tuned_on_all=True, background=False)
    assert tuned.parameters(data, np.arange(3))["penalty"] == pytest.approx(1e-6)


def test_a_share_of_the_labels():
    labels = datasets.load("frost").labels
    shown = FullData("frost", "marginal", known=0.3, folds=5)._shown(labels)
    assert 0.25 < shown.n_known / labels.n_known < 0.35
    assert (shown.value[shown.known] == labels.value[shown.known]).all()
    assert not np.array_equal(
        FullData("frost", "marginal", known=0.3, folds=5, fold=1)._shown(labels).known, shown.known
    )


def test_birds_stand_in_for_hja(monkeypatch):
    monkeypatch.delenv("BAGWISE_DATA", raising=False)
    assert plan.available_datasets() == ["carroll", "frost", "birds"]


def test_every_figure_of_the_paper_is_planned():
    assert [figure.number for figure in plan.FIGURES] == list(range(3, 13))
