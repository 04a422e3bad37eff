import json

import polars as pl
import pytest
from typer.testing import CliRunner

from bagwise.cli import app
from bagwise.experiments import reproduction

TINY = reproduction.Size(folds=4, of_folds=2, epochs=3, pair_queries=24, bag_queries=3, pair_grid=12, bag_grid=1)


@pytest.mark.parametrize(("experiment", "numbers"), [("1", [3, 4]), ("2", [5, 6, 7, 8]), ("3", [9, 10, 11, 12])])
def test_every_figure_is_drawn_from_rows_on_disk(experiment, numbers, tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction, "QUICK", TINY)
    arguments = ["reproduce", "--quick", "--experiment", experiment, "--datasets", "synthetic", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    for number in numbers:
        (picture,) = tmp_path.glob(f"figure-{number}-*.png")
        assert picture.stat().st_size > 5000
    for one in reproduction.EXPERIMENTS[experiment]:
        assert len(pl.read_parquet(tmp_path / f"{one}.parquet")) > 0
        compared = json.loads((tmp_path / f"{one}.json").read_text())
        assert all(difference["runs"] == 2 for difference in compared)


def test_experiments_two_and_three_share_their_runs():
    keys = {name: {one.key for one in reproduction.plan(name, ["frost"], TINY, False)} for name in ("E2", "E3a")}
    assert len(keys["E2"] & keys["E3a"]) == 3 * TINY.of_folds


def test_every_figure_of_the_paper_is_planned():
    assert [figure.number for figure in reproduction.FIGURES] == list(range(3, 13))


def test_birds_stand_in_for_hja(monkeypatch):
    monkeypatch.delenv("BAGWISE_DATA", raising=False)
    assert reproduction.available_datasets() == ["carroll", "frost", "birds"]
