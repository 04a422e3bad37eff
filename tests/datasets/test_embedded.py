"""Data sets that are composed and embedded on first use, in a small size."""

import json
import os
from types import SimpleNamespace

import numpy as np
import pytest

from bagwise import BagwiseError, datasets
from bagwise.datasets import scenes, soundscapes
from tests.datasets.test_datasets import EMBEDDED

FEATURES = {"soundscapes": 1024, "scenes": 1280, "manuals": 256}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    folder, before = tmp_path_factory.mktemp("cache"), os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(folder)
    yield folder
    del os.environ["XDG_CACHE_HOME"]
    if before is not None:
        os.environ["XDG_CACHE_HOME"] = before


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(EMBEDDED))
def test_it_is_built_once_and_kept(cache, name, monkeypatch):
    data = datasets.load(name, bags=4)
    assert (data.name, len(data.bags), data.bags.n_features) == (name, 4, FEATURES[name])
    assert data.labels.known.all()
    assert data.labels.value.shape == (4, len(data.classes))
    assert len(data.instance_labels) == len(data.bags.instances)
    for b, (start, stop) in enumerate(zip(data.bags.offsets[:-1], data.bags.offsets[1:], strict=True)):
        inside = set(data.instance_labels[start:stop]) - {-1}
        assert inside <= set(np.flatnonzero(data.labels.value[b]))
    monkeypatch.setattr("bagwise.datasets._embedding.Composition._build", None)
    np.testing.assert_array_equal(datasets.load(name, 5, bags=4).bags.instances, data.bags.instances)
    assert not datasets.available()[name].is_built()


@pytest.mark.slow
def test_birdnet_hears_near_calls_where_they_were_mixed_in(cache, monkeypatch):
    monkeypatch.setattr(soundscapes, "DISTANCE", (10.0, 11.0))
    data = datasets.load("soundscapes", bags=5)
    assert data.scores.shape == (len(data.bags.instances), len(data.classes))
    blackbird = data.instance_labels == data.classes.index("Turdus merula_Eurasian Blackbird")
    assert data.scores[blackbird, 0].mean() > data.scores[~blackbird, 0].mean() + 0.2
    part = data.select(np.array([3]))
    np.testing.assert_array_equal(part.scores, data.scores[slice(*data.bags.offsets[3:5])])


def test_a_window_has_the_loudest_species_of_which_enough_is_in_it():
    heard = np.array([[0.0, 2.0, 1, 1.0], [2.8, 4.8, 2, 9.0], [4.0, 4.4, 3, 0.1]])
    places = np.array([[0, 3, np.nan, np.nan], [1.5, 4.5, np.nan, np.nan], [6, 9, np.nan, np.nan]])
    assert soundscapes._loudest(places, heard).tolist() == [1, 2, -1]


def test_regions_are_found_where_they_were_put(tmp_path):
    made = next(iter(scenes._compose(tmp_path, 1)))
    boxes = scenes._boxes(made.path)
    assert len(boxes) == len(made.instance_labels)
    assert set(boxes[:, 2]) == {scenes.SIDE}


def test_what_is_missing_is_said(monkeypatch):
    nothing = SimpleNamespace(missing=lambda _: "the package owls: install it with `pip install owls`")
    monkeypatch.setattr("bagwise.datasets._embedding.Composition._preset", lambda _: nothing)
    with pytest.raises(BagwiseError, match="The data set soundscapes needs the package owls: install it"):
        datasets.load("soundscapes")


def test_the_list_builds_nothing(cache, monkeypatch):
    from typer.testing import CliRunner

    from bagwise.cli import app

    monkeypatch.setattr("bagwise.datasets._embedding.Composition._build", None)
    listed = json.loads(CliRunner().invoke(app, ["datasets", "--json"]).stdout)
    assert {one["name"] for one in listed if one.get("built") is False} == EMBEDDED
