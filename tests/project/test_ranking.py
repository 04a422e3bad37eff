"""Waiting for questions: who is interrupted leaves nothing behind, and where many people answer nobody waits."""

import pickle
import signal
import time
from concurrent.futures import Future
from dataclasses import replace

import pytest

from bagwise.learning.questions import Question
from bagwise.project.queue import leases
from bagwise.project.queue import ranking as queue_ranking
from bagwise.project.queue.ranking import FEW_PEOPLE, RankedQuestions, Ranking, RankingPublisher, wait_for


class Interrupted(Exception):
    pass


@pytest.fixture
def interrupted_soon():
    def interrupt(*_):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("interrupted_soon")
def test_an_interrupted_wait_leaves_no_lock_behind():
    published = Future()
    with pytest.raises(Interrupted):
        wait_for(published, None)
    assert published._waiters == [], "the one who publishes would take the lock of each of them"
    published.set_result(None)


def test_what_is_there_is_not_waited_for_and_patience_ends():
    published = Future()
    start = time.monotonic()
    wait_for(published, 0.02)
    assert time.monotonic() - start >= 0.02
    published.set_result(None)
    wait_for(published, None)


RANKED = RankedQuestions.of([Question(3, (0,), score=0.5), Question(5, (1,), score=0.25, audit=True, probability=0.1)])


def newest(applied):
    return Ranking(RANKED, True, applied, "", 0, None, None)


def test_a_request_waits_for_the_last_answer_but_not_where_many_people_answer():
    began = []
    rankings = RankingPublisher(lambda: began.append(True))
    rankings.newest = newest(10)
    assert list(rankings.waits(10, 1)) == [], "it knows all answers"
    assert next(rankings.waits(60, 1, people=FEW_PEOPLE), None) is not None
    assert list(rankings.waits(60, 1, people=FEW_PEOPLE + 1)) == []
    assert began, "the trainer learns the answers all the same"
    assert next(rankings.waits(60, 1, people=FEW_PEOPLE + 1, require_newer=True))[1] is None


def test_for_a_crowd_the_trainer_stops_after_a_ranking_and_begins_now_and_then(monkeypatch):
    monkeypatch.setattr(queue_ranking, "CROWD_SECONDS", 600.0)
    began, crowd = [], FEW_PEOPLE + 1
    rankings = RankingPublisher(lambda: began.append(True))
    rankings.newest = newest(10)
    assert list(rankings.waits(20, 1, crowd)) == []
    assert rankings.publish(newest(18), done=False), "although there are more answers"
    assert (list(rankings.waits(30, 1, crowd)), began) == ([], [True]), "the last one was published just now"
    assert next(rankings.waits(30, 1, crowd, require_newer=True)), "but who needs a newer one gets it"
    assert began == [True, True]
    rankings.publish(newest(30), done=True)
    monkeypatch.setattr(queue_ranking, "CROWD_SECONDS", 0.0)
    assert (list(rankings.waits(40, 1, crowd)), len(began)) == ([], 3)
    rankings.publish(newest(40), done=True)
    assert next(rankings.waits(50, 1), None) is not None, "one person alone waits again"
    assert not rankings.publish(newest(45), done=False), "and the trainer goes on until it knows every answer"


def test_the_trainer_begins_at_once_on_a_machine_that_was_just_started(monkeypatch):
    monkeypatch.setattr(queue_ranking.time, "monotonic", lambda: 0.1)
    began, rankings = [], RankingPublisher(lambda: began.append(True))
    rankings.newest = newest(10)
    assert (list(rankings.waits(20, 1, FEW_PEOPLE + 1)), began) == ([], [True])
    rankings.publish(newest(20), done=True)
    assert (list(rankings.waits(30, 1, FEW_PEOPLE + 1)), began) == ([], [True]), "the last one was published just now"


def test_a_ranking_that_knows_less_replaces_none_unless_it_is_needed():
    """A trainer that is started again publishes while it learns what the one before it knew."""
    rankings = RankingPublisher(lambda: None)
    rankings.newest = known = replace(newest(10), complete=False)
    assert next(rankings.waits(20, len(RANKED)), None) is not None
    assert not rankings.publish(newest(8), done=False)
    assert rankings.newest is known
    other = replace(newest(8), contents="others")
    rankings.publish(other, done=False)
    assert rankings.newest is other, "it is about other contents"
    rankings.newest, rankings.wanted = known, len(RANKED) + 1
    rankings.publish(replace(newest(8), complete=False), done=False)
    assert rankings.newest is known, "the other one has too few questions as well"
    rankings.publish(longer := newest(8), done=False)
    assert rankings.newest is longer, "the other one has too few questions"


def test_ranked_questions_are_the_same_in_another_process():
    received = pickle.loads(pickle.dumps(RANKED))
    assert received == RANKED
    assert list(received[1:]) == [Question(5, (1,), score=0.25, audit=True, probability=0.1)]
    assert received != RANKED[:1]


def test_who_asked_just_now_or_gave_what_the_ranking_lacks_is_counted(project, say, monkeypatch):
    monkeypatch.setattr(leases, "RECENTLY", 600.0)
    counted = []
    waits = RankingPublisher.waits

    def counting(self, after, count, people=1, require_newer=False):
        counted.append((people, count))
        return waits(self, after, count, people, require_newer)

    monkeypatch.setattr(RankingPublisher, "waits", counting)
    asked = [project.ask(f"person {number}")[0] for number in range(FEW_PEOPLE + 8)]
    assert [people for people, _ in counted] == list(range(FEW_PEOPLE + 8))
    assert {count % leases.RANKED_AT_LEAST for _, count in counted} == {0}, "in steps"
    assert counted[-1][1] > (FEW_PEOPLE + 7) * leases.RANKED_PER_LEASE
    monkeypatch.setattr(leases, "RECENTLY", 0.0)
    for one in asked[:3]:
        project.answer(one.key, one.annotator, say(one))
    counted.clear()
    project.ask("ann")
    assert counted[0][0] == 3
