"""What remains of a ranking is the same, followed from event to event or looked at for the first time."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from bagwise.core.errors import BagwiseError
from bagwise.project import Asking, LeaseRequest
from bagwise.project.queue import granting
from bagwise.project.queue.granting import Granting, Remaining
from bagwise.project.queue.ranking import RankedQuestions
from bagwise.project.state import ProjectState
from bagwise.project.storage import queries, stored_leases

PEOPLE = ("ann", "bob", "cecil")


def open_questions(remaining):
    """All that may be asked, those first that are least like what is asked, and the audits."""
    chosen, drawn = [], []
    remaining.candidates.best(chosen.append)
    remaining.candidates.drawn(drawn.append)
    return chosen, drawn


def leases_of(project):
    with project.database.reading() as connection:
        return stored_leases.open_leases(connection)


def act(project, say, draw, clock):
    """Something that a person may do, or time that passes."""
    person = draw.choice(PEOPLE)
    what = draw.choice(["answer"] * 8 + ["skipped", "undo", "correct", "look", "retire", "expire"])
    if what in ("answer", "skipped", "look"):
        for lease in project.ask(person, draw.randint(1, 3)):
            if what != "look":
                project.answer(lease.key, person, what if what == "skipped" else say(lease))
    elif what == "undo":
        project.undo(person)
    elif what == "correct":
        event = draw.choice(project.votes.all_effective())
        project.correct(event.number, event.annotator, draw.choice(["present", "absent", "unsure"]))
    elif what == "retire":
        project.class_changes.retire(draw.choice(project.active_classes[1:]), "ann")
    else:
        clock.append(1000.0)


@pytest.mark.parametrize("people", [1, 2])
def test_what_may_be_asked_is_the_same_as_at_a_first_look(make_project, say, monkeypatch, people, pytestconfig):
    clock, original, draw = [], queries.clock, random.Random(people)
    monkeypatch.setattr(queries, "clock", lambda connection: original(connection) + sum(clock))
    project = make_project(asking=Asking(people=people, lease_seconds=900))
    project.ask("ann")
    state = project._state
    ranking = state.trainer.rankings.newest
    followed, sizes = Remaining(ranking, state), set()
    for _ in range(pytestconfig.getoption("--steps")):
        try:
            act(project, say, draw, clock)
        except (BagwiseError, IndexError):
            continue  # There is nothing to undo or to correct.
        leases = leases_of(project)
        first_look = Remaining(ranking, state)
        for remaining in (followed, first_look):
            remaining.update(leases)
        assert open_questions(followed) == open_questions(first_look)
        assert followed.turn() == first_look.turn()
        sizes.add(len(open_questions(followed)[0]))
    assert len(sizes) > 10


@pytest.fixture
def short(project):
    """The best three questions of a ranking that has more, or has not come yet."""
    project.ask("ann")
    with project.database.writing() as connection:
        stored_leases.end(connection, list(stored_leases.open_leases(connection)))
    ranking = project._state.trainer.rankings.newest
    return replace(ranking, questions=RankedQuestions.of(list(ranking.questions)[:3]), complete=False)


def test_what_was_too_few_for_one_is_asked_of_the_next(project, short):
    remaining = Remaining(short, project._state)
    granting = Granting(project._state, remaining, {}, until=0.0)
    assert granting.grant(LeaseRequest("ann", 5)) is None
    bobs = granting.grant(LeaseRequest("bob", 2))
    assert [one.question for one in bobs] == list(short.questions)[:2]
    (cecils,) = granting.grant(LeaseRequest("cecil"))
    assert cecils.question == short.questions[2]
    assert granting.grant(LeaseRequest("dora")) is None


def test_what_an_error_interrupted_is_asked_of_the_next(project, short, monkeypatch):
    remaining = Remaining(short, project._state)
    granting, wants, failing = Granting(project._state, remaining, {}, until=0.0), ProjectState.wants, [0, 1]

    def fail_at_last(*arguments):
        if failing and not failing.pop():
            raise ZeroDivisionError
        return wants(*arguments)

    monkeypatch.setattr(ProjectState, "wants", fail_at_last)
    with pytest.raises(ZeroDivisionError):
        granting.grant(LeaseRequest("ann", 3))
    assert [one.question for one in granting.grant(LeaseRequest("bob", 3))] == list(short.questions)


def test_what_is_granted_in_random_histories_is_never_asked_of_too_many(project, say, short):
    """From one `Remaining` for all the time, as the server has."""
    state, draw = project._state, random.Random(0)
    remaining = Remaining(replace(short, questions=state.trainer.rankings.newest.questions), state)
    for _ in range(30):
        with project.database.writing() as connection:
            granting = Granting(
                state, remaining, stored_leases.open_leases(connection), queries.clock(connection) + 900
            )
            for person in draw.sample(PEOPLE, 2):
                granting.grant(LeaseRequest(person, draw.randint(1, 2)))
            granted = granting.explained()
            if granted:
                stored_leases.add(connection, list(granted.values()))
        leases = leases_of(project)
        asked = Counter(pair for lease in leases.values() for pair in lease.question.pairs)
        assert set(asked.values()) <= {1}
        assert +remaining.asked.pairs == asked
        lease = draw.choice(list(leases.values()))
        if draw.random() < 0.7:
            project.answer(lease.key, lease.annotator, draw.choice([say(lease), "skipped"]))


def test_what_is_decided_is_left_out_now_and_then(project, say, monkeypatch):
    monkeypatch.setattr(granting, "AGAIN_AFTER", 64)
    project.ask("ann")
    remaining = Remaining(project._state.trainer.rankings.newest, project._state)
    before = list(remaining)
    for _ in range(64):
        (lease,) = project.ask("ann")
        project.answer(lease.key, "ann", say(lease))
    remaining.update(leases_of(project))
    assert len(list(remaining)) == len(before) - 64
