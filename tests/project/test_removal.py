"""A bag is removed and brought back, on SQLite and on PostgreSQL alike; a file of a bag is renamed."""

import json
import urllib.error
import urllib.request

import numpy as np
import polars as pl
import pytest

from bagwise.core.errors import BagwiseError
from bagwise.formats import LabelTable
from bagwise.partitions import store
from bagwise.project import Project, quality_of, status_of
from bagwise.project.reports.review import AnswerFilter, beliefs, history, positions_of
from tests.conftest import source_of
from tests.project.test_commands import bagwise
from tests.project.test_project import all_is_well, answer_some
from tests.server.conftest import Running
from tests.support import example_media


def first_answered(project):
    """The position and the id of a bag that has an answer."""
    bag = project.events[0].bag
    return bag, str(project.contents.ids[bag])


def test_a_removed_bag_is_in_nothing_but_the_record(project, say):
    answer_some(project, say, 20)
    bag, name = first_answered(project)
    before = list(project.events)
    about = sum(event.bag == bag for event in before)
    project.ask("bob")
    project.remove([name], "owner")
    assert project.events == before, "the events are kept"
    assert name not in project.labels().ids
    assert len(project.labels().ids) == 59
    assert name not in project.predictions().ids
    assert project.predictions().probability.shape == (59, 6)
    assert int((~np.isnan(project.labels().values)).sum()) == 20 - about
    found = status_of(project)
    assert (found.bags, found.answers, found.removed) == (59, 20 - about, [name])
    assert sum(one.open for one in found.classes) == 59 * 6 - (20 - about)
    assert quality_of(project).answers == 20 - about
    assert all(event.bag != bag for event in history(project, AnswerFilter()))
    shown = beliefs(project, "ann", project.classes[0], 0, 100)
    assert bag not in {one.bag for one in shown.bags}
    with pytest.raises(BagwiseError, match=f"no bag {name}"):
        positions_of(project, [name])
    all_is_well(project)
    weights = project.learner.model.weights_
    project.close()
    with Project.open(project.folder) as again:
        assert np.array_equal(again.learner.model.weights_, weights)
        all_is_well(again)
        turns = again.rank(10_000).questions
        assert len(turns) == 59 * 6 - (20 - about), "everything else may still be asked"
        assert all(turn.bag != bag for turn in turns)
        answer_some(again, say, 5)
        all_is_well(again)


def test_the_model_is_that_of_a_project_without_its_labels(project, tmp_path, synthetic, say):
    """What is learned after a removal is what the other labels alone give."""
    answer_some(project, say, 20)
    project.remove([first_answered(project)[1]], "owner")
    labels = project.labels()
    with Project.create(tmp_path / "other", source_of(synthetic), labels, synthetic.classes) as other:
        assert np.array_equal(other.fit_model().weights_, project.fit_model().weights_)


def test_a_bag_that_is_brought_back_is_as_it_was(project, say):
    answer_some(project, say, 20)
    _, name = first_answered(project)
    labels, weights = project.labels(), project.fit_model().weights_
    project.remove([name], "owner")
    with pytest.raises(BagwiseError, match=f"{name} was removed before"):
        project.remove([name], "owner")
    answer_some(project, say, 1)
    project.undo("ann")
    project.bring_back([name], "owner")
    assert np.array_equal(project.labels().values, labels.values, equal_nan=True)
    assert np.array_equal(project.fit_model().weights_, weights)
    assert status_of(project).removed == []
    with pytest.raises(BagwiseError, match=f"{name} was not removed"):
        project.bring_back([name], "owner")
    answer_some(project, say, 5)
    all_is_well(project)


def test_answers_about_a_removed_bag_are_kept_and_can_be_undone(project, say):
    """Somebody had the question on the screen when the bag was removed."""
    answer_some(project, say, 3)
    (asked,) = project.ask("ann")
    project.remove([project.contents.ids[asked.bag]], "owner")
    event = project.answer(asked.key, "ann", "present")
    assert project.ask("ann")[0].bag != asked.bag
    assert project.contents.ids[asked.bag] not in project.labels().ids
    assert project.undo("ann").replaces == event.number
    again = project.answer("late", "ann", "present", pair=(asked.bag, asked.label_class))
    project.bring_back([project.contents.ids[asked.bag]], "owner")
    assert project.labels().values[asked.bag, asked.label_class] == 1
    assert project.events[-1] == again
    all_is_well(project)


@pytest.mark.usefixtures("one_process")
def test_bags_of_a_project_in_parts_can_be_removed(tmp_path, synthetic, say, monkeypatch):
    """Also so many that a portion of the predictions has none left."""
    monkeypatch.setattr(store, "VALUES_PER_PORTION", 500)
    with Project.create(tmp_path / "p", source_of(synthetic), classes=synthetic.classes) as project:
        answer_some(project, say, 5)
        everything = project.predictions()
        project.partition(3)
        project.remove([f"bag {number}" for number in range(20)], "owner")
        found = project.predictions()
        assert list(found.ids) == [f"bag {number}" for number in range(20, 60)]
        assert found.probability.shape == (40, 6)
        project.bring_back([f"bag {number}" for number in range(20)], "owner")
        assert list(project.predictions().ids) == list(everything.ids)
        all_is_well(project)


def test_other_processes_notice_a_removal(project, say):
    answer_some(project, say, 3)
    with Project.open(project.folder) as other:
        other.ask("bob")
        _, name = first_answered(project)
        project.remove([name], "owner")
        assert name not in other.labels().ids
        assert all(project.contents.ids[one.bag] != name for one in other.ask("bob", 20))


def test_what_makes_no_removal_says_so(project, synthetic):
    with pytest.raises(BagwiseError, match="Bag nowhere does not exist"):
        project.remove(["bag 1", "nowhere"], "owner")
    assert status_of(project).removed == []
    with pytest.raises(BagwiseError, match="needs at least one"):
        project.remove([f"bag {i}" for i in range(60)], "owner")
    project.remove(["bag 1"], "owner")
    with pytest.raises(BagwiseError, match="bag 1 was removed from the project"):
        project.import_(source_of(synthetic.select([1]), ["bag 1"]))
    with pytest.raises(BagwiseError, match="bag 1 was removed from the project"):
        project.import_(None, LabelTable(["bag 1"], [synthetic.classes[0]], np.ones((1, 1))))
    copy = project.backup(project.folder.with_name("copy"))
    with Project.open(copy) as other:
        assert status_of(other).removed == ["bag 1"]
        all_is_well(other)


def test_removing_from_the_command_line(tmp_path, synthetic):
    folder = tmp_path / "p"
    Project.create(folder, source_of(synthetic), classes=synthetic.classes).close()
    code, out, err = bagwise("remove", folder, "bag 3", "bag 7")
    assert code == 0, err
    assert "bag 3 was removed." in out
    assert "The project has 58 bags." in out
    assert "Removed: bag 3, bag 7" in bagwise("status", folder)[1]
    assert bagwise("export", folder, "--what", "predictions", "--to", tmp_path / "p.csv")[0] == 0
    assert "bag 3" not in set(pl.read_csv(tmp_path / "p.csv")["bag"])
    assert bagwise("check", folder)[0] == 0
    assert bagwise("remove", folder, "bag 3", "--undo")[0] == 0
    assert json.loads(bagwise("status", folder, "--json")[1])["removed"] == ["bag 7"]
    assert bagwise("remove", folder, "bag 8888")[0] == 1


def test_a_file_that_was_renamed_is_shown_again(tmp_path):
    """The page of a running server shows it, after one command; bag, answers and marks stay."""
    rng = np.random.default_rng(0)
    _, places = example_media.sounds(tmp_path / "files", rng, 4)
    places.write_csv(tmp_path / "places.csv")
    (tmp_path / "files" / "clip 2.wav").rename(tmp_path / "files" / "Dawn chorus.wav")
    table = places.select("bag", pl.col("start").alias("f"))
    table.write_csv(tmp_path / "i.csv")
    (tmp_path / "c.txt").write_text("low\nhigh\n")
    code, out, err = bagwise(
        "init", tmp_path / "p", "--from", tmp_path / "i.csv", "--classes", tmp_path / "c.txt",
        "--media", tmp_path / "files", "--places", tmp_path / "places.csv",
    )  # fmt: skip
    assert code == 0, err
    assert "1 bags have no file" in out
    server = Running(tmp_path / "p")
    try:
        bag = server.project.contents.ids.tolist().index("clip 2")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{server.address}/media/{bag}")
        refused.value.close()
        code, out, err = bagwise("rename-file", tmp_path / "p", "clip 2", tmp_path / "files" / "Dawn chorus.wav")
        assert code == 0, err
        with urllib.request.urlopen(f"{server.address}/media/{bag}") as sent:
            assert sent.read() == (tmp_path / "files" / "Dawn chorus.wav").read_bytes()
        other = tmp_path / "files" / "Dusk chorus.wav"
        (tmp_path / "files" / "clip 1.wav").rename(other)
        assert bagwise("rename-file", tmp_path / "p", "clip 1", other)[0] == 0
        first = places.filter(pl.col("bag") == "clip 1").row(0, named=True)
        assert server.project.medium(1).places[0]["start"] == first["start"]
    finally:
        server.stop()
    (tmp_path / "notes.pdf").write_bytes(b"%PDF")
    (tmp_path / "picture.png").write_bytes((tmp_path / "p" / "media" / f"{bag}.wav").read_bytes())
    for file in ("notes.pdf", "picture.png", "nowhere.wav"):
        code, _, err = bagwise("rename-file", tmp_path / "p", "clip 2", tmp_path / file)
        assert code == 2, err
        assert file in err
    assert bagwise("rename-file", tmp_path / "p", "clip 9", tmp_path / "files" / "Dawn chorus.wav")[0] == 1
    assert bagwise("check", tmp_path / "p")[0] == 0
