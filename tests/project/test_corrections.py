"""Corrections on the command line: of answers by those who may, and of imported labels."""

import re

import numpy as np
import polars as pl
import pytest

from bagwise import BagwiseError
from bagwise.formats import LabelTable
from bagwise.project import Learning, Project, check
from bagwise.project.answers import replay as replaying
from tests.project.test_commands import bagwise, files, started  # noqa: F401
from tests.project.test_project import all_is_well, answer_some

OWNER = "tester"
"""As whom `bagwise` runs here, in a folder of its own."""


@pytest.fixture
def database():
    """These results do not depend on the database."""
    return ""


@pytest.fixture
def folder(started):  # noqa: F811
    """A project with an answer of ann, number 1, and imported labels."""
    assert bagwise("answer", started / "p", "--as", "ann", keys="yq")[0] == 0
    return started / "p"


def correct(folder, *arguments, who):
    return bagwise("correct", folder, *arguments, "--as", who)


def label(folder, bag, name):
    assert bagwise("export", folder, "--to", folder / "labels.csv")[0] == 0
    rows = pl.read_csv(folder / "labels.csv").filter((pl.col("bag") == bag) & (pl.col("class") == name))
    return rows["label"].to_list()


def test_a_stranger_cannot_correct_and_the_owner_can(folder):
    code, _, err = correct(folder, 1, "absent", who="mallory")
    assert code == 1
    assert "answer 1 is by ann" in err
    code, out, err = correct(folder, 1, "absent", who=OWNER)
    assert code == 0, err
    assert "saved as number 2; it replaces present, as ann answered (number 1)" in out
    assert correct(folder, 2, "present", who="ann")[0] == 1, "the owner's answer is not hers to replace"


def test_the_decision_of_an_adjudicator_stays_in_effect(folder):
    assert bagwise("annotator", folder, "eve", "--adjudicator")[0] == 0
    assert correct(folder, 1, "absent", who="eve")[0] == 0
    for who in ("ann", "mallory", OWNER):
        code, _, err = correct(folder, 2, "present", who=who)
        assert code == 1
        assert "is by eve, an adjudicator" in err
    assert bagwise("annotator", folder, "zoe", "--adjudicator")[0] == 0
    assert correct(folder, 2, "present", who="zoe")[0] == 0


def test_the_terminal_says_what_an_undo_restored(folder):
    assert correct(folder, 1, "absent", who="ann")[0] == 0
    code, out, err = bagwise("answer", folder, "--as", "ann", keys="zzq")
    assert code == 0, err
    # The key y says that the marked instance is it: that is restored with the answer.
    assert re.search(r"taken back \(number 2\), present \(it is instance \d+\) again", out)
    assert "taken back (number 1), open again" in out


def test_an_imported_label_is_corrected_undone_and_exported(folder):
    (before,) = label(folder, "bag 3", "class 2")
    other = "absent" if before else "present"
    assert correct(folder, "bag 3", "class 2", other, who="mallory")[0] == 1
    assert correct(folder, "bag 3", "no class", other, who=OWNER)[0] == 1
    assert correct(folder, "bag 3", "class 2", "skipped", who=OWNER)[0] == 1
    code, _, err = correct(folder, "bag 40", "class 2", other, who=OWNER)
    assert code == 1
    assert "class 2 in bag 40 was not imported" in err
    code, out, err = correct(folder, "bag 3", "class 2", other, who=OWNER)
    assert code == 0, err
    word = {"present": "absent", "absent": "present"}[other]
    assert f"class 2 in bag 3: {other}, saved as number 2; it replaces {word}, as was imported" in out
    assert label(folder, "bag 3", "class 2") == [int(not before)]
    assert bagwise("check", folder)[0] == 0
    code, out, err = bagwise("answer", folder, "--as", OWNER, keys="zq")
    assert code == 0, err
    assert f"class 2 in bag 3 taken back (number 2), {word} again" in out
    assert label(folder, "bag 3", "class 2") == [before]
    assert bagwise("check", folder)[0] == 0


def test_a_corrected_import_is_learned_and_replayed_bit_for_bit(make_project, synthetic, say, monkeypatch):
    monkeypatch.setattr(replaying, "REFIT_EVERY", 20)
    known = np.where(np.arange(60)[:, None] < 10, synthetic.labels.value.astype(float), np.nan)
    labels = LabelTable([f"bag {i}" for i in range(60)], synthetic.classes, known)
    project = make_project(labels=labels, learning=Learning(noise=0.05))
    pair = (4, 1)
    before = {1.0: "present", 0.0: "absent"}[known[pair]]
    after = {"present": "absent", "absent": "present"}[before]
    learned = project.learner.model.weights_
    project.correct_imported(pair, "ann", after)
    assert not np.array_equal(project.learner.model.weights_, learned)
    assert project.labels().values[pair] == (after == "present")
    assert (4 in project.examples(1, 60)) == (after == "present")
    all_is_well(project)
    answer_some(project, say, 12)
    second = project.correct_imported(pair, "ann", "unsure")
    assert second.replaces == 1
    assert np.isnan(project.labels().values[pair])
    assert all(asked.bag != 4 or asked.label_class != 1 for asked in project.ask("bob", 20))
    all_is_well(project)
    with pytest.raises(BagwiseError, match="contradicts"):
        project.import_(None, LabelTable(["bag 4"], ["class 1"], np.array([[float(after == "present")]])))
    project.import_(None, LabelTable(["bag 4"], ["class 1"], np.array([[float(before == "present")]])))
    assert project.counts_as(pair) == "unsure", "what was imported again is what was corrected"
    assert project.undo("ann").answer == after
    for _ in range(12):
        project.undo("ann")
    restored = project.undo("ann")
    assert (restored.kind, restored.answer) == ("restoration", before)
    assert project.labels().values[pair] == known[pair]
    all_is_well(project)
    project.close()
    with Project.open(project.folder) as again:
        assert again.counts_as(pair) == before
        assert again.correct_imported(pair, "ann", after).replaces == restored.number
        assert not any(found.wrong for found in check(again))


def test_what_was_skipped_never_counts_beside_the_answer(project):
    project.answer("skip", "ann", "skipped", pair=(0, 0))
    event = project.answer_listed("ann", "present", [(0, 0)], "bulk")[0]
    assert (event.kind, event.replaces) == ("correction", 1)
    assert [one.number for one in project.votes.all_effective()] == [2]
    assert project.undo("ann").answer == "skipped"
    assert project.counts_as((0, 0)) is None
    assert (0, 0) not in {(one.bag, one.label_class) for one in project.ask("ann", 20)}


def test_an_older_undo_of_a_correction_still_leaves_the_pair_open(project):
    """Projects in which that was saved as a retraction, and the pair answered again, are as they were."""
    project.answer("first", "ann", "present", pair=(0, 0))
    project.correct(1, "ann", "absent")
    with project.database.writing() as connection:
        connection.exec_driver_sql(
            "INSERT INTO events (number, key, kind, annotator, at, bag, class, answer, audit, replaces)"
            " VALUES (3, 'old', 'retraction', 'ann', '2026-01-01', 0, 0, 'absent', FALSE, 2)"
        )
        connection.exec_driver_sql("UPDATE changes SET last_event = 3")
    project.catch_up()
    assert project.counts_as((0, 0)) is None
    project.answer("second", "ann", "absent", pair=(0, 0))
    assert project.counts_as((0, 0)) == "absent"
    all_is_well(project)


def test_a_corrected_label_of_a_removed_bag_counts_again_when_the_bag_is_back(make_project, synthetic):
    known = synthetic.labels.value[:60].astype(float)
    known[10:] = np.nan
    project = make_project(labels=LabelTable([f"bag {i}" for i in range(60)], synthetic.classes, known))
    pair = (4, 1)
    other = "absent" if known[pair] else "present"
    project.correct_imported(pair, "ann", other)
    project.remove(["bag 4"], "ann")
    assert "bag 4" not in project.labels().ids
    assert project.learner.labels.n_known == 9 * len(synthetic.classes)
    all_is_well(project)
    project.bring_back(["bag 4"], "ann")
    assert project.labels().values[pair] == (other == "present")
    all_is_well(project)
    project.remove(["bag 4"], "ann")
    assert project.undo("ann").answer == ("present" if known[pair] else "absent"), "what was imported"
    all_is_well(project)
    project.bring_back(["bag 4"], "ann")
    assert project.labels().values[pair] == known[pair]
    all_is_well(project)
