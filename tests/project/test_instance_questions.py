"""Questions about one instance of a bag: asked, answered, taken back, counted and replayed like all others."""

import json

import numpy as np
import pytest

from bagwise import BagwiseError
from bagwise.formats import LabelTable
from bagwise.project import AlreadyAnswered, Asking, Learning, Project, check
from bagwise.project.answers import replay as replaying
from bagwise.project.reports.disagreements import disagreements_of
from bagwise.project.storage import stored_leases
from tests.conftest import source_of
from tests.project.test_commands import bagwise

LABELLED = 20


@pytest.fixture
def make(tmp_path, synthetic):
    """Makes projects of bags of several instances, some with known labels, that ask about one instance."""
    opened = []

    def make(name="p", bags=40, people=1, **learning):
        data = synthetic.select(range(bags))
        known = np.array(data.labels.value, float)
        known[LABELLED:] = np.nan
        labels = LabelTable([f"bag {b}" for b in range(bags)], data.classes, known)
        asking = Asking(granularity="instance", people=people)
        settings = {"learning": Learning(**{"audit": 0.0, **learning}), "asking": asking}
        opened.append(Project.create(tmp_path / name, source_of(data), labels, data.classes, **settings))
        return opened[-1]

    yield make
    for project in opened:
        project.close()


def is_right(project):
    return not any(found.wrong for found in check(project))


def said_of(project, bag, label_class):
    """What the model was taught about the instances of a bag."""
    return {one.instance: one.present for one in project.learner.instance_labels(bag, label_class)}


def ask(project, who="ann"):
    (lease,) = project.ask(who)
    return lease, lease.question


def test_no_is_about_the_instance_and_yes_about_the_bag(make):
    project = make()
    lease, question = ask(project)
    assert question.evidence == (question.instance,)
    pair = lease.pair
    no = project.answer(lease.key, "ann", "absent")
    assert project.answer(lease.key, "ann", "absent") == no, "sent again, it is saved once"
    assert (no.instance, no.marked, no.where) == (question.instance, question.instance, ())
    assert project.counts_as(pair) is None
    assert said_of(project, *pair) == {question.instance: False}
    with pytest.raises(AlreadyAnswered):
        project.answer("another key", "ann", "present", pair=pair, instance=question.instance)
    other = next(one for one in range(len(project.bags[lease.bag])) if one != question.instance)
    yes = project.answer("late", "ann", "present", pair=pair, instance=other)
    assert yes.where == (other,)
    assert project.counts_as(pair) == "present"
    assert said_of(project, *pair) == {question.instance: False, other: True}
    assert project.votes.wants(pair, "bea", 0) == 0
    placed = {(one.bag, one.label_class, one.instance): one.present for one in project.labels().placed}
    names = str(project.contents.ids[lease.bag]), project.classes[lease.label_class]
    assert (placed[*names, question.instance], placed[*names, other]) == (False, True)
    assert is_right(project)


def test_present_at_another_instance_says_nothing_of_the_asked_one(make):
    project = make()
    lease, question = ask(project)
    other = next(one for one in range(len(project.bags[lease.bag])) if one != question.instance)
    project.answer(lease.key, "ann", "present", where=[other])
    assert project.counts_as(lease.pair) == "present"
    assert said_of(project, *lease.pair) == {other: True}


def test_an_unsure_instance_is_not_asked_again_and_a_skipped_one_not_of_this_person(make):
    project = make()
    lease, question = ask(project)
    project.answer(lease.key, "ann", "unsure")
    assert said_of(project, *lease.pair) == {question.instance: None}
    assert project.counts_as(lease.pair) is None
    assert not project.labels().placed
    skipped, its_question = ask(project)
    project.answer(skipped.key, "ann", "skipped")
    votes = project.votes
    assert [votes.wants(lease.pair, who, question.instance) for who in ("ann", "bea")] == [0, 0]
    assert votes.wants(lease.pair, "ann", (question.instance + 1) % 2) == 1, "another instance of it is"
    assert [votes.wants(skipped.pair, who, its_question.instance) for who in ("ann", "bea")] == [0, 1]
    ranked = {(one.bag, one.classes[0], one.instance) for one in project.rank(2000).questions}
    assert (*lease.pair, question.instance) not in ranked
    assert is_right(project)


def test_undo_asks_the_same_again_and_restores_the_model(make):
    project = make()
    asked = []
    for answer in ("absent", "present", "unsure", "absent"):
        lease, question = ask(project)
        asked.append((lease, question, project.snapshot()["weights"][1]))
        project.answer(lease.key, "ann", answer)
    for lease, question, weights in reversed(asked):
        undone = project.undo("ann")
        assert (undone.kind, undone.instance) == ("retraction", question.instance)
        again, same = ask(project)
        assert (again.pair, same.instance, same.belief) == (lease.pair, question.instance, question.belief)
        np.testing.assert_array_equal(project.snapshot()["weights"][1], weights)
    assert len(project.learner.labels.instances) == 0
    assert is_right(project)


def test_corrections_stay_about_the_instance(make):
    project = make()
    lease, question = ask(project)
    no = project.answer(lease.key, "ann", "absent")
    yes = project.correct(no.number, "ann", "present")
    assert (yes.instance, yes.where, project.counts_as(lease.pair)) == (
        question.instance,
        (question.instance,),
        "present",
    )
    assert said_of(project, *lease.pair) == {question.instance: True}
    back = project.undo("ann")
    assert (back.kind, back.answer, back.instance) == ("restoration", "absent", question.instance)
    assert said_of(project, *lease.pair) == {question.instance: False}
    project.correct(no.number, "ann", "unsure")
    assert said_of(project, *lease.pair) == {question.instance: None}
    project.answer("about the bag", "ann", "absent", pair=lease.pair)
    with pytest.raises(AlreadyAnswered, match="again since"):
        project.correct(project.events[3].number, "ann", "present")
    assert is_right(project)


def test_several_people_are_asked_about_the_same_instance(make):
    project = make(people=2)
    lease, question = ask(project)
    project.set_role("eve", "adjudicator")
    pair, instance = lease.pair, question.instance
    project.answer("a", "ann", "absent", pair=pair, instance=instance)
    assert said_of(project, *pair) == {}, "one of two has answered"
    assert [project.votes.wants(pair, who, instance) for who in ("ann", "bea")] == [0, 1]
    yes = project.answer("b", "bea", "present", pair=pair, instance=instance)
    assert said_of(project, *pair) == {instance: None}
    assert project.disputed(pair) == (instance,)
    assert [one.pair for one in disagreements_of(project)] == [pair]
    project.answer("c", "cem", "present", pair=pair)
    assert project.counts_as(pair) == "present"
    assert said_of(project, *pair) == {instance: None}, "one claims it and one denies it"
    project.correct(yes.number, "bea", "absent")
    assert project.counts_as(pair) is None
    assert said_of(project, *pair) == {instance: False}
    project.adjudicate(pair, "eve", "present", where=[instance])
    assert said_of(project, *pair) == {instance: True}, "an adjudicator decides alone"
    assert is_right(project)


def test_an_adjudicator_who_said_yes_to_an_instance_decides_about_the_bag(make):
    project = make()
    project.set_role("eve", "adjudicator")
    lease, question = ask(project, "eve")
    project.answer(lease.key, "eve", "present")
    decided = project.adjudicate(lease.pair, "eve", "absent")
    assert (decided.kind, decided.instance) == ("correction", None)
    assert project.counts_as(lease.pair) == "absent"
    assert project.undo("eve").instance == question.instance
    assert said_of(project, *lease.pair) == {question.instance: True}


@pytest.mark.slow
def test_all_is_answered_in_the_end_by_two_people(make, synthetic, monkeypatch):
    """Every open pair is asked about, with turning points on the way; no person gets two questions about one pair."""
    monkeypatch.setattr(replaying, "REFIT_EVERY", 30)
    project, truth = make(bags=LABELLED + 3, audit=0.2), np.asarray(synthetic.labels.value)
    left, asked = ["ann", "bea"], set()
    while left:
        for who in list(left):
            leases = project.ask(who, 3)
            if not leases:
                left.remove(who)
                continue
            assert len({lease.pair for lease in leases}) == len(leases)
            lease = leases[0]
            about = *lease.pair, lease.question.instance
            assert about not in asked
            asked.add(about)
            present = bool(truth[lease.pair]) and (lease.question.instance or 0) % 2 == 0
            project.answer(lease.key, who, "present" if present else "absent")
    assert not np.isnan(project.labels().values).any()
    assert {instance is None for *_, instance in asked} == {True, False}
    assert is_right(project)
    before = project.snapshot()
    project.close()
    with Project.open(project.folder) as again:
        for name, expected in again.snapshot().items():
            np.testing.assert_array_equal(before[name], expected, name)
        assert is_right(again)


def test_leases_and_events_are_stored_with_the_instance(make, tmp_path):
    project = make()
    lease, question = ask(project)
    with project.database.reading() as connection:
        assert stored_leases.with_keys(connection, [lease.key])[lease.key].question.instance == question.instance
    with pytest.raises(BagwiseError, match="another question"):
        project.answer(lease.key, "ann", "absent", instance=question.instance + 1)
    with pytest.raises(BagwiseError, match="there is no instance 99"):
        project.answer("k", "ann", "absent", pair=lease.pair, instance=99)
    event = project.answer(lease.key, "ann", "absent")
    project.close()
    with Project.open(project.folder) as again:
        assert again.events == [event]
        assert again.events[0].fingerprint.endswith(f"instance {question.instance}".encode())
    assert bagwise("export", project.folder, "--what", "answers", "--to", tmp_path / "a.jsonl")[0] == 0
    (row,) = map(json.loads, (tmp_path / "a.jsonl").read_text().splitlines())
    assert (row["answer"], row["instance"], row["where"]) == ("absent", question.instance, [])


def test_bags_of_one_instance_are_asked_about_whole(tmp_path, synthetic):
    data = synthetic.select(range(12))
    source = source_of(data)
    rows = [np.array(bag)[:1] for bag in data.bags]
    known = np.array(data.labels.value, float)
    known[6:] = np.nan
    labels = LabelTable(list(source.ids), data.classes, known)
    single = type(source).of_bags(source.path, rows, list(source.ids))
    settings = {"asking": Asking(granularity="instance"), "learning": Learning(audit=0.0)}
    with Project.create(tmp_path / "p", single, labels, data.classes, **settings) as project:
        lease, question = ask(project)
        assert question.instance is None
        project.answer(lease.key, "ann", "absent")
        assert project.counts_as(lease.pair) == "absent"


def test_a_criterion_that_cannot_score_instances_is_refused(make):
    with pytest.raises(BagwiseError, match="choose one that declares RISES_WITH"):
        make(criterion="information_gain")


def test_in_the_terminal(tmp_path, make):
    project = make()
    project.close()
    code, out, err = bagwise("answer", project.folder, "--as", "ann", keys="nenzyuq")
    assert (code, err) == (0, "")
    assert "Is the marked instance of bag bag" in out
    with Project.open(project.folder) as again:
        assert [event.kind for event in again.events].count("retraction") == 1
        assert [event.answer for event in again.events] == ["absent", "absent", "absent", "present", "unsure"]
        assert all(event.instance is not None for event in again.events)
        assert is_right(again)


def test_init_takes_the_granularity(tmp_path):
    rows = "\n".join(f"bag {b},{b + i},{b * i}" for b in range(6) for i in range(3))
    (tmp_path / "i.csv").write_text(f"bag,one,two\n{rows}\n")
    (tmp_path / "c.txt").write_text("wren\nowl\n")
    made = ["init", tmp_path / "made", "--from", tmp_path / "i.csv", "--classes", tmp_path / "c.txt"]
    code, _, err = bagwise(*made, "--granularity", "words")
    assert code == 1
    assert "must be one of pair, bag, best_value, instance" in " ".join(err.split())
    assert bagwise(*made, "--granularity", "instance")[0] == 0
    assert 'granularity = "instance"' in (tmp_path / "made" / "bagwise.toml").read_text()
