"""Features stored as 16-bit numbers: half the bytes, and everything else as with 32."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from bagwise.cli import app
from bagwise.core.errors import BagwiseError
from bagwise.formats import Source
from bagwise.project import Project, check
from tests.conftest import source_of

FILE = "instances.bin"


@pytest.fixture
def both(tmp_path, synthetic):
    """The same project in float32 and float16, with the same answers."""
    found = {}
    for dtype in (np.float32, np.float16):
        source = replace(source_of(synthetic), dtype=np.dtype(dtype))
        project = Project.create(tmp_path / dtype.__name__, source, classes=synthetic.classes)
        for bag in range(8):
            for answer in ("present", "absent"):
                wanted = np.asarray(synthetic.labels.value)[bag] == (answer == "present")
                pairs = [(bag, c) for c in np.flatnonzero(wanted).tolist()]
                if pairs:
                    project.answer_listed("ann", answer, pairs, key=f"{bag} {answer}")
        found[dtype.__name__] = project
    yield found
    for project in found.values():
        project.close()


def test_it_is_half_as_large_and_predicts_the_same(both):
    large, small = both["float32"], both["float16"]
    assert small.bags.instances.dtype == np.float16
    assert (small.folder / FILE).stat().st_size * 2 == (large.folder / FILE).stat().st_size
    for model in ("fit_model", "online_model"):
        one, other = (getattr(project, model)().predict_proba(project.bags) for project in (small, large))
        assert np.abs(one - other).max() < 0.01, model
    assert [found for found in check(small) if found.wrong] == []


@pytest.mark.slow
@pytest.mark.usefixtures("one_process")
def test_it_is_asked_reopened_partitioned_copied_and_grows(both, synthetic):
    project = both["float16"]
    (lease,) = project.ask("ann")
    project.answer(lease.key, "ann", "present")
    copy = project.backup(project.folder.with_name("copy"))
    before = project.online_model().predict_proba(project.bags)
    more = [np.array(bag) for bag in list(synthetic.bags)[:2]]
    project.partition(3)
    project.import_(Source.of_bags(Path("more.npz"), more, ["new 1", "new 2"]))
    assert len(project.bags) == len(before) + 2
    assert project.bags[len(before)].dtype == np.float16
    assert [found for found in check(project) if found.wrong] == []
    with Project.open(copy) as other:
        assert other.settings.data.dtype == "float16"
        np.testing.assert_array_equal(other.online_model().predict_proba(other.bags), before)


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    pl.DataFrame({"bag": ["a", "a", "b"], "x": rng.normal(size=3), "y": [0.5, 1e3, 2.0]}).write_csv("bags.csv")
    Path("classes.txt").write_text("wren\n")
    command = ["init", "birds", "--from", "bags.csv", "--classes", "classes.txt", "--float16"]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert Path("birds", FILE).stat().st_size == 3 * 2 * 2
    assert 'dtype = "float16"' in Path("birds", "bagwise.toml").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("one_process")
def test_the_command_with_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pages").mkdir()
    for name, text in (("a", "A wren sang in the old barn."), ("b", "Bread stood on the sill.\n\nIt was warm.")):
        Path("pages", f"{name}.txt").write_text(text)
    Path("classes.txt").write_text("wren\n")
    command = ["init", "birds", "--from", "pages", "--classes", "classes.txt", "--float16"]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    with Project.open("birds") as project:
        assert project.bags.instances.dtype == np.float16
        assert np.abs(project.bags.instances).max() > 0


def test_what_is_too_large_is_refused(tmp_path):
    source = Source.of_bags(Path("made.npz"), [np.array([[1.0], [1e6]])], ["a"])
    with pytest.raises(BagwiseError, match="too large to be stored"):
        Project.create(tmp_path / "p", replace(source, dtype=np.dtype(np.float16)), classes=["wren"])
