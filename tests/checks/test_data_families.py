"""What must be true of every format, data set, medium, segmenter and embedder, present and future."""

import numpy as np
import pytest

from bagwise import BagwiseError, datasets, formats
from bagwise.core.plugins import declared
from bagwise.ingest import Recipe, embedders, media, segmenters
from bagwise.ingest.pretrained import Preset

RENDERERS = {"picture", "sound", "text"}


@pytest.mark.parametrize("name", formats.available())
def test_a_format_has_what_its_family_needs(name):
    member = formats.available()[name]
    assert member.DESCRIPTION
    assert all(suffix == suffix.lower() for suffix in member.SUFFIXES)
    readers = {"read", "read_labels", "read_table", "read_folder"}
    assert any(hasattr(member, verb) for verb in readers)
    assert hasattr(member, "recognises_folder" if hasattr(member, "read_folder") else "recognises")


@pytest.mark.parametrize("name", datasets.available())
def test_a_data_set_has_what_its_family_needs(name):
    member = datasets.available()[name]
    assert member.DESCRIPTION
    assert callable(member.load)


@pytest.mark.parametrize("name", media.available())
def test_a_medium_has_what_its_family_needs(name):
    member = media.available()[name]
    assert member.DESCRIPTION
    assert member.BAG
    assert member.RULE
    assert media.renderer_of(name) in RENDERERS
    assert 0 < len(media.columns_of(name)) <= media.WIDTH
    assert member.misplaced(np.full((2, media.WIDTH), np.nan)).tolist() == [False, False]
    for suffix in member.TYPES:
        assert suffix == suffix.lower()
        assert media.medium_of(suffix) == name, "a suffix belongs to one medium"
    for alias in getattr(member, "ALIASES", ()):
        assert media.name_of(alias) == name
    assert name == segmenters.available()[segmenters.for_medium(name)].MEDIUM


@pytest.mark.parametrize("name", segmenters.available())
def test_a_segmenter_has_what_its_family_needs(name):
    member = segmenters.available()[name]
    assert member.DESCRIPTION
    assert member.MEDIUM in media.available()
    assert hasattr(member, "segment") or (hasattr(member, "fit") and hasattr(member, "segmenter"))
    assert segmenters.name_of(member) == name


@pytest.mark.parametrize("name", embedders.available())
def test_an_embedder_has_what_its_family_needs(name):
    member = embedders.available()[name]
    assert declared(member, "DESCRIPTION")
    assert callable(member.embedder)
    assert declared(member, "MEDIUM") in {None, *media.available()}


@pytest.mark.parametrize("name", [name for name, one in embedders.available().items() if isinstance(one, Preset)])
def test_a_preset_declares_what_has_to_be_known_of_its_model(name, monkeypatch):
    preset = embedders.available()[name]
    assert preset.name == name
    assert preset.licence
    assert embedders.licence_of(name) == preset.licence
    described = next(one for one in embedders.described() if one["name"] == name)
    assert described["embedding"]
    assert preset.weights.package or preset.weights.source
    declares = {
        "sound": {"sample_rate", "window_seconds", "overlap_seconds", "normalisation"},
        "picture": {"pixels", "normalisation"},
        "text": {"tokens"},
    }
    assert declares[preset.medium] <= set(described)
    for form in (preset.form, *preset.forms.values()):
        assert form.inputs.medium == preset.medium
    monkeypatch.setenv(preset.weights.variable, "/no/such/model")
    assert "/no/such/model" in preset.missing(name)
    with pytest.raises(BagwiseError, match="/no/such/model"):
        embedders.fingerprint(name)
    with pytest.raises(BagwiseError, match="no option 'sung'"):
        embedders.fingerprint(f"{name}:sung")
    other = next(medium for medium in media.available() if medium != preset.medium)
    with pytest.raises(BagwiseError, match=f"is for {preset.medium}, not for {other}"):
        Recipe.of(other, None, name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("embed --quiet {file}", "command"),
        ("embed {file} --to {out}", "command"),
        ("package.module:function", "function"),
        ("models/birds.onnx", "onnx"),
        ("embed {file} model.onnx", "onnx"),
        ("onnx:function", "function"),
        ("onnx", "onnx"),
        ("onnx:overlap=1,weights=birds.onnx", "onnx"),
    ],
)
def test_what_is_typed_names_one_embedder(text, name):
    typed = {one: member for one, member in embedders.available().items() if hasattr(member, "recognises")}
    assert [one for one, member in typed.items() if member.recognises(text)] == [name]
