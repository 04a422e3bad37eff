"""CSV files that are opened in a spreadsheet: no cell is a formula, and everything comes back as it was."""

import csv
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bagwise import formats
from bagwise.formats import LabelTable, PredictionTable
from bagwise.formats._spreadsheet import marked, unmarked
from tests.project.test_commands import bagwise

IDS = [
    "=1+1",
    "+49",
    "-1.5",
    "-x",
    "@sum",
    "'=quoted",
    "''-x",
    "'quoted'",
    "wren",
    "-1e5",
    "1-2",
    '=HYPERLINK("a")',
]
CLASSES = ["=cmd|' /C calc'!A0", "+present", "-absent", "@home", "'=x", "wren"]


def formulas_in(path):
    with path.open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    return [
        cell for cell in cells if cell[:1] in tuple("=+-@\t\r") and not re.fullmatch(r"[+-]?[\d.]+(e[+-]?\d+)?", cell)
    ]


@pytest.mark.parametrize("name", ["labels.csv", "labels.perch.csv"])
def test_labels_come_back_and_none_is_a_formula(tmp_path, name):
    values = np.random.default_rng(0).integers(0, 2, (len(IDS), len(CLASSES))).astype(float)
    formats.writer(tmp_path / name, "labels").write_labels(LabelTable(IDS, CLASSES, values), tmp_path / name)
    assert formulas_in(tmp_path / name) == []
    back = formats.read_labels(tmp_path / name)
    assert list(back.ids) == IDS
    assert list(back.classes) == CLASSES
    assert np.array_equal(back.values, values)


def test_predictions_are_no_formulas_and_numbers_stay_numbers(tmp_path):
    table = PredictionTable(IDS, CLASSES, np.full((len(IDS), 6), -1.5), np.zeros((len(IDS), 6), int))
    formats.writer(tmp_path / "p.csv", "predictions").write_predictions(table, tmp_path / "p.csv")
    assert formulas_in(tmp_path / "p.csv") == []
    rows = list(csv.reader((tmp_path / "p.csv").read_text(encoding="utf-8").splitlines()))
    assert {row[2] for row in rows[1:]} == {"-1.5"}
    assert "-1.5" in {row[0] for row in rows}


@given(st.text(st.sampled_from("=+-@'\t\r\n1.e5x")))
def test_every_text_comes_back(text):
    assert unmarked(marked(text)) == text


def test_through_a_project_and_back(tmp_path):
    """Instances, labels and places of bags with such names, by the command line, out and in again."""
    names = ["=1+1", "-x", "'=quoted", "@a", "-7", "+b"]
    (tmp_path / "i.csv").write_text(
        "bag,f\n" + "".join(f"{formats.marked(name)},{n}.5\n" for n, name in enumerate(names))
    )
    (tmp_path / "l.csv").write_text(
        "bag,class,label\n" + "".join(f"{formats.marked(name)},'=wren,1\n" for name in names[:3])
    )
    code, _, err = bagwise("init", tmp_path / "p", "--from", tmp_path / "i.csv", "--labels", tmp_path / "l.csv")
    assert code == 0, err
    assert bagwise("answer", tmp_path / "p", "--as", "=ann", "--count", 2, keys="yn")[0] == 0
    for what in ("labels", "answers", "predictions"):
        code, _, err = bagwise("export", tmp_path / "p", "--what", what, "--to", tmp_path / f"{what}.csv")
        assert code == 0, err
        assert formulas_in(tmp_path / f"{what}.csv") == []
    of_instances = ("--to", tmp_path / "predicted.csv", "--instances", tmp_path / "of-instances.csv")
    assert bagwise("predict", tmp_path / "p", "--from", tmp_path / "i.csv", *of_instances)[0] == 0
    assert formulas_in(tmp_path / "predicted.csv") == formulas_in(tmp_path / "of-instances.csv") == []
    code, _, err = bagwise(
        "init", tmp_path / "again", "--from", tmp_path / "i.csv", "--labels", tmp_path / "labels.csv"
    )
    assert code == 0, err
    code, out, _ = bagwise("status", tmp_path / "again", "--json")
    assert '"=wren"' in out
