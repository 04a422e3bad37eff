"""What remains of a ranking is the same, followed from event to event or looked at for the first time."""

import random

import pytest

from bagwise.core.errors import BagwiseError
from bagwise.project import Asking
from bagwise.project.queue.granting import AGAIN_AFTER, Remaining
from bagwise.project.storage import queries

PEOPLE = ("ann", "bob", "cecil")


def open_questions(remaining):
    """All that may be asked, those first that are least like what is asked, and the audits."""
    chosen, drawn = [], []
    remaining.candidates.best(chosen.append)
    remaining.candidates.drawn(drawn.append)
    return chosen, drawn


def leases_of(project):
    with project.database.reading() as connection:
        return queries.leases(connection)


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


def test_what_is_decided_is_left_out_now_and_then(project, say):
    project.ask("ann")
    remaining = Remaining(project._state.trainer.rankings.newest, project._state)
    before = list(remaining)
    for _ in range(AGAIN_AFTER):
        (lease,) = project.ask("ann")
        project.answer(lease.key, "ann", say(lease))
    remaining.update(leases_of(project))
    assert len(list(remaining)) == len(before) - AGAIN_AFTER
