"""`bagwise bench` with a suite made up for the test: what is written, shown, compared and refused."""

import json
from dataclasses import replace
from types import SimpleNamespace

import jsonschema
import pytest
from typer.testing import CliRunner

from bagwise.cli import app
from bagwise.cli import bench as cli_bench
from bagwise.core.errors import BagwiseError
from bagwise.research import bench
from bagwise.research.bench import Document, Figure, Report, comparison

NUMBER, TEXT = {"type": "number"}, {"type": "string", "minLength": 1}
FIGURE = {
    "type": "object",
    "properties": {
        "name": TEXT,
        "floor": TEXT,
        "ratio": NUMBER,
        "low": NUMBER,
        "high": NUMBER,
        "rounds": {"type": "integer", "minimum": 1},
        "seconds": {"type": ["number", "null"], "exclusiveMinimum": 0},
        "floor_seconds": {"type": ["number", "null"], "exclusiveMinimum": 0},
        "one_thread": {"type": ["number", "null"]},
        "larger_is_better": {"type": "boolean"},
        "goal": {"type": ["number", "null"]},
        "details": {"type": "object"},
    },
}
FIGURE |= {"required": list(FIGURE["properties"]), "additionalProperties": False}
REPORT = {
    "type": "object",
    "properties": {
        "suite": TEXT,
        "size": TEXT,
        "unit": TEXT,
        "notes": {"type": "array", "items": TEXT},
        "figures": {"type": "array", "items": FIGURE, "minItems": 1},
    },
}
REPORT |= {"required": list(REPORT["properties"]), "additionalProperties": False}
SCHEMA = {
    "type": "object",
    "properties": {
        "format": {"const": 1},
        "machine": {"type": "object", "required": ["processor", "cores", "system", "python", "blas", "versions"]},
        "suites": {"type": "object", "additionalProperties": REPORT},
    },
    "required": ["format", "machine", "suites"],
}


class MadeUp:
    """A suite that finds the ratios it is given, one measurement after another."""

    DESCRIPTION, FULL, QUICK = "made up", "full size", "quick size"

    def __init__(self, *ratios):
        self.ratios = list(ratios)
        self.measured = 0

    def measure(self, size, log):
        log("measuring")
        ratio = self.ratios[min(self.measured, len(self.ratios) - 1)]
        self.measured += 1
        slow = Figure.of("slow thing", "floor", [ratio * 0.99, ratio, ratio * 1.01], seconds=ratio, floor_seconds=1.0)
        fast = Figure.of("peer", "ours", [8.0, 9.0, 10.0], larger_is_better=True, goal=5.0, details={"accuracy": 0.5})
        return Report("made_up", size, (slow, fast), notes=("a note",))


@pytest.fixture
def run(monkeypatch, tmp_path, request):
    """Run the command on a made-up suite with these ratios, against a reference of its own."""
    monkeypatch.setattr(comparison, "REFERENCE", tmp_path / "reference.json")
    if "drawn" not in request.function.__name__:
        monkeypatch.setattr(cli_bench, "save_figure", lambda _, stem: [stem, stem])
    monkeypatch.setenv("COLUMNS", "160")

    def run(ratios, *words):
        suite = MadeUp(*ratios)
        needs_a_gpu = SimpleNamespace(measure=_no_gpu, FULL=None, QUICK=None)
        monkeypatch.setattr(bench, "available", lambda: {"made_up": suite, "gpu": needs_a_gpu})
        arguments = ["bench", "made_up", "--out", str(tmp_path), *map(str, words)]
        result = CliRunner().invoke(app, arguments)
        return SimpleNamespace(said=result.output, error=result.exception, suite=suite)

    return run


def _no_gpu(size, log):
    raise BagwiseError("The suite needs a GPU.")


@pytest.mark.slow
def test_figures_are_written_as_json_shown_in_a_table_and_drawn(run, tmp_path):
    result = run([2.0])
    assert result.error is None
    for word in ("slow thing", "2.00", "1.99 to 2.01", "at least 5", "0.500", "a note", "full size"):
        assert word in result.said, word
    jsonschema.validate(json.loads((tmp_path / "made_up.json").read_text()), SCHEMA)
    assert all((tmp_path / f"made_up{suffix}").stat().st_size > 1000 for suffix in (".svg", ".png", ".html"))


def test_a_document_reads_back_as_it_was_written(run, tmp_path):
    run([2.0])
    document = Document.read(tmp_path / "made_up.json")
    assert document.reports == {"made_up": MadeUp(2.0).measure("full size", print)}
    document.write(tmp_path / "again.json")
    assert Document.read(tmp_path / "again.json") == document


def test_json_goes_to_the_terminal_alone(run):
    result = run([2.0], "--json")
    jsonschema.validate(json.loads(result.said[result.said.index("{") :]), SCHEMA)


def test_a_slower_ratio_than_the_references_fails_and_says_which(run):
    assert run([2.0], "--keep").error is None
    result = run([3.1])
    assert "slow thing (3.10 instead of 2.00)" in str(result.error)
    assert "peer" not in str(result.error)
    assert result.suite.measured == 2
    assert run([2.9]).error is None


def test_a_peer_that_catches_up_is_a_regression_too(run, tmp_path):
    run([2.0], "--keep")
    kept = Document.read(tmp_path / "reference.json")
    slow, peer = kept.reports["made_up"].figures
    better = replace(kept.reports["made_up"], figures=(slow, replace(peer, ratio=15.0)))
    Document(kept.machine, {"made_up": better}).write(tmp_path / "reference.json")
    assert "peer (9.00 instead of 15.00)" in str(run([2.0]).error)


def test_what_looks_worse_once_is_measured_again_and_the_better_counts(run, tmp_path):
    run([2.0], "--keep")
    result = run([9.0, 2.1])
    assert result.error is None
    assert result.suite.measured == 2
    assert Document.read(tmp_path / "made_up.json").reports["made_up"].figures[0].ratio == 2.1


def test_runs_are_held_against_each_other_by_what_others_on_the_machine_do_not_change():
    quiet, busy = (Figure.of("x", "floor", [ratio], one_thread=2.0) for ratio in (2.0, 9.0))
    assert busy.times_worse_than(quiet) == 1
    assert comparison.Change("suite", quiet, busy).verdict == "as before"


def test_another_size_is_not_held_against_the_reference(run):
    run([2.0], "--keep")
    result = run([100.0], "--quick")
    assert result.error is None
    assert "at least 5" not in result.said, "goals are set for the full size"


def test_a_quick_run_cannot_become_the_reference(run):
    assert "--keep needs the full size" in str(run([2.0], "--keep", "--quick").error)


def test_keeping_one_suite_leaves_the_others(run, tmp_path):
    other = Report("other", "size", (Figure.of("x", "y", [1.0]),))
    Document({}, {"other": other}).write(tmp_path / "reference.json")
    run([2.0], "--keep")
    assert set(Document.read(tmp_path / "reference.json").reports) == {"other", "made_up"}


@pytest.mark.parametrize(("now", "moved"), [(2.0, "as before"), (2.4, "worse"), (1.6, "better")])
def test_compare_shows_what_moved(run, tmp_path, now, moved):
    run([2.0])
    (tmp_path / "made_up.json").rename(tmp_path / "old.json")
    result = run([now], "--compare", tmp_path / "old.json")
    assert result.error is None
    (line,) = [line for line in result.said.splitlines() if "made_up" in line and "slow thing" in line]
    assert moved in line
    assert f"{now / 2:.2f}" in line


def test_compare_says_when_the_sizes_differ(run, tmp_path):
    run([2.0], "--quick")
    (tmp_path / "made_up.json").rename(tmp_path / "old.json")
    assert "the other run has another size (quick size)" in run([2.0], "--compare", tmp_path / "old.json").said


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 1, "machine": {}, "suites": {"a": {"x": 1}}}'])
def test_comparing_with_another_file_is_refused_in_a_sentence(run, tmp_path, content):
    (tmp_path / "other.json").write_text(content)
    assert "is not a result of `bagwise bench`" in str(run([2.0], "--compare", tmp_path / "other.json").error)


def test_a_later_format_is_refused(run, tmp_path):
    (tmp_path / "other.json").write_text('{"format": 99}')
    assert "measure again" in str(run([2.0], "--compare", tmp_path / "other.json").error)


def test_a_suite_that_cannot_run_does_not_take_the_others_with_it(run, tmp_path):
    result = run([2.0], "gpu")
    assert str(result.error) == "gpu: The suite needs a GPU."
    assert (tmp_path / "made_up.json").exists()


def test_an_unknown_suite_is_refused_with_those_there_are(run):
    assert "There is no suite 'nonsense': choose one of made_up, gpu." in str(run([2.0], "nonsense").error)


def test_the_committed_reference_holds_the_default_suites_at_full_size():
    reference = Document.read(comparison.REFERENCE)
    jsonschema.validate(json.loads(comparison.REFERENCE.read_text()), SCHEMA)
    for name in bench.DEFAULT:
        assert reference.reports[name].size == str(bench.get(name).FULL.pool)
