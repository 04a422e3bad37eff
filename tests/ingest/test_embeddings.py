"""Embedders: commands, functions and ONNX models, with places, or refused with a reason."""

import shlex
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from PIL import Image

from bagwise import ingest
from bagwise.core.errors import BagwiseError, FileError
from bagwise.ingest import embedders
from tests.support import example_media

TEXT = ingest.segmenters.available()["paragraphs"]
PICTURE = ingest.segmenters.available()["grid"]


class Sound:
    """Any segmenter of sound: an ONNX model brings its own windows."""

    MEDIUM = "sound"


def python(code):
    return f"{shlex.quote(sys.executable)} -c {shlex.quote('import sys, numpy as np;' + code)} {{file}}"


@pytest.fixture
def file(tmp_path):
    (tmp_path / "a file's name.txt").write_text("an owl")
    return tmp_path / "a file's name.txt"


def test_a_command_writes_arrays_with_or_without_places(file):
    plain = embedders.embed_function(
        python("np.save(sys.stdout.buffer, np.ones((3, 2)) * len(open(sys.argv[1]).read()))"), TEXT
    )
    np.testing.assert_array_equal(plain(file).features, np.full((3, 2), 6))
    assert np.isnan(plain(file).places).all()
    words = python("np.savez(sys.argv[2], features=np.ones((1, 2)), places=[[0, 5]])") + " {out}"
    np.testing.assert_array_equal(embedders.embed_function(words, TEXT)(file).places, [[0, 5, np.nan, np.nan]])


@pytest.mark.parametrize(
    ("embed", "why"),
    [
        (python("sys.exit('no such voice')"), "status 1: no such voice"),
        (python("print('hello')"), "wrote no .npy"),
        (python("np.save(sys.stdout.buffer, np.array([{}], dtype=object), allow_pickle=True)"), "wrote no .npy"),
        (python("np.save(sys.stdout.buffer, np.ones(3))"), "must be (instances x features)"),
        (python("np.savez(sys.stdout.buffer, x=np.ones((3, 2)))"), "no array features"),
        (
            python("np.savez(sys.stdout.buffer, features=np.ones((3, 2)), places=np.ones((2, 2)))"),
            "places are of shape",
        ),
        ("/no/such/program {file}", "cannot be run"),
    ],
)
def test_errors_of_a_command_are_reported(file, embed, why):
    with pytest.raises(FileError) as error:
        embedders.embed_function(embed, TEXT)(file)
    assert why in str(error.value)


def test_functions_and_models_that_do_not_exist(tmp_path):
    for embed in ("nothing", "no_such_module:f", "math:no_such_function"):
        with pytest.raises(BagwiseError, match="--embed"):
            embedders.embed_function(embed, TEXT)
    with pytest.raises(FileError, match="cannot be read"):
        embedders.fingerprint(str(tmp_path / "no.onnx"))
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    with pytest.raises(FileError, match="not an ONNX model"):
        embedders.embed_function(str(tmp_path / "bad.onnx"), PICTURE)


def save(path, node, shape_in, shape_out, **metadata):
    floats = TensorProto.FLOAT
    other = helper.make_node("Identity", ["x"], ["logits"])
    outputs = [helper.make_tensor_value_info("logits", floats, shape_in)]
    outputs.append(helper.make_tensor_value_info("embedding", floats, shape_out))
    graph = helper.make_graph([other, node], "g", [helper.make_tensor_value_info("x", floats, shape_in)], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, metadata)
    onnx.save(model, path)
    return str(path)


@pytest.mark.parametrize("batch", ["n", 1])
def test_regions_of_a_picture_go_through_a_model(tmp_path, batch):
    pixels = np.zeros((80, 160, 3), np.uint8)
    pixels[:, 80:] = 255
    Image.fromarray(pixels).save(tmp_path / "a.png")
    node = helper.make_node("GlobalAveragePool", ["x"], ["embedding"])
    model = save(tmp_path / "m.onnx", node, [batch, 3, 8, 8], [batch, 3, 1, 1])
    segments = embedders.embed_function(model, PICTURE)(tmp_path / "a.png")
    assert segments.features.shape == (len(segments.places), 3)
    light = segments.places[:, 0] >= 80
    assert (segments.features[light] > 2).all()
    assert (segments.features[~light] < -1.7).all()
    assert embedders.fingerprint(model).startswith(".onnx:")
    with pytest.raises(FileError, match="neither a picture nor a window"):
        embedders.embed_function(model, Sound)


def test_windows_of_a_recording_go_through_a_model(tmp_path):
    example_media.write_wav(tmp_path / "a.wav", example_media.tone(1000, 1.0, 2.0, 2.5))
    node = helper.make_node("ReduceMax", ["x"], ["embedding"], axes=[-1], keepdims=1)
    model = save(tmp_path / "m.onnx", node, ["n", 8000], ["n", 1], sample_rate="16000")
    segments = embedders.embed_function(model, Sound)(tmp_path / "a.wav")
    np.testing.assert_allclose(segments.places[:, :2], [[i / 2, i / 2 + 0.5] for i in range(5)])
    np.testing.assert_allclose(segments.features.ravel(), [0, 0, 0.4, 0.4, 0], atol=0.03)
    unknown = save(tmp_path / "u.onnx", node, ["n", 8000], ["n", 1])
    with pytest.raises(FileError, match="sample_rate"):
        embedders.embed_function(unknown, Sound)
