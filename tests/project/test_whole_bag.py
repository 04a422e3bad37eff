"""Whole-bag questions: several classes in one go, saved once however often sent, taken back in one go."""

from dataclasses import replace

import numpy as np
import pytest

from bagwise import BagwiseError, datasets
from bagwise.formats import Source
from bagwise.project import Asking, Project, Submission, answering_seconds, check, whole_bag_answers
from bagwise.project.answers.replay import Replay
from bagwise.project.queue.answering_time import FEWEST_TIMED
from tests.conftest import source_of
from tests.project.test_commands import bagwise


@pytest.fixture
def whole(tmp_path):
    """Makes a project of digits with settings for asking, and its true labels."""
    data = datasets.load("digits")

    def make(**asking):
        source: Source = source_of(data.select(np.arange(40)))
        return Project.create(tmp_path / "p", source, None, data.classes, asking=Asking(**asking))

    make.truth = data.labels.value
    return make


def ask(project, count=1):
    return project.ask("ann", count)


def answer(project, lease, present=(), unsure=(), skip=False, seconds=None, classes=None):
    """Answer a leased question as the page and the terminal do."""
    classes = lease.question.classes if classes is None else classes
    answers = whole_bag_answers(classes, present, unsure, skip)
    return project.submit(Submission(lease.key, "ann", answers, tuple(classes), seconds=seconds))


def seconds_of(project):
    return answering_seconds(project.events, project.settings.asking)


def test_a_whole_bag_is_asked_answered_and_learned(whole):
    project = whole(granularity="bag")
    (question,) = ask(project)
    bag = question.bag
    assert sorted(question.question.classes) == list(range(10))
    present = [c for c in question.question.classes if whole.truth[bag, c]]
    events = answer(project, question, present, seconds=12.0)
    assert {event.label_class: event.answer == "present" for event in events} == dict(enumerate(whole.truth[bag]))
    again = answer(project, question, present, seconds=12.0)
    assert again == events
    assert len(project.events) == 10
    assert project.learner.labels.known[bag].all()
    assert [event.seconds for event in project.events if event.seconds] == [12.0]
    (following,) = ask(project)
    assert following.bag != bag
    assert not any(found.wrong for found in check(project))
    project.close()


def test_a_bag_that_was_answered_completely_does_not_end_the_opening(whole):
    project = whole(granularity="bag")
    (question,) = ask(project)
    answer(project, question)
    again = Replay(project.contents, project.settings, project.bags)
    again.count(project.events)
    again.begin()
    assert again.learner.labels.known.all(axis=1).any()
    assert again.learner.cold_start, "answers are not a labelled start, also where the model is fitted from scratch"
    project.close()


def test_all_of_it_is_taken_back_in_one_go(whole):
    project = whole(granularity="bag")
    (first,) = ask(project)
    answer(project, first)
    (second,) = ask(project)
    asked = second.question.classes
    answer(project, second, asked[:2], unsure=asked[2:3])
    taken = project.undo_together("ann", "taking-back")
    assert {event.bag for event in taken} == {second.bag}
    assert project.undo_together("ann", "taking-back") == taken, "the same request takes back nothing more"
    assert set(project.votes.decisions) == {(first.bag, c) for c in range(10)}
    again, *others = ask(project, 3)
    assert {one.bag for one in others}.isdisjoint([again.bag])
    assert again.bag == second.bag
    assert sorted(again.question.classes) == list(range(10))
    project.close()


def test_a_skipped_bag_does_not_come_back_to_the_same_person(whole):
    project = whole(granularity="bag")
    (question,) = ask(project)
    answer(project, question, skip=True)
    assert not project.votes.decisions
    assert question.bag not in {one.bag for one in ask(project, 20)}
    project.close()


def test_questions_ahead_are_about_different_bags(whole):
    project = whole(granularity="bag")
    assert len({one.bag for one in ask(project, 5)}) == 5
    project.close()


def test_what_was_not_asked_is_refused(whole):
    project = whole(granularity="bag")
    (question,) = ask(project)
    classes = question.question.classes
    with pytest.raises(BagwiseError, match="Only a class that was asked"):
        answer(project, question, [classes[4]], classes=classes[:3])
    with pytest.raises(BagwiseError, match="about another question"):
        answer(project, question, classes=classes[::-1])
    with pytest.raises(BagwiseError, match="does not exist"):
        answer(project, replace(question, key="stranger"))
    with pytest.raises(BagwiseError, match="2 answers for 10 classes"):
        project.submit(Submission(question.key, "ann", ("absent",) * 2, classes))
    assert project.events == []
    project.close()


@pytest.mark.parametrize(("bag_seconds", "classes"), [(5.0, 10), (1000.0, 1)])
def test_the_best_value_decides_between_pair_and_bag(whole, bag_seconds, classes):
    project = whole(granularity="best_value", pair_seconds=4.0, bag_seconds=bag_seconds)
    (question,) = ask(project)
    assert len(question.question.classes) == classes
    project.close()


def test_seconds_are_measured_once_there_are_enough(whole):
    project = whole()
    assert seconds_of(project).pair == 4.0
    for _ in range(2 * FEWEST_TIMED):
        (question,) = ask(project)
        assert question.question.classes == (question.label_class,)
        project.answer(question.key, "ann", "absent", 7.0)
    assert max(seconds_of(project).pair, seconds_of(project).again) == 7.0
    assert seconds_of(project).bag == 10.0, "none was asked yet"
    project.close()


def test_a_whole_bag_in_the_terminal(whole):
    project = whole(granularity="bag")
    folder = project.folder
    project.close()
    code, out, err = bagwise("answer", folder, keys="12.3.zq")
    assert code == 0, err
    assert out.count("Which of these are in bag") == 4
    with Project.open(folder) as project:
        present = [decision.present for decision in project.votes.decisions.values()]
        assert (len(present), sum(present)) == (10, 2), "the second bag was taken back"


def test_the_keys_of_the_terminal_stay_with_the_classes(tmp_path, synthetic):
    classes = [f"species {c + 1}" for c in range(35)]
    folder = tmp_path / "many"
    asking = Asking(granularity="bag")
    with Project.create(folder, source_of(synthetic), classes=classes, asking=asking) as project:
        project.answer_listed("bea", "absent", [(bag, bag % 7) for bag in range(len(project.bags))], "some")
    code, out, err = bagwise("answer", folder, "--as", "ann", keys="a/3.a/3.q")
    assert code == 0, err
    assert "What you do not press is saved as absent." in out
    assert "[a] species 11" in out
    assert "[/3] species 34" in out
    with Project.open(folder) as project:
        said = [(event.bag, event.label_class) for event in project.events if event.answer == "present"]
        assert sorted(c for _, c in said) == [10, 10, 33, 33]
        assert len({bag for bag, _ in said}) == 2


def test_an_unknown_granularity_is_refused():
    with pytest.raises(BagwiseError, match="granularity"):
        Project.create("nowhere", source_of(datasets.load("digits")), asking=Asking(granularity="heap"))
