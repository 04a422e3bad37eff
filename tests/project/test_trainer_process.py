"""Learning beside the work: nobody who asks or answers waits for it, and what is learned stays the same."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from bagwise.project import AlreadyAnswered, Asking, LeaseRequest, Project, Submission
from bagwise.project.answers import replay
from bagwise.project.queue import ranking
from bagwise.project.training import trainer, trainer_process
from tests.conftest import source_of
from tests.project.test_project import all_is_well, answer_some

MANY = 120


@pytest.fixture
def in_a_file(tmp_path, synthetic):
    with Project.create(tmp_path / "project", source_of(synthetic), classes=synthetic.classes) as project:
        yield project


@pytest.fixture
def beside(in_a_file):
    """The same project with a process of its own that learns."""
    with Project.open(in_a_file.folder, apart=True) as opened:
        yield opened


def test_a_process_of_its_own_learns_the_same(beside, in_a_file, say):
    answer_some(beside, say, 12)
    (asked,) = beside.ask("ann")
    beside.answer(asked.key, "ann", say(asked))
    assert beside.events[-1].asked_after == 12, "one alone is asked what the last answer suggests"
    answer_some(beside, say, 10, "bob")
    beside.correct(3, "ann", "unsure")
    beside.undo("ann")
    assert np.array_equal(beside.online_model().weights_, in_a_file.learner.model.weights_)
    asked = [*beside.ask("dan", 4), *in_a_file.ask("eve", 4)]
    assert len({(one.bag, one.label_class) for one in asked}) == 8
    all_is_well(beside)


def test_a_first_ranking_does_not_wait_until_every_answer_is_learned(in_a_file, say, monkeypatch):
    """A server that is started again after a crowd: hundreds of answers are not learned yet."""
    answer_some(in_a_file, say, 6)
    monkeypatch.setattr(trainer, "PUBLISH_EVERY", -1.0)
    with Project.open(in_a_file.folder) as opened:
        assert opened.rank(2).applied < len(opened.events)
        monkeypatch.setattr(trainer, "PUBLISH_EVERY", 600.0)
        assert opened.rank(2).applied == len(opened.events)
        assert np.array_equal(opened.online_model().weights_, in_a_file.learner.model.weights_)


def test_a_longer_ranking_does_not_wait_for_a_refit(in_a_file, say, monkeypatch):
    """Many people have just come, and would have asked all questions before everything is fitted again."""
    monkeypatch.setattr(replay, "REFIT_EVERY", 5)
    answer_some(in_a_file, say, 4)
    with Project.open(in_a_file.folder) as opened:
        assert opened.rank(3).applied == 4
        answer_some(in_a_file, say, 2)
        longer = opened.rank(8)
        assert (longer.applied, len(longer.questions)) == (4, 8)
        assert opened.rank(8).applied == 6
        assert np.array_equal(opened.online_model().weights_, in_a_file.learner.model.weights_)


def test_the_stored_ranking_is_not_replaced_by_one_that_knows_less(in_a_file, say, monkeypatch):
    with Project.open(in_a_file.folder) as opened:
        answer_some(opened, say, 6)
    snapshots = in_a_file.folder / "snapshots"
    stored = (snapshots / "ranking.npz").read_bytes()
    (snapshots / "6.npz").unlink()
    monkeypatch.setattr(trainer, "PUBLISH_EVERY", -1.0)
    with Project.open(in_a_file.folder) as opened:
        assert opened.rank(2).applied < 6
        assert (snapshots / "ranking.npz").read_bytes() == stored
        monkeypatch.setattr(trainer, "PUBLISH_EVERY", 600.0)
        opened.rank(2)
        assert (snapshots / "ranking.npz").read_bytes() != stored


@pytest.mark.slow
def test_nobody_waits_for_learning(project, say, monkeypatch):
    """The learner hangs; twelve people go on as if nothing were wrong."""
    answer_some(project, say, 3)
    goes_on = threading.Event()
    rank = trainer.Trainer.rank
    monkeypatch.setattr(trainer.Trainer, "rank", lambda self, count: goes_on.wait(600) and rank(self, count))
    monkeypatch.setattr(ranking, "TIMEOUT", 0.01)
    handed = []
    try:
        for turn in range(MANY):
            person = f"person {turn % 12}"
            (asked,) = project.ask(person)
            handed.append((asked.bag, asked.label_class))
            project.answer(asked.key, person, say(asked))
        assert len(set(handed)) == MANY
        assert project.events[-1].asked_after <= 3, "an older model asked: the newer one was not ready"
    finally:
        goes_on.set()
    rankings = project._state.trainer.rankings
    while rankings.newest.applied < MANY + 3:
        for published, _ in rankings.waits(MANY + 3, 1, require_newer=True):
            ranking.wait_for(published, 600)
    (asked,) = project.ask("ann")
    project.answer(asked.key, "ann", say(asked))
    assert project.events[-1].asked_after == MANY + 3, "and then questions know everything"
    all_is_well(project)


def test_what_was_missed_up_to_a_turning_point_need_not_be_learned_one_by_one(project, say, monkeypatch):
    monkeypatch.setattr(replay, "REFIT_EVERY", 20)
    answer_some(project, say, 5)
    for person in ("bob", "cem"):
        for asked in project.ask(person, 20):
            project.answer(asked.key, person, say(asked))
    one_by_one = replay.Replay(project.contents, project.settings, project.bags)
    one_by_one.begin()
    for event in project.events:
        one_by_one.apply(event)
    begun = []
    begin = replay.Replay.begin
    monkeypatch.setattr(replay.Replay, "begin", lambda self, *rest: begun.append(self.applied) or begin(self, *rest))
    found = project.snapshot()
    assert begun == [40]
    for name, expected in one_by_one.snapshot().items():
        np.testing.assert_array_equal(found[name], expected, name)


def test_a_ranking_that_is_too_short_is_followed_by_a_longer_one(beside, say):
    answer_some(beside, say, 3)
    training = beside._state.trainer
    newest = training.rankings.newest
    short = replace(newest, questions=newest.questions[:5], complete=False, applied=len(beside.events))
    training.rankings.wanted = 5
    assert training._publish(short)
    training.rankings.wanted = 10
    assert not training._publish(short), "the process is told again"


def test_a_killed_learner_is_begun_again(beside, say, monkeypatch):
    monkeypatch.setattr(trainer_process, "RESTART_SECONDS", 0.0)
    answer_some(beside, say, 5)
    beside._state.trainer._process.kill()
    for _ in range(300):
        (asked,) = beside.ask("ann")
        beside.answer(asked.key, "ann", say(asked))
        if beside.events[-1].asked_after > 5:
            break
    assert beside.events[-1].asked_after > 5, "another one learns"
    all_is_well(beside)


@pytest.mark.slow
def test_an_import_in_between_is_noticed(beside, in_a_file, synthetic, say):
    answer_some(beside, say, 3)
    in_a_file.import_(source_of(synthetic.select([0, 1]), ["x", "y"]))
    answer_some(beside, say, 3)
    assert len(beside.bags) == 62
    assert np.array_equal(beside.online_model().weights_, in_a_file.learner.model.weights_)


def test_everybody_who_asks_at_once_gets_questions_of_their_own(project):
    project.ask("zoe")
    people = [LeaseRequest(f"person {i}", 1 + i % 3) for i in range(10)]
    found = project.lease([*people, people[0]])
    assert [len(one) for one in found[:10]] == [one.count for one in people]
    pairs = [(one.bag, one.label_class) for asked in found[:10] for one in asked]
    assert len(set(pairs)) == len(pairs)
    assert found[10] == found[0], "asking again without answering gives the same"


def test_of_answers_saved_at_once_each_is_refused_or_saved_for_itself(make_project):
    project = make_project(asking=Asking(people=2))
    (anns,), (bobs,) = project.ask("ann"), project.ask("bob")
    assert (anns.bag, anns.label_class) == (bobs.bag, bobs.label_class)
    found = project.submit_all(
        [
            Submission(anns.key, "ann", ("present",), seconds=1.0),
            Submission(anns.key, "ann", ("present",), seconds=2.0),
            Submission(anns.key, "ann", ("absent",)),
            Submission("nothing", "ann", ("present",)),
            Submission("\0", "ann", ("present",)),
            Submission(bobs.key, "ann", ("present",)),
            Submission("again", "ann", ("present",), (anns.label_class,), anns.bag),
            Submission(bobs.key, "bob", ("absent",)),
            Submission("k", "bob", ("perhaps",), (0,), 0),
        ]
    )
    first, again, other, unknown, odd, foreign, second, last, bad = found
    (first,), (again,), (last,) = first, again, last
    assert first.number == 1
    assert again is first
    assert isinstance(other, AlreadyAnswered)
    assert isinstance(second, AlreadyAnswered)
    assert "does not exist" in str(unknown)
    assert "does not exist" in str(odd)
    assert "leased to bob" in str(foreign)
    assert last.number == 2
    assert "not an answer" in str(bad)
    assert project.events == [first, last]
    with Project.open(project.folder) as after:
        assert after.events == [first, last]
