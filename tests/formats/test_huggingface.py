"""Embeddings in the Parquet of Hugging Face, with the columns of BirdSet."""

import json

import numpy as np
import polars as pl
import pytest

from bagwise import formats
from bagwise.core.errors import FileError
from bagwise.project import Project

NAMES = ["wren", "owl", "jay"]
# As the library datasets writes them: version 2 and 4.
SEQUENCE = {"feature": {"names": NAMES, "_type": "ClassLabel"}, "length": -1, "_type": "Sequence"}
LIST = {"feature": {"names": NAMES, "_type": "ClassLabel"}, "_type": "List"}
FILES = ["a.ogg", "b.ogg", "a.ogg", "b.ogg"]
STARTS = [0.0, 0.0, 5.0, 5.0]
CLASSES = [[0], [], [0, 1], []]


@pytest.fixture
def vectors(rng):
    return rng.normal(size=(4, 3)).astype(np.float32)


def write(path, vectors, feature=SEQUENCE, folder="/cache/HSN", **columns):
    """Windows of five seconds, not by recording."""
    content = {
        "filepath": [f"{folder}/{name}" for name in FILES],
        "start_time": STARTS,
        "end_time": [start + 5 for start in STARTS],
        "ebird_code_multilabel": CLASSES,
        "lat": [1.0] * 4,
        "peaks": [[0.5, 1.5]] * 4,
        "embedding": pl.Series(vectors).arr.to_list(),
        **columns,
    }
    frame = pl.DataFrame({name: values for name, values in content.items() if values is not None})
    info = {"info": {"features": {"ebird_code_multilabel": feature}}}
    frame.write_parquet(path, metadata={"huggingface": json.dumps(info)})
    return path


@pytest.mark.parametrize("feature", [SEQUENCE, LIST, [SEQUENCE["feature"]]])
def test_windows_of_birdset(tmp_path, vectors, feature):
    path = write(tmp_path / "t.parquet", vectors, feature)
    assert formats.recognise(path, "read") is formats.available()["huggingface"]
    source = formats.read(path)
    bags = source.to_bags()
    assert list(bags.ids) == ["a.ogg", "b.ogg"]
    np.testing.assert_array_equal(bags.instances, vectors[[0, 2, 1, 3]])
    np.testing.assert_array_equal(source.spans[source.codes == 1], [[0, 5], [5, 10]])
    assert source.labels.classes == NAMES
    np.testing.assert_array_equal(source.labels.values, [[1, 1, 0], [0, 0, 0]])
    assert {(one.label_class, one.instance, one.present) for one in source.labels.placed} == {
        ("wren", 0, True),
        ("wren", 1, True),
        ("owl", 0, False),
        ("owl", 1, True),
    }
    assert source.sentence == (
        "read: filepath, embedding, start_time, end_time, ebird_code_multilabel; ignored: lat, peaks"
    )
    with Project.create(tmp_path / "p", source) as project:
        labels = {(bag, one.instance, one.label_class, one.present) for bag, one in project.contents.instance_labels}
        assert labels == {(0, 0, 0, True), (0, 1, 0, True), (0, 0, 1, False), (0, 1, 1, True)}


def test_an_embedding_as_birdset_stores_it(tmp_path, vectors):
    stored = [{"array": row.tolist()} for row in vectors.astype(float)]
    source = formats.read(write(tmp_path / "t.parquet", vectors, embedding=None, embeddings=stored))
    assert source.dtype == np.float64
    np.testing.assert_array_equal(source.to_bags().instances, vectors[[0, 2, 1, 3]])


def test_events_say_what_is_present_only(tmp_path, vectors):
    source = formats.read(write(tmp_path / "t.parquet", vectors, end_time=[1.0, 2.0, 7.5, 9.0]))
    assert source.labels.classes == ["wren", "owl"]
    np.testing.assert_array_equal(source.labels.values, [[1, 1], [np.nan, np.nan]])
    assert all(one.present for one in source.labels.placed)


def test_recordings_without_times(tmp_path, vectors):
    names = [["wren"], ["owl"], ["wren"], None]
    path = write(
        tmp_path / "t.parquet", vectors, [], start_time=[None] * 4, end_time=[None] * 4, ebird_code_multilabel=names
    )
    source = formats.read(path)
    assert source.spans is None
    assert source.labels.classes == ["wren", "owl"]
    np.testing.assert_array_equal(source.labels.values, [[1, np.nan], [np.nan, 1]])
    assert source.labels.placed == ()


def test_embeddings_without_labels(tmp_path, vectors):
    source = formats.read(write(tmp_path / "t.parquet", vectors, folder="soundscapes", ebird_code_multilabel=None))
    assert (source.labels, source.ids) == (None, ["soundscapes/a.ogg", "soundscapes/b.ogg"])


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"filepath": ["a", None, "a", "b"]}, "row 2, column filepath: the bag's id is missing"),
        ({"start_time": [0.0, 6.0, 5.0, 5.0]}, "row 2, column start_time: the window begins before 0, or ends before"),
        ({"embedding": [[1.0], [2.0], [3.0, 4.0], [5.0]]}, "row 3, column embedding: the list has 2 numbers"),
        ({"embedding": [[1.0], None, [3.0], [5.0]]}, "row 2, column embedding: a feature is missing"),
        ({"embedding": [1.0, 2.0, 3.0, 4.0]}, "column embedding: the column is of type Float64: a list of numbers"),
        ({"embedding": [{"x": 1}] * 4}, "column embedding: the column is of type Struct"),
        ({"ebird_code_multilabel": [[0], [9], [1], []]}, "row 2: class 9 has no name: there are 3"),
        ({"ebird_code_multilabel": [["wren"], ["emu"], [], []]}, "the class emu is not among those in the metadata"),
        ({"ebird_code_multilabel": [[0.5], [], [], []]}, "classes are of type Float64: names or whole numbers"),
        ({"feature": {"_type": "Value"}}, "classes are numbers, and the metadata of the file do not have their names"),
    ],
)
def test_damaged_files_of_birdset(tmp_path, vectors, columns, words):
    path = write(tmp_path / "t.parquet", vectors, **columns)
    with pytest.raises(FileError, match=words):
        formats.read(path).to_bags()


def test_a_file_of_birdset_that_is_cut(tmp_path, vectors):
    path = write(tmp_path / "t.parquet", vectors)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(FileError, match="damaged or not complete"):
        formats.read(path)
