"""Scores in a project: imported by name, part of the replay, shown with the question."""

import numpy as np
import polars as pl
import pytest

from bagwise import BagwiseError, MIMLClassifier
from bagwise.formats import read_scores
from bagwise.project import Project, check
from tests.project.test_commands import bagwise

COMMON = "Troglodytes troglodytes_Eurasian Wren"


@pytest.fixture
def files(tmp_path):
    """Bags of one or two instances; the scores know the wren and not the owl."""
    rng = np.random.default_rng(1)
    rows, scores = ["bag,f0,f1"], ["bag,class,score"]
    for number in range(40):
        has_wren = number % 3 == 0
        rows += [f"bag-{number},{rng.normal() + has_wren},{rng.normal()}" for _ in range(1 + number % 2)]
        scores.append(f"/somewhere/bag-{number}.wav,{COMMON},{0.9 if has_wren else 0.05}")
        scores.append(f"/somewhere/bag-{number}.wav,Parus major_Great Tit,0.5")
    (tmp_path / "instances.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "scores.csv").write_text("\n".join(scores) + "\n")
    (tmp_path / "classes.txt").write_text("eurasian wren\nowl\n")
    return tmp_path


def made(files, *options):
    instances, classes = files / "instances.csv", files / "classes.txt"
    code, out, err = bagwise("init", files / "p", "--from", instances, "--classes", classes, *options)
    assert code == 0, err
    return out


def answered(folder, count):
    """Answer as the truth says: a wren in every third bag, an owl in every fifth."""
    with Project.open(folder) as project:
        for _ in range(count):
            (lease,) = project.ask("ann")
            number = int(str(project.contents.ids[lease.bag]).removeprefix("bag-"))
            present = number % (3 if lease.label_class == 0 else 5) == 0
            project.answer(lease.key, "ann", "present" if present else "absent")
        return project.snapshot()


def test_init_with_scores_lists_what_matched_and_asks_by_them(files):
    out = made(files, "--scores", files / "scores.csv", "--audit", "0")
    assert f"Scores of scores for 1 of 2 classes: eurasian wren ({COMMON})." in out
    assert "1 class without scores: owl" in out
    assert "1 class of scores is not in the project: Parus major_Great Tit" in out
    with Project.open(files / "p") as project:
        (lease,) = project.ask("ann")
        assert project.learner.model.uses_scores
        opinion = project.opinion((0, 0))
        assert (opinion.source, round(opinion.probability, 3)) == ("scores", 0.9)
        assert project.opinion((0, 1)) is None
        probability = project.learner.pool().present[:, 0]
        assert (probability[::3] > 0.5).all()
        assert (probability[1::3] < 0.5).all()
        assert lease.question.classes


def test_a_replay_is_exact_and_a_check_finds_damaged_scores(files):
    made(files, "--scores", files / "scores.csv")
    live = answered(files / "p", 12)
    with Project.open(files / "p") as project:
        assert all(one.wrong == "" for one in check(project))
        np.testing.assert_equal(project.snapshot(), live)
        (stored,) = project.folder.glob("scores-*.npz")
        model = project.train()
        copy = project.backup(files / "copy")
    with Project.open(copy) as project:
        np.testing.assert_equal(project.snapshot(), live)
        assert project.model_info().stored == "current"
        assert project.opinion((0, 0)) is not None
    loaded = MIMLClassifier.load(files / "p" / "model.npz")
    assert loaded.has_scores_
    np.testing.assert_array_equal(loaded.weights_, model.classifier.weights_)
    with Project.open(files / "p") as project:
        content = bytearray(stored.read_bytes())
        content[len(content) // 2] ^= 1
        stored.write_bytes(content)
        assert any("not what was imported" in one.wrong for one in check(project))
    with pytest.raises(BagwiseError, match=r"not what was imported.*backup"):
        Project.open(files / "p")


@pytest.mark.slow
def test_scores_imported_after_answers_are_learned_from_there(files):
    made(files)
    answered(files / "p", 6)
    code, out, err = bagwise("import", files / "p", "--scores", files / "scores.csv")
    assert code == 0, err
    assert "for 1 of 2 classes" in out
    with Project.open(files / "p") as project:
        assert project.learner.model.has_scores_
        assert project.contents.after == 6
    answered(files / "p", 6)
    (files / "more.csv").write_text("bag,class,score\nbag-0,owl,0.7\n")
    assert bagwise("import", files / "p", "--scores", files / "more.csv")[0] == 0
    with Project.open(files / "p") as project:
        assert project.opinion((0, 1)).probability == pytest.approx(0.7)
        assert project.opinion((0, 0)).probability == pytest.approx(0.9)
        assert all(one.wrong == "" for one in check(project))


def test_detections_in_new_bags_leave_the_scores_of_others_as_they_are(files):
    made(files, "--scores", files / "scores.csv")
    (files / "new.csv").write_text("bag,f0,f1\nnew,0.5,0.5\nnew,0.1,0.2\n")
    detections = pl.DataFrame({"bag": ["new"], "instance": [1], "class": [COMMON], "confidence": [0.8]})
    detections.write_parquet(files / "new.parquet")
    code, out, err = bagwise("import", files / "p", "--from", files / "new.csv", "--scores", files / "new.parquet")
    assert code == 0, err
    assert "Scores of BirdNET for 1 of 2 classes" in out
    with Project.open(files / "p") as project:
        assert project.opinion((40, 0)).probability == pytest.approx(0.8)
        assert project.opinion((0, 0)).probability == pytest.approx(0.9)
        assert project.opinion((1, 0)).probability == pytest.approx(0.05)
        added = project.bags.scores[project.bags.offsets[40] :, 0]
        np.testing.assert_allclose(added, np.log([0.4 / 0.6, 0.8 / 0.2]), rtol=1e-5)


def test_new_bags_and_classes_have_no_scores_yet(files):
    made(files, "--scores", files / "scores.csv")
    (files / "new.csv").write_text("bag,f0,f1\nnew,0.5,0.5\n")
    (files / "new.txt").write_text("robin\n")
    code, _, err = bagwise("import", files / "p", "--from", files / "new.csv", "--classes", files / "new.txt")
    assert code == 0, err
    with Project.open(files / "p") as project:
        assert project.opinion((40, 0)) is None
        assert project.learner.pool().present.shape == (41, 3)


def test_predictions_of_new_bags_need_their_scores(files):
    made(files, "--scores", files / "scores.csv")
    answered(files / "p", 10)
    arguments = ["predict", files / "p", "--from", files / "instances.csv"]
    code, _, err = bagwise(*arguments)
    assert code != 0
    assert "--scores" in err
    code, out, err = bagwise(*arguments, "--scores", files / "scores.csv")
    assert code == 0, err
    assert "bag-0" in out


def test_names_that_did_not_match_are_listed_with_the_nearest_ones(files):
    species = [f"Genus species{number}_Bird {number}" for number in range(30)]
    rows = [f"bag-0,{name},0.5" for name in [COMMON, "Strix aluco_Tawny Owl", "Asio otus_Long-eared Owl", *species]]
    (files / "scores.csv").write_text("\n".join(["bag,class,score", *rows]))
    out = " ".join(made(files, "--scores", files / "scores.csv").split())
    assert "1 class without scores: owl (Strix aluco_Tawny Owl or Asio otus_Long-eared Owl?)" in out
    assert "32 classes of scores are not in the project" in out
    assert "Bird 7" not in out, "they are only counted"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bag,class,score\nbag-0,robin,0.2\n", "none of its classes"),
        ("bag,class,score\nbag-0,Tawny Owl,0.2\n", "Rename classes that are meant: owl may be Tawny Owl."),
        ("bag,class,score\nx,owl,0.2\n", "none of its bags"),
    ],
)
def test_scores_of_nothing_in_the_project_are_refused(files, text, message):
    made(files)
    (files / "other.csv").write_text(text)
    with Project.open(files / "p") as project:
        with pytest.raises(BagwiseError, match=message):
            project.import_scores(read_scores(files / "other.csv"))
        assert project.opinion((0, 0)) is None


@pytest.mark.usefixtures("one_process")
def test_a_partitioned_project_keeps_its_scores_and_a_cluster_refuses_them(files):
    made(files, "--scores", files / "scores.csv")
    live = answered(files / "p", 8)
    code, _, err = bagwise("import", files / "p", "--partition", "2")
    assert code == 0, err
    with Project.open(files / "p") as project:
        np.testing.assert_array_equal(project.snapshot()["weights"], live["weights"])
    with pytest.raises(BagwiseError, match="cluster does not support the scores"):
        Project.open(files / "p", cluster="local")


def test_solvers_without_support_are_refused_before_anything_is_made(files):
    code, _, err = bagwise(
        *("init", files / "p", "--from", files / "instances.csv", "--classes", files / "classes.txt"),
        *("--scores", files / "scores.csv", "--update", "bag_sgd"),
    )
    assert code != 0
    assert "does not support scores" in err
    assert not (files / "p").exists()
