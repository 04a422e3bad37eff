"""The folder of BaseAL, in which the data of BioDCASE 2026 task 4 come."""

import numpy as np
import pytest
from typer.testing import CliRunner

from bagwise import datasets, formats
from bagwise.cli import app
from bagwise.core.errors import FileError
from bagwise.project import Project

# As the generators for BioDCASE 2026 task 4 write them: no order by recording, other columns beside.
METADATA = """filename,original_filepath,segment_start,segment_end,label,has_event,segment_events
a_000_005.wav,north/a.wav,0.0,5.0,bma;bmb,True,"[[0.0, 3.0]]"
b_000_005.wav,north/b.wav,0.0,5.0,no_call,False,[]
a_005_010.wav,north/a.wav,5.0,10.0,bma,True,"[[1.0, 2.0], [3.0, 4.0]]"
c_000_005.wav,north/c.wav,0.0,5.0,bp20,True,"[[1.0, 2.0]]"
"""
LABELS = """filename,label,validation
a_000_005.wav,bma;bmb,False
b_000_005.wav,no_call,False
a_005_010.wav,bma,True
c_000_005.wav,bp20,False
"""
SEGMENTS = ("a_000_005", "b_000_005", "a_005_010")


@pytest.fixture
def vectors(rng):
    return rng.normal(size=(3, 4)).astype(np.float32)


@pytest.fixture
def folder(tmp_path, vectors):
    root = tmp_path / "ATBFL_BASEAL"
    write_model(root, "perch_v2", vectors)
    (root / "data" / "perch_v2").mkdir(parents=True)
    (root / "metadata.csv").write_text(METADATA)
    (root / "labels.csv").write_text(LABELS)
    return root


def write_model(root, model, vectors):
    (root / "embeddings" / model).mkdir(parents=True)
    for name, vector in zip(SEGMENTS, vectors, strict=True):
        # One of them as a batch of one, as some models give it.
        np.save(root / "embeddings" / model / f"{name}_{model}.npy", vector[None] if name[0] == "b" else vector)


def test_segments_of_a_recording_are_a_bag(folder, vectors, tmp_path):
    source = formats.read(folder)
    bags = source.to_bags()
    assert list(bags.ids) == ["north/a.wav", "north/b.wav"]
    np.testing.assert_array_equal(bags.instances, vectors[[0, 2, 1]])
    np.testing.assert_array_equal(source.spans, [[0, 5], [0, 5], [5, 10]])
    assert source.labels.classes == ["bma", "bmb"]
    np.testing.assert_array_equal(source.labels.values, [[1, 1], [0, 0]])
    placed = {(one.bag, one.label_class, one.instance, one.present) for one in source.labels.placed}
    assert placed == {("north/a.wav", "bma", 0, True), ("north/a.wav", "bma", 1, True)} | {
        ("north/a.wav", "bmb", 0, True),
        ("north/a.wav", "bmb", 1, False),
    }
    result = CliRunner().invoke(app, ["init", str(tmp_path / "whales"), "--from", str(folder)])
    assert result.exit_code == 0, result.output
    with Project.open(tmp_path / "whales") as project:
        assert project.bags.n_features == 4


def test_one_of_several_models_is_chosen_by_its_folder(folder, vectors):
    write_model(folder, "birdnet", 2 * vectors)
    with pytest.raises(FileError, match="those of birdnet, perch_v2: give the folder of the model"):
        formats.read(folder)
    chosen = formats.read(folder / "embeddings" / "birdnet")
    np.testing.assert_array_equal(chosen.to_bags().instances, 2 * vectors[[0, 2, 1]])


def test_labels_may_be_hidden(folder):
    (folder / "labels.csv").unlink()
    assert formats.read(folder).labels is None


def test_an_experiment_runs_on_it(tmp_path, rng):
    names = [f"r{number:02}" for number in range(24)]
    rows = [f"{name}_000_005.wav,{name}.wav,0.0,5.0,True" for name in names]
    labels = [f"{name}_000_005.wav,{'bma' if number % 3 else 'bmb'},False" for number, name in enumerate(names)]
    (tmp_path / "embeddings" / "perch_v2").mkdir(parents=True)
    for name in names:
        np.save(tmp_path / "embeddings" / "perch_v2" / f"{name}_000_005_perch_v2.npy", rng.normal(size=6))
    head = "filename,original_filepath,segment_start,segment_end,has_event"
    (tmp_path / "metadata.csv").write_text("\n".join([head, *rows]))
    (tmp_path / "labels.csv").write_text("\n".join(["filename,label,validation", *labels]))
    data = datasets.load(str(tmp_path))
    assert (len(data.bags), data.bags.n_features) == (24, 6)
    assert sorted(data.classes) == ["bma", "bmb"]
    assert data.labels.value.sum() == 24


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("original_filepath", "path", "there is no column original_filepath among filename, path"),
        ("north/b.wav", "", "line 3, column original_filepath: the recording is missing"),
        ("5.0,10.0", "10.0,5.0", "line 4: end is before start"),
        ("0.0,5.0,no_call", ",,no_call", "line 3, column segment_start: the segment has no times"),
        ("no_call,False", "no_call,maybe", "line 3, column has_event: 'maybe' is not a label"),
    ],
)
def test_damaged_metadata(folder, old, new, words):
    (folder / "metadata.csv").write_text(METADATA.replace(old, new))
    with pytest.raises(FileError, match=words):
        formats.read(folder)


def test_damaged_embeddings(folder):
    (folder / "labels.csv").write_text(LABELS.replace("b_000_005.wav", "x.wav"))
    with pytest.raises(FileError, match=r"the segment b_000_005.wav is not in labels.csv"):
        formats.read(folder)
    (folder / "labels.csv").unlink()
    path = folder / "embeddings" / "perch_v2" / "a_005_010_perch_v2.npy"
    for content, words in ((np.ones(3), "has 3 numbers where the first embedding has 4"), (np.ones((2, 4)), "not one")):
        np.save(path, content)
        with pytest.raises(FileError, match=words):
            formats.read(folder).to_bags()
    path.write_bytes(b"nothing")
    with pytest.raises(FileError, match="is not an array of NumPy"):
        formats.read(folder).to_bags()
    for name in SEGMENTS:
        (folder / "embeddings" / "perch_v2" / f"{name}_perch_v2.npy").unlink()
    with pytest.raises(FileError, match="has no embedding of perch_v2"):
        formats.read(folder)
