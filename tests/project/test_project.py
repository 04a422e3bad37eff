"""What a project promises, on SQLite and on PostgreSQL alike."""

import shutil
import time
from collections import Counter

import numpy as np
import pytest

from bagwise.core.errors import BagwiseError
from bagwise.formats import LabelTable
from bagwise.project import AlreadyAnswered, Asking, Learning, Project, check, status_of
from bagwise.project.answers import replay as replaying
from bagwise.project.storage import queries
from bagwise.project.training import trainer
from tests.conftest import source_of


def all_is_well(project):
    wrong = [f"{one.what}: {one.wrong}" for one in check(project) if one.wrong]
    assert wrong == []


def answer_some(project, say, count, annotator="ann"):
    for _ in range(count):
        (asked,) = project.ask(annotator)
        project.answer(asked.key, annotator, say(asked), seconds=1.5)


def test_answers_become_labels_and_survive_a_restart(project, say, synthetic):
    answer_some(project, say, 30)
    labels = project.labels()
    known = ~np.isnan(labels.values)
    assert known.sum() == 30
    assert np.array_equal(labels.values[known], synthetic.labels.value[known])
    weights = project.learner.model.weights_
    project.close()
    with Project.open(project.folder) as again:
        assert np.array_equal(again.learner.model.weights_, weights)
        assert [event.key for event in again.events] == [event.key for event in project.events]
        all_is_well(again)


def test_an_event_says_everything(project, say):
    (asked,) = project.ask("ann")
    event = project.answer(asked.key, "ann", say(asked), seconds=2.5, shown="with highlight")
    assert (event.annotator, event.bag, event.label_class) == ("ann", asked.bag, asked.label_class)
    assert (event.seconds, event.score, event.belief) == (2.5, asked.question.score, asked.question.belief[0])
    assert (event.asked_after, event.kind, event.replaces, event.shown) == (0, "answer", None, "with highlight")
    assert event.at.endswith("+00:00")


def test_asking_again_gives_the_same_question_again(project):
    first = project.ask("ann", 3)
    assert [one.key for one in project.ask("ann", 3)] == [one.key for one in first]
    assert len({(one.bag, one.label_class) for one in first}) == 3


def test_the_same_answer_sent_twice_is_one_event(project):
    (asked,) = project.ask("ann")
    event = project.answer(asked.key, "ann", "present")
    assert project.answer(asked.key, "ann", "present") == event
    with pytest.raises(AlreadyAnswered, match="answered before, by ann: present"):
        project.answer(asked.key, "ann", "absent")
    assert len(project.events) == 1


def test_unsure_and_skipped_never_become_labels(project):
    for answer in ("unsure", "skipped"):
        (asked,) = project.ask("ann")
        project.answer(asked.key, "ann", answer)
    assert np.isnan(project.labels().values).all()
    assert project.labels().unsure.sum() == 1
    seen = {(event.bag, event.label_class) for event in project.events}
    for _ in range(20):
        (asked,) = project.ask("ann")
        assert (asked.bag, asked.label_class) not in seen, "what was skipped or unsure does not come again"
        project.answer(asked.key, "ann", "absent")
    all_is_well(project)


def test_what_one_person_skips_another_may_answer(project):
    (asked,) = project.ask("ann")
    project.answer(asked.key, "ann", "skipped")
    (other,) = project.ask("bob")
    assert (other.bag, other.label_class) == (asked.bag, asked.label_class)


def test_undo_goes_back_to_the_very_same_model(project, say):
    answer_some(project, say, 60)
    weights = [project.learner.model.weights_]
    for _ in range(55):
        (asked,) = project.ask("ann")
        project.answer(asked.key, "ann", say(asked))
        weights.append(project.learner.model.weights_)
    for expected in reversed(weights[:-1]):
        project.undo("ann")
        assert np.array_equal(project.learner.model.weights_, expected)
    all_is_well(project)
    assert len(project.events) == 60 + 55 + 55, "nothing was removed, only taken back"


def test_a_correction_names_what_it_replaces_and_keeps_both(project, say):
    answer_some(project, say, 10)
    project.set_role("bob", "adjudicator")
    wrong = project.events[4]
    answer = "absent" if wrong.answer == "present" else "present"
    event = project.correct(wrong.number, "bob", answer)
    assert (event.kind, event.replaces, event.annotator) == ("correction", 5, "bob")
    assert project.labels().values[wrong.bag, wrong.label_class] == (answer == "present")
    with pytest.raises(AlreadyAnswered, match="replaced by number 11"):
        project.correct(wrong.number, "bob", answer)
    again = project.correct(event.number, "bob", wrong.answer)
    assert project.labels().values[wrong.bag, wrong.label_class] == (wrong.answer == "present")
    assert [e.number for e in (wrong, event, again)] == [5, 11, 12]
    all_is_well(project)


@pytest.mark.parametrize("update", ["lbfgs", "bag_sgd", "replay"])
def test_random_histories_replay_bit_for_bit(make_project, rng, monkeypatch, update):
    monkeypatch.setattr(trainer, "SNAPSHOT_EVERY", 7)
    monkeypatch.setattr(replaying, "REFIT_EVERY", 31)
    project = make_project(learning=Learning(update=update))
    for _ in range(100):
        person = str(rng.choice(["ann", "bob"]))
        move = rng.integers(0, 10)
        standing = project.votes.all_effective()
        if move < 7 or not standing:
            (asked,) = project.ask(person)
            answer = rng.choice(["present", "absent", "absent", "unsure", "skipped"])
            project.answer(asked.key, person, str(answer))
        elif move == 7 and project.votes.last_of(person):
            project.undo(person)
        else:
            chosen = standing[rng.integers(0, len(standing))]
            project.correct(
                chosen.number, chosen.annotator, str(rng.choice(["present", "absent", "unsure", "skipped"]))
            )
        if rng.random() < 0.1:
            project.close()
            project = Project.open(project.folder)
    kinds = {event.kind for event in project.events}
    assert kinds == {"answer", "correction", "restoration", "retraction"}
    all_is_well(project)
    project.close()


def test_a_damaged_or_foreign_snapshot_changes_nothing(project, say):
    answer_some(project, say, 20)
    weights = project.learner.model.weights_
    project.close()
    snapshots = list((project.folder / "snapshots").glob("*.npz"))
    assert snapshots
    for snapshot in snapshots:
        snapshot.write_bytes(snapshot.read_bytes()[: snapshot.stat().st_size // 2])
    with Project.open(project.folder) as again:
        assert np.array_equal(again.learner.model.weights_, weights)
    shutil.rmtree(project.folder / "snapshots")
    with Project.open(project.folder) as again:
        assert np.array_equal(again.learner.model.weights_, weights)


def test_two_open_projects_learn_from_each_other(project, say):
    with Project.open(project.folder) as other:
        answer_some(project, say, 5, "ann")
        answer_some(other, say, 5, "bob")
        answer_some(project, say, 5, "ann")
        assert np.array_equal(project.learner.model.weights_, other.learner.model.weights_)
        assert len(other.events) == 15


def test_a_leased_question_is_nobody_elses_until_it_runs_out(make_project, monkeypatch):
    project = make_project(asking=Asking(lease_seconds=100))
    (anns,) = project.ask("ann")
    (bobs,) = project.ask("bob")
    assert (anns.bag, anns.label_class) != (bobs.bag, bobs.label_class)
    original = queries.clock
    monkeypatch.setattr(queries, "clock", lambda connection: original(connection) + 101)
    (cecils,) = project.ask("cecil")
    assert (cecils.bag, cecils.label_class) == (anns.bag, anns.label_class)
    project.answer(anns.key, "ann", "present")
    assert len(project.events) == 1, "an answer that comes late is not lost"
    with pytest.raises(BagwiseError, match="was leased to cecil"):
        project.answer(cecils.key, "ann", "present")


def test_redundancy_asks_several_and_counts_the_majority(make_project):
    project = make_project(asking=Asking(people=3))
    firsts = {person: project.ask(person)[0] for person in ("ann", "bob", "cecil", "dora")}
    pairs = {person: (asked.bag, asked.label_class) for person, asked in firsts.items()}
    assert pairs["ann"] == pairs["bob"] == pairs["cecil"] != pairs["dora"]
    pair = pairs["ann"]
    project.answer(firsts["ann"].key, "ann", "present")
    assert np.isnan(project.labels().values[pair]), "one of three is not enough"
    project.answer(firsts["bob"].key, "bob", "absent")
    project.answer(firsts["cecil"].key, "cecil", "present")
    assert project.labels().values[pair] == 1
    assert project.votes.disagreements() == [pair]
    project.set_role("eva", "adjudicator")
    with pytest.raises(BagwiseError, match="not an adjudicator"):
        project.adjudicate(pair, "ann", "absent")
    project.adjudicate(pair, "eva", "absent")
    assert project.labels().values[pair] == 0
    all_is_well(project)


def test_a_tie_is_undecided_until_an_adjudicator_speaks(make_project):
    project = make_project(asking=Asking(people=2))
    for person, answer in (("ann", "present"), ("bob", "absent")):
        asked = project.ask(person)[0]
        project.answer(asked.key, person, answer)
    pair = (asked.bag, asked.label_class)
    assert np.isnan(project.labels().values[pair])
    assert (project.ask("cecil")[0].bag, project.ask("cecil")[0].label_class) != pair
    project.set_role("eva", "adjudicator")
    project.adjudicate(pair, "eva", "present")
    assert project.labels().values[pair] == 1
    all_is_well(project)


def test_a_share_of_the_pairs_is_asked_of_several(make_project):
    project = make_project(asking=Asking(people=3, share=0.3))
    people = [project.votes.people_for((b, c)) for b in range(60) for c in range(6)]
    assert set(people) == {1, 3}
    assert 0.2 < people.count(3) / len(people) < 0.4


def test_importing_more(project, say, synthetic):
    answer_some(project, say, 10)
    decided = project.labels().values.copy()
    more = source_of(synthetic.select(range(5)), [f"new {i}" for i in range(5)])
    table = LabelTable(["new 0", "bag 1"], ["class 0", "owl"], np.array([[1, 0], [np.nan, 1]], float))
    with pytest.raises(BagwiseError, match="class owl does not exist"):
        project.import_(more, table)
    project.import_(more, table, ["owl"])
    assert len(project.bags) == 65
    assert project.classes[-1] == "owl"
    labels = project.labels()
    assert labels.values[60, 0] == 1
    assert labels.values[1, -1] == 1
    assert np.array_equal(labels.values[:60, :-1], decided, equal_nan=True)
    answer_some_more = project.ask("ann")
    assert answer_some_more
    all_is_well(project)


def test_an_import_that_contradicts_or_repeats_changes_nothing(project, say, synthetic):
    answer_some(project, say, 5)
    event = project.events[0]
    opposite = 0.0 if event.answer == "present" else 1.0
    table = LabelTable([f"bag {event.bag}"], [project.classes[event.label_class]], np.array([[opposite]]))
    before = (project.folder / "instances.bin").stat().st_size
    with pytest.raises(BagwiseError, match="contradicts a known label"):
        project.import_(None, table)
    with pytest.raises(BagwiseError, match="bag 0 is in the project already"):
        project.import_(source_of(synthetic))
    with pytest.raises(BagwiseError, match="bag nowhere does not exist"):
        project.import_(None, LabelTable(["nowhere"], ["class 0"], np.array([[1.0]])))
    assert (project.folder / "instances.bin").stat().st_size == before
    assert len(project.bags) == 60
    all_is_well(project)


def test_an_interrupted_import_leaves_nothing_behind(project, synthetic, say):
    answer_some(project, say, 3)

    def interrupt(_):
        raise KeyboardInterrupt

    more = source_of(synthetic.select(range(5)), [f"new {i}" for i in range(5)])
    with pytest.raises(KeyboardInterrupt):
        project.import_(more, progress=interrupt)
    project.close()
    with Project.open(project.folder) as again:
        assert len(again.bags) == 60
        again.import_(more)
        assert np.array_equal(again.bags[62], more.to_bags()[2])
        all_is_well(again)


def test_moving_the_folder_moves_the_project(project, say, tmp_path):
    answer_some(project, say, 5)
    project.close()
    moved = tmp_path / "elsewhere"
    shutil.move(project.folder, moved)
    with Project.open(moved) as again:
        assert len(again.events) == 5
        all_is_well(again)


def test_a_backup_is_a_project_of_its_own(project, say, tmp_path):
    answer_some(project, say, 12)
    place = project.backup(tmp_path / "copy")
    answer_some(project, say, 3)
    with Project.open(place) as copy:
        assert copy.database.is_sqlite
        assert copy.events == project.events[:12]
        assert copy.contents.project == project.contents.project
        all_is_well(copy)
        answer_some(copy, say, 1)
    with pytest.raises(BagwiseError, match="never overwrites"):
        project.backup(place)


def test_status_counts(project, say):
    answer_some(project, say, 40)
    (asked,) = project.ask("bob")
    project.answer(asked.key, "bob", "unsure")
    found = status_of(project)
    assert found.answers == 41
    assert sum(found.by_person["ann"].values()) == 40
    assert found.by_person["bob"] == {"unsure": 1}
    assert sum(one.present + one.absent for one in found.classes) == 40
    assert sum(one.unsure for one in found.classes) == 1
    assert sum(one.open for one in found.classes) == 60 * 6 - 41
    audits = [event for event in project.events if event.audit and event.annotator == "ann"]
    assert found.agreement.of == len(audits)
    assert found.agreement.low <= found.agreement.value <= found.agreement.high
    assert found.seconds_per_answer == 1.5


def test_the_pool_can_be_exhausted(make_project):
    project = make_project()
    project.import_(None, LabelTable([f"bag {i}" for i in range(59)], project.classes, np.zeros((59, 6))))
    answers = 0
    while asked := project.ask("ann", 2):
        for one in asked:
            project.answer(one.key, "ann", "absent")
            answers += 1
    assert answers == 6
    assert not np.isnan(project.labels().values).any()


@pytest.mark.parametrize("name", ["", "   ", "x" * 300, "line\nbreak"])
def test_people_have_printable_names(project, name):
    with pytest.raises(BagwiseError, match="not a name of a person"):
        project.ask(name)


def test_nonsense_is_refused(project):
    (asked,) = project.ask("ann")
    with pytest.raises(BagwiseError, match="not an answer"):
        project.answer(asked.key, "ann", "maybe")
    with pytest.raises(BagwiseError, match="does not exist, or expired too long ago"):
        project.answer("no such key", "ann", "present")
    with pytest.raises(BagwiseError, match="no pair"):
        project.answer("late", "ann", "present", pair=(99, 0))
    with pytest.raises(BagwiseError, match="no answer number 7"):
        project.correct(7, "ann", "present")
    with pytest.raises(BagwiseError, match="no answer to undo"):
        project.undo("ann")
    assert project.events == []


def test_leases_go_by_the_clock_of_the_server(postgres_server, tmp_path, synthetic, monkeypatch):
    """A machine whose clock is wrong does not take over what somebody else has."""
    place, address = tmp_path / "p", postgres_server.new_database()
    with Project.create(place, source_of(synthetic), classes=synthetic.classes, database=address) as project:
        (anns,) = project.ask("ann")
        with Project.open(place) as other:
            monkeypatch.setattr(time, "time", lambda: 4e9)
            (bobs,) = other.ask("bob")
    assert (anns.bag, anns.label_class) != (bobs.bag, bobs.label_class)


def test_a_correction_takes_the_place_of_what_it_replaces(make_project, monkeypatch):
    project = make_project(asking=Asking(lease_seconds=100))
    (anns,) = project.ask("ann")
    original = queries.clock
    monkeypatch.setattr(queries, "clock", lambda connection: original(connection) + 101)
    (bobs,) = project.ask("bob")
    first = project.answer(anns.key, "ann", "present")
    project.answer(bobs.key, "bob", "present")
    project.correct(first.number, "ann", "absent")
    assert project.labels().values[anns.bag, anns.label_class] == 0, "the first answer counts, as corrected"
    all_is_well(project)


def test_the_majority_is_of_those_who_were_asked(make_project):
    project = make_project(asking=Asking(people=3))
    pair = (0, 0)

    def say_it(person, answer):
        return project.answer(f"{person} {answer}", person, answer, pair=pair)

    for person, answer in (("ann", "unsure"), ("bob", "unsure"), ("cecil", "present")):
        say_it(person, answer)
    assert np.isnan(project.labels().values[pair]), "one of three is no majority"
    pair = (1, 0)
    for person, answer in (("ann", "present"), ("bob", "present"), ("cecil", "absent")):
        say_it(person + "2", answer)
    with pytest.raises(AlreadyAnswered, match="has answered this before"):
        project.answer("again", "ann2", "absent", pair=pair)
    say_it("late", "absent")
    assert project.labels().values[pair] == 1, "a vote that comes late is kept and not counted"
    all_is_well(project)


def test_a_bad_word_is_never_saved(make_project):
    project = make_project()
    project.set_role("judge", "adjudicator")
    project.adjudicate((0, 0), "judge", "present")
    for word in ("banana", "skipped"):
        with pytest.raises(BagwiseError, match=r"not an answer|decides"):
            project.adjudicate((0, 0), "judge", word)
    assert len(project.events) == 1


def test_the_same_undo_sent_twice_takes_back_once(project, say):
    answer_some(project, say, 3)
    assert project.undo("ann", "key") == project.undo("ann", "key")
    assert len(project.events) == 4
    with pytest.raises(AlreadyAnswered, match="saved before as something else"):
        project.correct(1, "ann", "present", key="key")


def test_retracting_everything_forgets_everything(project, say):
    answer_some(project, say, 2)
    (asked,) = project.ask("bob")
    project.answer(asked.key, "bob", say(asked))
    for person in ("ann", "ann", "bob"):
        project.undo(person)
    assert not project.learner.model.weights_.any()
    all_is_well(project)


def test_a_newcomer_does_not_set_anything_back(project, say):
    answer_some(project, say, 5)
    version = project.contents.version
    project.set_role("newcomer", "annotator")
    assert project.contents.version == version


def test_whoever_takes_an_answer_back_is_asked_again(project, say):
    questions = project.ask("ann", 3)
    project.answer(questions[0].key, "ann", "present")
    project.undo("ann")
    again = project.ask("ann", 3)
    assert (again[0].bag, again[0].label_class) == (questions[0].bag, questions[0].label_class)
    assert again[0].key != questions[0].key
    assert {one.key for one in again[1:]} == {one.key for one in questions[1:]}


def test_questions_asked_ahead_are_about_different_things(project, say):
    answer_some(project, say, 20)
    questions = project.ask("ann", 6)
    per_class = Counter(one.label_class for one in questions)
    assert len(per_class) >= 4
    assert max(per_class.values()) <= 2
    assert len({one.bag for one in questions}) == 6


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [3, 10])
def test_fetching_ahead_does_not_change_the_share_of_audits(tmp_path, synthetic, say, ahead):
    def audits(count):
        learning = Learning(audit=0.25)
        place = tmp_path / f"{count} ahead"
        with Project.create(place, source_of(synthetic), None, synthetic.classes, learning) as project:
            for _ in range(80):
                asked = project.ask("ann", count)[0]
                project.answer(asked.key, "ann", say(asked))
            return sum(event.audit for event in project.events)

    assert abs(audits(ahead) - audits(1)) <= ahead, "only those fetched and not answered yet may differ"


def test_a_device_that_there_is_not_is_refused_before_anything_is_read(project):
    folder = project.folder
    project.close()
    with pytest.raises(BagwiseError, match="device='abacus' must be auto, cpu or cuda"):
        Project.open(folder, device="abacus")
