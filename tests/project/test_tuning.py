"""A project chooses its own settings on request: written down, noted, and the same for every replay from then on."""

import json

import numpy as np
import polars as pl
import pytest

from bagwise import MIMLClassifier
from bagwise.project import Learning, Project, Settings, check, tune
from tests.model.test_tuning import rings
from tests.project.test_commands import bagwise


def made(folder, count):
    """A project of rings, which no plane separates, with every label known."""
    bags, labels = rings(np.random.default_rng(3), count)
    names = np.repeat([f"b{b}" for b in range(count)], bags.sizes)
    pl.DataFrame({"bag": names}).hstack(pl.DataFrame(bags.instances, schema=["x", "y"])).write_csv(folder / "in.csv")
    known = [(f"b{b}", name, int(labels.value[b, c])) for b in range(count) for c, name in enumerate(["in", "out"])]
    pl.DataFrame(known, schema=["bag", "class", "label"], orient="row").write_csv(folder / "labels.csv")
    code, _, err = bagwise("init", folder / "p", "--from", folder / "in.csv", "--labels", folder / "labels.csv")
    assert code == 0, err
    return folder / "p"


@pytest.mark.slow
def test_what_is_chosen_becomes_the_settings_and_is_noted(tmp_path):
    place = made(tmp_path, 100)
    code, out, err = bagwise("tune", place)
    assert code == 0, err
    assert "scaling: standardise becomes curved" in out
    (noted,) = [json.loads(line) for line in (place / "tuned.jsonl").read_text().splitlines()]
    assert noted["after"] == 0
    assert noted["changed"]["scaling"] == ["standardise", "curved"]
    assert Settings.read(place).learning.scaling == "curved"
    with Project.open(place) as project:
        assert not any(found.wrong for found in check(project))
        assert tune(project).changed == {}, "what was chosen is not chosen against"
        project.backup(tmp_path / "copy")
    assert (tmp_path / "copy" / "tuned.jsonl").exists()


def test_few_labels_change_nothing(tmp_path):
    place = made(tmp_path, 20)
    code, out, _ = bagwise("tune", place)
    assert code == 0
    assert "too few labels" in out
    assert Settings.read(place).learning == Learning()
    assert not (place / "tuned.jsonl").exists()


@pytest.mark.slow
def test_a_model_is_kept_with_its_thresholds(make_project, tmp_path, synthetic):
    project = make_project()
    for _ in range(120):
        (asked,) = project.ask("ann")
        project.answer(
            asked.key, "ann", "present" if synthetic.labels.value[asked.bag, asked.label_class] else "absent"
        )
    folder = project.folder
    project.close()
    code, out, err = bagwise("train", folder, "--to", tmp_path / "m.npz", "--decide", "f1")
    assert code == 0, err
    assert "predicted above" in out
    model = MIMLClassifier.load(tmp_path / "m.npz")
    assert ((model.thresholds_ > 0) & (model.thresholds_ < 1)).all()
    assert (model.thresholds_ != 0.5).any()
    probability = model.predict_proba(synthetic.bags)
    np.testing.assert_array_equal(model.predict(synthetic.bags), probability > model.thresholds_)
    code, _, err = bagwise("train", folder, "--decide", "beauty")
    assert code == 1
    assert "bag_accuracy" in err
