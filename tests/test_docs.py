import re
import shlex
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from bagwise import formats
from bagwise.cli import app

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("page", ["README.md", "docs/library.md"])
def test_the_examples_run_from_top_to_bottom(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    assert blocks
    namespace = {}
    for block in blocks:
        exec(block, namespace)


def test_the_commands_of_the_projects_page_run(monkeypatch, tmp_path):
    """Every python block and every console block, from top to bottom; the questions are answered with yes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    namespace = {}
    text = (ROOT / "docs/projects.md").read_text()
    for kind, block in re.findall(r"```(python|console)\n(.*?)```", text, flags=re.DOTALL):
        if kind == "python":
            exec(block, namespace)
            continue
        for line in block.splitlines():
            command, *arguments = shlex.split(line.removeprefix("$ "))
            assert command == "bagwise"
            result = CliRunner().invoke(app, arguments, input="y" * 5, catch_exceptions=False)
            assert result.exit_code == 0, f"{line}: {result.output}"
    assert len(pl.read_parquet("predicted.parquet")) == 396 * 10


def test_every_format_is_documented():
    text = (ROOT / "docs/projects.md").read_text()
    for name in formats.available():
        assert f"`{name}`" in text, name


def test_every_link_leads_somewhere():
    for page in [ROOT / "README.md", *ROOT.glob("docs/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_criterion_granularity_update_and_data_set_is_documented():
    from bagwise import criteria, datasets, granularity
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


def test_the_pages_about_quality_tell_what_was_measured(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import quality_figures

    for page in quality_figures.PAGES:
        text = (ROOT / "docs" / f"{page}.md").read_text()
        assert f"<!-- {page if page != 'quality' else 'coverage'} -->" in text
        assert quality_figures.with_figures(text) == text


def test_every_stopping_rule_is_documented():
    from bagwise import stopping

    text = (ROOT / "docs/stopping.md").read_text()
    assert all(f"\n    {name} = " in text for name in stopping.available())
