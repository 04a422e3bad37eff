"""What must be true of every format, data set, medium, segmenter and embedder, present and future."""

import numpy as np
import pytest

from bagwise import datasets, formats
from bagwise.ingest import embedders, media, segmenters

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
    assert member.DESCRIPTION
    assert callable(member.embedder)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("embed --quiet {file}", "command"),
        ("embed {file} --to {out}", "command"),
        ("package.module:function", "function"),
        ("models/birds.onnx", "onnx"),
        ("embed {file} model.onnx", "onnx"),
        ("onnx:function", "function"),
    ],
)
def test_what_is_typed_names_one_embedder(text, name):
    found = [one for one, member in embedders.available().items() if member.recognises(text)]
    assert found == [name]
