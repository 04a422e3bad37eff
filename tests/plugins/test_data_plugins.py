"""Formats, data sets, media, segmenters and embedders of other packages: the packages of docs/extending-data.md, and
callables where a name would do.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from bagwise import BagwiseError, datasets, formats
from bagwise.core import plugins
from bagwise.ingest import Recipe, Segments, embedders, list_files, media, segmenters, worker_pool
from bagwise.ingest.worker import Task
from bagwise.project import Project
from tests.ingest.embeddings import letters
from tests.test_docs import run_page

PAGE = Path(__file__).parents[2] / "docs/extending-data.md"
FAMILIES = {
    "bagwise.formats": formats.available,
    "bagwise.datasets": datasets.available,
    "bagwise.media": media.available,
    "bagwise.segmenters": segmenters.available,
    "bagwise.embedders": embedders.available,
}
FILE = re.compile(r"```python\n# (\S+\.py)\n(.*?)```", flags=re.DOTALL)
PROJECT = re.compile(r"```toml\n# pyproject\.toml\n(.*?)```", flags=re.DOTALL)


def sections():
    return {section.partition("\n")[0]: section for section in PAGE.read_text().split("\n## ")[1:]}


def package_of(section):
    """Name, files and entry points of the package in a section."""
    project = tomllib.loads(PROJECT.findall(section)[0])["project"]
    return project["name"], dict(FILE.findall(section)), project["entry-points"]


@pytest.fixture(autouse=True)
def one_process(monkeypatch):
    """A start costs more than these files."""
    monkeypatch.setattr(worker_pool, "cores", lambda: 1)


@pytest.mark.parametrize("title", sections())
def test_the_package_of_every_family_is_found_and_its_commands_run(title, installed, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    section = sections()[title]
    name, files, entry_points = package_of(section)
    for group, members in entry_points.items():
        assert not set(members) & set(FAMILIES[group]())
    installed(name, files, entry_points)
    for group, members in entry_points.items():
        assert set(members) <= set(FAMILIES[group]())
    run_page(FILE.sub("", section), {})


def test_every_family_has_a_section_with_a_package():
    groups = {group for section in sections().values() for group in package_of(section)[2]}
    assert groups == set(FAMILIES)


@pytest.mark.slow
def test_plug_ins_are_found_by_the_command_in_a_process_of_its_own(installed, tmp_path):
    for title in ("A medium", "An embedder"):
        installed(*package_of(sections()[title]))
    (tmp_path / "logs").mkdir()
    (tmp_path / "classes.txt").write_text("overload\n")

    def bagwise(*words):
        command = [sys.executable, "-m", "bagwise", *words]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr

    (tmp_path / "logs" / "a.log").write_text("one line\n")
    embed = ["--embed", "letters:aeiou"]
    bagwise("init", "p", "--from", "logs", "--medium", "logs", "--classes", "classes.txt", *embed)
    (tmp_path / "logs" / "b.log").write_text("one more line\n")
    bagwise("import", "p", "--from", "logs", *embed)
    with Project.open(tmp_path / "p") as project:
        assert project.bags.sizes.tolist() == [2, 3]
        assert project.settings.display.bag == "log"


def test_a_format_that_knows_the_content_goes_before_its_container(installed, tmp_path):
    detections = "DESCRIPTION = 'detections'\nSUFFIXES = ('.csv',)\n"
    detections += "def recognises(path):\n    return path.read_text().startswith('clip,')\n"
    detections += "def read(path, bag_column=None):\n    from bagwise.formats import Source, csv\n"
    detections += "    return csv.read(path, bag_column='clip')\n"
    (tmp_path / "a.csv").write_text("clip,score\nx,1\nx,2\n")
    with pytest.raises(BagwiseError, match="there is no column bag"):
        formats.read(tmp_path / "a.csv")
    installed("detections", {"detections.py": detections}, {"bagwise.formats": {"detections": "detections"}})
    assert formats.read(tmp_path / "a.csv").ids == ["x"]


def test_a_plug_in_that_cannot_be_used_is_named(installed):
    installed("broken", {"broken.py": "import no_such_module"}, {"bagwise.embedders": {"broken": "broken"}})
    with pytest.raises(BagwiseError, match=r"'broken' \(bagwise\.embedders\) of broken cannot be imported") as error:
        embedders.available()
    assert isinstance(error.value.__cause__, ImportError)
    installed("taken", {"taken.py": ""}, {"bagwise.formats": {"csv": "taken"}})
    with pytest.raises(BagwiseError, match="has a name that is taken"):
        formats.available()


def lines(path):
    """A segmenter that is a function."""
    found = path.read_text().splitlines()
    return Segments(np.array([[len(line)] for line in found], np.float32), np.full((len(found), 4), np.nan))


def test_callables_and_modules_work_where_names_do(tmp_path):
    (tmp_path / "a.txt").write_text("one owl\nand two")
    digits = datasets.available()["digits"]
    assert datasets.load(digits).name == datasets.load(digits.load).name == "digits"
    assert formats.writer("labels.any", "labels", formats.available()["csv"]) is formats.available()["csv"]
    assert list_files(tmp_path, media.available()["text"]).medium == "text"

    recipe = Recipe.of("text", lines)
    assert recipe.features(1) == ["feature 1"]
    assert recipe.as_tree()["way"] == f"{__name__}:lines"
    assert recipe.same_method(Recipe.from_tree(recipe.as_tree()))
    ((_, outcome),) = worker_pool.segment_files(recipe, [Task(tmp_path / "a.txt")])
    assert outcome.segments, outcome.reason
    assert outcome.segments[0].features.ravel().tolist() == [7, 7]

    by_function, by_name = (Recipe.of("text", None, one) for one in (letters, "tests.ingest.embeddings:letters"))
    assert by_function.same_method(by_name)
    found = [recipe.segment_function()(tmp_path / "a.txt").features for recipe in (by_function, by_name)]
    np.testing.assert_array_equal(*found)

    with pytest.raises(BagwiseError, match="is for picture, not for text"):
        Recipe.of("text", segmenters.available()["grid"])
    with pytest.raises(BagwiseError, match="is not a known medium"):
        media.name_of(plugins)
