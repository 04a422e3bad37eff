"""Every reader gives the same bags and labels from the same content in its own dialect; every label comes back."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.io import savemat

from bagwise import datasets, formats
from bagwise.datasets._types import file_of_package
from bagwise.formats import LabelTable, PredictionTable

BAGS = [np.array([[1.5, -2.0], [0.25, 4.0]]), np.array([[3.0, 3.5]]), np.array([[0.0, 1e-3], [7.0, 8.0], [9.0, -1.0]])]
CLASSES = ["wren", "robin"]
LABELS = np.array([[1, 0], [0, 0], [1, 1]], float)
IDS = ["1", "2", "3"]


def write_csv(path, delimiter=",", unknown=False):
    rows = [["bag", "x", "y", "label:wren", "label:robin"]]
    for name, bag, (wren, robin) in zip(IDS, BAGS, LABELS, strict=True):
        rows += [[name, x, y, int(wren), "" if unknown else int(robin)] for x, y in bag.tolist()]
    path.write_text("\n".join(delimiter.join(map(str, row)) for row in rows) + "\n")


def write_parquet(path):
    codes = np.repeat(np.arange(3), [len(bag) for bag in BAGS])
    x = np.concatenate(BAGS)
    pl.DataFrame(
        {"bag": [IDS[c] for c in codes], "x": x[:, 0], "y": x[:, 1]}
        | {f"label:{name}": LABELS[codes, c].astype(int) for c, name in enumerate(CLASSES)}
    ).write_parquet(path)


def write_npz(path):
    offsets = np.concatenate([[0], np.cumsum([len(bag) for bag in BAGS])])
    np.savez(path, instances=np.concatenate(BAGS), offsets=offsets, labels=LABELS, classes=np.array(CLASSES))


def write_arff(path):
    lines = ["@relation test", "@attribute id {1,2,3}", "@attribute bag relational"]
    lines += ["  @attribute x numeric", "  @attribute y numeric", "@end bag"]
    lines += [f"@attribute {name} {{0,1}}" for name in CLASSES] + ["@data"]
    for name, bag, labels in zip(IDS, BAGS, LABELS, strict=True):
        text = "\\n".join(",".join(map(str, row)) for row in bag.tolist())
        lines.append(f'{name},"{text}",{int(labels[0])},{int(labels[1])}')
    path.write_text("\n".join(lines) + "\n")


def cell(arrays):
    found = np.empty((1, len(arrays)), dtype=object)
    for i, array in enumerate(arrays):
        found[0, i] = array
    return found


def write_lamda(path):
    names = cell(CLASSES)
    savemat(path, {"bags": cell(BAGS), "targets": np.where(LABELS.T == 1, 1, -1), "class_name": names})


def write_oregon(path):
    savemat(path, {"X": cell([bag.T for bag in BAGS]), "Y": LABELS, "class_names": cell(CLASSES)}, do_compression=True)


def write_jsonl(path):
    rows = [
        {"bag": name, "instances": bag.tolist(), "labels": dict(zip(CLASSES, map(int, labels), strict=True))}
        for name, bag, labels in zip(IDS, BAGS, LABELS, strict=True)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_birdnet(path):
    """A bag is a recording; there are no labels."""
    cells = [
        (name, i, ",".join(map(str, row))) for name, bag in zip(IDS, BAGS, strict=True) for i, row in enumerate(bag)
    ]
    rows = [f'/data/{name},{3 * i},{3 * i + 3},"{cell}"\n' for name, i, cell in cells]
    path.write_text("file_path,start,end,embedding\n" + "".join(rows))


def write_huggingface(path):
    """Windows of one length in the columns of BirdSet."""
    rows = [
        (name, i, row.tolist(), labels)
        for name, bag, labels in zip(IDS, BAGS, LABELS, strict=True)
        for i, row in enumerate(bag)
    ]
    content = {
        "filepath": [row[0] for row in rows],
        "start_time": [5.0 * row[1] for row in rows],
        "end_time": [5.0 * row[1] + 5 for row in rows],
        "ebird_code_multilabel": [[name for name, value in zip(CLASSES, row[3], strict=True) if value] for row in rows],
        "embedding": [row[2] for row in rows],
    }
    pl.DataFrame(content).write_parquet(path)


WITHOUT_LABELS = ("birdnet",)
WRITERS = {
    "huggingface": (write_huggingface, "data.parquet"),
    "birdnet": (write_birdnet, "data.csv"),
    "csv": (write_csv, "data.csv"),
    "parquet": (write_parquet, "data.parquet"),
    "npz": (write_npz, "data.npz"),
    "arff": (write_arff, "data.arff"),
    "lamda_mat": (write_lamda, "data.mat"),
    "oregon_mat": (write_oregon, "data.mat"),
    "jsonl": (write_jsonl, "data.jsonl"),
}


def test_every_reader_is_tested():
    assert set(WRITERS) == set(formats.able_to("read"))


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("suffix", [None, ".bin"])
def test_every_reader_gives_the_same(name, suffix, tmp_path):
    write, file = WRITERS[name]
    path = tmp_path / file
    write(path)
    if suffix is not None and name != "csv":
        # The content decides, not the name.
        path = path.rename(path.with_suffix(suffix))
    assert formats.recognise(path, "read") is formats.available()[name]
    source = formats.read(path)
    bags = source.to_bags()
    assert bags.ids.tolist() == IDS
    for b, expected in enumerate(BAGS):
        assert np.array_equal(bags[b], expected.astype(source.dtype))
    if name in WITHOUT_LABELS:
        assert source.labels is None
        return
    assert list(source.labels.ids) == IDS
    assert list(source.labels.classes) == CLASSES
    assert np.array_equal(source.labels.values, LABELS)


def test_the_text_data_of_lamda_call_their_labels_target(tmp_path):
    path = tmp_path / "miml-text-data.mat"
    savemat(path, {"bags": cell(BAGS), "target": np.where(LABELS.T == 1, 1, -1)})
    source = formats.read(path)
    assert np.array_equal(source.labels.values, LABELS)
    assert source.sentence == "read: bags, target"


def test_a_reader_says_what_it_read_and_what_not(tmp_path):
    targets = np.where(LABELS.T == 1, 1, -1)
    files = {
        "a.mat": {"bags": cell(BAGS), "labels": targets, "class_name": cell(CLASSES)},
        "b.mat": {"bags": cell(BAGS), "targets": targets, "target": targets, "class_name": cell(CLASSES), "n": 3},
        "c.mat": {"X": cell([bag.T for bag in BAGS]), "Y": LABELS, "classes": cell(CLASSES), "fold": np.ones(3)},
    }
    for name, content in files.items():
        savemat(tmp_path / name, content)
    arrays = {"X": np.concatenate(BAGS), "bag": np.repeat(np.arange(3), [2, 1, 3]), "Y": LABELS}
    np.savez(tmp_path / "d.npz", **arrays, site=np.arange(3))
    np.savez(tmp_path / "e.npz", X=arrays["X"], bag=arrays["bag"], y=LABELS, classes=np.array(CLASSES))
    (tmp_path / "f.jsonl").write_text('{"bag": "a", "instances": [[1]], "site": "marsh"}\n')
    write_arff(tmp_path / "g.arff")
    write_csv(tmp_path / "h.csv")
    assert {path.name: formats.read(path).sentence for path in sorted(tmp_path.iterdir())} == {
        "a.mat": "read: bags; ignored: labels, class_name",
        "b.mat": "read: bags, targets, class_name; ignored: target, n",
        "c.mat": "read: X, Y, classes; ignored: fold",
        "d.npz": "read: X, bag, Y; ignored: site",
        "e.npz": "read: X, bag; ignored: y, classes",
        "f.jsonl": "read: bag, instances; ignored: site",
        "g.arff": "read: id, bag, wren, robin",
        "h.csv": "",
    }


def test_the_birds_file_reads_as_documented():
    source = formats.read(file_of_package("miml", "datasets/miml_birds.arff", "mimllearning==1.0.11"))
    assert (len(source.ids), len(source.codes), source.n_features) == (257, 2062, 38)
    assert len(source.labels.classes) == 19


def test_bags_of_an_npz_may_be_numbered(tmp_path):
    data = datasets.load("digits").select(range(20))
    bag = np.repeat(np.arange(20), data.bags.sizes)
    np.savez(
        tmp_path / "h.npz", X=data.bags.instances, bag=bag, Y=data.labels.value.astype(int), class_names=data.classes
    )
    source = formats.read(tmp_path / "h.npz")
    assert source.ids[:2] == ["0", "1"]
    assert np.array_equal(source.labels.values, data.labels.value)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_in_its_dialects(tmp_path, delimiter):
    path = tmp_path / "data.csv"
    write_csv(path, delimiter)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n") + b"\r\n")
    source = formats.read(path)
    assert np.array_equal(source.to_bags()[2], BAGS[2])
    assert np.array_equal(source.labels.values, LABELS)


def test_rows_of_a_bag_need_not_be_contiguous(tmp_path):
    (tmp_path / "a.csv").write_text("bag,x\nb,1\na,2\nb,3\na,4\nc,5\nb,6\n")
    bags = formats.read(tmp_path / "a.csv").to_bags()
    assert bags.ids.tolist() == ["b", "a", "c"]
    assert [bag.ravel().tolist() for bag in bags] == [[1, 3, 6], [2, 4], [5]]


def test_unknown_is_not_absent(tmp_path):
    write_csv(tmp_path / "a.csv", unknown=True)
    values = formats.read(tmp_path / "a.csv").labels.values
    assert np.isnan(values[:, 1]).all()
    (tmp_path / "b.jsonl").write_text(
        '{"bag": "a", "labels": {"x": true, "y": null}}\n{"bag": "b", "labels": {"y": 0}}\n'
    )
    table = formats.read_labels(tmp_path / "b.jsonl")
    assert np.array_equal(table.values, [[1, np.nan], [np.nan, 0]], equal_nan=True)


def test_long_and_wide_labels(tmp_path):
    (tmp_path / "long.csv").write_text("bag,class,label\na,wren,1\na,robin,0\nb,wren,\n")
    (tmp_path / "wide.csv").write_text("bag,wren,robin\na,1,0\nb,,\n")
    (tmp_path / "only.csv").write_text("bag,class\na,wren\n")
    long, wide = formats.read_labels(tmp_path / "long.csv"), formats.read_labels(tmp_path / "wide.csv")
    assert np.array_equal(long.values, [[1, 0], [np.nan, np.nan]], equal_nan=True)
    assert np.array_equal(wide.values, long.values, equal_nan=True)
    assert formats.read_labels(tmp_path / "only.csv").values.tolist() == [[1.0]]


def test_an_embedding_column_of_parquet(tmp_path):
    for kind in (pl.List(pl.Float32), pl.Array(pl.Float32, 3)):
        frame = pl.DataFrame(
            {"bag": ["a", "a", "b"], "embedding": [[1, 2, 3], [4, 5, 6], [7, 8, 9]]},
            schema_overrides={"embedding": kind},
        )
        frame.write_parquet(tmp_path / "e.parquet")
        source = formats.read(tmp_path / "e.parquet")
        assert source.dtype == np.float32
        assert source.to_bags()[1].tolist() == [[7, 8, 9]]


def test_the_file_that_is_named_is_read_and_no_other(tmp_path):
    for suffix, write in ((".csv", pl.DataFrame.write_csv), (".parquet", pl.DataFrame.write_parquet)):
        write(pl.DataFrame({"bag": ["wrong"], "x": [9.0]}), tmp_path / f"a1{suffix}")
        write(pl.DataFrame({"bag": ["right"], "x": [1.0]}), tmp_path / f"a[1]{suffix}")
        assert formats.read(tmp_path / f"a[1]{suffix}").to_bags().ids.tolist() == ["right"]


def test_labels_of_npz_go_by_the_ids(tmp_path):
    path = tmp_path / "a.npz"
    arrays = {
        "X": np.zeros((3, 2)),
        "bag": np.array(["b", "b", "a"]),
        "labels": np.array([[1.0], [0.0]]),
        "classes": np.array(["A"]),
    }
    np.savez(path, ids=np.array(["a", "b"]), **arrays)
    source = formats.read(path)
    assert dict(zip(source.labels.ids, source.labels.values[:, 0], strict=True)) == {"a": 1, "b": 0}
    assert source.to_bags().sizes.tolist() == [1, 2]


TABLE = LabelTable(
    ["a", "b, with comma", 'c "quoted"', " d ", "007", "ünï ✓", "5:cat:"],
    ["wren", "robin; red", 'owl,"barn"', "1.0"],
    np.array(
        [
            [1, 0, np.nan, 1],
            [0, 0, 0, 0],
            [1, 1, 1, 1],
            [np.nan, 1, 0, np.nan],
            [0, 1, 0, 1],
            [1, np.nan, 0, 0],
            [0, 0, 1, 1],
        ]
    ),
    unsure=np.array([[0, 0, 1, 0]] + [[0] * 4] * 6, bool),
)


@pytest.mark.parametrize("name", formats.able_to("write_labels"))
def test_labels_come_back_as_they_went(name, tmp_path):
    module = formats.available()[name]
    path = tmp_path / f"labels{module.SUFFIXES[0]}"
    assert formats.writer(path, "labels") is module
    module.write_labels(TABLE, path)
    assert path.exists(), "the file that was named is the one that was written"
    assert formats.recognise(path, "read_labels") is module
    back = formats.read_labels(path)
    expected = {
        (b, c): v
        for b, row in zip(TABLE.ids, TABLE.values, strict=True)
        for c, v in zip(TABLE.classes, row, strict=True)
    }
    found = {
        (b, c): v for b, row in zip(back.ids, back.values, strict=True) for c, v in zip(back.classes, row, strict=True)
    }
    known = {pair: value for pair, value in expected.items() if not np.isnan(value)}
    assert {pair: value for pair, value in found.items() if not np.isnan(value)} == known


@pytest.mark.parametrize("name", formats.able_to("write_predictions"))
def test_predictions_are_written(name, tmp_path):
    module = formats.available()[name]
    path = tmp_path / f"predictions{module.SUFFIXES[0]}"
    table = PredictionTable(["a", "b"], CLASSES, np.array([[0.9, 0.2], [0.4, 0.7]]), np.array([[0, 1], [2, 0]]))
    module.write_predictions(table, path)
    assert path.stat().st_size > 0
    if name == "jsonl":
        first = json.loads(path.read_text().splitlines()[0])
        assert first == {
            "bag": "a",
            "probabilities": {"wren": 0.9, "robin": 0.2},
            "predicted": ["wren"],
            "evidence": {"wren": 0, "robin": 1},
        }
    elif name == "label_studio":
        tasks = json.loads(path.read_text())
        assert tasks[1]["predictions"][0]["result"][0]["value"]["choices"] == ["robin"]
    else:
        frame = pl.read_csv(path) if name == "csv" else pl.read_parquet(path)
        assert frame.row(3) == ("b", "robin", 0.7, 0, 1)


def test_perch_and_raven_say_what_they_can(tmp_path):
    perch = "recording,start_offset_s,end_offset_s,label,label_type\n"
    (tmp_path / "p.csv").write_text(perch + "r1,5.0,10.0,wren,positive\nr1,,,robin,negative\nr2,0,5,owl,uncertain\n")
    table = formats.read_labels(tmp_path / "p.csv")
    assert (table.ids, table.classes) == (["r1"], ["wren", "robin"])
    raven = "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tSpecies\n1\tS\t1\t0.5\t1.5\twren\n"
    path = Path(tmp_path / "site1.Table.1.selections.txt")
    path.write_text(raven)
    table = formats.read_labels(path)
    assert (table.ids, table.classes, table.values.tolist()) == (["site1"], ["wren"], [[1.0]])


def test_label_studio_of_others(tmp_path):
    result = {"type": "choices", "from_name": "species", "to_name": "audio", "value": {"choices": ["wren"]}}
    tasks = [
        {"data": {"bag": "a"}, "annotations": [{"was_cancelled": True, "result": []}, {"result": [result]}]},
        {"data": {"bag": "b"}, "annotations": []},
    ]
    (tmp_path / "l.json").write_text(json.dumps(tasks))
    table = formats.read_labels(tmp_path / "l.json")
    assert (table.ids, table.classes, table.values.tolist()) == (["a"], ["wren"], [[1.0]])
