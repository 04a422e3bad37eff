"""What a project knows of its audits: the probability of every draw, wherever it is stored, and what was open then."""

import csv
import json

import numpy as np
import polars as pl
import pytest
from sqlalchemy import update

from bagwise.evaluation.audit_history import NEVER, AuditHistory
from bagwise.formats import LabelTable
from bagwise.project import Asking, Learning, Project, Submission, check, quality_of, whole_bag_answers
from bagwise.project.answers.audits import audit_history
from bagwise.project.reports.exports import exporter
from bagwise.project.storage import schema
from tests.conftest import source_of
from tests.project.test_project import all_is_well, answer_some
from tests.support import probabilities
from tests.support.probabilities import made_up


@pytest.fixture(autouse=True)
def drawn(monkeypatch):
    probabilities.make_up(monkeypatch)


@pytest.fixture
def database(request):
    """In a file, unless a test is about both kinds of databases."""
    both = getattr(request, "param", "sqlite")
    return "" if both == "sqlite" else request.getfixturevalue("postgres_server").new_database()


on_both = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def audited(make_project):
    """Makes projects of which every question is an audit."""

    def make(granularity="pair"):
        return make_project(learning=Learning(audit=1.0), asking=Asking(granularity=granularity))

    return make


def history_of(project):
    return audit_history(project.contents, project.votes)


def answer_whole(project, say):
    """Answer a question about a whole bag with the truth."""
    (lease,) = project.ask("ann")
    classes = lease.question.classes
    of_class = {c: say(type("Pair", (), {"bag": lease.bag, "label_class": c})) for c in classes}
    answers = whole_bag_answers(classes, [c for c in classes if of_class[c] == "present"])
    return project.submit(Submission(lease.key, "ann", answers, classes))


@on_both
def test_an_audit_keeps_its_probability(audited, say, tmp_path):
    project = audited()
    answer_some(project, say, 6)
    expected = [made_up(event.pair) for event in project.events]
    assert [event.probability for event in project.events] == expected
    assert len(set(expected)) > 1
    assert [one.probability for one in project.learner.answers] == expected

    project.set_role("eve", "adjudicator")
    corrected = project.correct(3, "eve", "unsure")
    undone = project.undo("ann")
    assert (corrected.probability, undone.probability) == (expected[2], expected[5])
    project.close()
    with Project.open(project.folder) as again:
        (asked,) = again.ask("ann")
        assert (asked.pair, asked.question.audit, asked.question.probability) == (undone.pair, True, expected[5])
        event = again.answer(asked.key, "ann", "absent")
        assert (event.audit, event.probability) == (True, expected[5])
        assert again.events[:8] == project.events
        all_is_well(again)
        with Project.open(again.backup(tmp_path / "copy")) as copy:
            assert copy.events == again.events
            assert history_of(copy).draws == history_of(again).draws


def test_what_was_not_drawn_has_no_probability(make_project, say):
    project = make_project(learning=Learning(audit=0.0))
    answer_some(project, say, 4)
    project.answer("another", "bob", "present", pair=(0, 0))
    assert [(event.audit, event.probability) for event in project.events] == [(False, None)] * 5
    assert history_of(project).draws == ()


def test_answers_are_exported_with_their_probabilities(audited, say, tmp_path):
    project = audited()
    for form in ("csv", "jsonl", "parquet"):
        exporter("answers", tmp_path / f"none.{form}")(project)
    answer_some(project, say, 3)
    project.answer("another", "bob", "present", pair=_chosen(project))
    expected = [event.probability for event in project.events]
    assert expected[-1] is None
    for form in ("csv", "jsonl", "parquet"):
        exporter("answers", tmp_path / f"answers.{form}")(project)
    with (tmp_path / "answers.csv").open(encoding="utf-8") as file:
        cells = [row["probability"] for row in csv.DictReader(file)]
    assert [float(cell) if cell else None for cell in cells] == expected
    lines = (tmp_path / "answers.jsonl").read_text().splitlines()
    assert [json.loads(line)["probability"] for line in lines] == expected
    assert pl.read_parquet(tmp_path / "answers.parquet")["probability"].to_list() == expected


def _chosen(project):
    """A pair without an answer."""
    answered = {event.pair for event in project.events}
    return next(pair for pair in np.ndindex(project.contents.given.shape) if pair not in answered)


def test_without_an_audit_the_exported_probability_is_a_number_all_the_same(make_project, say, tmp_path):
    project = make_project(learning=Learning(audit=0.0))
    answer_some(project, say, 2)
    exporter("answers", tmp_path / "answers.parquet")(project)
    assert pl.read_parquet(tmp_path / "answers.parquet").schema["probability"] == pl.Float64()


@pytest.mark.parametrize("wrong", [{"probability": 1.5}, {"probability": 0.0}, {"audit": False}])
def test_a_probability_that_cannot_be_is_found(audited, say, wrong):
    project = audited()
    answer_some(project, say, 2)
    project.close()
    with project.database.writing() as connection:
        connection.execute(update(schema.events).where(schema.events.c.number == 2).values(**wrong))
    with Project.open(project.folder) as again:
        (found,) = [one.wrong for one in check(again) if one.wrong]
    assert found == "number 2 has a probability that no audit is drawn with"


def test_a_whole_bag_is_drawn_once(audited, say):
    project = audited("bag")
    events = answer_whole(project, say)
    answer_whole(project, say)
    first, second = history_of(project).draws
    assert (first.bag, first.classes) == (events[0].bag, tuple(range(6)))
    assert first.probability == made_up((first.bag, 0))
    assert first.present == tuple(bool(project.labels().values[first.bag, c]) for c in range(6))
    assert (first.after, second.after) == (0, 6)
    assert history_of(project).open_before(1).sum() == 59 * 6

    project.undo_together("ann")
    (asked,) = project.ask("ann")
    assert (asked.bag, asked.question.probability) == (second.bag, second.probability)
    assert history_of(project).draws == (first,)
    answer_whole(project, say)
    again = history_of(project)
    assert [(draw.pairs, draw.present) for draw in again.draws] == [
        (draw.pairs, draw.present) for draw in (first, second)
    ]
    assert again.open_before(1).sum() == 59 * 6


@on_both
def test_bags_classes_and_labels_that_came_later_were_not_open_before(make_project, synthetic, say):
    project = make_project(learning=Learning(audit=1.0))
    answer_some(project, say, 3)
    project.class_changes.add("cuckoo", "ann")
    answer_some(project, lambda _: "absent", 1)
    late = synthetic.select([0, 1])
    project.import_(source_of(late, ["late 0", "late 1"]))
    answer_some(project, lambda _: "absent", 1)
    open_pair = next(pair for pair in np.ndindex(60, 6) if project.counts_as(pair) is None)
    values = np.full((1, 7), np.nan)
    values[0, open_pair[1]] = 1
    project.import_(None, LabelTable([f"bag {open_pair[0]}"], project.classes, values))

    for one in (project, Project.open(project.folder)):
        found = history_of(one)
        assert found.opened[:60, :6].max() == 0
        assert set(found.opened[:60, 6]) == {3}
        assert set(found.opened[60:].ravel()) == {4}
        assert found.closed[open_pair] == 5
        answered = {event.pair: event.number for event in one.events}
        assert {pair: found.closed[pair] for pair in answered} == answered
        assert np.count_nonzero(found.closed < NEVER) == len(answered) + 1
        assert [draw.after for draw in found.draws] == [0, 1, 2, 3, 4]
        sizes = [found.open_before(place).sum() for place in range(5)]
        assert sizes == [360, 359, 358, 420 - 3, 434 - 4]
    one.close()


def test_a_project_and_a_learner_have_the_same_history(make_project, say):
    project = make_project(learning=Learning(audit=0.5))
    answer_some(project, say, 12)
    found = history_of(project)
    answers = project.learner.answers
    of_learner = AuditHistory.of_answers(np.zeros((60, 6), bool), answers)
    assert found.draws == of_learner.draws
    np.testing.assert_array_equal(found.closed, of_learner.closed)
    np.testing.assert_array_equal(found.opened, of_learner.opened)


def test_removed_bags_and_retired_classes_are_left_out(make_project, say):
    project = make_project(learning=Learning(audit=1.0))
    answer_some(project, say, 8)
    gone, retired = project.events[0].bag, project.events[1].label_class
    project.remove([f"bag {gone}"], "ann")
    project.class_changes.retire(project.classes[retired], "ann")
    kept, active = project.contents.kept_bags, project.contents.class_list.active
    found = history_of(project).select(kept, active)
    pairs = {(int(kept[draw.bag]), int(active[draw.classes[0]])) for draw in found.draws}
    assert pairs == {event.pair for event in project.events if event.bag != gone and event.label_class != retired}
    np.testing.assert_array_equal(found.audited, ~np.isnan(project.labels().values))
    assert quality_of(project).audits == len(pairs)
