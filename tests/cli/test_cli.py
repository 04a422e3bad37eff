import json
import re
import shutil
import sys

import polars as pl
import pytest
from typer.testing import CliRunner

from bagwise import cli
from bagwise.cli import app
from bagwise.core.errors import BagwiseError
from tests.conftest import in_one_process
from tests.support import forked

pytestmark = pytest.mark.usefixtures("one_process")
runner = CliRunner()
QUICK = ["--queries", "20", "--every", "10", "--folds", "3", "--runs", "2"]


def test_datasets_are_listed_with_what_is_missing(monkeypatch):
    monkeypatch.delenv("BAGWISE_DATA", raising=False)
    listed = json.loads(runner.invoke(app, ["datasets", "--json"]).stdout)
    by_name = {one["name"]: one for one in listed}
    assert by_name["digits"]["bags"] == 396
    assert "BAGWISE_DATA" in by_name["hja"]["missing"]
    table = runner.invoke(app, ["datasets"])
    assert table.exit_code == 0
    assert "frost" in table.stdout


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """What a simulation printed, and its folder."""
    folder = tmp_path_factory.mktemp("simulated") / "out"
    with in_one_process():
        result = runner.invoke(app, ["simulate", "synthetic", *QUICK, "--out", str(folder)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout, folder


def test_simulate_writes_rows_figures_and_a_table(simulated):
    said, folder = simulated
    assert "widening_uncertainty" in said
    rows = pl.read_parquet(folder / "rows.parquet")
    assert sorted(rows["asked"].unique()) == [0, 10, 20]
    assert len(rows) == 2 * 2 * 3
    for metric in ("bag_accuracy", "hamming_loss"):
        assert (folder / f"{metric}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / f"{metric}.svg").read_text()
        page = (folder / f"{metric}.html").read_text()
        assert not re.search(r"<script[^>]+src=", page), "the page must work without a network"


@pytest.mark.parametrize("update", ["bag_sgd", "gd"])
@pytest.mark.parametrize("granularity", ["bag", "bag_then_class"])
def test_simulate_combines_anything(tmp_path, update, granularity):
    chosen = ["--criterion", "expected_gradient_length", "--granularity", granularity, "--update", update, "--json"]
    result = runner.invoke(app, ["simulate", "synthetic", *QUICK, *chosen, "--out", str(tmp_path)])
    (final,) = json.loads(result.stdout)
    assert final["strategy"] == f"expected_gradient_length · {granularity}"
    assert 0 < final["bag_accuracy"] <= 1


@pytest.mark.slow
def test_the_same_specification_gives_the_same_rows(tmp_path, simulated):
    runner.invoke(app, ["simulate", "synthetic", *QUICK, "--out", str(tmp_path)])
    again, before = (pl.read_parquet(folder / "rows.parquet") for folder in (tmp_path, simulated[1]))
    assert again.equals(before)


def test_simulate_goes_on_from_what_is_there(tmp_path, simulated):
    folder = shutil.copytree(simulated[1], tmp_path / "out")
    before = {path: path.stat().st_mtime_ns for path in (folder / "runs").iterdir()}
    result = runner.invoke(app, ["simulate", "synthetic", *QUICK, "--out", str(folder)])
    assert "4 finished before" in result.stderr
    assert {path: path.stat().st_mtime_ns for path in (folder / "runs").iterdir()} == before


@pytest.mark.slow
def test_compare_always_draws_random(tmp_path):
    arguments = ["compare", "synthetic", "uncertainty:bag", "mimlsvm_al", "--queries", "12", "--every", "6"]
    result = runner.invoke(app, [*arguments, "--folds", "3", "--json", "--out", str(tmp_path)], catch_exceptions=False)
    compared = json.loads(result.stdout)
    assert {one["first"] for one in compared} == {"uncertainty · bag", "MIMLSVM-AL"}
    assert {one["second"] for one in compared} == {"random · pair"}
    table = runner.invoke(app, [*arguments, "--folds", "3", "--out", str(tmp_path)], catch_exceptions=False)
    assert "unclear" in table.stdout


def test_demo_shows_both_curves(tmp_path):
    result = runner.invoke(app, ["demo", "--simulate", "25", "--seeds", "1", "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert "random" in result.stdout
    assert "0.92 bag accuracy with" in result.stdout
    assert (tmp_path / "learning-curve.png").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["simulate", "whales"], "There is no data set 'whales': choose one of birds,"),
        (["simulate", "synthetic", "--criterion", "magic"], "There is no criterion 'magic'"),
        (["simulate", "synthetic", "--folds", "1000"], "1000 folds of 300 bags"),
        (["simulate", "synthetic", "--prior", "1", "--penalty", "1"], "`prior` and `penalty` are both given"),
        (["simulate", "synthetic", "--out", "/proc/nowhere"], "/proc/nowhere"),
    ],
)
def test_an_error_is_one_sentence(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["bagwise", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 1
    said = capsys.readouterr().err
    assert words in " ".join(said.split())
    assert "Traceback" not in said


def test_what_to_install_is_shown_in_full(monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["bagwise", "simulate", "frost"])
    with pytest.raises(SystemExit):
        cli.main()
    assert 'pip install "bagwise[datasets]"' in " ".join(capsys.readouterr().err.split())
    assert "[datasets]" in runner.invoke(app, ["datasets"]).stdout


@pytest.mark.parametrize("place", [["--debug", "simulate", "whales"], ["simulate", "whales", "--debug"]])
def test_debug_is_understood_in_any_place(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["bagwise", *place])
    with pytest.raises(BagwiseError, match="There is no data set 'whales'"):
        cli.main()


@pytest.mark.parametrize("debug", [True, False])
def test_the_cause_of_an_error_is_shown_with_debug_only(tmp_path, debug):
    (tmp_path / "bagwise.toml").write_text("name = ")
    command = [sys.executable, "-m", "bagwise", *(["--debug"] if debug else []), "status", str(tmp_path)]
    with forked.Popen(command, stderr=forked.PIPE) as process:
        said = process.stderr.read().decode()
    assert process.returncode != 0
    assert f"{tmp_path / 'bagwise.toml'}: is not TOML" in said.replace("\n", "")
    assert ("Traceback" in said) == debug
    assert ("TOMLDecodeError" in said) == debug
    assert ("direct cause" in said) == debug


def test_every_command_explains_itself():
    for command in [[], ["simulate"], ["compare"], ["datasets"], ["demo"]]:
        result = runner.invoke(app, [*command, "--help"])
        assert result.exit_code == 0
    assert cli.app.info.help
