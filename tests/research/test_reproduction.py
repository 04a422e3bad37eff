import hashlib
import json
from dataclasses import replace
from functools import partial

import polars as pl
import pytest
from typer.testing import CliRunner

from bagwise.cli import app
from bagwise.datasets import synthetic
from bagwise.research.experiments import systems
from bagwise.research.reproduction import plan, timing
from tests.conftest import in_one_process

TINY = plan.Size(folds=4, of_folds=2, epochs=3, pair_queries=12, bag_queries=2, pair_grid=6, bag_grid=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Everything that `reproduce` writes, from a tiny version of all experiments."""
    folder = tmp_path_factory.mktemp("reproduction")
    with pytest.MonkeyPatch.context() as patch, in_one_process():
        patch.setattr(plan, "QUICK", TINY)
        patch.setattr(systems, "INNER_FOLDS", 2)
        ours = systems.SYSTEMS["bagwise"]
        patch.setitem(systems.SYSTEMS, "bagwise", replace(ours, candidates=ours.candidates[:2]))
        patch.setattr(synthetic, "load", partial(synthetic.load, bags=60, features=4))
        patch.setattr(timing, "BASE", {"bags": 40, "instances per bag": 2, "classes": 3, "features": 4})
        arguments = ["reproduce", "--quick", "--datasets", "synthetic", "--out", str(folder)]
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert "Report: " in result.stdout
    return folder


def test_every_figure_is_drawn_for_every_model(folder):
    for number in range(3, 13):
        pictures = list((folder / "figures").glob(f"figure-{number}-*.png"))
        assert len(pictures) == (3 if number in (5, 6, 7, 8) else 2)
        assert all(picture.stat().st_size > 5000 for picture in pictures)
        assert len(list((folder / "figures").glob(f"figure-{number}-*.svg"))) == len(pictures)


def test_every_claim_gets_a_verdict_with_figures(folder):
    found = json.loads((folder / "results.json").read_text())["claims"]
    assert [one["claim"] for one in found] == [1, 2, 3, 4, 5, 6, 7, 2, 3, 1, 2, 3, 4, 5, 6, 7]
    assert all(one["verdict"] in ("held", "partly", "not held", "undecided") for one in found)
    assert all(piece["text"] for one in found for piece in one["evidence"])


def test_the_report_opens_in_a_browser(folder, page):
    requested = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto((folder / "report.html").as_uri())
    page.wait_for_function("document.querySelectorAll('figure canvas, figure svg.marks').length >= 24")
    assert page.faults == []
    assert [url for url in requested if not url.startswith(("file:", "data:", "blob:"))] == []
    verdicts = page.locator("td.held, td.partly, td.not-held, td.undecided")
    assert verdicts.count() == 16
    summary = page.get_by_text("measurements of claim 2").first
    table = summary.locator("xpath=following-sibling::table")
    assert not table.is_visible()
    summary.click()
    assert table.is_visible()


def test_checksums_are_those_of_the_rows(folder):
    sums = dict(line.split("  ", 1)[::-1] for line in (folder / "checksums.txt").read_text().splitlines())
    rows = pl.read_parquet(folder / "rows-E2-paper.parquet")
    assert sums["E2, the paper's model"] == hashlib.sha256(rows.write_csv().encode()).hexdigest()
    assert len(sums) == 12


@pytest.mark.usefixtures("one_process")
def test_a_part_can_be_run_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "QUICK", TINY)
    monkeypatch.setattr(timing, "selection_growth", list)
    arguments = ["reproduce", "--quick", "--experiment", "1", "--model", "paper", "--datasets", "synthetic"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path)], catch_exceptions=False)
    assert result.exit_code == 0
    found = json.loads((tmp_path / "results.json").read_text())["claims"]
    assert [one["claim"] for one in found] == [1]


def test_experiments_two_and_three_share_their_runs():
    keys = {name: {one.key for one in plan.plan(name, ["frost"], TINY, plan.PAPER)} for name in ("E2", "E3a")}
    assert len(keys["E2"] & keys["E3a"]) == 3 * TINY.of_folds


def test_every_figure_of_the_paper_is_planned():
    assert [figure.number for figure in plan.FIGURES] == list(range(3, 13))


def test_birds_stand_in_for_hja(monkeypatch):
    monkeypatch.delenv("BAGWISE_DATA", raising=False)
    assert plan.available_datasets() == ["carroll", "frost", "birds"]
