import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import yaml
from mkdocs.exceptions import PluginError
from typer.testing import CliRunner

from bagwise import criteria, formats, ingest
from bagwise.cli import app
from bagwise.ingest import media
from bagwise.project import Project
from benchmarks.soundscapes import Calls, mix, write
from tests.support.local_ray import local_ray
from tools import docs_hooks, docstring_examples

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        "docs/first-hour-library.md",
        "docs/library.md",
        "docs/noise.md",
        "docs/scores.md",
    ],
)
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


@pytest.mark.slow
def test_the_commands_of_the_projects_page_run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    run_page((ROOT / "docs/projects.md").read_text(), {})
    assert len(pl.read_parquet("predicted.parquet")) == 396 * 10


@pytest.mark.slow
@pytest.mark.usefixtures("one_process")
def test_the_first_hour_of_an_ecologist_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for folder, first, count in (("recordings", 0, 12), ("new-recordings", 12, 2)):
        mixtures = [mix(np.random.default_rng(number), Calls(), (10, 20)) for number in range(first, first + count)]
        write(Path(folder), mixtures, first)
    Path("species.txt").write_text("\n".join(Calls().classes) + "\n")
    run_page((ROOT / "docs/first-hour-labelling.md").read_text(), {})
    predicted = pl.read_csv("new-predictions.csv")
    assert predicted["bag"].n_unique() == 2
    assert set(predicted["class"]) == set(Calls().classes)


@pytest.mark.slow
@pytest.mark.usefixtures("one_process")
def test_the_example_of_embeddings_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = {}
    run_page((ROOT / "docs/embeddings.md").read_text(), found)
    assert len(found["likeliest"]) == 3


@pytest.mark.slow
@pytest.mark.usefixtures("one_process")
def test_partitioned_projects_run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = {}
    section = (ROOT / "docs/cluster.md").read_text().partition("## Partitioned projects\n")[2].partition("\n## ")[0]
    run_page(section, found)
    assert found["partitions"].n_bags == 200
    assert len(found["partitions"]) == 5


@pytest.mark.slow
def test_the_cluster_page_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with local_ray():
        run_page((ROOT / "docs/cluster.md").read_text().partition("## How it works")[0], {})


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.usefixtures("one_process")
def test_the_results_page_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run_page((ROOT / "docs/results.md").read_text(), {})
    found = pl.read_csv("detections.csv")
    assert set(found["class"]) == {"wren", "robin"}
    assert set(found["site"]) == {"north", "south"}
    assert found.filter((pl.col("class") == "wren") & (pl.col("recorded_at").str.contains("T20:"))).is_empty()
    assert "figures/activity_by_hour.png" in Path("report/report.md").read_text()


def test_the_page_about_finding_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = {}
    run_page((ROOT / "docs/finding.md").read_text(), found)
    assert len(found["found"].bags) == len(found["names"]) - 1
    assert pl.read_parquet("map.parquet")["bag"].n_unique() == len(found["names"])


@pytest.mark.usefixtures("one_process")
def test_the_classes_page_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run_page((ROOT / "docs/classes.md").read_text(), {})
    with Project.open("woods") as project:
        assert project.active_classes == ["Great Tit", "Coal Tit", "Tawny Owl", "Common Cuckoo"]
        assert project.contents.class_list[2].scientific_name == "Strix aluco"
        assert project.notes.all()[0].label_class == 2


@pytest.mark.slow
@pytest.mark.usefixtures("one_process")
def test_the_birdnet_page_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = {}
    text = (ROOT / "docs/birdnet.md").read_text()
    for full, small in (("RECORDINGS = 300\n", "RECORDINGS = 18\n"), ("ANSWERS = 200\n", "ANSWERS = 20\n")):
        assert full in text
        text = text.replace(full, small)
    run_page(text, found)
    assert found["accuracy"] > 0.5, "more than half is right after twenty answers"


@pytest.mark.slow
@pytest.mark.usefixtures("one_process")
def test_the_page_about_a_season_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = {}
    text = (ROOT / "docs/season.md").read_text()
    for full, small in (("], 60\n", "], 2\n"), ("hours=[4, 12]", "hours=[4]"), ("ANSWERS = 500\n", "ANSWERS = 60\n")):
        assert full in text
        text = text.replace(full, small)
    run_page(text, found)
    assert found["right"] > 0.9, "after sixty answers about 48 clips and seven species, with BirdNET's scores"
    assert {path.name for path in Path("report").iterdir()} >= {"report.md", "shares.csv", "histories", "figures"}


@pytest.mark.slow
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
        output = capsys.readouterr().out
        assert output.startswith("I am script\n1: ")
        assert output.endswith("5 answers in the project\n")
        assert [event.annotator for event in server.project.events] == ["script"] * 5
    finally:
        server.stop()


def test_the_example_of_the_label_studio_page_runs_against_a_real_server(monkeypatch, tmp_path, capsys):
    from bagwise.project import Invitations, Project
    from tests.server.conftest import Running
    from tests.server.test_label_studio import switch_on

    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/label-studio.md").read_text(), flags=re.DOTALL)
    bags = [np.array([[x, 1.0], [1.0, x]]) for x in (-2.0, 2.0, 0.1)]
    source = formats.Source.of_bags(Path("made.npz"), bags, ["marsh-3", "marsh-4", "marsh-5"])
    with Project.create(tmp_path / "project", source, classes=["wren", "robin"]) as project:
        monkeypatch.setenv("BAGWISE_TOKEN", Invitations(project.database).invite("label-studio", adjudicator=True))
    switch_on(tmp_path / "project")
    server = Running(tmp_path / "project")
    monkeypatch.setenv("BAGWISE_SERVER", server.address)
    try:
        exec(example, {})
        output = capsys.readouterr().out
        assert output.startswith("label task ")
        assert output.endswith("{'events': 2}\n{'events': 0}\n")
        assert [event.annotator for event in server.project.events] == ["label-studio-7"] * 2
    finally:
        server.stop()


def test_every_route_and_refusal_is_documented(project):
    from bagwise.server import application
    from bagwise.server.api import label_studio

    text = (ROOT / "docs/api.md").read_text()
    app = application(project, "ann")
    app.include_router(label_studio.router)
    for path, methods in app.openapi()["paths"].items():
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


def test_every_package_is_on_the_map():
    text = (ROOT / "docs/developing.md").read_text()
    for file in (ROOT / "src/bagwise").glob("*/**/__init__.py"):
        package = file.parent.relative_to(ROOT / "src/bagwise").as_posix()
        private = package.startswith("_") or "/_" in package or package.endswith("migrations/versions")
        assert private or f"\n{package}" in text or f"\n  {package}" in text, package


def test_every_path_of_the_developers_pages_exists():
    for page in ("CONTRIBUTING.md", "docs/developing.md"):
        text = (ROOT / page).read_text()
        paths = re.findall(r"\b(?:src|tests|benchmarks|tools|docs|requirements)/[\w./-]*\w", text)
        assert paths
        for path in paths:
            assert exists(ROOT / path), f"{page}: {path}"


def exists(path):
    """Whether there is such a file or folder; `data/metrics` may be a package or the module `data/metrics.py`."""
    return path.exists() or path.with_suffix(".py").exists()


def test_every_entry_point_group_is_documented():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for file in (ROOT / "src/bagwise").rglob("*.py"):
        for group in re.findall(
            r'(?:\bdiscover\([^)]*|^GROUP = )"(bagwise\.\w+)"', file.read_text(), flags=re.MULTILINE
        ):
            assert f"| `{group}` |" in text, group


def test_every_word_of_the_glossary_has_a_meaning_and_its_code_exists():
    text = (ROOT / "docs/glossary.md").read_text()
    entries = re.findall(r"^\*\*(.+)\*\*\n: (.+(?:\n  .+)*)", text, flags=re.MULTILINE)
    assert len(entries) == len(re.findall(r"^\*\*", text, flags=re.MULTILINE))
    assert len({word for word, _ in entries}) == len(entries)
    for word, meaning in entries:
        for path in re.findall(r"`([^`]+)`", meaning.partition("Code:")[2]):
            assert exists(ROOT / "src/bagwise" / path), f"{word}: {path}"


def test_every_page_of_the_site_has_a_place_in_one_of_four_kinds():
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    assert [next(iter(section)) for section in navigation] == [
        "Home",
        "Tutorials",
        "How-to guides",
        "Explanation",
        "Reference",
    ]
    text = (ROOT / "mkdocs.yml").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        assert f": {page.relative_to(ROOT / 'docs')}\n" in text or f"- {page.relative_to(ROOT / 'docs')}\n" in text, (
            page
        )


def test_pages_of_the_root_have_links_that_work_on_the_site():
    moved = docs_hooks.as_site_page("[a](docs/method.md#x) [b](CONTRIBUTING.md) ![c](docs/images/page.png) [d](#e)")
    assert moved == "[a](method.md#x) [b](contributing.md) ![c](images/page.png) [d](#e)"
    assert (
        docs_hooks.on_page_markdown("[a](../CONTRIBUTING.md#x) [b](README.md)")
        == "[a](contributing.md#x) [b](README.md)"
    )


@pytest.mark.parametrize("tag", ['script src="https://a.org/b.js"', 'link rel="stylesheet" href="//a.org/b.css"'])
def test_a_page_that_loads_from_another_host_is_refused(tag):
    page = SimpleNamespace(file=SimpleNamespace(src_uri="method.md"))
    docs_hooks.on_post_page('<a href="https://a.org">there</a> <script src="assets/a.js"></script>', page)
    with pytest.raises(PluginError, match=r"method\.md loads something from another host: <"):
        docs_hooks.on_post_page(f"<p><{tag}>", page)


@pytest.mark.parametrize("heading", ["", "Examples\n--------\n"])
def test_examples_of_docstrings_have_a_heading_on_the_site(heading):
    member = SimpleNamespace(docstring=SimpleNamespace(value=f"Add.\n\n{heading}>>> 1 + 1\n2\n>>> 3"))
    docstring_examples.ExamplesExtension().on_object(obj=member)
    assert member.docstring.value == "Add.\n\nExamples\n--------\n>>> 1 + 1\n2\n>>> 3"


def test_the_reference_lists_every_member_of_a_family():
    page = docs_hooks.on_page_markdown((ROOT / "docs/reference/criteria.md").read_text())
    for name in criteria.available():
        assert f"\n::: bagwise.learning.criteria.{name}\n" in page


def test_every_link_leads_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]:
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
