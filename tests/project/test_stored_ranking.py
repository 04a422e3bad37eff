"""A server shows a question before its trainer is ready, and it is the one that the trainer would ask."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from bagwise.project import Learning, Project
from bagwise.project.queue import ranking as queue_ranking
from bagwise.project.queue.ranking import RankedQuestions
from bagwise.project.queue.stored_ranking import FILE, STORED, StoredRanking
from bagwise.project.training.trainer_process import TrainerProcess
from tests.conftest import source_of
from tests.project.test_project import all_is_well, answer_some

ANSWERS, EVERY_PAIR = 12, 1000


@pytest.fixture(params=["widening_uncertainty", "expected_gradient_length"])
def answered(tmp_path, synthetic, say, request):
    """A project with answers, closed after its last ranking."""
    learning = Learning(criterion=request.param, noise="estimate", audit=0.5)
    with Project.create(tmp_path / "made", source_of(synthetic), classes=synthetic.classes, learning=learning) as made:
        answer_some(made, say, ANSWERS)
        made.rank(EVERY_PAIR)
    return made.folder


@pytest.fixture
def no_trainer(monkeypatch):
    """Training processes that never become ready."""
    monkeypatch.setattr(TrainerProcess, "_begin", lambda self: None)
    monkeypatch.setattr(queue_ranking, "TIMEOUT", 0.01)


def stored(project):
    return StoredRanking(project.folder / "snapshots", project.settings)


@pytest.mark.usefixtures("no_trainer")
def test_a_server_asks_what_its_trainer_would_before_it_is_ready(answered, tmp_path):
    shutil.copytree(answered, tmp_path / "copy")
    (tmp_path / "copy" / "snapshots" / FILE).unlink()
    with Project.open(answered, apart=True) as served, Project.open(tmp_path / "copy") as copy:
        served.make_ready()
        expected = copy.ask("ann", 20)
        found = served.ask("ann", 20)
        assert [one.question for one in found] == [one.question for one in expected]
        assert any(one.question.audit for one in found)
        assert np.array_equal(served.online_model().weights_, copy.online_model().weights_)


@pytest.mark.usefixtures("no_trainer")
def test_after_a_crash_nothing_is_asked_twice(answered, say):
    with Project.open(answered, apart=True) as served:
        answer_some(served, say, 5)
        seen = {event.pair for event in served.events}
    with Project.open(answered, apart=True) as again:
        answer_some(again, say, 5)
        assert len(again.events) == ANSWERS + 10
        assert seen.isdisjoint(event.pair for event in again.events[-5:])
        assert again.events[-1].asked_after == ANSWERS, "an older model asked"
        all_is_well(again)


def test_the_trainer_starts_although_there_are_questions(answered, monkeypatch):
    started = []
    monkeypatch.setattr(TrainerProcess, "_begin", lambda self: started.append(self.rankings.wanted))
    with Project.open(answered, apart=True) as served:
        served.make_ready()
        served.ask("ann")
    assert len(started) == 1
    assert started[0] > 0


def test_it_is_used_only_for_what_it_was_made_from(answered, say, tmp_path):
    shutil.copytree(answered, tmp_path / "other")
    with Project.open(answered) as project, Project.open(tmp_path / "other") as other:
        found = stored(project).read(project.contents, project.events)
        assert found.applied == ANSWERS
        assert stored(other).read(project.contents, project.events[:-1]) is None
        settings = replace(project.settings, asking=replace(project.settings.asking, people=2))
        assert StoredRanking(project.folder / "snapshots", settings).read(project.contents, project.events) is None
        later = project.events[-1]
        differently = [*project.events[:-1], replace(later, key="of another answer")]
        assert stored(project).read(project.contents, differently) is None
        project.class_changes.add("another", "ann")
        project.known()
        assert stored(project).read(project.contents, project.events) is None


def test_a_damaged_file_is_not_used(answered, say):
    file = answered / "snapshots" / FILE
    whole = file.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"nonsense" * 100):
        file.write_bytes(damaged)
        with Project.open(answered) as project:
            assert stored(project).read(project.contents, project.events) is None
            project.ask("ann")
            all_is_well(project)


def test_a_mutated_file_is_not_used_or_says_the_same(answered, rng):
    file = answered / "snapshots" / FILE
    whole = file.read_bytes()
    with Project.open(answered) as project:
        expected = stored(project).read(project.contents, project.events)
        unused = 0
        for place in rng.integers(0, len(whole), 200):
            mutated = bytearray(whole)
            mutated[place] ^= 1 << int(rng.integers(0, 8))
            file.write_bytes(mutated)
            found = stored(project).read(project.contents, project.events)
            if found is None:
                unused += 1
            else:
                assert found.questions == expected.questions
                assert found.applied == expected.applied
                assert np.array_equal(found.model.weights_, expected.model.weights_)
        assert unused > 100


def test_a_long_ranking_is_stored_in_part(answered):
    with Project.open(answered) as project:
        project.ask("ann")
        ranking = project._state.trainer.rankings.newest
        long = replace(ranking, questions=RankedQuestions.of([ranking.questions[0]] * (STORED + 1)), complete=True)
        stored(project).write(long, project.events)
        found = stored(project).read(project.contents, project.events)
        assert len(found.questions) == STORED
        assert not found.complete
