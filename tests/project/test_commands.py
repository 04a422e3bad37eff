"""The project commands as a person uses them: through the real command line, to the exit code."""

import getpass
import io
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import polars as pl
import pytest

from bagwise import MIMLClassifier, formats
from bagwise.cli import main
from bagwise.project import Project
from tests.formats.test_reading import write_csv


def bagwise(*arguments, keys="", columns=160):
    """(exit code, stdout, stderr) of a command line."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["bagwise", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.StringIO(keys))
        patch.setattr(getpass, "getuser", lambda: "tester")
        patch.setenv("COLUMNS", str(columns))
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    return code, out.getvalue(), err.getvalue()


@pytest.fixture
def files(tmp_path, synthetic):
    """instances.csv, classes.txt and labels.csv of the first ten bags."""
    codes = np.repeat(np.arange(60), synthetic.bags.sizes)
    frame = pl.DataFrame({"bag": [f"bag {c}" for c in codes]})
    frame = frame.hstack(pl.DataFrame(synthetic.bags.instances, schema=[f"f{i}" for i in range(10)]))
    frame.write_csv(tmp_path / "instances.csv")
    (tmp_path / "classes.txt").write_text("\n".join(synthetic.classes) + "\n")
    rows = [
        f"bag {b},{name},{int(synthetic.labels.value[b, c])}"
        for b in range(10)
        for c, name in enumerate(synthetic.classes)
    ]
    (tmp_path / "labels.csv").write_text("\n".join(["bag,class,label", *rows]) + "\n")
    return tmp_path


@pytest.fixture
def started(files):
    code, out, err = bagwise(
        "init", files / "p", "--from", files / "instances.csv", "--labels", files / "labels.csv",
        "--classes", files / "classes.txt",
    )  # fmt: skip
    assert code == 0, err
    assert "60 bags, 299 instances, 10 features, 6 classes, 60 labels known" in out
    return files


def test_init_and_import_say_what_they_read(tmp_path):
    arrays = {"X": np.eye(2), "bag": np.array([0, 1]), "y": np.ones((2, 1))}
    np.savez(tmp_path / "first.npz", **arrays, ids=np.array(["a", "b"]))
    np.savez(tmp_path / "second.npz", **arrays, ids=np.array(["c", "d"]), Y=np.ones((2, 1)), classes=np.array(["wren"]))
    (tmp_path / "classes.txt").write_text("wren\n")
    words = ("--from", tmp_path / "first.npz", "--classes", tmp_path / "classes.txt")
    code, out, err = bagwise("init", tmp_path / "p", *words)
    assert code == 0, err
    assert "first.npz: read: X, bag, ids; ignored: y." in out
    code, out, err = bagwise("import", tmp_path / "p", "--from", tmp_path / "second.npz")
    assert code == 0, err
    assert "second.npz: read: X, bag, ids, Y, classes; ignored: y." in out


@pytest.mark.slow
def test_from_files_to_a_model_and_back(started):
    folder = started / "p"
    code, out, _ = bagwise("answer", folder, keys="ynusyzynq")
    assert code == 0
    assert "You are tester" in out
    assert "Is class" in out
    assert re.search(r"present \(it is instance \d+\), saved as number 1$", out, re.MULTILINE)
    assert "taken back (number 5)" in out
    code, out, _ = bagwise("status", folder, "--json")
    found = json.loads(out)
    assert found["answers"] == 6
    assert found["by_person"]["tester"] == {"present": 2, "absent": 2, "unsure": 1, "skipped": 1}
    code, out, _ = bagwise("status", folder)
    assert "of all pairs known" in out
    code, out, _ = bagwise("check", folder)
    assert code == 0
    assert "All is well: 8 answers replayed" in out
    names = ("labels.parquet", "labels.csv", "labels.jsonl", "labels.json", "labels.perch.csv", "labels.txt")
    for name in (*names, "labels.hoplite.sqlite"):
        code, _, err = bagwise("export", folder, "--to", started / name)
        assert code == 0, err
        table = formats.read_labels(started / name)
        assert int((~np.isnan(table.values)).sum()) == 60 + 4
    code, out, _ = bagwise("train", folder)
    assert "fitted to 64 labels" in out
    model = MIMLClassifier.load(folder / "model.npz")
    assert model.class_names_ == [f"class {c}" for c in range(6)]
    for place in (folder, folder / "model.npz"):
        code, out, err = bagwise(
            "predict", place, "--from", started / "instances.csv", "--to", started / "predicted.csv",
            "--instances", started / "of-instances.parquet",
        )  # fmt: skip
        assert code == 0, err
        predicted = pl.read_csv(started / "predicted.csv")
        assert predicted.columns == ["bag", "class", "probability", "evidence", "predicted", "model"]
        assert len(predicted) == 360
        assert pl.read_parquet(started / "of-instances.parquet").shape == (299, 8)
    code, out, _ = bagwise("predict", folder, "--from", started / "instances.csv")
    assert "bag 59" in out
    for name in ("answers.csv", "answers.jsonl", "answers.parquet"):
        assert bagwise("export", folder, "--what", "answers", "--to", started / name)[0] == 0
    assert len(pl.read_parquet(started / "answers.parquet")) == 8
    assert bagwise("export", folder, "--what", "predictions", "--to", started / "x.json")[0] == 0
    assert bagwise("export", folder, "--what", "model", "--to", started / "m.npz")[0] == 0
    code, out, _ = bagwise("backup", folder, "--to", started / "copy")
    assert code == 0
    assert bagwise("check", started / "copy")[0] == 0


def test_importing_more_and_predicting_it(started):
    folder = started / "p"
    text = (started / "instances.csv").read_text().splitlines()
    (started / "more.csv").write_text("\n".join([text[0], *(line.replace("bag ", "new ") for line in text[1:20])]))
    code, out, err = bagwise("import", folder, "--from", started / "more.csv")
    assert code == 0, err
    assert "6 classes" in out
    code, _, err = bagwise("import", folder, "--from", started / "more.csv")
    assert code == 2
    assert "more.csv: bag new 0 is in the project already" in err
    assert bagwise("import", folder)[0] == 1
    assert bagwise("check", folder)[0] == 0


def test_disagreements_and_an_adjudicator(files):
    folder = files / "p"
    code, _, err = bagwise(
        "init", folder, "--from", files / "instances.csv", "--classes", files / "classes.txt", "--people", 2
    )
    assert code == 0, err
    for name, key in (("ann", "y"), ("bob", "n")):
        assert bagwise("answer", folder, "--as", name, "--count", 1, keys=key)[0] == 0
    code, out, _ = bagwise("disagreements", folder, "--json")
    (found,) = json.loads(out)
    assert found["said"] == {"ann": "present", "bob": "absent"}
    assert found["decided"] == "undecided"
    assert "annotator" in bagwise("annotator", folder, "ann")[1]
    arguments = ["adjudicate", folder, found["bag"], found["class"], "present", "--as", "[/eva]"]
    assert bagwise(*arguments)[0] == 1
    assert bagwise("annotator", folder, "[/eva]", "--adjudicator")[0] == 0
    assert bagwise(*arguments)[0] == 0
    code, out, _ = bagwise("disagreements", folder)
    assert "present" in out
    assert "an adjudicator" in bagwise("annotator", folder, "[/eva]")[1]
    assert json.loads(bagwise("disagreements", folder, "--json")[1])[0]["decided"] == "present", (
        "asking changes nothing"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["init", "{0}/q"], 2, "Missing option '--from'"),
        (["init", "{0}/q", "--from", "{0}/nowhere.csv"], 2, "nowhere.csv: there is no such file"),
        (["init", "{0}/q", "--from", "{0}/instances.csv"], 1, "The project has no class"),
        (["init", "{0}/q", "--from", "{0}/labels.csv"], 2, "table of labels, not of instances"),
        (["init", "{0}/p", "--from", "{0}/instances.csv"], 1, "exists already"),
        (
            ["init", "{0}/q", "--from", "{0}/instances.csv", "--labels", "{0}/odd.csv"],
            2,
            "odd.csv, line 3: bag nobody does not exist",
        ),
        (
            ["init", "{0}/q", "--from", "{0}/instances.csv", "--classes", "{0}/twice.txt"],
            2,
            "twice.txt, line 2: class a",
        ),
        (["status", "{0}"], 1, "is not a Bagwise project"),
        (["export", "{0}/p", "--to", "{0}/x.docx"], 1, "no format for labels has this suffix. Say which with --format"),
        (["export", "{0}/p", "--to", "{0}/x.csv", "--what", "nothing"], 1, "no export 'nothing'"),
        (
            ["predict", "{0}/p", "--from", "{0}/narrow.csv"],
            2,
            "narrow.csv: its instances have 1 features, the model 10",
        ),
        (["predict", "{0}/labels.csv", "--from", "{0}/instances.csv"], 2, "labels.csv: is not a Bagwise model"),
        (
            ["import", "{0}/p", "--labels", "{0}/unknown.csv"],
            2,
            "unknown.csv: class dodo does not exist",
        ),
    ],
)
def test_errors_are_one_sentence(started, arguments, code, words):
    (started / "odd.csv").write_text("bag,class\nbag 1,class 0\nnobody,class 0\n")
    (started / "unknown.csv").write_text("bag,class\nbag 30,dodo\n")
    (started / "twice.txt").write_text("a\na\n")
    (started / "narrow.csv").write_text("bag,x\na,1\n")
    before = {path: path.read_bytes() for path in (started / "p").iterdir() if path.suffix in (".bin", ".toml")}
    found, _, err = bagwise(*[str(one).format(started) for one in arguments])
    assert found == code
    assert words in err
    assert "Traceback" not in err
    assert not (started / "q").exists()
    assert all(path.read_bytes() == content for path, content in before.items())


def test_names_cannot_steer_the_terminal(files):
    path = files / "odd.csv"
    path.write_text("bag,x,label:A:cat:\na,1,-1\n")
    code, _, err = bagwise("init", files / "p", "--from", path)
    assert code == 2
    assert "column label:A:cat:" in err


@pytest.mark.slow
def test_one_key_is_enough_in_a_terminal(started):
    """A real pseudo-terminal: no Enter, and the terminal is as before afterwards."""
    main, other = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "bagwise", "answer", str(started / "p"), "--as", "ann"],
        stdin=other, stdout=other, stderr=subprocess.DEVNULL, env=os.environ | {"TERM": "dumb"},
    )  # fmt: skip
    os.close(other)

    def read_until(words, limit=120):
        seen, end = "", time.monotonic() + limit
        while words not in seen:
            assert time.monotonic() < end, f"no {words!r} in {seen!r}"
            if select.select([main], [], [], 1)[0]:
                seen += os.read(main, 4096).decode()
        return seen

    read_until("Is ")
    os.write(main, b"y")
    read_until("saved as number 1")
    os.write(main, b"n")
    read_until("saved as number 2")
    os.write(main, b"q")
    read_until("2 answers given")
    assert process.wait(600) == 0
    os.close(main)
    with Project.open(started / "p") as project:
        assert [event.answer for event in project.events] == ["present", "absent"]
        assert all(0 < event.seconds < 100 for event in project.events)


@pytest.mark.slow
def test_interrupted_while_answering(started):
    process = subprocess.Popen(
        [sys.executable, "-m", "bagwise", "answer", str(started / "p")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stdin.write("y")
    process.stdin.flush()
    while "saved as number 1" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(2)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "What was saved stays saved" in err
    assert bagwise("check", started / "p")[0] == 0


def test_labels_beside_the_instances(tmp_path):
    write_csv(tmp_path / "a.csv")
    code, out, err = bagwise("init", tmp_path / "p", "--from", tmp_path / "a.csv")
    assert code == 0, err
    assert "2 classes, 6 labels known" in out
    code, out, _ = bagwise("answer", tmp_path / "p", keys="")
    assert "Nothing is left to ask you" in out


@pytest.mark.slow
@pytest.mark.usefixtures("one_process")
def test_strategies_can_be_compared_on_ones_own_project(files, synthetic):
    folder = files / "p"
    rows = [
        f"bag {b},{name},{int(synthetic.labels.value[b, c])}"
        for b in range(50)
        for c, name in enumerate(synthetic.classes)
    ]
    (files / "most.csv").write_text("\n".join(["bag,class,label", *rows]) + "\n")
    code, _, err = bagwise("init", folder, "--from", files / "instances.csv", "--labels", files / "most.csv")
    assert code == 0, err
    arguments = ["--queries", 20, "--every", 10, "--folds", 2, "--out", files / "out", "--json"]
    code, out, err = bagwise("compare", folder, "uncertainty", *arguments)
    assert code == 0, err
    found = json.loads(out)
    assert {one["first"] for one in found} == {"uncertainty · pair"}
    assert {one["second"] for one in found} == {"random · pair"}
    assert pl.read_parquet(files / "out" / "rows.parquet")["dataset"].str.contains("p-").all()
    code, _, err = bagwise("compare", files / "labels.csv", *arguments)
    assert code == 2
    assert "table of labels" in err


def test_features_go_by_their_names(started):
    """Columns in another order are put in order; columns that are missing or strange are refused."""
    frame = pl.read_csv(started / "instances.csv")
    frame.select("bag", *reversed(frame.columns[1:])).write_csv(started / "reversed.csv")
    frame.rename({"f3": "g3"}).write_csv(started / "renamed.csv")
    assert bagwise("train", started / "p", "--to", started / "m.npz")[0] == 0
    predicted = []
    for name in ("instances.csv", "reversed.csv"):
        for place in (started / "p", started / "m.npz"):
            assert bagwise("predict", place, "--from", started / name, "--to", started / "out.csv")[0] == 0
            predicted.append((started / "out.csv").read_text())
    assert len(set(predicted)) == 1
    code, _, err = bagwise("predict", started / "p", "--from", started / "renamed.csv")
    assert code == 2
    assert "the feature f3 is missing" in err
    more = frame.filter(pl.col("bag") == "bag 7").with_columns(pl.lit("new").alias("bag"))
    more.select("bag", *reversed(frame.columns[1:])).write_csv(started / "more.csv")
    assert bagwise("import", started / "p", "--from", started / "more.csv")[0] == 0
    with Project.open(started / "p") as project:
        assert np.array_equal(project.bags[60], project.bags[7])


def test_the_bag_column_may_be_called_otherwise(files):
    for name in ("instances.csv", "labels.csv"):
        text = (files / name).read_text()
        (files / name).write_text(text.replace("bag,", "recording,", 1))
    code, out, err = bagwise(
        "init", files / "p", "--from", files / "instances.csv", "--labels", files / "labels.csv", "--bag", "recording"
    )
    assert code == 0, err
    assert "60 labels known" in out


def test_an_answer_can_be_corrected(started):
    assert bagwise("answer", started / "p", keys="yq")[0] == 0
    code, out, err = bagwise("correct", started / "p", 1, "absent")
    assert code == 0, err
    assert "absent, saved as number 2" in out
    code, _, err = bagwise("correct", started / "p", 1, "absent")
    assert code == 1
    assert "replaced by number 2" in err


def test_what_was_imported_cannot_be_adjudicated(started):
    bagwise("annotator", started / "p", "eva", "--adjudicator")
    code, _, err = bagwise("adjudicate", started / "p", "bag 0", "class 0", "present", "--as", "eva")
    assert code == 1
    assert "imported as known" in err


@pytest.mark.parametrize("change", [('dtype = "float64"', 'dtype = "float32"'), ("features = 10", "features = 5")])
def test_what_is_fixed_cannot_be_edited(started, change):
    config = started / "p" / "bagwise.toml"
    assert change[0] in config.read_text()
    config.write_text(config.read_text().replace(*change))
    code, _, err = bagwise("status", started / "p")
    assert code == 2
    assert "bagwise.toml: [data] was changed: it must say features = 10 and dtype = 'float64'" in err
