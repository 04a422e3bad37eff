"""One model of a project: every prediction comes from the same model with the same thresholds, and says which it is."""

import io
import json
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from fastapi.testclient import TestClient

from bagwise import MIMLClassifier
from bagwise.formats import LabelTable, Source
from bagwise.project import Project, check
from bagwise.project.answers import replay
from bagwise.project.training.model_file import FILE
from bagwise.server import application
from tests.conftest import source_of
from tests.project.test_commands import bagwise
from tests.support import restrictions

ENOUGH_FOR_THRESHOLDS = 80


def answer(project, say, count):
    for _ in range(count):
        (asked,) = project.ask("ann")
        project.answer(asked.key, "ann", say(asked))


def done(*arguments):
    """The output of a command that succeeds."""
    code, out, err = bagwise(*arguments)
    assert code == 0, err
    return out


@pytest.fixture
def database():
    """Where answers are kept has nothing to do with the model: in the folder."""
    return ""


@pytest.fixture
def answered(project, say):
    answer(project, say, 12)
    return project


@pytest.fixture
def instances(tmp_path, synthetic):
    """The instances of the project, as a file."""
    path = tmp_path / "instances.parquet"
    names = np.repeat([f"bag {b}" for b in range(60)], synthetic.bags.sizes)
    features = pl.DataFrame(np.array(synthetic.bags.instances), schema=[f"f{i}" for i in range(10)])
    pl.DataFrame({"bag": names}).hstack(features).write_parquet(path)
    return path


@pytest.fixture
def served(project):
    with TestClient(application(project, "ann"), base_url="http://127.0.0.1:8765") as client:
        yield client


def predicted(place, instances, to):
    done("predict", place, "--from", instances, "--to", to)
    return pl.read_parquet(to)


def exported(folder, to):
    done("export", folder, "--what", "predictions", "--to", to)
    return pl.read_parquet(to)


def downloaded(client):
    return pl.read_parquet(io.BytesIO(client.get("/api/downloads/predictions?form=parquet").content))


@contextmanager
def no_replay():
    with pytest.MonkeyPatch.context() as patch:
        for name in ("begin", "apply", "skip_to"):
            patch.setattr(replay.Replay, name, lambda *_: pytest.fail("an answer was replayed"))
        patch.setattr(replay, "full", lambda *_: pytest.fail("all answers were replayed"))
        yield


@pytest.mark.slow
def test_everything_uses_the_trained_model_and_its_thresholds(project, served, say, instances, tmp_path):
    answer(project, say, ENOUGH_FOR_THRESHOLDS)
    copy = tmp_path / "copy.npz"
    said = f"Model: trained, {ENOUGH_FOR_THRESHOLDS} answers, thresholds for f1."
    assert said in done("train", project.folder, "--decide", "f1", "--to", copy)
    model = MIMLClassifier.load(copy)
    assert (model.thresholds_ != 0.5).any()
    expected = exported(project.folder, tmp_path / "exported.parquet")
    np.testing.assert_array_equal(expected["probability"], model.predict_proba(project.bags).ravel())
    np.testing.assert_array_equal(expected["predicted"], model.predict(project.bags).ravel())
    assert set(expected["model"]) == {f"trained, {ENOUGH_FOR_THRESHOLDS} answers"}
    done("export", project.folder, "--what", "model", "--to", tmp_path / "exported.npz")
    (tmp_path / "downloaded.npz").write_bytes(served.get("/api/downloads/model?form=npz").content)
    for place in (project.folder, project.folder / FILE, copy, tmp_path / "exported.npz", tmp_path / "downloaded.npz"):
        assert predicted(place, instances, tmp_path / "predicted.parquet").equals(expected)
    assert downloaded(served).equals(expected)
    for what in served.get("/api/downloads").json():
        assert (what["model"] or {"sentence": said})["sentence"] == said
    shown = served.get("/api/review/predictions", params={"class_name": project.classes[1], "count": 100}).json()
    assert shown["model"]["sentence"] == said
    assert shown["model"]["thresholds"] == dict(zip(project.classes, model.thresholds_, strict=True))
    of_class = expected.filter(pl.col("class") == project.classes[1])
    beliefs = dict(of_class.select("bag", "probability").rows())
    assert {one["bag"]["id"]: one["belief"] for one in shown["bags"]}.items() <= beliefs.items()
    assert json.loads(done("status", project.folder, "--json"))["model"] == shown["model"]
    assert served.get("/api/status").json()["model"] == shown["model"]


def test_a_current_model_is_used_without_a_replay(answered, instances, tmp_path):
    done("train", answered.folder)
    with no_replay():
        first = predicted(answered.folder, instances, tmp_path / "first.parquet")
        assert predicted(answered.folder, instances, tmp_path / "again.parquet").equals(first)
        assert exported(answered.folder, tmp_path / "exported.parquet").equals(first)
        done("export", answered.folder, "--what", "model", "--to", tmp_path / "m.npz")


def test_without_a_trained_model_everything_uses_the_online_model(project, served, say, instances, tmp_path):
    answer(project, say, 12)
    said = "Model: online, 12 answers, threshold 0.5. No model was trained yet"
    assert said in done("export", project.folder, "--what", "model", "--to", tmp_path / "m.npz")
    expected = exported(project.folder, tmp_path / "exported.parquet")
    np.testing.assert_array_equal(expected["probability"], project.learner.predict_proba(project.bags).ravel())
    assert set(expected["model"]) == {"online, 12 answers"}
    for place in (project.folder, tmp_path / "m.npz"):
        assert predicted(place, instances, tmp_path / "predicted.parquet").equals(expected)
    assert downloaded(served).equals(expected)
    assert served.get("/api/status").json()["model"]["sentence"].startswith(said)
    assert said in done("status", project.folder)


def change_settings(project, before, after):
    path = project.folder / "bagwise.toml"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


CHANGES = {
    "answer": lambda project: project.answer(project.ask("ann")[0].key, "ann", "unsure"),
    "undo": lambda project: project.undo("ann"),
    "correction": lambda project: project.correct(1, "ann", "unsure"),
    "adjudicator": lambda project: project.set_role("bea", "adjudicator"),
    "labels": lambda project: project.import_(None, LabelTable(["bag 50"], ["class 1"], np.array([[1.0]]))),
    "class": lambda project: project.import_(None, classes=["another"]),
    "bags": lambda project: project.import_(Source.of_bags(Path("new.npz"), [np.ones((2, 10))], ["new bag"])),
    "removal": lambda project: project.remove(["bag 3"], "ann"),
    "removal and back": lambda project: (project.remove(["bag 3"], "ann"), project.bring_back(["bag 3"], "ann")),
    "prior": lambda project: change_settings(project, "prior = 1.0", "prior = 2.0"),
    "noise": lambda project: change_settings(project, "noise = 0.0", "noise = 0.1"),
    "share": lambda project: change_settings(project, "share = 1.0", "share = 0.5"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_makes_the_model_outdated_until_it_is_trained_again(answered, change, tmp_path):
    done("train", answered.folder)
    assert answered.model_info().stored == "current"
    CHANGES[change](answered)
    with Project.open(answered.folder) as project:
        info = project.model_info()
        assert (info.kind, info.stored) == ("online", "outdated")
        expected = project.learner.predict_proba(project.bags)[project.contents.kept_bags]
    said = done("export", answered.folder, "--what", "predictions", "--to", tmp_path / "exported.parquet")
    assert "The trained model is outdated: run `bagwise train`" in said
    found = pl.read_parquet(tmp_path / "exported.parquet")
    np.testing.assert_array_equal(found["probability"], expected.ravel())
    assert "outdated" not in done("train", answered.folder)
    assert set(exported(answered.folder, tmp_path / "exported.parquet")["model"]) == {
        f"trained, {info.answers} answers"
    }


@pytest.mark.parametrize(
    ("before", "after"), [("lease_seconds = 300.0", "lease_seconds = 60.0"), ('bag = "bag"', 'bag = "night"')]
)
def test_settings_that_teach_nothing_leave_the_model_current(answered, before, after):
    done("train", answered.folder)
    change_settings(answered, before, after)
    with Project.open(answered.folder) as project:
        assert project.model_info().kind == "trained"


def test_a_server_takes_up_what_another_process_trains(project, served, say):
    answer(project, say, 12)
    assert served.get("/api/status").json()["model"]["kind"] == "online"
    done("train", project.folder)
    before = served.get("/api/status").json()["model"]
    assert (before["kind"], before["answers"]) == ("trained", 12)
    asked = served.get("/api/questions/next").json()[0]
    served.post("/api/answers", json={"key": asked["key"], "answer": "absent"})
    after = served.get("/api/review/predictions", params={"class_name": project.classes[0]}).json()["model"]
    assert (after["kind"], after["answers"], after["stored"]) == ("online", 13, "outdated")
    done("train", project.folder)
    assert served.get("/api/status").json()["model"]["answers"] == 13


def test_an_answer_during_the_fit_makes_the_model_outdated(answered, say, monkeypatch):
    fit = MIMLClassifier.fit

    def while_somebody_answers(model, *given):
        monkeypatch.setattr(MIMLClassifier, "fit", fit)
        answer(answered, say, 1)
        return model.fit(*given)

    monkeypatch.setattr(MIMLClassifier, "fit", while_somebody_answers)
    assert answered.train().info.answers == 12
    assert answered.model_info().stored == "outdated"


def test_a_backup_has_the_model(answered, tmp_path):
    done("train", answered.folder)
    done("backup", answered.folder, "--to", tmp_path / "copy")
    done("check", tmp_path / "copy")
    expected = exported(answered.folder, tmp_path / "expected.parquet")
    with no_replay():
        assert exported(tmp_path / "copy", tmp_path / "found.parquet").equals(expected)


@pytest.mark.slow
def test_check_refuses_a_model_that_is_not_one_of_the_project(answered, synthetic, tmp_path):
    done("train", answered.folder)
    done("check", answered.folder)
    (answered.folder / FILE).unlink()
    with Project.create(tmp_path / "other", source_of(synthetic), classes=synthetic.classes) as other:
        other.answer(other.ask("ann")[0].key, "ann", "present")
        other.train()
        foreign = (other.folder / FILE).read_bytes()
    done("export", answered.folder, "--what", "model", "--to", tmp_path / "online.npz")
    for content in (foreign, (tmp_path / "online.npz").read_bytes(), b"", b"PK\x03\x04 damaged", foreign[:-200]):
        (answered.folder / FILE).write_bytes(content)
        code, out, _ = bagwise("check", answered.folder)
        assert code == 1
        assert "✗ the trained model is one of this project" in out
        assert "not a model of this project" in done("status", answered.folder)
        assert set(exported(answered.folder, tmp_path / "e.parquet")["model"]) == {"online, 12 answers"}
    done("train", answered.folder)
    done("check", answered.folder)


def test_a_model_that_does_not_say_what_it_learned_from_is_not_used(answered):
    """Bagwise before 16 wrote `model.npz` without it."""
    model = answered.fit_model()
    del model.provenance_
    model.save(answered.folder / FILE)
    assert answered.model_info().stored == "outdated"
    assert not any(one.wrong for one in check(answered))


def test_a_fit_that_cannot_be_written_leaves_the_model_before_it(answered, say, monkeypatch):
    answered.train()
    before = (answered.folder / FILE).read_bytes()

    def disk_full(model, path):
        path.write_bytes(b"half a mod")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(MIMLClassifier, "save", disk_full)
    code, _, err = bagwise("train", answered.folder, "--decide", "f1")
    assert code == 1
    assert "cannot be written: No space left on device" in err
    assert (answered.folder / FILE).read_bytes() == before
    assert not list(answered.folder.glob(".model*"))
    assert answered.model_info().kind == "trained"


def test_training_from_nothing_says_so(project, instances, tmp_path):
    for command in (
        ("train", project.folder),
        ("predict", project.folder, "--from", instances),
        ("export", project.folder, "--what", "model", "--to", tmp_path / "m.npz"),
    ):
        code, _, err = bagwise(*command)
        assert code == 1
        assert "Nothing is known yet" in err
    assert set(exported(project.folder, tmp_path / "prior.parquet")["model"]) == {"online, 0 answers"}


@pytest.mark.slow
def test_a_read_only_project_predicts_with_its_model(tmp_path, synthetic, say, instances):
    with Project.create(tmp_path / "p", source_of(synthetic), classes=synthetic.classes) as project:
        answer(project, say, 5)
        project.train()
    copy, to = tmp_path / "copy.npz", tmp_path / "x.parquet"
    with restrictions.read_only(tmp_path / "p"):
        (code, out), (refused, why) = restrictions.commands(
            ["predict", tmp_path / "p", "--from", instances, "--to", to],
            ["train", tmp_path / "p", "--to", copy],
        )
    assert code == 0, out
    assert set(pl.read_parquet(to)["model"]) == {"trained, 5 answers"}
    assert refused == 1
    assert f"{FILE} cannot be written" in why
    assert MIMLClassifier.load(copy).class_names_ == list(synthetic.classes)
