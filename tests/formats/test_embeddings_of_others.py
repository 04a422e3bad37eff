"""Embeddings that other programs computed: windows of one recording are one bag, with their places."""

import sqlite3

import numpy as np
import pytest
from typer.testing import CliRunner
from usearch.index import Index

from bagwise import formats
from bagwise.cli import app
from bagwise.core.errors import FileError
from bagwise.formats import DetectionTable, LabelTable, PlacedLabel
from bagwise.project import Project
from bagwise.project.imports.regions import Placement
from tests.support import example_media

# As perch-hoplite 1.0 makes it.
SCHEMA = """
CREATE TABLE deployments (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, project TEXT NOT NULL,
    latitude REAL, longitude REAL, UNIQUE (name, project));
CREATE TABLE recordings (id INTEGER PRIMARY KEY AUTOINCREMENT, filename TEXT NOT NULL, datetime TEXT,
    deployment_id INTEGER REFERENCES deployments(id) ON DELETE CASCADE, UNIQUE (filename, deployment_id));
CREATE TABLE windows (id INTEGER PRIMARY KEY AUTOINCREMENT, recording_id INTEGER NOT NULL REFERENCES recordings(id),
    offsets FLOAT_LIST NOT NULL);
"""
# Windows in the order in which they were computed, not by recording.
RECORDINGS = [(1, "marsh.wav", None), (2, "wood.wav", 1), (3, "wood.wav", 2)]
WINDOWS = [(1, 2, 0.0), (2, 1, 0.0), (3, 1, 5.0), (4, 3, 0.0), (5, 1, 10.0)]


@pytest.fixture
def vectors(rng):
    return rng.normal(size=(5, 8)).astype(np.float32)


@pytest.fixture
def hoplite(tmp_path, vectors):
    folder = tmp_path / "db"
    folder.mkdir()
    with sqlite3.connect(folder / "hoplite.sqlite") as database:
        database.executescript(SCHEMA)
        database.executemany("INSERT INTO deployments VALUES (?, ?, 'p', 0, 0)", [(1, "north"), (2, "south")])
        database.executemany("INSERT INTO recordings VALUES (?, ?, NULL, ?)", RECORDINGS)
        rows = [(key, bag, np.array([start, start + 5], "<f8").tobytes()) for key, bag, start in WINDOWS]
        database.executemany("INSERT INTO windows VALUES (?, ?, ?)", rows)
    database.close()
    index = Index(ndim=8, metric="ip", dtype="f32")
    index.add(np.arange(1, 6, dtype=np.uint64), vectors)
    index.save(folder / "usearch.index")
    return folder


@pytest.fixture
def birdnet_table(tmp_path, vectors):
    path = tmp_path / "embeddings.csv"
    path.write_text(table_of_birdnet(vectors))
    return path


@pytest.fixture
def birdnet(tmp_path, vectors):
    folder = tmp_path / "embeddings"
    (folder / "sub").mkdir(parents=True)
    for name, rows in {"marsh": [1, 2, 4], "sub/wood": [0]}.items():
        lines = [f"{3.0 * i}\t{3.0 * i + 3}\t{','.join(map(str, vectors[row]))}\n" for i, row in enumerate(rows)]
        (folder / f"{name}.birdnet.embeddings.txt").write_text("".join(lines))
    return folder


def test_a_recording_of_hoplite_is_a_bag(hoplite, vectors):
    bags = formats.read(hoplite).to_bags()
    assert list(bags.ids) == ["marsh.wav", "north/wood.wav", "south/wood.wav"]
    np.testing.assert_allclose(bags.instances, vectors[[1, 2, 4, 0, 3]], rtol=1e-6)
    assert bags.sizes.tolist() == [3, 1, 1]
    np.testing.assert_array_equal(formats.read(hoplite).spans[:3, 0], [0, 5, 10])


HEADER = "file_path,start,end,embedding\n"


def as_cell(vector):
    return f'"{",".join(map(str, vector.tolist()))}"'


def table_of_birdnet(vectors, folder="/data/2026"):
    """As BirdNET-Analyzer 2.4 writes it; an extraction was continued, so that a recording is in two places."""
    rows = [("north/marsh.wav", 0.0), ("south/wood.wav", 0.0), ("north/marsh.wav", 3.0), ("north/marsh.wav", 6.0)]
    lines = [f"{folder}/{name},{start},{start + 3},{as_cell(vectors[row])}\n" for row, (name, start) in enumerate(rows)]
    return HEADER + "".join(lines)


def test_a_recording_in_a_table_of_birdnet_is_a_bag(tmp_path, vectors):
    path = tmp_path / "embeddings.csv"
    path.write_text(table_of_birdnet(vectors))
    source = formats.read(path)
    bags = source.to_bags()
    assert list(bags.ids) == ["north/marsh.wav", "south/wood.wav"]
    np.testing.assert_array_equal(bags.instances, vectors[[0, 2, 3, 1]])
    np.testing.assert_array_equal(source.spans, [[0, 3], [3, 6], [6, 9], [0, 3]])
    assert source.labels is None


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("C:\\site, north\\marsh.wav", "marsh.wav"),
        ('"/data/a ""b""/marsh.wav"', "marsh.wav"),
        ("marsh.wav", "marsh.wav"),
        ("/marsh, at night.wav", "marsh, at night.wav"),
    ],
)
def test_paths_of_any_system_in_a_table_of_birdnet(tmp_path, given, name):
    """BirdNET does not quote them, other programs do."""
    (tmp_path / "e.csv").write_text(f'{HEADER}{given},0.0,3.0,"1,2"\n')
    assert formats.read(tmp_path / "e.csv").ids == [name]


def test_a_table_of_the_package_birdnet(tmp_path):
    rows = '"/d/a.wav","00:00:00.00","00:00:03.00","1.0,2.0"\n"/d/a.wav","01:02:03.50","01:02:06.50","3.0,4.0"\n'
    (tmp_path / "e.csv").write_text("input,start_time,end_time,embedding\n" + rows)
    source = formats.read(tmp_path / "e.csv")
    assert source.ids == ["a.wav"]
    np.testing.assert_array_equal(source.spans, [[0, 3], [3723.5, 3726.5]])
    np.testing.assert_array_equal(source.to_bags().instances, [[1, 2], [3, 4]])


def test_a_text_of_birdnet_for_each_window(tmp_path, vectors):
    """As BirdNET-Analyzer 2.0 writes them."""
    folder = tmp_path / "embeddings"
    (folder / "site").mkdir(parents=True)
    for row, name in enumerate(["site/marsh_2_9.0_12.0", "site/marsh_2_0.0_3.0", "wood_0.0_3.0"]):
        (folder / f"{name}.birdnet.embeddings.txt").write_text(",".join(map(str, vectors[row].tolist())))
    source = formats.read(folder)
    assert source.ids == ["site/marsh_2", "wood"]
    np.testing.assert_array_equal(source.spans, [[0, 3], [9, 12], [0, 3]])
    np.testing.assert_array_equal(source.to_bags().instances, vectors[[1, 0, 2]])
    (folder / "another.birdnet.embeddings.txt").write_text("1,2,3,4,5,6,7,8")
    with pytest.raises(FileError, match=r"another.* has no times: it must be called NAME_START_END"):
        formats.read(folder)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("", "line 2: contains no windows"),
        ("a.wav,0,3,1\n", "line 2: is not a recording, start, end and the embedding in quotation marks"),
        ('"1,2"\n', "line 2: is not a recording"),
        ('a.wav,0,3,"1,2"\n\na.wav,x,3,"1,2"\n', "line 4, column start: 'x' is not a time"),
        ('a.wav,0,00:61:00,"1,2"\n', "line 2, column end: '00:61:00' is not a time"),
        ('a.wav,0,inf,"1,2"\n', "line 2, column end: 'inf' is not a time"),
        ('a.wav,3,0,"1,2"\n', "line 2: end is before start"),
        (',0,3,"1,2"\n', "line 2: the recording is missing"),
        ('a.wav,0,3,"1,2"\nb.wav,0,3,"1"\n', "line 3: the embedding has 1 numbers where the first has 2"),
        ('b.wav,0,3,"1,2"\na.wav,0,3,"1,x"\n', "line 3: the embedding holds something that is not a number"),
        ('a.wav,0,3,"1,2"\nb.wav,0,3,"3,4"\na.wav,3,6,"1,nan"\n', "line 4, column 2: a feature is missing"),
        ('a\udcff.wav,0,3,"1,2"\n', "line 2: is not UTF-8 text"),
    ],
)
def test_damage_in_a_table_of_birdnet_is_reported(tmp_path, rows, words):
    path = tmp_path / "e.csv"
    path.write_bytes((HEADER + rows).encode(errors="surrogateescape"))
    with pytest.raises(FileError, match=words):
        formats.read(path).to_bags()


def test_a_table_of_birdnet_is_read_some_windows_at_a_time(tmp_path, vectors, monkeypatch):
    monkeypatch.setattr(formats.available()["birdnet"], "ROWS_AT_ONCE", 3)
    (tmp_path / "e.csv").write_text(table_of_birdnet(vectors))
    assert [len(block) for block in formats.read(tmp_path / "e.csv").blocks()] == [3, 1]


def test_a_file_of_birdnet_is_a_bag(birdnet, vectors):
    bags = formats.read(birdnet).to_bags()
    assert list(bags.ids) == ["marsh", "sub/wood"]
    np.testing.assert_allclose(bags.instances, vectors[[1, 2, 4, 0]], rtol=1e-6)


ANNOTATIONS = """
CREATE TABLE annotations (id INTEGER PRIMARY KEY AUTOINCREMENT, recording_id INTEGER NOT NULL REFERENCES recordings(id),
    offsets FLOAT_LIST NOT NULL, label TEXT NOT NULL, label_type INTEGER NOT NULL, provenance TEXT NOT NULL);
"""


def annotate(folder, *rows):
    with sqlite3.connect(folder / "hoplite.sqlite") as database:
        database.executescript(ANNOTATIONS)
        for recording, start, end, label, kind in rows:
            offsets = np.array([start, end], "<f8").tobytes()
            row = (recording, offsets, label, kind, "ann")
            database.execute("INSERT INTO annotations VALUES (NULL, ?, ?, ?, ?, ?)", row)
    database.close()


def test_annotations_of_hoplite_are_labels_of_windows(hoplite, tmp_path):
    annotate(hoplite, (1, 5.0, 10.0, "wren", 1), (1, 0.0, 5.0, "wren", 0), (2, 0.0, 5.0, "owl", 2), (3, 1, 2, "owl", 1))
    source = formats.read(hoplite)
    assert source.labels.classes == ["wren", "owl"]
    np.testing.assert_array_equal(source.labels.values, [[1, np.nan], [np.nan, np.nan], [np.nan, 1]])
    assert [(one.bag, one.label_class, one.present) for one in source.labels.placed] == [
        ("marsh.wav", "wren", True),
        ("marsh.wav", "wren", False),
        ("south/wood.wav", "owl", True),
    ]
    # The windows are known from the database, with files or without.
    with Project.create(tmp_path / "p", source) as project:
        labels = project.contents.instance_labels
        assert [(bag, one.instance, one.label_class, one.present) for bag, one in labels] == [
            (0, 0, 0, False),
            (0, 1, 0, True),
            (2, 0, 1, True),
        ]
        assert project.placement == Placement(3, 3)


def annotations(folder):
    with sqlite3.connect(folder / "hoplite.sqlite") as database:
        rows = database.execute(
            "SELECT recording_id, offsets, label, label_type, provenance FROM annotations"
        ).fetchall()
    database.close()
    return [(row[0], np.frombuffer(row[1], "<f8").tolist(), *row[2:]) for row in rows]


def test_labels_are_added_to_a_database_of_hoplite(hoplite, tmp_path):
    """What Bagwise wrote before is replaced; what others wrote stays, and is not written twice."""
    annotate(hoplite, (1, 5.0, 10.0, "wren", 1), (2, 0.0, 5.0, "owl", 2))
    path = hoplite / "hoplite.sqlite"
    ids, classes = ["marsh.wav", "north/wood.wav", "south/wood.wav"], ["wren", "owl"]
    placed = [
        PlacedLabel("marsh.wav", "wren", True, 1, {"start": 5.0, "end": 10.0}),
        PlacedLabel("marsh.wav", "wren", False, 0, {"start": 0.0, "end": 5.0}),
    ]
    values = np.array([[1, 0], [np.nan, 1], [np.nan, np.nan]])
    unsure = np.array([[False, False], [False, False], [True, False]])
    table = LabelTable(ids, classes, values, unsure, placed=placed)
    for _ in range(2):
        formats.writer(path, "labels").write_labels(table, path)
        assert annotations(hoplite) == [
            (1, [5.0, 10.0], "wren", 1, "ann"),
            (2, [0.0, 5.0], "owl", 2, "ann"),
            # Absent from the recording is absent from all of its windows; nobody knows in which an owl is present.
            (1, [0.0, 15.0], "owl", 0, "bagwise:recording"),
            (2, [0.0, 0.0], "owl", 1, "bagwise:recording"),
            (3, [0.0, 0.0], "wren", 2, "bagwise:recording"),
            (1, [0.0, 5.0], "wren", 0, "bagwise"),
        ]
    back = formats.read_labels(path)
    assert (back.ids, back.of_files) == (ids[:2], True)
    assert set(back.triples()) == set(table.triples()) - {("south/wood.wav", "wren", "unsure")}
    with Project.create(tmp_path / "p", formats.read(hoplite)) as project:
        found = {(bag, one.instance, one.label_class, one.present) for bag, one in project.contents.instance_labels}
        assert found == {(0, 1, project.classes.index("wren"), True), (0, 0, project.classes.index("wren"), False)}
    unknown = LabelTable(["fen.wav"], ["wren"], np.ones((1, 1)))
    with pytest.raises(FileError, match=r"has no recording fen\.wav: write to another file"):
        formats.writer(path, "labels").write_labels(unknown, path)
    assert len(annotations(hoplite)) == 6


def test_detections_are_added_to_a_database_of_hoplite_beside_labels(hoplite, tmp_path):
    annotate(hoplite, (1, 5.0, 10.0, "wren", 1))
    path = hoplite / "hoplite.sqlite"
    row = {"file": "marsh.wav", "class": "wren", "threshold": 0.5, "bag": "marsh.wav", "bag_probability": 0.9}
    rows = [
        {**row, "start": 0.25, "end": 1.5, "low": 2000.0, "high": 4000.0, "probability": 0.75, "confirmed": ""},
        {**row, "start": 6.0, "end": 7.0, "probability": 0.625, "confirmed": "instance"},
    ]
    table = DetectionTable.of(rows, [{"file": "marsh.wav"}])
    labels = LabelTable(["marsh.wav"], ["owl"], np.zeros((1, 1)), placed=[])
    for _ in range(2):
        formats.writer(path, "detections").write_detections(table, path)
        formats.writer(path, "labels").write_labels(labels, path)
        assert annotations(hoplite) == [
            (1, [5.0, 10.0], "wren", 1, "ann"),
            (1, [0.25, 1.5], "wren", 1, "bagwise:predicted"),
            (1, [6.0, 7.0], "wren", 1, "bagwise:confirmed"),
            (1, [0.0, 15.0], "owl", 0, "bagwise:recording"),
        ]
    scores = formats.read_scores(path)
    assert scores.span.tolist() == [[0.25, 1.5], [6.0, 7.0]]
    assert scores.probability.tolist() == [0.75, 0.625]
    # What is predicted is no label; what people said is.
    places = [(one.place["start"], one.present) for one in formats.read_labels(path).placed]
    assert places == [(5.0, True), (6.0, True)]


def test_a_new_database_of_hoplite_has_sites_and_times_and_predictions_are_no_labels(tmp_path):
    path = tmp_path / "hoplite.sqlite"
    row = {"file": "north/dawn.wav", "start": 1.0, "end": 2.0, "class": "wren", "probability": 0.75, "threshold": 0.5}
    file = {"file": "north/dawn.wav", "site": "north", "recorded_at": "2026-05-24T04:00:00", "latitude": 47.5}
    table = DetectionTable.of([{**row, "bag": "north/dawn.wav#0-10"}], [{**file, "longitude": 8.5}])
    formats.writer(path, "detections").write_detections(table, path)
    with sqlite3.connect(path) as database:
        query = (
            "SELECT filename, datetime, name, latitude, longitude FROM recordings "
            "JOIN deployments ON deployments.id = deployment_id"
        )
        assert database.execute(query).fetchall() == [("north/dawn.wav", "2026-05-24T04:00:00", "north", 47.5, 8.5)]
    database.close()
    assert formats.read_scores(path).bags == ["north/dawn.wav"]
    with pytest.raises(FileError, match="are scores and not labels: import it with --scores"):
        formats.read_labels(path)


# As perch-hoplite 0.1 makes it, which is what BirdNET-Analyzer 2 has.
SCHEMA_BEFORE_1 = """
CREATE TABLE hoplite_sources (id INTEGER PRIMARY KEY AUTOINCREMENT, dataset STRING NOT NULL, source STRING NOT NULL);
CREATE TABLE hoplite_embeddings (id INTEGER PRIMARY KEY AUTOINCREMENT, source_idx INTEGER NOT NULL,
    offsets BLOB NOT NULL, FOREIGN KEY (source_idx) REFERENCES hoplite_sources(id));
CREATE TABLE hoplite_metadata (key STRING PRIMARY KEY, data STRING NOT NULL);
CREATE TABLE hoplite_labels (id INTEGER PRIMARY KEY AUTOINCREMENT, embedding_id INTEGER NOT NULL, label STRING NOT NULL,
    type INT NOT NULL, provenance STRING NOT NULL, FOREIGN KEY (embedding_id) REFERENCES hoplite_embeddings(id));
INSERT INTO hoplite_sources VALUES (1, 'd', '/data/x/marsh.wav'), (2, 'd', '/data/y/wood.wav');
INSERT INTO hoplite_labels VALUES (1, 2, 'wren', 1, 'ann'), (2, 1, 'wren', 0, 'ann');
"""


@pytest.fixture
def before_1(tmp_path, vectors):
    folder = tmp_path / "db"
    folder.mkdir()
    with sqlite3.connect(folder / "hoplite.sqlite") as database:
        database.executescript(SCHEMA_BEFORE_1)
        rows = [
            (k, bag, np.array([3 * i, 3 * i + 3], "<f4").tobytes()) for k, bag, i in [(1, 1, 0), (2, 1, 1), (3, 2, 0)]
        ]
        database.executemany("INSERT INTO hoplite_embeddings VALUES (?, ?, ?)", rows)
    database.close()
    index = Index(ndim=8, metric="ip", dtype="f32")
    index.add(np.arange(1, 4, dtype=np.uint64), vectors[:3])
    index.save(folder / "usearch.index")
    return folder


def test_a_database_of_birdnet(before_1, vectors):
    source = formats.read(before_1)
    assert source.ids == ["x/marsh.wav", "y/wood.wav"]
    np.testing.assert_array_equal(source.spans, [[0, 3], [3, 6], [0, 3]])
    np.testing.assert_allclose(source.to_bags().instances, vectors[:3], rtol=1e-6)
    assert [(one.bag, one.present, one.place["start"]) for one in source.labels.placed] == [
        ("x/marsh.wav", True, 3.0),
        ("x/marsh.wav", False, 0.0),
    ]
    table = LabelTable(["x/marsh.wav"], ["wren"], np.ones((1, 1)))
    with pytest.raises(FileError, match=r"perch-hoplite 0\.1: annotations are added to those of 1\.x only"):
        formats.available()["hoplite"].write_labels(table, before_1 / "hoplite.sqlite")


def test_windows_of_perch_that_have_no_end(before_1):
    """They are as long as the settings of the model say."""
    with sqlite3.connect(before_1 / "hoplite.sqlite") as database:
        database.execute("UPDATE hoplite_embeddings SET offsets = ?", [np.array([5.0], "<f2").tobytes()])
    database.close()
    with pytest.raises(FileError, match="a window has no start and end"):
        formats.read(before_1)
    settings = '{"model_key": "perch_8", "embedding_dim": 8, "model_config": {"window_size_s": 5.0}}'
    with sqlite3.connect(before_1 / "hoplite.sqlite") as database:
        database.execute("INSERT INTO hoplite_metadata VALUES ('model_config', ?)", [settings])
    database.close()
    np.testing.assert_array_equal(formats.read(before_1).spans, [[5, 10]] * 3)


def test_a_database_of_something_else(tmp_path):
    with sqlite3.connect(tmp_path / "other.sqlite") as database:
        database.execute("CREATE TABLE birds (name)")
    database.close()
    with pytest.raises(FileError, match="not a database of perch-hoplite: there is no table windows"):
        formats.read_labels(tmp_path / "other.sqlite")


def test_annotations_of_hoplite_that_are_damaged(hoplite):
    annotate(hoplite, (1, 5.0, 10.0, "wren", 7))
    with pytest.raises(FileError, match="an annotation has the type 7"):
        formats.read(hoplite)


@pytest.mark.parametrize("name", ["hoplite", "birdnet", "birdnet_table"])
def test_their_windows_are_shown_in_the_recordings(tmp_path, monkeypatch, request, name):
    folder = request.getfixturevalue(name)
    monkeypatch.chdir(tmp_path)
    recordings = tmp_path / "recordings" / ("north" if name == "birdnet_table" else "")
    recordings.mkdir(parents=True)
    example_media.write_wav(recordings / "marsh.wav", example_media.tone(1000, 0, 1, 2))
    (tmp_path / "classes.txt").write_text("wren\n")
    words = ["init", "p", "--from", str(folder), "--classes", "classes.txt", "--media", "recordings"]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    with Project.open(tmp_path / "p") as project:
        long = 5 if name == "hoplite" else 3
        assert project.medium(0).places == [{"start": i * long, "end": (i + 1) * long} for i in range(3)]
        assert project.medium(1) is None


def test_damage_is_reported(hoplite, birdnet):
    (birdnet / "bad.birdnet.embeddings.txt").write_text("0.0\t3.0\t1,2,x,4,5,6,7,8\n")
    with pytest.raises(FileError, match="not a number"):
        formats.read(birdnet).to_bags()
    for text, why in [
        ("0.0 3.0\n", "tabs between"),
        ("0\t3\t1,2\n", "2 numbers"),
        ("a\tb\t1\n", "line 1, column start: 'a' is not a time"),
        ("", "empty"),
    ]:
        (birdnet / "z.birdnet.embeddings.txt").write_text(text)
        (birdnet / "bad.birdnet.embeddings.txt").unlink(missing_ok=True)
        with pytest.raises(FileError, match=why):
            formats.read(birdnet).to_bags()
    with sqlite3.connect(hoplite / "hoplite.sqlite") as database:
        database.execute("INSERT INTO windows VALUES (9, 1, ?)", [np.array([1.0, 2.0]).tobytes()])
    database.close()
    with pytest.raises(FileError, match="no embedding of window 9"):
        formats.read(hoplite).to_bags()
    (hoplite / "hoplite.sqlite").write_bytes(b"no database")
    with pytest.raises(FileError, match="not a database of perch-hoplite"):
        formats.read(hoplite)
    (hoplite / "usearch.index").unlink()
    with pytest.raises(FileError, match="is a folder"):
        formats.read(hoplite)
