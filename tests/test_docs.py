import re
import shlex
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from bagwise import formats, ingest
from bagwise.cli import app
from bagwise.ingest import media, worker_pool
from bagwise.project.instances import worker_pool as working
from bagwise.research.experiments import runner
from tests.ray_here import ray_here

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("page", ["README.md", "docs/library.md", "docs/noise.md"])
def test_the_examples_run_from_top_to_bottom(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    assert blocks
    namespace = {}
    for block in blocks:
        exec(block, namespace)


def run_page(text, namespace):
    """Every python block and every console block, from top to bottom; the questions are answered with yes."""
    for kind, block in re.findall(r"```(python|console)\n(.*?)```", text, flags=re.DOTALL):
        if kind == "python":
            exec(block, namespace)
            continue
        for line in block.splitlines():
            command, *arguments = shlex.split(line.removeprefix("$ "))
            assert command == "bagwise"
            result = CliRunner().invoke(app, arguments, input="y" * 5, catch_exceptions=False)
            assert result.exit_code == 0, f"{line}: {result.output}"


def test_the_commands_of_the_projects_page_run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    run_page((ROOT / "docs/projects.md").read_text(), {})
    assert len(pl.read_parquet("predicted.parquet")) == 396 * 10


@pytest.fixture
def one_process(monkeypatch):
    """A start costs more than these few runs."""
    monkeypatch.setattr(runner, "thread_count", lambda: 1)
    monkeypatch.setattr(working, "thread_count", lambda: 1)
    monkeypatch.setattr(worker_pool, "cores", lambda: 1)


@pytest.mark.usefixtures("one_process")
def test_partitioned_projects_run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = {}
    section = (ROOT / "docs/cluster.md").read_text().partition("## Partitioned projects\n")[2].partition("\n## ")[0]
    run_page(section, found)
    assert found["parts"].n_bags == 200
    assert len(found["parts"].parts) == 5


def test_the_cluster_page_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with ray_here():
        run_page((ROOT / "docs/cluster.md").read_text().partition("## How it works")[0], {})


@pytest.mark.usefixtures("one_process")
def test_the_pictures_page_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = {}
    text = (ROOT / "docs/pictures.md").read_text()
    assert "SCENES = 40\n" in text
    run_page(
        text.replace("SCENES = 40\n", "SCENES = 20\n").replace("--queries 40 --every 20", "--queries 10 --every 5"),
        found,
    )
    assert found["right"] > 0.75


@pytest.mark.usefixtures("one_process")
def test_the_documents_page_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = {}
    text = (ROOT / "docs/documents.md").read_text()
    run_page(text.replace("--queries 40 --every 20", "--queries 10 --every 5"), found)
    assert found["predicted"]["class"][0] == "debugger"
    assert found["predicted"]["evidence"][0] == 0


def test_the_example_of_the_api_page_runs_against_a_real_server(monkeypatch, tmp_path, synthetic, capsys):
    from bagwise.project import Invitations, Project
    from tests.conftest import source_of
    from tests.server.conftest import Running

    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/api.md").read_text(), flags=re.DOTALL)
    with Project.create(tmp_path / "project", source_of(synthetic), classes=synthetic.classes) as project:
        monkeypatch.setenv("BAGWISE_TOKEN", Invitations(project.database).invite("script"))
    server = Running(tmp_path / "project")
    monkeypatch.setenv("BAGWISE_SERVER", server.address)
    try:
        exec(example, {})
        said = capsys.readouterr().out
        assert said.startswith("I am script\n1: ")
        assert said.endswith("5 answers in the project\n")
        assert [event.annotator for event in server.project.events] == ["script"] * 5
    finally:
        server.stop()


def test_every_route_and_refusal_is_documented(project):
    from bagwise.server import application

    text = (ROOT / "docs/api.md").read_text()
    for path, methods in application(project, "ann").openapi()["paths"].items():
        for method, what in methods.items():
            assert f"`{method.upper()} {path}" in text, path
            for code in what["responses"]:
                assert code == "200" or code in text, code


def test_every_format_is_documented():
    text = (ROOT / "docs/projects.md").read_text()
    for name in formats.available():
        assert f"`{name}`" in text, name


def test_every_medium_is_documented():
    text = (ROOT / "docs/projects.md").read_text()
    for name in media.available():
        line = next(line for line in text.splitlines() if line.startswith(f"| `{name}` |"))
        for suffix in media.available()[name].TYPES:
            assert f" {suffix}" in line, suffix
        for column in media.columns_of(name):
            assert f"`{column}`" in line, column


def test_every_segmenter_is_documented():
    text = (ROOT / "docs/projects.md").read_text()
    for name in ingest.segmenters.available():
        assert f"\n| `{name}`" in text, name


def test_every_link_leads_somewhere():
    for page in [ROOT / "README.md", *ROOT.glob("docs/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_criterion_granularity_update_and_data_set_is_documented():
    from bagwise import datasets
    from bagwise.learning import criteria, granularity
    from bagwise.model import solvers

    text = (ROOT / "docs/library.md").read_text()
    families = (criteria.available(), granularity.GRANULARITIES, solvers.available(), datasets.available())
    for name in (name for family in families for name in family):
        assert f"`{name}`" in text, name


def test_the_readme_tells_what_was_measured(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import readme

    monkeypatch.setattr(readme, "DEMO_ROWS", ROOT / "nowhere")
    text = (ROOT / "README.md").read_text()
    assert readme.with_figures(text) == text
    assert "| hja | with background (default) |" in text


def test_the_page_about_performance_tells_what_was_measured(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import performance

    text = performance.PAGE.read_text()
    assert all(f"<!-- {suite} -->" in text for suite in performance.tables())
    assert performance.with_figures(text) == text


def test_the_pages_about_quality_tell_what_was_measured(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import quality_figures

    for page in quality_figures.PAGES:
        text = (ROOT / "docs" / f"{page}.md").read_text()
        assert f"<!-- {page if page != 'quality' else 'coverage'} -->" in text
        assert quality_figures.with_figures(text) == text


def test_every_stopping_rule_is_documented():
    from bagwise.evaluation import stopping

    text = (ROOT / "docs/stopping.md").read_text()
    assert all(f"\n    {name} = " in text for name in stopping.available())
