"""Files that say where in a recording, picture or text a class is: read, written, and read again."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bagwise import formats
from bagwise.core.errors import BagwiseError, FileError
from bagwise.formats import LabelTable, PlacedLabel

SPAN = {"start": 1.25, "end": 2.5}
BAND = {**SPAN, "low": 1000.0, "high": 3000.5}
BOX = {"x": 10.0, "y": 20.0, "width": 37.0, "height": 5.5}
PASSAGE = {"first": 3.0, "last": 17.0}
WITH_INSTANCES = ("csv", "parquet", "jsonl", "npz")
OF_WINDOWS = ("perch", "hoplite")
"""Windows have no frequencies."""
PERCH = "recording,start_offset_s,end_offset_s,label,label_type\n"
RAVEN = "Selection\tBegin Time (s)\tEnd Time (s)\tLow Freq (Hz)\tHigh Freq (Hz)\tBegin File\tSpecies\n"


def read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return formats.read_labels(path)


def parts(table):
    """What a table says of parts of bags, without lines."""
    return [replace(one, line=None) for one in table.placed]


def known(table):
    rows, columns = np.nonzero(~np.isnan(table.values))
    return {(table.ids[b], table.classes[c]): table.values[b, c] for b, c in zip(rows, columns, strict=True)}


def table_with(*placed):
    values = np.array([[1, np.nan, 0], [np.nan, 1, np.nan]])
    extents = {
        "a.wav": {"start": 0.0, "end": 30.0, "low": 0.0, "high": 11025.0},
        "b": {"x": 0.0, "y": 0.0, "width": 640.0, "height": 480.0},
    }
    return LabelTable(["a.wav", "b"], ["wren", "robin", "owl"], values, placed=placed, extents=extents)


def test_a_selection_of_raven_is_a_place(tmp_path):
    rows = "1\t1.25\t2.5\t1000\t3000.5\tm.wav\twren\n2\t4\t5\t0\t0\tm.wav\towl\n3\t0.0\t0.0\t0.0\t0.0\tm.wav\trobin\n"
    table = read(tmp_path, "t.txt", RAVEN + rows)
    assert parts(table) == [
        PlacedLabel("m.wav", "wren", True, None, BAND),
        PlacedLabel("m.wav", "owl", True, None, {"start": 4.0, "end": 5.0}),
    ]
    assert known(table) == {("m.wav", "wren"): 1, ("m.wav", "owl"): 1, ("m.wav", "robin"): 1}


def test_times_of_raven_count_from_the_beginning_of_the_file(tmp_path):
    header = RAVEN.replace("Begin File", "File Offset (s)\tBegin File")
    table = read(tmp_path, "t.txt", header + "1\t61.25\t62.5\t1000\t3000.5\t1.25\tm.wav\twren\n")
    assert parts(table)[0].place == BAND


PRO = (
    "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tLow Freq (Hz)\tHigh Freq (Hz)\tBegin Path\tFile Offset (s)"
    "\tDelta Time (s)\tspecies\n"
)


def test_rows_of_raven_pro_for_views_and_channels_are_one_selection(tmp_path):
    path = "D:\\site\\north\\m.wav"
    row = f"61.25\t62.5\t1000.0\t3000.5\t{path}\t1.25\t1.25\twren\n"
    other = f"70\t71\t1000.0\t3000.5\t{path}\t10\t1\t\n"
    rows = [f"{n}\t{view}\t{channel}\t" for n, view, channel in [(1, "Waveform 1", 1), (1, "Spectrogram 1", 2)]]
    table = read(tmp_path, "t.txt", PRO + rows[0] + row + rows[1] + row + "2\tSpectrogram 1\t1\t" + other)
    # A selection that nobody has annotated says nothing.
    assert parts(table) == [PlacedLabel(path, "wren", True, None, BAND)]


def test_a_table_of_raven_lite_is_about_the_recording_of_its_name(tmp_path):
    header = "Selection\tView\tChannel\tBegin Time (s)\tDelta Time (s)\tLow Freq (Hz)\tHigh Freq (Hz)\tAnnotation\n"
    text = header + "1\tSpectrogram 1\t1\t1.25\t1.25\t1000.0\t3000.5\twren\n"
    table = read(tmp_path, "S4A_2026.0600.Table.1.selections.txt", text)
    assert parts(table) == [PlacedLabel("S4A_2026.0600", "wren", True, None, BAND)]


def test_files_of_one_name_in_several_folders_are_told_by_their_paths(tmp_path):
    header = RAVEN.replace("Begin File", "Begin Path\tBegin File")
    names = [("/n/a.wav", "a.wav"), ("/s/a.wav", "a.wav"), ("/s/b.wav", "b.wav")]
    rows = "".join(f"1\t1\t2\t0\t0\t{path}\t{file}\twren\n" for path, file in names)
    assert read(tmp_path, "t.txt", header + rows).ids == ["/n/a.wav", "/s/a.wav", "b.wav"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("1\t1\t2\t0\t0\t\twren\n", "line 2: the recording is missing"),
        ("1\t1\t2\t0\t0\ta.wav\t\n", "no selection has a class in the column Species"),
        ("1\t1\tx\t0\t0\ta.wav\twren\n", "line 2, column End Time .s.: 'x' is not a number"),
        ("", "contains no selections"),
    ],
)
def test_damaged_tables_of_raven(tmp_path, rows, words):
    with pytest.raises(FileError, match=words):
        read(tmp_path, "t.txt", RAVEN + rows)


def test_a_negative_window_of_perch_says_nothing_about_the_recording(tmp_path):
    table = read(tmp_path, "p.csv", PERCH + "r,0,5,wren,negative\nr,5,10,owl,positive\nr,10,15,owl,uncertain\n")
    assert parts(table) == [
        PlacedLabel("r", "wren", False, None, {"start": 0.0, "end": 5.0}),
        PlacedLabel("r", "owl", True, None, {"start": 5.0, "end": 10.0}),
    ]
    assert known(table) == {("r", "owl"): 1}
    assert table.classes == ["wren", "owl"]


def test_a_label_of_audacity_is_a_place(tmp_path):
    text = (
        "1.250000\t2.500000\twren\n\\\t1000.0\t3000.5\n3\t3\towl\n0\t0\trobin\n4\t5\tjay [absent]\n6\t7\tjay [unsure]\n"
    )
    table = read(tmp_path, "marsh-3.txt", text)
    assert formats.recognise(tmp_path / "marsh-3.txt", "read_labels") is formats.available()["audacity"]
    assert parts(table) == [
        PlacedLabel("marsh-3", "wren", True, None, BAND),
        PlacedLabel("marsh-3", "owl", True, None, {"start": 3.0, "end": 3.0}),
        PlacedLabel("marsh-3", "jay", False, None, {"start": 4.0, "end": 5.0}),
    ]
    assert known(table) == {("marsh-3", "wren"): 1, ("marsh-3", "owl"): 1, ("marsh-3", "robin"): 1}


def test_a_frequency_that_audacity_does_not_know_is_no_band(tmp_path):
    table = read(tmp_path, "a.txt", "1\t2\twren\n\\\t-1.000000\t6334.588867\n")
    assert parts(table)[0].place == {"start": 1.0, "end": 2.0}


def test_a_track_of_audacity_is_about_one_recording(tmp_path):
    both = table_with(PlacedLabel("a.wav", "wren", True, 0, SPAN))
    with pytest.raises(BagwiseError, match=r"2 have labels: write a \.zip"):
        formats.available()["audacity"].write_labels(both, tmp_path / "labels.txt")


def test_tracks_in_a_zip_file_stay_in_their_folder(tmp_path):
    ids = ["../../evil", "/root", "a/b.wav", "..", 'q?"', "50%41"]
    table = LabelTable(ids, ["wren"], np.ones((6, 1)))
    path = tmp_path / "labels.audacity.zip"
    formats.available()["audacity"].write_labels(table, path)
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            assert not name.startswith("/")
            assert ".." not in Path(name).parts
            assert (tmp_path / name).resolve().is_relative_to(tmp_path)
    assert formats.read_labels(path).ids == ids


def label_studio(tmp_path, **result):
    task = {"data": {"bag": "a"}, "annotations": [{"result": [{"from_name": "tag", **result}]}]}
    return read(tmp_path, "l.json", json.dumps([task]))


def test_a_region_of_sound_in_label_studio(tmp_path):
    value = {"start": 1.25, "end": 2.5, "channel": 0, "labels": ["wren"]}
    table = label_studio(tmp_path, type="labels", value=value, original_length=30.0)
    assert parts(table) == [PlacedLabel("a", "wren", True, None, SPAN)]


def test_a_rectangle_in_label_studio(tmp_path):
    value = {"x": 10, "y": 25, "width": 50, "height": 5, "rotation": 0, "rectanglelabels": ["wren"]}
    size = {"original_width": 200, "original_height": 400}
    table = label_studio(tmp_path, type="rectanglelabels", value=value, **size)
    assert parts(table) == [
        PlacedLabel("a", "wren", True, None, {"x": 20.0, "y": 100.0, "width": 100.0, "height": 20.0})
    ]
    turned = label_studio(tmp_path, type="rectanglelabels", value={**value, "rotation": 30}, **size)
    assert (parts(turned), known(turned)) == ([], {("a", "wren"): 1})


def test_a_span_of_text_in_label_studio(tmp_path):
    value = {"start": 3, "end": 18, "text": "not the end", "labels": ["doubt"]}
    assert parts(label_studio(tmp_path, type="labels", value=value))[0].place == PASSAGE
    del value["text"]
    assert parts(label_studio(tmp_path, type="labels", to_name="text", value=value))[0].place == PASSAGE


def test_a_region_that_has_no_box_says_what_is_in_the_bag(tmp_path):
    value = {"points": [[0, 0], [1, 0], [1, 1]], "polygonlabels": ["wren"]}
    table = label_studio(tmp_path, type="polygonlabels", value=value)
    assert (parts(table), known(table)) == ([], {("a", "wren"): 1})


def test_rows_of_a_table_may_be_about_instances_and_places(tmp_path):
    text = "bag,class,label,instance,start,end\na,wren,1,2,,\na,wren,0,,0.5,1\na,owl,0,,,\nb,owl,,3,,\n"
    table = read(tmp_path, "l.csv", text)
    assert parts(table) == [
        PlacedLabel("a", "wren", True, 2),
        PlacedLabel("a", "wren", False, None, {"start": 0.5, "end": 1.0}),
    ]
    assert known(table) == {("a", "wren"): 1, ("a", "owl"): 0}


SOUND = (
    PlacedLabel("a.wav", "wren", True, 1, BAND),
    PlacedLabel("a.wav", "wren", True, 2, SPAN),
    PlacedLabel("b", "robin", False, 0, SPAN),
)
PICTURE = (PlacedLabel("b", "robin", True, 4, BOX), PlacedLabel("b", "owl", False, 0, BOX))
TEXT = (PlacedLabel("b", "robin", True, 4, PASSAGE), PlacedLabel("b", "owl", False, 0, PASSAGE))
KINDS = {"sound": SOUND, "picture": PICTURE, "text": TEXT}
WRITES = [
    *((name, "sound") for name in formats.able_to("write_labels")),
    *((name, kind) for name in (*WITH_INSTANCES, "label_studio") for kind in ("picture", "text")),
]


@pytest.mark.parametrize(("name", "kind"), WRITES)
def test_places_come_back_as_they_went(name, kind, tmp_path):
    module, table = formats.available()[name], table_with(*KINDS[kind])
    path = tmp_path / f"labels{module.SUFFIXES[0]}"
    module.write_labels(table, path)
    back = formats.read_labels(path)
    assert known(back) == known(table)
    if name == "npz":
        assert parts(back) == [replace(one, place={}) for one in table.placed]
        return
    found = sorted(parts(back), key=str)
    expected = [one if name in WITH_INSTANCES else replace(one, instance=None) for one in table.placed]
    if name in OF_WINDOWS:
        expected = [replace(one, place=SPAN) for one in expected]
    if name == "hoplite":
        # An annotation that differs in its frequencies alone is the same.
        expected = [one for number, one in enumerate(expected) if one not in expected[:number]]
    if name == "raven":
        # Selections have the frequencies of the recording where they have none.
        expected[1] = replace(expected[1], place={**SPAN, "low": 0.0, "high": 11025.0})
    expected = sorted(expected, key=str)
    assert [replace(one, place={}) for one in found] == [replace(one, place={}) for one in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.place == pytest.approx(other.place)


def test_rows_of_raven_about_a_recording_have_its_extent(tmp_path):
    path = tmp_path / "labels.txt"
    formats.available()["raven"].write_labels(table_with(PlacedLabel("b", "robin", True, 0, SPAN)), path)
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    assert [row[3:8] for row in rows[1:]] == [
        ["0.0", "30.0", "0.0", "11025.0", "a.wav"],
        ["0.0", "30.0", "0.0", "11025.0", "a.wav"],
        ["1.25", "2.5", "0.0", "0.0", "b"],
    ]
    assert [row[-3:] for row in rows[1:]] == [
        ["wren", "positive", "recording"],
        ["owl", "negative", "recording"],
        ["robin", "positive", "selection"],
    ]


def test_a_negative_in_a_band_is_no_negative_window(tmp_path):
    path = tmp_path / "labels.perch.csv"
    formats.available()["perch"].write_labels(table_with(PlacedLabel("b", "robin", False, 0, BAND)), path)
    assert formats.read_labels(path).placed == ()


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.txt", RAVEN + "1\t2\t1\t0\t10\tm\twren\n", "line 2: end is before start"),
        ("t.txt", RAVEN + "1\t1\t2\t20\t10\tm\twren\n", "line 2: high is below low"),
        ("t.txt", RAVEN + "1\tone\t2\t20\t30\tm\twren\n", r"line 2, column Begin Time \(s\): 'one' is not a number"),
        ("t.txt", RAVEN + "1\t-1\t2\t20\t30\tm\twren\n", "line 2: start is negative"),
        ("p.csv", PERCH + "r,1,,wren,positive\n", "line 2: the place has start alone"),
        ("p.csv", PERCH + "r,1,inf,wren,positive\n", "line 2, column end_offset_s: 'inf' is not a number"),
        ("p.csv", PERCH + "r,1,2,wren,positive\nr,,,wren,negative\n", "line 3: bag r is both present and absent"),
        ("a.txt", "1\t2\twren\n1\ttwo\towl\n", "line 2, column end: 'two' is not a number"),
        ("a.txt", "1\t2\twren\n3\n", "line 2: a label needs start, end and a class"),
        ("a.txt", "1\t2\n", "line 1: the label has no text"),
        ("a.txt", "1\t2\twren\n\\\t100\n", "line 2: a line of frequencies needs"),
        ("a.txt", "1\t2\twren\n\\\t200\t100\n", "line 2: high is below low"),
        ("l.csv", "bag,class,label,instance\na,wren,1,-2\n", "line 2, column instance: '-2' is not the number"),
        ("l.csv", "bag,class,label,instance\na,wren,1,first\n", "line 2, column instance: 'first' is not the number"),
        ("l.csv", "bag,class,label,low,high\na,wren,1,2,3\n", "line 2: low and high need start and end"),
        ("l.csv", "bag,class,label,x,y\na,wren,1,2,3\n", "line 2: a box needs x, y"),
        ("l.jsonl", '{"bag": "a", "instance_labels": {}}', 'line 1: "instance_labels" must be a list'),
        ("l.jsonl", '{"bag": "a", "instance_labels": [{"instance": 1}]}', 'an instance label has no "class"'),
        ("l.jsonl", '{"bag": "a", "instance_labels": [{"class": "w"}]}', 'needs "instance" or a place'),
    ],
)
def test_bad_places(tmp_path, name, text, words):
    with pytest.raises(FileError, match=words) as error:
        read(tmp_path, name, text)
    assert "\n" not in str(error.value)
    assert name in str(error.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"original_width": None}, "a box needs original_width"),
        ({"value": {"x": "left", "y": 0, "width": 1, "height": 1, "rectanglelabels": ["w"]}}, "are not numbers"),
        (
            {"value": {"x": 0, "y": 0, "width": 0, "height": 1, "rectanglelabels": ["w"]}},
            "a width and a height above 0",
        ),
    ],
)
def test_bad_boxes_of_label_studio(tmp_path, change, words):
    value = {"x": 0, "y": 0, "width": 1, "height": 1, "rectanglelabels": ["w"]}
    result = {"type": "rectanglelabels", "value": value, "original_width": 10, "original_height": 10, **change}
    with pytest.raises(FileError, match=f"task 1: .*{words}"):
        label_studio(tmp_path, **result)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.zeros((1, 3), int), "n x 4"),
        (np.array([[5, 0, 0, 1]]), "row 1: labels_of_instances names a bag or a class"),
        (np.array([[0, -1, 0, 1]]), "negative instance"),
        (np.array([[0, 0, 1, 1]]), "not present in its bag"),
    ],
)
def test_bad_instances_of_npz(tmp_path, rows, words):
    np.savez(tmp_path / "l.npz", labels=np.array([[1.0, np.nan]]), labels_of_instances=rows)
    with pytest.raises(FileError, match=words):
        formats.read_labels(tmp_path / "l.npz")


def test_a_damaged_zip_file_of_tracks(tmp_path):
    path = tmp_path / "labels.audacity.zip"
    formats.available()["audacity"].write_labels(table_with(), path)
    raw = bytearray(path.read_bytes())
    raw[40:50] = b"0123456789"
    path.write_bytes(raw)
    with pytest.raises(FileError, match=r"damaged|contains no labels|with tabs"):
        formats.read_labels(path)
