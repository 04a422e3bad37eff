"""What commands print can be understood, and typed again: whole names, one count of answers, yes and no."""

import re

import pytest

from bagwise.project import Project
from tests.project.test_commands import bagwise, files, started

__all__ = ["files", "started"]
LONG = "site/with a long name/NIGHTHAWK_20260524_040000_unit-7_gain-low.wav"


@pytest.fixture
def long_names(files):
    """A project whose first bag and classes have names that no narrow window holds, about which two disagree."""
    text = (files / "instances.csv").read_text()
    (files / "instances.csv").write_text(re.sub(r"bag \d+", lambda found: f"{LONG} {found[0]}", text))
    classes = [f"Luscinia megarhynchos subspecies number {n}" for n in range(3)]
    (files / "classes.txt").write_text("\n".join(classes) + "\n")
    init = ["init", files / "p", "--from", files / "instances.csv", "--classes", files / "classes.txt", "--people", 2]
    assert bagwise(*init)[0] == 0
    for name, key in (("ann", "y"), ("bob", "n")):
        assert bagwise("answer", files / "p", "--as", name, "--count", 1, keys=key)[0] == 0
    return files / "p"


@pytest.mark.slow
def test_names_that_other_commands_need_are_never_shortened(long_names):
    with Project.open(long_names) as project:
        event = next(iter(project.events))
        bag, name = str(project.contents.ids[event.bag]), project.classes[event.label_class]
    for command in ("disagreements", "doubtful"):
        out = bagwise(command, long_names, columns=60)[1]
        assert bag in out, command
        assert name in out, command
        assert "…" not in out, command
        assert len({len(line) for line in out.strip().splitlines()}) == 1, "no line is cut"
    assert bagwise("annotator", long_names, "eva", "--adjudicator")[0] == 0
    assert bagwise("adjudicate", long_names, bag, name, "yes", "--as", "eva")[0] == 0
    out = bagwise("status", long_names, columns=60)[1]
    assert name in out
    assert "…" not in out


@pytest.mark.parametrize(
    ("said", "saved"), [("no", "absent"), ("N", "absent"), ("absent", "absent"), ("u", "unsure"), ("skip", "skipped")]
)
def test_yes_and_no_are_answers_too(started, said, saved):
    assert bagwise("answer", started / "p", keys="yq")[0] == 0
    code, out, err = bagwise("correct", started / "p", 1, said)
    assert code == 0, err
    assert f"{saved}, saved as number 2" in out
    code, out, err = bagwise("correct", started / "p", 2, "yes")
    assert code == 0, err
    assert "present, saved as number 3" in out


def test_what_is_no_answer_is_refused_with_those_that_are(started):
    assert bagwise("answer", started / "p", keys="yq")[0] == 0
    code, _, err = bagwise("correct", started / "p", 1, "maybe")
    assert code == 1
    assert "'maybe' is not an answer: say yes (present), no (absent), unsure or skipped." in err


@pytest.mark.slow
def test_one_answer_is_not_answers(started):
    out = bagwise("answer", started / "p", "--count", 1, keys="y")[1]
    assert "1 answer given; the project has 1 event." in out
    assert "2 answers given; the project has 3 events." in bagwise("answer", started / "p", "--count", 2, keys="yn")[1]
    assert "3 answers" in bagwise("status", started / "p")[1]


def test_an_import_counts_what_was_answered_as_known(files):
    init = ["init", files / "p", "--from", files / "instances.csv", "--classes", files / "classes.txt"]
    assert "0 labels known" in bagwise(*init)[1]
    assert bagwise("answer", files / "p", "--count", 5, keys="ynuyn")[0] == 0
    rows = (files / "labels.csv").read_text().splitlines()
    (files / "more.csv").write_text("\n".join([rows[0], *rows[-6:]]) + "\n")
    code, out, err = bagwise("import", files / "p", "--classes", files / "classes.txt")
    assert code == 0, err
    assert "4 labels known" in out
