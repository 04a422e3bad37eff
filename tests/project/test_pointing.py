"""Answers that point, in a project and on its command line: learned, replayed, exported, counted and timed."""

import csv
import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from bagwise import datasets
from bagwise.formats import Source
from bagwise.learning.granularity import Seconds
from bagwise.project import Asking, Learning, Project, Submission, answering_seconds, check, status_of
from bagwise.project.answers import replay
from bagwise.project.answers.annotator_noise import labels_of
from bagwise.project.queue.answering_time import FEWEST_TIMED, answering_times
from bagwise.project.reports.quality import _fingerprints
from bagwise.project.training.thresholds import labels_and_audits
from tests.conftest import source_of
from tests.project.test_commands import bagwise
from tests.support import example_media


@pytest.fixture
def make(tmp_path):
    """Makes a project of strips of digits, with several instances each, in which people point."""
    data = datasets.load("digits")

    def make(database="", **options):
        source = source_of(data.select(np.arange(30)))
        return Project.create(tmp_path / "p", source, None, data.classes, database=database, **options)

    return make


def answer(project, who="ann", answer="present", seconds=None, pair=None, **pointing):
    """Answer the next question, pointing at `where` and `elsewhere`: a list, or `marked` for the marked instance."""
    if pair is not None:
        return project.answer(f"{who} {pair} {len(project.events)}", who, answer, seconds, pair=pair, **pointing)
    (lease,) = project.ask(who)
    marked = list(lease.question.evidence[:1])
    chosen = {name: marked if some == "marked" else some for name, some in pointing.items()}
    return project.answer(lease.key, who, answer, seconds, **chosen)


def instance_labels(project):
    return {(bag, one.instance, one.label_class): one.present for bag, one in project.learner.labels.instances}


def nothing_wrong(project):
    return not any(found.wrong for found in check(project))


def weights(project):
    return project.learner.model.weights_.tobytes()


# Learning and replaying


def test_pointing_changes_the_model_and_a_replay_gives_the_same(make, tmp_path):
    with make() as project:
        for number in range(12):
            answer(project, **({"where": "marked"} if number % 3 else {"elsewhere": "marked"}))
        assert set(instance_labels(project).values()) == {True, False}
        learned = weights(project)
        assert nothing_wrong(project)
        project.backup(tmp_path / "copy")
        plain = replay.full(
            project.contents,
            project.bags,
            project.settings,
            [replace(event, where=(), elsewhere=()) for event in project.events],
        )
        assert plain.learner.model.weights_.tobytes() != learned
    for folder in (tmp_path / "p", tmp_path / "copy"):
        with Project.open(folder) as again:
            assert weights(again) == learned
            assert [event.pointing for event in again.events] == [event.pointing for event in project.events]
            assert nothing_wrong(again)


def test_on_postgresql_what_was_pointed_at_is_stored_as_well(make, postgres_server):
    with make(database=postgres_server.new_database()) as project:
        first = answer(project, where=[0, 2], elsewhere=[1])
        answer(project)
        learned = weights(project)
    with Project.open(project.folder) as again:
        assert [(one.where, one.elsewhere) for one in again.events] == [((0, 2), (1,)), ((), ())]
        assert again.events[0] == first
        assert weights(again) == learned
        assert nothing_wrong(again)


def test_instance_labels_are_in_the_fit_at_a_turning_point(make, monkeypatch):
    monkeypatch.setattr(replay, "REFIT_EVERY", 5)
    with make() as project:
        for _ in range(7):
            answer(project, where="marked")
        labels = instance_labels(project)
        assert len(labels) == 7
        assert nothing_wrong(project)
        known = labels_of(project.contents, project.votes, project.people()).instances
        assert known == project.learner.labels.instances
        model = project.fit_model()
        without = project.learner.labels.copy()
        without.instances = type(known)(len(project.classes))
        other = replay.model_of(project.settings.learning).fit(project.bags, without)
        assert not np.array_equal(model.weights_, other.weights_), "a fit from scratch learns where it is"


def test_undo_after_a_turning_point_does_not_bring_back_what_was_replaced(make, monkeypatch):
    """The label known at the turning point is undone, another is given and undone: nothing is known then."""
    monkeypatch.setattr(replay, "REFIT_EVERY", 2)
    with make() as project:
        answer(project, pair=(0, 1), where=[0])
        answer(project, "bea", pair=(1, 1))
        assert instance_labels(project) == {(0, 0, 1): True}
        monkeypatch.setattr(replay, "REFIT_EVERY", 1000)
        project.undo("ann")
        assert instance_labels(project) == {}
        answer(project, pair=(0, 1), where=[1])
        assert instance_labels(project) == {(0, 1, 1): True}
        project.undo("ann")
        assert instance_labels(project) == {}


def test_an_imported_label_is_corrected_with_where_it_is(make, tmp_path):
    with make() as project:
        bag, name = str(project.contents.ids[3]), project.classes[2]
    (tmp_path / "known.csv").write_text(f"bag,class,label\n{bag},{name},1\n")
    assert bagwise("import", tmp_path / "p", "--labels", tmp_path / "known.csv")[0] == 0
    code, out, err = bagwise("correct", tmp_path / "p", bag, name, "present", "--where", 1, "--elsewhere", 0)
    assert code == 0, err
    assert "present (it is instance 1; it is not instance 0)" in out
    with Project.open(tmp_path / "p") as project:
        assert instance_labels(project) == {(3, 1, 2): True, (3, 0, 2): False}
        assert nothing_wrong(project)
        project.undo("tester")
        assert instance_labels(project) == {}
        assert project.counts_as((3, 2)) == "present"


def test_a_removed_bag_teaches_nothing_of_its_instances(make):
    with make() as project:
        event = answer(project, where="marked")
        project.remove([str(project.contents.ids[event.bag])], "ann")
        assert instance_labels(project) == {}
        project.bring_back([str(project.contents.ids[event.bag])], "ann")
        assert instance_labels(project) == {(event.bag, event.where[0], event.label_class): True}
        assert nothing_wrong(project)


def test_an_instance_that_is_known_to_be_another_class_is_not_marked(make):
    """The marked instance of a question is what the learner would mark, given what was pointed at."""
    with make(asking=Asking(granularity="bag")) as project:
        (lease,) = project.ask("ann")
        first, second, *_ = lease.question.classes
        marked = lease.question.evidence[1]
        answers = ("present",) + ("skipped",) * (len(lease.question.classes) - 1)
        where = ((marked,), *((),) * (len(answers) - 1))
        project.submit(Submission(lease.key, "ann", answers, lease.question.classes, where=where))
        (again,) = [one for one in project.ask("bea", 20) if one.bag == lease.bag]
        assert first not in again.question.classes
        assert marked not in again.question.evidence
        explained = {question.bag: question for question in project.learner.ask(30)}[lease.bag]
        expected = dict(zip(explained.classes, explained.evidence, strict=True))
        assert dict(zip(again.question.classes, again.question.evidence, strict=True)) == expected
        assert second in expected


def test_the_estimated_quality_knows_what_was_pointed_at(make):
    """Its models are fitted to the instance labels as well, and it is computed again where only these change."""
    with make() as project:
        for number in range(30):
            answer(project, answer="present" if number % 2 else "absent", **({"where": "marked"} if number % 2 else {}))
        labels, _ = labels_and_audits(replayed(project, project.events))
        assert labels.instances == labels_of(project.contents, project.votes, project.people()).instances
        plain = [replace(event, where=()) for event in project.events]
        assert replayed(project, plain).votes.digest() != project.votes.digest()
        assert _fingerprints(project, plain, [30]) != _fingerprints(project, project.events, [30])


def replayed(project, events):
    counted = replay.Replay(project.contents, project.settings)
    counted.count(events)
    return counted


# Noise


@pytest.mark.parametrize("noise", [0.1, "estimate"])
def test_pointing_is_as_often_wrong_as_the_person(make, noise):
    with make(learning=Learning(noise=noise)) as project:
        event = answer(project, where="marked")
        (label,) = project.learner.labels.instances.of(event.bag)
        assert label.flip == pytest.approx(project.people().rate("ann"))
        assert label.flip > 0
        assert nothing_wrong(project)


def test_an_adjudicators_pointing_is_right(make):
    with make(learning=Learning(noise=0.1)) as project:
        project.set_role("eve", "adjudicator")
        event = answer(project, "eve", where="marked")
        (label,) = project.learner.labels.instances.of(event.bag)
        assert label.flip == 0


# The terminal


def test_keys_of_the_terminal_say_where(make):
    with make() as project:
        folder = project.folder
    code, out, err = bagwise("answer", folder, "--as", "ann", keys="ye2pnzq")
    assert code == 0, err
    assert "the marked instance" in out
    with Project.open(folder) as project:
        marked, elsewhere, chosen, somewhere, absent, undone = project.events
        assert (marked.where, marked.elsewhere) == ((marked.marked,), ())
        assert (elsewhere.where, elsewhere.elsewhere) == ((), (elsewhere.marked,))
        assert (chosen.where, chosen.elsewhere) == ((2,), ())
        assert (somewhere.answer, somewhere.where, somewhere.elsewhere) == ("present", (), ())
        assert (absent.answer, undone.kind) == ("absent", "retraction")
        assert len(instance_labels(project)) == 3
        assert f"present (it is not instance {elsewhere.marked}), saved as number 2" in out


def test_bags_of_one_instance_keep_yes_and_no_in_the_terminal(tmp_path):
    bags = [np.array([[x, 1.0]]) for x in (-2.0, 2.0, 0.1, 1.0)]
    source = Source.of_bags(tmp_path / "made.npz", bags, ["a", "b", "c", "d"])
    with Project.create(tmp_path / "p", source, classes=["low", "high"]) as project:
        assert not project.shows_instances(0)
    code, out, err = bagwise("answer", tmp_path / "p", keys="e0yq")
    assert code == 0, err
    assert "elsewhere" not in out
    with Project.open(tmp_path / "p") as project:
        (event,) = project.events
        assert (event.answer, event.where) == ("present", ())


def test_pictures_without_places_are_not_pointed_at(tmp_path):
    folder, _ = example_media.make(tmp_path, "picture", 4)
    with Project.open(folder) as project:
        assert project.shows_instances(0) == (project.bags.sizes[0] > 1)
        for file in folder.rglob("places*"):
            file.unlink()
    with Project.open(folder) as project:
        assert not project.shows_instances(0)


def test_in_a_whole_bag_a_key_pressed_twice_points_at_the_marked_instance(make):
    with make(asking=Asking(granularity="bag")) as project:
        folder = project.folder
    code, _, err = bagwise("answer", folder, "--as", "ann", keys="1222331.q")
    assert code == 0, err
    with Project.open(folder) as project:
        pointed = {event.label_class: (event.where, event.marked) for event in project.events if event.where}
        assert all(where == (marked,) for where, marked in pointed.values())
        assert sorted(event.answer for event in project.events).count("present") == 2
        assert len(pointed) == 2, "the first and the third class were pressed twice, the second three times"
        assert nothing_wrong(project)


# Times


def test_seconds_are_measured_by_kind_of_answer(make):
    with make() as project:
        assert answering_seconds(project.events, project.settings.asking) == Seconds()
        for _ in range(FEWEST_TIMED):
            answer(project, seconds=3.0, where="marked")
        for _ in range(FEWEST_TIMED):
            marked = project.ask("ann")[0].question.evidence[0]
            answer(project, seconds=6.5, where=[(marked + 1) % 3])
        answer(project, answer="absent", seconds=2.0)
        found = answering_seconds(project.events, project.settings.asking)
        assert (found.pointed, found.clicked) == (6.5, 0.5)
        times = {kind: (one.answers, one.seconds) for kind, one in answering_times(project.events).items()}
        assert times == {"plain": (1, 2.0), "pointed by key": (10, 3.0), "pointed by click": (10, 6.5)}
        assert status_of(project).pointed == 2 * FEWEST_TIMED
    code, out, _ = bagwise("status", project.folder)
    assert code == 0
    assert "20 of them pointing at instances" in out
    assert "pointed by key 3.0 s, pointed by click 6.5 s" in out


def test_until_enough_are_timed_a_click_takes_as_much_longer_as_the_settings_say(make):
    with make(asking=Asking(pair_seconds=3.0, pointed_seconds=4.5)) as project:
        for _ in range(FEWEST_TIMED):
            answer(project, "ann", "absent", seconds=7.0)
        found = answering_seconds(project.events, project.settings.asking)
        assert found.pointed == found.pair + 1.5
        assert found.clicked == 0


# Exports and disagreements


def test_exported_answers_say_where(make, tmp_path):
    with make() as project:
        answer(project, where=[0, 2], elsewhere=[1])
        answer(project, answer="absent")
    for suffix in ("csv", "jsonl", "parquet"):
        assert bagwise("export", project.folder, "--what", "answers", "--to", tmp_path / f"a.{suffix}")[0] == 0
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [(one["where"], one["elsewhere"]) for one in lines] == [([0, 2], [1]), ([], [])]
    assert pl.read_parquet(tmp_path / "a.parquet")["where"].to_list() == [[0, 2], []]
    with (tmp_path / "a.csv").open(newline="") as file:
        assert [(row["where"], row["elsewhere"]) for row in csv.DictReader(file)] == [("0 2", "1"), ("", "")]
    assert lines[0]["marked"] == project.events[0].marked is not None


def test_disagreements_about_instances_are_listed_and_decided(make):
    with make(asking=Asking(people=2)) as project:
        project.set_role("eve", "adjudicator")
        answer(project, "ann", pair=(4, 2), where=[0, 1])
        answer(project, "bea", pair=(4, 2), elsewhere=[1])
        bag, name = str(project.contents.ids[4]), project.classes[2]
        assert status_of(project).disagreements == 1
    (found,) = json.loads(bagwise("disagreements", project.folder, "--json")[1])
    assert found == {
        "bag": bag,
        "class": name,
        "said": {"ann": "present", "bea": "present"},
        "decided": "present",
        "where": {"ann": [0, 1]},
        "elsewhere": {"bea": [1]},
        "disputed": [1],
    }
    out = bagwise("disagreements", project.folder)[1]
    assert "ann: present, it is 0, 1; bea: present, it is not 1" in out
    code, out, err = bagwise("adjudicate", project.folder, bag, name, "present", "--where", 1, "--as", "eve")
    assert code == 0, err
    assert json.loads(bagwise("disagreements", project.folder, "--json")[1]) == []
    with Project.open(project.folder) as again:
        assert instance_labels(again) == {(4, 1, 2): True}


def test_one_instance_for_two_classes_teaches_nothing(make):
    """The same model as without any pointing at it, until one of both is corrected."""
    with make() as project:
        one = answer(project, pair=(5, 0), where=[1])
        answer(project, pair=(5, 3), where=[1])
        disputed = weights(project)
        plain = [replace(event, where=()) for event in project.events]
        # The first answer taught what it said before the second contradicted it: only a fit from scratch forgets that.
        fits = [replay.Replay(project.contents, project.settings, project.bags) for _ in range(2)]
        for fit, events in zip(fits, (project.events, plain), strict=True):
            fit.skip_to(events)
        assert np.array_equal(*(fit.learner.model.weights_ for fit in fits))
        project.correct(one.number, "ann", "present", where=[2])
        assert weights(project) != disputed
        assert instance_labels(project) == {(5, 2, 0): True, (5, 1, 3): True}
