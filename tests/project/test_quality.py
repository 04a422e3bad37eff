import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from bagwise import BagwiseError
from bagwise.cli import app
from bagwise.project import Project, quality_of
from bagwise.project.answers.events import Event
from bagwise.project.reports import quality_process
from bagwise.project.reports.quality import FILE, _belief_when_asked, grid, judged
from bagwise.project.storage.class_list import ClassList


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


def test_a_belief_is_that_of_the_model_that_asked_first_and_of_open_pairs_that_of_now(answered):
    events = list(answered.events)
    answered.correct(events[0].number, "ann", "unsure")
    answered.correct(len(events) + 1, "ann", events[0].answer)
    changed = [*events, *(replace(event, belief=0.123) for event in answered.events[len(events) :])]
    found = judged(answered, changed)
    for event in events:
        assert (found.belief[event.pair] == event.belief) == found.labels.known[event.pair]
    still_open = ~found.labels.known
    np.testing.assert_array_equal(found.belief[still_open], found.present[still_open])
    nobody_asked = judged(answered, [replace(event, belief=None) for event in events])
    assert np.isnan(nobody_asked.belief[nobody_asked.labels.known]).all()


def test_a_belief_about_an_instance_or_of_a_skipped_question_is_not_that_of_an_answer():
    first = Event(1, "a", "answer", "ann", "2026-01-01T00:00:00.000+00:00", 0, 0, "skipped", belief=0.9)
    later = replace(first, number=2, key="b", annotator="bea", answer="present", belief=0.5)
    of_instance = replace(later, number=3, key="c", bag=1, instance=2)
    about_bag = replace(of_instance, number=4, key="d", kind="correction", instance=None, replaces=3)
    again = replace(about_bag, number=5, key="e", replaces=4)
    other = replace(later, number=6, key="f", bag=2, label_class=1, belief=0.25)
    classes = ClassList.of(["wren", "robin"], [])
    found = _belief_when_asked([first, later, of_instance, about_bag, again, other], classes, (3, 2))
    assert found[0, 0] == 0.5
    assert np.isnan(found[1]).all()
    assert found[2, 1] == 0.25


def test_of_a_merged_class_the_largest_belief_about_its_members_counts():
    classes = SimpleNamespace(root=lambda _: 2)
    one = Event(1, "a", "answer", "ann", "2026-01-01T00:00:00.000+00:00", 0, 0, "absent", belief=0.1)
    two = replace(one, number=2, key="b", label_class=1, belief=0.4)
    found = _belief_when_asked([one, two], classes, (1, 3))
    assert np.array_equal(found, [[np.nan, np.nan, 0.4]], equal_nan=True)


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
