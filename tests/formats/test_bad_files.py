"""Bad files: one sentence that names the file, and line and column where there are any; never a traceback."""

import io
import json
import pickle
import re
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bagwise import formats
from bagwise.core.errors import BagwiseError, FileError
from bagwise.formats import _parquet_blocks
from tests.formats.test_reading import TABLE, WRITERS

WHOMBAT = json.dumps(
    {
        "version": "1.1.0",
        "data": {
            "collection_type": "annotation_project",
            "tags": [{"id": 0, "key": "species", "value": "wren"}, {"id": 1, "key": "species", "value": "owl"}],
            "recordings": [{"uuid": "r", "path": "/data/a.wav", "duration": 30.0, "time_expansion": 2.0}],
            "clips": [{"uuid": "c", "recording": "r", "start_time": 0.0, "end_time": 5.0}],
            "sound_events": [{"uuid": "s", "recording": "r", "geometry": {"type": "Point", "coordinates": [1.0, 2.0]}}],
            "sound_event_annotations": [{"uuid": "e", "sound_event": "s", "tags": [0]}],
            "clip_annotations": [{"uuid": "a", "clip": "c", "tags": [0], "sound_events": ["e"]}],
            "tasks": [{"uuid": "t", "clip": "c", "status_badges": [{"state": "completed"}]}],
            "project_tags": [0, 1],
        },
    }
)


def refused(path, words, read=formats.read):
    with pytest.raises(FileError, match=words) as error:
        read(path).to_bags() if read is formats.read else read(path)
    assert path.name in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("bag,x,y\n", "no rows below the header"),
        ("bag,x,y\na,1,2\na,3\n", "line 3: has 2 columns where the header has 3"),
        ("bag,x,y\na,1,2\na,3,4,5\n", "line 3: has 4 columns"),
        ("bag,x\na,1\n,2\n", "line 3, column bag: the bag's id is missing"),
        ("bag,x\na,1\na,two\n", "line 3, column x: 'two' is not a number"),
        ("bag,x\na,1\na,nan\n", "line 3, column x: a feature is missing"),
        ("bag,x\na,1\na,inf\n", "line 3, column x: a feature is infinite"),
        ("bag,x\na,1\na,\n", "line 3, column x: '' is not a number"),
        ("bag,x,x\na,1,2\n", "the column x appears twice"),
        ("name,x\na,1\n", "line 1: there is no column bag among name, x"),
        ("bag,label:w\na,1\n", "no features"),
        ("bag,class,label\na,w,1\n", "table of labels, not of instances"),
        ("bag,x,label:w\na,1,-1\n", "line 2, column label:w: -1 can mean absent"),
        ("bag,x,label:w\na,1,yep\n", "line 2, column label:w: 'yep' is not a label"),
        ("bag,x,label:w\na,1,1\na,2,0\n", "line 3, column label:w: the label differs"),
        ("bag,x,label:\na,1,1\n", "a class has no name"),
        ('bag,x,"label:W\nren"\na,1,1\n', "line 1: a column's name has a line break"),
        ('bag,x,label:w\n"a\nb",1,1\nc,2,zz\n', "line 4, column label:w"),
        ('bag,x\n"a\nb",1\nc,nan\n', "control character or a line break"),
        ("bag,x\r\ra,1\r", "line 1|no column|cannot be read"),
        ("bag," + ",".join(f"c{i}" for i in range(100_000)) + "\na,1\n", "at most 65536"),
        ("bag,x\na,1\n" + "a," * 1_000_000 + "\n", "line 3: has 1000001 columns"),
        ("a\0b,x\n1,2\n", "zero byte|no format"),
    ],
)
def test_bad_csv(tmp_path, text, words):
    path = tmp_path / "bad.csv"
    path.write_text(text, newline="")
    refused(path, words)


def test_csv_in_another_encoding(tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes("bag,x\na,1\nKäuzchen,2\n".encode("latin-1"))
    refused(path, "line 3: is not UTF-8")
    path.write_bytes("bäg,x\na,1\n".encode("latin-1"))
    refused(path, "line 1, column 2: is not UTF-8")
    path.write_bytes("bag,x\na,1\n".encode("utf-16"))
    refused(path, "UTF-8|zero byte")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bag,class,value\na,w,0\n", "line 1, column value: a long table of labels has"),
        ("bag,class,label\na,w,1\na,w,0\n", "line 3: bag a is both present and absent for class w"),
        ("bag,class,label\na,,1\n", "line 2, column class: the class has no name"),
        ("bag,w\na,1\na,0\n", "line 3, column bag: bag a appears twice"),
        ("bag,w\na,2\n", "line 2, column w: '2' is not a label"),
        ("bag,w\n", "no labels"),
        (
            "recording,start_offset_s,end_offset_s,label,label_type\nr,2,1,w,negative\n",
            "line 2: end is before start",
        ),
        (
            "recording,start_offset_s,end_offset_s,label,label_type\nr,,,w,perhaps\n",
            "line 2, column label_type: 'perhaps'",
        ),
        ("Selection\tBegin Time (s)\n1\t0\n", "no column names the class"),
    ],
)
def test_bad_label_tables(tmp_path, text, words):
    path = tmp_path / "labels.csv"
    path.write_text(text)
    refused(path, words, formats.read_labels)


def test_a_table_of_labels_that_would_fill_the_memory(tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("bag,class,label\n" + "".join(f"b{i},c{i},1\n" for i in range(40_000)))
    refused(path, "40000 bags and 40000 classes", formats.read_labels)


class Evil:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_bad_npz(tmp_path):
    path = tmp_path / "bad.npz"
    path.write_bytes(b"not a zip")
    refused(path, "damaged or not complete")
    np.savez(path, instances=np.zeros((2, 2)), offsets=np.array([0, 2]), labels=np.array([Evil()], dtype=object))
    refused(path, "pickle")
    path.write_bytes(pickle.dumps(Evil()))
    refused(path, "damaged|no format")
    arrays = {"instances": np.zeros((3, 2)), "offsets": np.array([0, 1, 3])}
    for change, words in (
        ({"offsets": np.array([0, 1])}, "offsets must be"),
        ({"offsets": np.array([0, 0, 3])}, "bag 1 is empty"),
        ({"instances": np.zeros(3)}, "must be .instances x features"),
        ({"instances": np.array([["a", "b"]] * 3)}, "must be numbers"),
        ({"instances": np.array([[1, np.nan]] * 3)}, "row 1, column 2: a feature is missing"),
        ({"labels": np.zeros((1, 2))}, "labels are 1 x 2 for 2 bags"),
        ({"labels": np.array([[1, -1], [0, 1]])}, "row 1, column 2: -1 can mean"),
        ({"labels": np.ones((2, 1)), "classes": np.array([""])}, "a class has no name"),
        ({"ids": np.array(["a", "a"])}, "the bag a appears twice"),
        ({"ids": np.array(["a\nb", "c"])}, "line break"),
    ):
        np.savez(path, **(arrays | change))
        refused(path, words)
    np.savez(path, X=np.zeros((3, 2)), bag=np.array([0.0, 1.0, np.nan]))
    refused(path, "text or whole numbers")
    np.savez(path, X=np.zeros((3, 2)), bag=np.array(["a", "b", "b"]), labels=np.ones((2, 1)))
    refused(path, "need an array ids")
    np.savez(path, other=np.zeros(3))
    refused(path, "no array instances or X, only other")


@pytest.mark.slow
def test_zip_bombs(tmp_path):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("X.npy", "w") as file:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (60_000_000, 1)})
        file.write(header.getvalue())
        for _ in range(480):
            file.write(bytes(1_000_000))
    assert path.stat().st_size < 1_000_000
    refused(path, "unpack to 0.5 GB")
    mat = tmp_path / "bomb.mat"
    packed = zlib.compress(bytes(400_000_000), 9)
    mat.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + struct.pack("<II", 15, len(packed)) + packed)
    with pytest.raises(FileError, match=r"unpack|damaged|no format"):
        formats.read(mat)
    parquet = tmp_path / "bomb.parquet"
    pl.DataFrame({"bag": ["a"] * 3_000_000}).with_columns(
        *(pl.lit(0.0).alias(f"x{i}") for i in range(100))
    ).lazy().sink_parquet(parquet)
    refused(parquet, "unpack to 1.2 GB")


def list_bomb(path, rows, width):
    """Lists of zeros: each takes almost no bytes."""
    zeros = pl.Series("x", np.zeros((rows, width), np.int8)).arr.to_list()
    pl.DataFrame({"bag": ["a"] * rows}).with_columns(zeros).write_parquet(path)
    assert path.stat().st_size < 1_000_000


@pytest.mark.parametrize("rows", [5000, 1])
def test_bombs_of_lists_are_not_unpacked(tmp_path, rows):
    """Many lists, and one that is as long; in a process that could not hold what they stand for."""
    path = tmp_path / "lists.parquet"
    list_bomb(path, rows, 300_000_000 // rows)
    program = (
        "import resource, sys; from bagwise import formats; from bagwise.core.errors import FileError\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for read in (formats.read, formats.read_labels, formats.read_table):\n"
        "    try:\n        read(sys.argv[1])\n"
        "    except FileError as error:\n        print(error)\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    instances, labels, table, megabytes = done.stdout.splitlines()
    assert "would unpack to 1.2 GB" in instances
    assert "the column is of type List(Int8)" in labels
    assert "the column is of type List(Int8)" in table
    assert int(megabytes) < 300


def test_long_lists_are_read_some_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(_parquet_blocks, "VALUES_AT_ONCE", 50)
    rows = np.random.default_rng(0).normal(size=(30, 20)).astype(np.float32)
    pl.DataFrame({"bag": [f"b{i // 3}" for i in range(30)], "x": pl.Series(rows)}).write_parquet(tmp_path / "a.parquet")
    source = formats.read(tmp_path / "a.parquet")
    assert max(len(block) for block in source.blocks()) == 2
    assert np.array_equal(np.concatenate(list(source.blocks())), rows)


def test_bad_matlab(tmp_path):
    path = tmp_path / "new.mat"
    path.write_bytes(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512) + b"\x89HDF\r\n\x1a\n")
    refused(path, "Matlab 7.3 .HDF5. file: save it again with `save -v7`")
    from scipy.io import savemat

    savemat(path, {"bags": np.zeros((2, 2)), "targets": np.ones((1, 2))})
    refused(path, "not a cell array")
    cells = np.empty((1, 2), dtype=object)
    cells[0, 0], cells[0, 1] = np.zeros((2, 3)), np.zeros((1, 3))
    savemat(path, {"bags": cells, "targets": np.array([[1, 0]])})
    refused(path, "only 1 .present. and -1 .absent.")
    savemat(path, {"X": cells, "Y": np.array([[1], [0]])})
    refused(path, "bag 2 is 3 x 1 where the first is 3 x 2")
    savemat(path, {"data": cells, "labels": np.array([[1], [0]])})
    refused(path, r"has no variable bags .LAMDA. or X .Oregon State., only data, labels")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"bag": "a", "instances": [[1, 2], [3]]}\n', "line 1: instances of the bag differ"),
        ('{"bag": "a", "instances": [[1]]}\n{"bag": "b", "instances": [[1, 2]]}\n', "line 2: instances have 2"),
        ('{"bag": "a", "instances": [["x"]]}\n', "numbers only"),
        ('{"bag": "a", "instances": []}\n', "list of lists"),
        ('{"bag": "a", "instances": [[NaN]]}\n', "line 1: a feature is missing"),
        ('{"instances": [[1]]}\n', "not an object with the bag"),
        ('{"bag": true, "instances": [[1]]}\n', "not an object with the bag"),
        ('{"bag": "a", "bag": "b", "instances": [[1]]}\n', "twice"),
        ('{"bag": "a", "instances": [[1]]}\n{"bag": "a", "instances": [[1]]}\n', "line 2: the bag a appears twice"),
        ('{"bag": "a", "instances": [[1]]\n', "line 1, column"),
        ('{"bag": "a", "instances": [[' + "9" * 5000 + "]]}\n", "line 1: is not JSON that can be used|too large"),
        ('{"bag": "\\ud800", "instances": [[1]]}\n', "control character"),
        ('{"bag": "a", "instances": [[1]], "labels": {"w": -1}}\n', "line 1, column w: -1 can mean"),
        ('{"bag": "a", "instances": [[1]], "labels": [1]}\n', "must be an object"),
        ("{" * 100_000, "line 1"),
    ],
)
def test_bad_json_lines(tmp_path, text, words):
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    refused(path, words)


@pytest.mark.parametrize("tasks", [[5], [{"data": 3}], [{"data": {}}], [{"data": {"bag": "a"}, "annotations": 5}]])
def test_bad_label_studio(tmp_path, tasks):
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(tasks))
    refused(path, "task 1|no task", formats.read_labels)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("{0,1}", "{0,1,2}"), "has the values"),
        (("@data", "@date"), "no @data"),
        (("relational", "numeric"), "no attribute is relational, only id, bag, x, y, wren, robin"),
        (("@end bag", "@stop"), "line 7: the feature wren is of type"),
        (("3.0,3.5", "3.0"), "line 11: an instance has 1 numbers for 2 features"),
        (("3.0,3.5", "3.0,x"), "line 11: 'x' is not a number"),
        (('",0,0', '",0'), "line 11: has 1 labels for 2 classes"),
        (('2,"', '1,"'), "line 11: the bag 1 appears twice"),
        (('"3.0,3.5"', "3.0"), "line 11: is not an id, a quoted bag and labels"),
    ],
)
def test_bad_arff(tmp_path, change, words):
    path = tmp_path / "bad.arff"
    WRITERS["arff"][0](path)
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    refused(path, words)


def test_bad_parquet(tmp_path):
    path = tmp_path / "bad.parquet"
    WRITERS["parquet"][0](path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refused(path, "damaged or not complete")
    frames = {
        "row 2, column bag: the bag's id is missing": {"bag": ["a", None], "x": [1.0, 2.0]},
        "row 2, column x: a feature is missing": {"bag": ["a", "b"], "x": [1.0, None]},
        "column x: the column is of type String": {"bag": ["a", "b"], "x": ["1", "2"]},
        "row 2, column label:w: -1 can mean": {"bag": ["a", "b"], "x": [1.0, 2.0], "label:w": [1, -1]},
        "ids are of type Float64": {"bag": [1.0, 2.0], "x": [1.0, 2.0]},
        "row 2, column e: the list has 1 numbers": {"bag": ["a", "b"], "e": [[1.0, 2.0], [1.0]]},
        "column label:w: the column is of type List": {"bag": ["a"], "x": [1.0], "label:w": [[1]]},
    }
    for words, content in frames.items():
        pl.DataFrame(content).write_parquet(path)
        refused(path, re.escape(words))
    pl.DataFrame({"bag": [], "class": []}, schema={"bag": pl.String, "class": pl.String}).write_parquet(path)
    refused(path, "no rows|no labels", formats.read_labels)


def test_a_parquet_file_that_ends_before_its_last_column_does(tmp_path):
    """Polars panics on it, which is not even an Exception."""
    path = tmp_path / "cut.parquet"
    noise = np.random.default_rng(0).normal(size=1000)
    pl.DataFrame({"bag": ["a", "b"] * 500, "x": noise}).write_parquet(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:2000] + whole[5000:])
    refused(path, "damaged or not complete")


def test_a_matlab_file_that_would_kill_the_reader(tmp_path):
    """SciPy's reader dies of this length with the whole process."""
    write, file = WRITERS["lamda_mat"]
    path = tmp_path / file
    write(path)
    content = bytearray(path.read_bytes())
    content[-16] = 0xF7
    path.write_bytes(content)
    refused(path, "damaged or not complete")


def test_a_page_of_parquet_that_says_it_has_fewer_than_no_values(tmp_path):
    """Polars asks for 2**61 bytes then and ends the process."""
    write, file = WRITERS["parquet"]
    path = tmp_path / file
    write(path)
    content = bytearray(path.read_bytes())
    # DataPageHeader, a structure in PageHeader (0x2c), begins with an i32 (0x15): the number of values.
    places = [at for at in range(len(content)) if content[at : at + 3] == b"\x2c\x15\x0c"]
    assert places, "six values in every column"
    for at in places:
        path.write_bytes(content[: at + 2] + b"9" + content[at + 3 :])
        refused(path, "damaged or not complete")


def test_no_file_and_no_format(tmp_path):
    refused(tmp_path / "nowhere.csv", "no such file")
    refused(tmp_path, "is a folder")
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    refused(path, "in no format")


def mutated(whole, data):
    """Return a file that was cut, flipped, doubled or filled with noise."""
    content = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(0, len(content) - 1)))
        match data.draw(st.sampled_from(["flip", "cut", "insert", "double", "digit"])):
            case "flip":
                content[at : at + 1] = bytes([data.draw(st.integers(0, 255))])
            case "cut":
                del content[at : at + data.draw(st.integers(1, 200))]
            case "insert":
                content[at:at] = data.draw(st.binary(max_size=20))
            case "double":
                content[at:at] = content[at : at + 50]
            case "digit":
                content[at : at + 1] = data.draw(st.sampled_from([b"9", b"-", b",", b'"', b"\n", b"", b"\\", b"\t"]))
        if not content:
            break
    return content


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mutated_files_are_read_or_refused(name, data, tmp_path):
    """Cut, flipped, doubled or filled with noise: bags and labels come out, or one sentence."""
    write, file = WRITERS[name]
    path = tmp_path / file
    write(path)
    path.write_bytes(mutated(path.read_bytes(), data))
    message, bags = None, None
    try:
        bags = formats.read(path).to_bags()
    except BagwiseError as error:
        message = str(error)
    if bags is None:
        assert "\n" not in message
    else:
        assert np.isfinite(bags.instances).all()
        assert len(set(bags.ids.tolist())) == len(bags)


@pytest.mark.parametrize("name", ["hoplite", "raven", "whombat"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mutated_files_of_labels_are_read_or_refused(name, data, tmp_path):
    path = tmp_path / "labels"
    path.unlink(missing_ok=True)
    if name == "whombat":
        path.write_text(WHOMBAT)
    else:
        formats.available()[name].write_labels(TABLE, path)
    path.write_bytes(mutated(path.read_bytes(), data))
    message, table = "", None
    try:
        table = formats.read_labels(path)
    except BagwiseError as error:
        message = str(error)
    assert "\n" not in message
    assert table is None or table.values.shape == (len(table.ids), len(table.classes))
