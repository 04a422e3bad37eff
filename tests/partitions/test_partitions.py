import json
import zlib
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bagwise import Bags, BagwiseError
from bagwise.core.checksums import together
from bagwise.partitions import KINDS, Partitions, files, partitions_of
from bagwise.partitions import store as _store


def bags_of(sizes, features, dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    ids = [f"north/{i} é.wav" for i in range(len(sizes))]
    return Bags(rng.normal(size=(offsets[-1], features)).astype(dtype), offsets, ids)


def divided(bags, edges):
    edges = [0, *sorted(edges), len(bags)]
    return [bags.select(range(first, last)) for first, last in pairwise(edges)]


def same(found, expected):
    assert found.ids.tolist() == expected.ids.tolist()
    assert found.offsets.tolist() == expected.offsets.tolist()
    assert found.instances.dtype == expected.instances.dtype
    assert np.array_equal(found.instances, expected.instances)


@st.composite
def bags_and_edges(draw):
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=30))
    edges = draw(st.sets(st.integers(1, len(sizes) - 1), max_size=4)) if len(sizes) > 1 else set()
    dtype = draw(st.sampled_from(["float16", "float32", "float64"]))
    return bags_of(sizes, draw(st.integers(1, 5)), dtype, draw(st.integers(0, 99))), edges


@given(bags_and_edges(), st.sampled_from(KINDS), st.data())
@settings(max_examples=40, deadline=None)
def test_bags_in_partitions_are_the_bags_that_were_written(case, kind, data):
    whole, edges = case
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        # A few rows at once and few of them kept, so that bags lie across blocks and blocks are forgotten.
        patch.setattr(files, "VALUES_PER_BLOCK", 12)
        patch.setattr(_store, "BLOCKS_CACHED", 2)
        patch.setattr(_store, "VALUES_PER_PORTION", 30)
        chunks = divided(whole, edges)
        assert Partitions.write(folder, chunks, kind) == Partitions.open(folder)
        partitions = Partitions.open(folder)
        assert (partitions.n_bags, partitions.n_instances) == (len(whole), whole.n_instances)
        assert (partitions.n_features, partitions.dtype) == (whole.n_features, whole.instances.dtype)
        for number, chunk in enumerate(chunks):
            same(partitions.read(number), chunk)
            assert partitions.first_bags[number + 1] - partitions.first_bags[number] == len(chunk)
            assert partitions.first_rows[number + 1] - partitions.first_rows[number] == chunk.n_instances
        found = partitions.bags(whole.ids, whole.offsets)
        assert repr(found) == repr(whole)
        assert np.array_equal(found.keys, whole.keys)
        chosen = data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=12))
        same(found.select(chosen), whole.select(chosen))
        for bag in chosen:
            assert np.array_equal(found[bag], whole[bag])
        for (start, rows), (expected, others) in zip(found.chunks(), whole.chunks(), strict=True):
            assert start == expected
            assert np.array_equal(rows, others)
        portions = list(found.portions())
        assert [bag for portion in portions for bag in portion] == list(range(len(whole)))
        assert max(whole.sizes[portion].sum() for portion in portions) < 30 // whole.n_features + max(whole.sizes)
        assert not found.store.is_loaded, "everything was read where a part of it was wanted"
        assert np.array_equal(found.instances, whole.instances)
        assert found.instances is found.instances
        assert np.array_equal(found[0], whole[0])
        same(found.select(chosen), whole.select(chosen))
        assert np.array_equal(list(found.portions()), [np.arange(len(whole))])


@given(st.lists(st.binary(max_size=200), max_size=6))
def test_checksums_are_put_together(chunks):
    assert together((zlib.crc32(one), len(one)) for one in chunks) == zlib.crc32(b"".join(chunks))


@pytest.fixture
def whole():
    return bags_of([3, 1, 4, 1, 5, 9, 2, 6], 3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_mapped_partition_is_not_read_and_a_parquet_partition_is_a_table_for_everybody(tmp_path, whole, kind):
    partitions = Partitions.write(tmp_path, [whole], kind)
    assert isinstance(partitions.read(0).instances, np.memmap) == (kind == "npy")
    assert isinstance(partitions.bags(whole.ids, whole.offsets).instances, np.memmap) == (kind == "npy")
    if kind == "parquet":
        table = pl.read_parquet(tmp_path / "part-00000.parquet")
        assert table["bag"].to_list() == np.repeat(whole.ids, whole.sizes).tolist()
        assert table.schema["instance"] == pl.Array(pl.Float32, 3)
    said = json.loads((tmp_path / "parts.json").read_text())
    assert said["parts"][0]["checksum"] == zlib.crc32(
        b"".join((tmp_path / name).read_bytes() for name in partitions.entries[0].files)
    )


def test_only_the_rows_that_are_wanted_are_read(tmp_path, whole):
    partitions = Partitions.write(tmp_path, divided(whole, {3, 6}))
    (tmp_path / "part-00001.parquet").unlink()
    bags = partitions.bags(whole.ids, whole.offsets)
    same(bags.select([7, 0]), whole.select([7, 0]))
    with pytest.raises(BagwiseError, match=r"part-00001\.parquet: is missing: restore it from a backup, or import"):
        bags[4]


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_partition_is_named(tmp_path, whole, kind):
    partitions = Partitions.write(tmp_path, divided(whole, {3}), kind)
    for name in partitions.entries[1].files:
        path = tmp_path / name
        path.rename(tmp_path / "elsewhere")
        for read in (lambda: partitions.read(1), partitions.validate_present, lambda: partitions.verify(1)):
            with pytest.raises(BagwiseError, match=f"{path.name}: is missing: restore it from a backup, or import"):
                read()
        (tmp_path / "elsewhere").rename(path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_a_partition_that_was_cut_off_is_refused(tmp_path, whole, kind, share):
    partitions = Partitions.write(tmp_path, [whole], kind)
    path = tmp_path / partitions.entries[0].file
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    bags = partitions.bags(whole.ids, whole.offsets)
    for read in (lambda: partitions.read(0), lambda: bags[0], lambda: bags.instances):
        with pytest.raises(BagwiseError, match=r"part-00000\.(parquet|npy): (is damaged|has changed)"):
            read()


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 255))
@settings(max_examples=30, deadline=None)
def test_any_changed_byte_of_a_partition_is_noticed(place, change):
    with TemporaryDirectory() as folder:
        partitions = Partitions.write(folder, [bags_of([2, 3], 2)])
        path = Path(folder) / "part-00000.parquet"
        content = bytearray(path.read_bytes())
        content[int(place * len(content))] ^= change
        path.write_bytes(content)
        with pytest.raises(BagwiseError, match="its checksum differs"):
            partitions.read(0)


@pytest.mark.parametrize("kind", KINDS)
def test_another_table_in_the_place_of_a_partition_is_refused(tmp_path, whole, kind):
    partitions = Partitions.write(tmp_path / "one", divided(whole, {3}), kind)
    Partitions.write(tmp_path / "other", divided(whole, {4}), kind)
    name = partitions.entries[0].file
    (tmp_path / "other" / name).rename(tmp_path / "one" / name)
    with pytest.raises(BagwiseError, match=r"part-00000"):
        partitions.read(0)
    with pytest.raises(BagwiseError, match=r"part-00000"):
        partitions.verify(0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"version": 1}',
        '{"version": 1, "features": 2, "dtype": "object", "parts": []}',
        '{"version": 1, "features": 2, "dtype": "float32", "parts": []}',
        '{"version": 1, "features": 2, "dtype": "float32", "parts": [{"file": "part-00000.parquet", "bags": 1}]}',
        '{"version": 1, "features": 2, "dtype": "float32", "parts": '
        '[{"file": "../part-00000.parquet", "bags": 1, "instances": 1, "checksum": 0}]}',
        '{"version": 1, "features": 2, "dtype": "float32", "parts": '
        '[{"file": "part-00000.parquet", "bags": 0, "instances": 1, "checksum": 0}]}',
    ],
)
def test_a_damaged_list_of_partitions_is_refused(tmp_path, text):
    (tmp_path / "parts.json").write_text(text)
    with pytest.raises(BagwiseError, match=r"parts\.json: .*restore it from a backup, or import again"):
        Partitions.open(tmp_path)


def test_a_folder_without_partitions_and_one_of_a_newer_bagwise_are_refused(tmp_path, whole):
    with pytest.raises(BagwiseError, match=r"parts\.json: is missing: the folder holds no partitions"):
        Partitions.open(tmp_path / "nowhere")
    Partitions.write(tmp_path, [whole])
    with pytest.raises(BagwiseError, match="holds partitions already"):
        Partitions.write(tmp_path, [whole])
    text = (tmp_path / "parts.json").read_text()
    (tmp_path / "parts.json").write_text(text.replace('"version": 1', '"version": 2'))
    with pytest.raises(BagwiseError, match="newer Bagwise"):
        Partitions.open(tmp_path)


def test_what_does_not_belong_together_is_refused(tmp_path, whole):
    with pytest.raises(BagwiseError, match="other features"):
        Partitions.write(tmp_path / "a", [whole, bags_of([1], 2)])
    with pytest.raises(BagwiseError, match="no bags"):
        Partitions.write(tmp_path / "b", [])
    with pytest.raises(BagwiseError, match="'csv' is not a kind of partition"):
        Partitions.write(tmp_path / "c", [whole], "csv")
    assert not list(tmp_path.rglob("parts.json"))


def test_partitions_behind_the_bags_that_count_do_not(tmp_path, whole):
    partitions = Partitions.write(tmp_path, divided(whole, {3, 6}))
    counted = whole.select(range(6))
    found = partitions.bags(counted.ids, counted.offsets)
    assert partitions_of(found) == partitions.first(2)
    assert np.array_equal(found.instances, counted.instances)
    for few in (whole.select(range(5)), bags_of([8, 18], 3), bags_of([3] * 90, 3)):
        with pytest.raises(BagwiseError, match=r"parts\.json: lists 8 bags with 31 instances where"):
            partitions.bags(few.ids, few.offsets)


def test_a_failed_writing_leaves_nothing(tmp_path, whole, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(BagwiseError, match="cannot be written: No space left"):
        Partitions.write(tmp_path, [whole])
    assert not list(tmp_path.iterdir())
