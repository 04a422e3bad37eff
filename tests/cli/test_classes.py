"""`bagwise classes` and `bagwise notes`."""

import json

import pytest

from bagwise.project import Project
from tests.conftest import source_of
from tests.project import test_commands


def bagwise(*arguments):
    code, out, err = test_commands.bagwise(*arguments)
    assert code == 0, err
    return out


@pytest.fixture
def folder(tmp_path, synthetic):
    Project.create(tmp_path / "p", source_of(synthetic.select(range(4))), classes=["tit", "great tit", "owl"]).close()
    return tmp_path / "p"


def listed(folder):
    found = json.loads(bagwise("classes", folder, "--json"))
    return [one["name"] for one in found if one["merged_into"] is None and not one["retired"]]


def test_every_change(folder, tmp_path):
    bagwise("classes", folder, "--add", "wren", "--text", "small, loud", "--scientific", "Troglodytes troglodytes")
    assert "small, loud" in bagwise("classes", folder)
    bagwise("classes", folder, "--rename", "wren", "winter wren")
    bagwise("classes", folder, "--merge", "tit", "--merge", "great tit", "--into", "tits")
    assert listed(folder) == ["owl", "winter wren", "tits"]
    assert "tits was merged from tit, great tit." in bagwise("classes", folder)
    bagwise("classes", folder, "--split", "tits")
    bagwise("classes", folder, "--retire", "owl")
    assert "Retired: owl" in bagwise("classes", folder)
    bagwise("classes", folder, "--restore", "owl")
    (tmp_path / "more.csv").write_text("name,common_name\nowl,tawny owl\nlark,\n")
    bagwise("classes", folder, "--from", tmp_path / "more.csv")
    assert listed(folder) == ["tit", "great tit", "owl", "winter wren", "lark"]
    history = bagwise("classes", folder, "--history")
    assert "renamed to winter wren" in history
    changes = json.loads(bagwise("classes", folder, "--history", "--json"))
    assert [one["kind"] for one in changes][:2] == ["added", "described"]


def test_one_change_at_a_time(folder):
    code, _, err = test_commands.bagwise("classes", folder, "--retire", "owl", "--add", "lark")
    assert (code, "Give one change at a time." in err) == (1, True)
    code, _, err = test_commands.bagwise("classes", folder, "--text", "what?")
    assert (code, "--describe CLASS or --add CLASS" in err) == (1, True)


def test_notes(folder):
    assert "There are no notes yet." in bagwise("notes", folder)
    bagwise("notes", folder, "--add", "bag 1", "wind", "--class", "owl", "--as", "ann")
    bagwise("notes", folder, "--add", "bag 2", "rain")
    (one,) = json.loads(bagwise("notes", folder, "--class", "owl", "--json"))
    assert (one["annotator"], one["bag"], one["class"], one["text"]) == ("ann", "bag 1", "owl", "wind")
