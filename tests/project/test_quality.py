import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from bagwise import BagwiseError
from bagwise.cli import app
from bagwise.project import Project, quality_of
from bagwise.project.reports import quality_process
from bagwise.project.reports.quality import FILE, grid, judged


@pytest.fixture
def database():
    """What is estimated does not depend on where the answers are."""
    return ""


@pytest.fixture
def answered(project, say):
    for number in range(70):
        (asked,) = project.ask("ann")
        project.answer(asked.key, "ann", "unsure" if number == 30 else say(asked))
    return project


@pytest.mark.slow
def test_the_same_answers_give_the_same_report_with_and_without_the_file(answered):
    first = quality_of(answered)
    assert quality_of(answered) == first
    for damaged in ("", "[]", "{", '{"name": {"answers": 1}}', '{"name": null}'):
        (answered.folder / FILE).write_text(damaged)
        assert quality_of(answered) == first
    (answered.folder / FILE).unlink()
    assert quality_of(answered) == first


def test_a_belief_is_that_of_the_model_that_asked_first_and_of_open_pairs_that_of_now(answered, say):
    events = list(answered.events)
    answered.correct(events[0].number, "ann", "unsure")
    answered.correct(len(events) + 1, "ann", events[0].answer)
    found = judged(answered, answered.events)
    for event in events:
        if found.labels.known[event.pair]:
            assert found.belief[event.pair] == event.belief
        else:
            assert event.answer == "unsure"
    still_open = ~found.labels.known
    np.testing.assert_array_equal(found.belief[still_open], found.present[still_open])
    nobody_asked = judged(answered, [replace(event, belief=None) for event in answered.events])
    assert np.isnan(nobody_asked.belief[found.labels.known]).all()
    of_instances = judged(answered, [replace(event, instance=0) for event in answered.events])
    assert np.isnan(of_instances.belief[of_instances.labels.known]).all()


def test_what_was_estimated_before_is_looked_up(answered, monkeypatch):
    first = quality_of(answered)
    monkeypatch.setattr(
        "bagwise.project.reports.quality.evaluation.crossfit", lambda *_: pytest.fail("estimated again")
    )
    assert quality_of(answered) == first


def test_a_new_answer_gives_a_new_report(answered, say):
    first = quality_of(answered)
    (asked,) = answered.ask("ann")
    answered.answer(asked.key, "ann", say(asked))
    assert quality_of(answered).answers == first.answers + 1


@pytest.mark.slow
def test_a_large_project_keeps_only_what_it_estimated_on_the_way(answered, say, monkeypatch):
    monkeypatch.setattr("bagwise.project.reports.quality.CHEAP", 0)
    assert [point.answers for point in quality_of(answered).history] == [70]
    (asked,) = answered.ask("ann")
    answered.answer(asked.key, "ann", say(asked))
    assert [point.answers for point in quality_of(answered).history] == [70, 71]
    (answered.folder / FILE).unlink()
    assert [point.answers for point in quality_of(answered).history] == [71]


@pytest.mark.slow
def test_unsure_answers_are_not_labels(answered):
    report = quality_of(answered)
    audits = [event for event in answered.events if event.audit and event.answer != "unsure"]
    assert report.audits == len(audits)
    assert report.metrics["bag_accuracy"] is not None
    assert [point.answers for point in report.history] == [50, 70]


def test_an_empty_project_says_that_nothing_can_be_said(project):
    report = quality_of(project)
    assert (report.metrics["bag_accuracy"], report.forecast, report.verdict.stop) == (None, None, False)
    assert all(one.precision is None and one.recall is None for one in report.classes)


@pytest.mark.parametrize("events", [0, 1, 50, 51, 1000, 10**6])
def test_the_grid_is_short_and_ends_now(events):
    places = grid(events)
    assert places[-1] == events
    assert places == sorted(set(places))
    assert len(places) <= 8


@pytest.mark.slow
def test_status_shows_it(answered):
    folder = str(answered.folder)
    shown = CliRunner().invoke(app, ["status", folder])
    assert shown.exit_code == 0, shown.output
    assert "Bag accuracy" in shown.output
    assert "Overall: " in shown.output
    assert "Go on." in shown.output
    found = json.loads(CliRunner().invoke(app, ["status", folder, "--json"]).stdout)["quality"]
    assert found["bag_accuracy"]["low"] <= found["bag_accuracy"]["high"]
    assert found["verdict"]["stop"] is False
    assert found["sentence"] in " ".join(shown.output.split())
    assert all(one["sentence"].startswith(f"{one['name']}: ") for one in found["classes"])


def test_settings_of_stopping_are_read_and_refused(answered):
    path = answered.folder / "bagwise.toml"
    before = path.read_text()
    assert "[stopping]" in before
    path.write_text(before.replace("budget = 0", "budget = 70"))
    with Project.open(answered.folder) as project:
        assert quality_of(project).verdict.stop
    path.write_text(before.replace("recall = 0.0", "recall = 0.9").replace("classes = []", 'classes = ["crane"]'))
    with Project.open(answered.folder) as project:
        assert "Recall is not yet 0.9 with confidence: crane unknown." in quality_of(project).verdict.why
    path.write_text(before.replace('metric = "bag_accuracy"', 'metric = "beauty"'))
    with pytest.raises(BagwiseError, match="metric = 'beauty'"):
        Project.open(answered.folder)


@pytest.mark.slow
def test_an_estimate_that_knows_everything_is_not_made_again(project, say, monkeypatch):
    """A script that asks for the quality again and again would start a process each time."""
    started = []
    start = quality_process.ChildProcess
    monkeypatch.setattr(
        quality_process, "ChildProcess", lambda *given, **options: started.append(given) or start(*given, **options)
    )
    beside = quality_process.QualityProcess(project)
    first = beside.now()
    assert beside.now() == first
    assert len(started) == 1
    (asked,) = project.ask("ann")
    project.answer(asked.key, "ann", say(asked))
    assert beside.now().answers == first.answers + 1
    assert len(started) == 2
