"""Finding without being asked: the search is exact wherever the instances are, and the map is the same every time."""

import json
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from typer.testing import CliRunner

from bagwise import Bags
from bagwise.cli import app
from bagwise.core.errors import BagwiseError
from bagwise.formats import Source
from bagwise.model.features import fit_transformer
from bagwise.partitions import Partitions
from bagwise.project import Project
from bagwise.project.search import nearest as search
from bagwise.project.search import plane
from bagwise.project.search.plane_process import PlaneProcess
from bagwise.project.search.region import Region
from tests.conftest import LONGEST, in_one_process
from tests.oracles import nearest as oracle


def clouds(tmp_path, name="project", bags=60, seed=3):
    """A project whose instances are of three clouds far apart, in turn."""
    rng = np.random.default_rng(seed)
    middles = rng.normal(0, 8, (3, 5))
    rows = [middles[i % 3] + rng.normal(size=(2, 5)) for i in range(bags)]
    source = Source.of_bags(Path("made.npz"), rows, [f"bag {i}" for i in range(bags)])
    return Project.create(tmp_path / name, source, classes=["a", "b"])


@pytest.fixture
def made(tmp_path):
    with clouds(tmp_path) as project:
        yield project


def pool_of(values, sizes):
    """Bags of these sizes, cut from rows of whole numbers: there are many ties, and no rounding."""
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Bags(values[: offsets[-1]].astype(np.float32), offsets, [f"bag {i}" for i in range(len(sizes))])


@st.composite
def pools(draw):
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=12))
    width = draw(st.integers(1, 4))
    small = st.integers(-2, 2)
    values = draw(arrays.arrays(np.int64, (sum(sizes), width), elements=small))
    searched = draw(arrays.arrays(np.int64, (draw(st.integers(1, 4)), width), elements=small))
    return pool_of(values, sizes), searched.astype(float)


@given(pools(), st.sampled_from([1, 7, 1 << 20]))
@settings(max_examples=60)
def test_the_search_is_exact_in_chunks_of_any_size(given_pool, values):
    bags, searched = given_pool
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "VALUES_AT_A_TIME", values)
        found = search.nearest(bags, None, searched, np.arange(len(bags)))
    expected, rarest = oracle.nearest(list(bags), searched)
    assert found.bags.tolist() == [one[0] for one in expected]
    assert found.like == rarest
    assert found.instances.tolist() == [one[2] for one in expected]
    np.testing.assert_array_equal(found.distances, [one[1] for one in expected])


@pytest.mark.parametrize("width", [6, 300])
def test_instances_are_compared_as_the_model_sees_them(rng, width):
    sizes = rng.integers(1, 6, 40)
    raw = rng.normal(3, np.geomspace(0.1, 10, width), (sizes.sum(), width)).astype(np.float32)
    bags = Bags.trusted(raw, np.concatenate([[0], np.cumsum(sizes)]), np.arange(len(sizes)))
    fitted = fit_transformer("standardise", bags)
    found = search.nearest(bags, fitted, raw[5:8], np.arange(len(bags)))
    assert found.measure == ("cosine" if width == 300 else "euclidean")
    scaled = [((bag - fitted.mean_) / fitted.scale_) for bag in bags]
    expected, _ = oracle.nearest(scaled, (raw[5:8] - fitted.mean_) / fitted.scale_, cosine=width == 300)
    assert found.bags.tolist() == [one[0] for one in expected]
    assert found.instances.tolist() == [one[2] for one in expected]
    np.testing.assert_allclose(found.distances, [one[1] for one in expected], atol=1e-5)


def test_what_has_no_direction_is_far_from_everything(rng):
    bags = Bags.from_list([np.zeros((1, 250)), rng.normal(size=(2, 250))])
    found = search.nearest(bags, None, bags[1][:1], np.arange(2))
    np.testing.assert_allclose(found.distances, [0.0, 1.0], atol=1e-12)


@given(pools(), st.integers(1, 4))
@settings(max_examples=10)
def test_partitions_change_nothing(given_pool, parts):
    bags, searched = given_pool
    edges = np.unique(np.linspace(0, len(bags), parts + 1).round().astype(int))
    groups = [bags.select(np.arange(a, b)) for a, b in pairwise(edges)]
    with tempfile.TemporaryDirectory() as folder:
        stored = Partitions.write(folder, groups).bags(bags.ids, bags.offsets)
        found = search.nearest(stored, None, searched, np.arange(len(bags)))
        assert not stored.store.is_loaded, "memory stays flat"
    expected = search.nearest(bags, None, searched, np.arange(len(bags)))
    assert found.like == expected.like
    for name in ("bags", "distances", "instances"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_a_project_finds_the_same_before_and_after_it_is_partitioned(made):
    before = made.similar(bag=4, instance=1)
    made.partition(3)
    after = made.similar(bag=4, instance=1)
    np.testing.assert_array_equal(before.bags, after.bags)
    np.testing.assert_array_equal(before.distances, after.distances)
    assert 4 not in before.bags
    assert len(before.bags) == len(made.bags) - 1


def test_answers_change_nothing_of_a_search_and_removed_bags_are_not_found(made):
    before = made.similar(bag=0)
    for _ in range(5):
        (lease,) = made.ask("ann")
        made.answer(lease.key, "ann", "present")
    np.testing.assert_array_equal(made.similar(bag=0).bags, before.bags)
    nearest_bag = int(before.bags[0])
    made.remove([str(made.contents.ids[nearest_bag])], "ann")
    np.testing.assert_array_equal(made.similar(bag=0).bags, before.bags[1:])


def test_what_cannot_be_searched_for_is_said(made, tmp_path):
    project = made
    with pytest.raises(BagwiseError, match="there is no instance 99"):
        project.similar(bag=0, instance=99)
    with pytest.raises(BagwiseError, match="There is no pair"):
        project.similar(bag=1000)
    with pytest.raises(BagwiseError, match="Say what to search for"):
        project.similar()
    with pytest.raises(BagwiseError, match="give 1 to 1000"):
        project.similar(instances=np.zeros((1001, project.bags.n_features)))
    with pytest.raises(BagwiseError, match="each must have"):
        project.similar(instances=np.zeros((1, project.bags.n_features + 1)))
    with pytest.raises(BagwiseError, match="missing or infinite"):
        project.similar(instances=np.full((1, project.bags.n_features), np.nan))
    with pytest.raises(BagwiseError, match="made from a table"):
        project.instances_of_file(tmp_path / "a.txt")


# Files

NOTHING = "Nothing else happened in the village that day, or nothing that anyone wrote down. " * 3
PASSAGES = [
    "An owl called twice from the old barn, and the yard went quiet; the owl of the barn is heard at night. " * 3,
    "By noon the storm had torn the sails, and the harbour lay empty; no storm had torn so many sails before. " * 3,
    "Fresh bread stood on the sill, its crust still cracking as it cooled; bread from the oven has a crust. " * 3,
]


@pytest.fixture(autouse=True)
def one_worker(one_process):
    """A start costs more than these files."""


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """A project of twelve documents of two passages; the second tells them apart."""
    tmp_path = tmp_path_factory.mktemp("documents")
    (tmp_path / "texts").mkdir()
    for number in range(12):
        text = f"{NOTHING}\n\n{PASSAGES[number % 3]} {number}."
        (tmp_path / "texts" / f"{number}.txt").write_text(text)
    (tmp_path / "classes.txt").write_text("owl\nstorm\n")
    folder = str(tmp_path / "project")
    texts, classes = str(tmp_path / "texts"), str(tmp_path / "classes.txt")
    with in_one_process():
        run("init", folder, "--from", texts, "--classes", classes)
    return tmp_path / "project"


def run(*words):
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


@pytest.mark.slow
def test_a_file_is_segmented_as_those_of_the_project_were(documents, tmp_path):
    new = tmp_path / "new.txt"
    new.write_text(f"{PASSAGES[1]} Or so they said.")
    with Project.open(documents) as project:
        rows = project.instances_of_file(new)
        assert rows.shape == (1, project.bags.n_features)
        found = project.similar(instances=rows)
        names = project.contents.ids[found.bags[:4]].tolist()
        assert sorted(names) == ["1.txt", "10.txt", "4.txt", "7.txt"], "all storms, and nothing else"
        same = documents.parent / "texts" / "5.txt"
        np.testing.assert_array_equal(
            project.instances_of_file(same), project.bags[project.contents.ids.tolist().index("5.txt")]
        )
        with pytest.raises(BagwiseError, match="is not a file"):
            project.instances_of_file(tmp_path / "missing.txt")
        (tmp_path / "a.wav").write_bytes(b"RIFF")
        with pytest.raises(BagwiseError, match="cannot be segmented as the files of the project were"):
            project.instances_of_file(tmp_path / "a.wav")
        (tmp_path / "empty.txt").write_text("")
        with pytest.raises(BagwiseError, match=r"empty\.txt"):
            project.instances_of_file(tmp_path / "empty.txt")


def test_the_command_lists_the_nearest(documents):
    found = json.loads(run("similar", str(documents), "--bag", "1.txt", "--instance", "1", "--json", "--count", "3"))
    assert found["measure"] in ("cosine", "euclidean")
    assert sorted(one["bag"] for one in found["bags"]) == ["10.txt", "4.txt", "7.txt"]
    assert all(one["instance"] == 1 for one in found["bags"])
    distances = [one["distance"] for one in found["bags"]]
    assert distances == sorted(distances)
    # What all documents have, their first passage, does not hide what only some have.
    found = json.loads(
        run("similar", str(documents), "--file", str(documents.parent / "texts" / "2.txt"), "--count", "4", "--json")
    )
    assert found["bags"][0]["distance"] == 0
    assert sorted(one["bag"] for one in found["bags"]) == ["11.txt", "2.txt", "5.txt", "8.txt"]
    assert {(one["instance"], one["like"]) for one in found["bags"]} == {(1, 1)}
    assert "distance" in run("similar", str(documents), "--bag", "2.txt", "--count", "1")
    with Project.open(documents) as project:
        (lease,) = project.ask("ann")
        event = project.answer(lease.key, "ann", "absent")
        answered, name = project.contents.ids[event.bag], project.classes[event.label_class]
    open_ones = json.loads(
        run("similar", str(documents), "--bag", "1.txt" if answered != "1.txt" else "2.txt", "--class", name, "--json")
    )
    assert answered not in [one["bag"] for one in open_ones["bags"]]
    assert len(open_ones["bags"]) == 10


@pytest.mark.parametrize("words", [(), ("--bag", "1.txt", "--file", "a.txt"), ("--file", "a.txt", "--instance", "1")])
def test_the_command_says_what_is_missing(documents, words):
    result = CliRunner().invoke(app, ["similar", str(documents), *words])
    assert isinstance(result.exception, BagwiseError)


# The map


def test_the_same_data_has_the_same_map(tmp_path):
    maps = []
    for name in ("one", "other"):
        with clouds(tmp_path, name) as project:
            maps.append([project.map(layout) for layout in plane.LAYOUTS])
    for one, other in zip(*maps, strict=True):
        np.testing.assert_array_equal(one.coordinates, other.coordinates)
        np.testing.assert_array_equal(one.bags, np.repeat(np.arange(60), 2))
        assert one.of == len(one.bags) == 120
        assert np.abs(one.coordinates).max() == 1
    for one in maps[0]:
        groups = [one.coordinates[(one.bags % 3) == cloud] for cloud in range(3)]
        spread = max(np.linalg.norm(group - group.mean(axis=0), axis=1).max() for group in groups)
        apart = min(
            np.linalg.norm(groups[a].mean(axis=0) - groups[b].mean(axis=0)) for a, b in [(0, 1), (0, 2), (1, 2)]
        )
        assert apart > spread, one.layout


def test_directions_are_those_of_the_largest_variance_and_do_not_flip(rng):
    x = rng.normal(size=(80, 4)) @ np.diag([1.0, 9.0, 0.1, 3.0])
    bags = Bags.from_list([x[i : i + 4] for i in range(0, 80, 4)])
    along = plane.directions(bags, None, np.arange(80))
    centred = x - x.mean(axis=0)
    _, singular, right = np.linalg.svd(centred, full_matrices=False)
    right *= np.sign(right[np.arange(4), np.abs(right).argmax(axis=1)])[:, None]
    np.testing.assert_allclose(along, centred @ right.T, atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(along, axis=0), singular, rtol=1e-4)


def test_of_many_instances_an_even_sample_is_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(plane, "MOST_POINTS", 30)
    with clouds(tmp_path) as project:
        found = project.map("directions")
        assert (len(found.bags), found.of) == (30, 120)
        rows = project.contents.offsets[found.bags] + found.instances
        assert rows.tolist() == list(range(0, 120, 4))


def test_a_map_is_stored_until_the_instances_change(tmp_path):
    with clouds(tmp_path) as project:
        first = project.map("directions")
        patched = pytest.MonkeyPatch()
        patched.setattr(plane, "directions", None)
        (lease,) = project.ask("ann")
        project.answer(lease.key, "ann", "present")
        np.testing.assert_array_equal(project.map("directions").coordinates, first.coordinates)
        project.partition(2)
        assert project.stored_map("directions") is not None, "where the instances are stored does not matter"
        patched.undo()
        project.remove(["bag 7"], "ann")
        assert project.stored_map("directions") is None
        assert 7 not in project.map("directions").bags
        (tmp_path / "project" / "map" / "directions.npz").write_bytes(b"broken")
        assert project.stored_map("directions") is None
        with pytest.raises(BagwiseError, match="There is no layout"):
            project.map("flat")


def test_a_process_of_its_own_computes_the_map(made):
    maps = PlaneProcess(made)
    try:
        assert maps.newest() == ({}, True)
        until = time.monotonic() + LONGEST
        while maps.newest()[1] and time.monotonic() < until:
            time.sleep(0.05)
        found, pending = maps.newest()
        assert not pending
        assert list(found) == list(plane.LAYOUTS)
        np.testing.assert_array_equal(found["directions"].coordinates, made.map("directions").coordinates)
    finally:
        maps.close()


def test_few_points_have_a_map_too(tmp_path):
    with clouds(tmp_path, bags=2) as project:
        np.testing.assert_array_equal(project.map("neighbours").coordinates, project.map("directions").coordinates)


def test_the_command_writes_the_coordinates_and_a_figure(tmp_path):
    clouds(tmp_path).close()
    folder, to = str(tmp_path / "project"), tmp_path / "map.parquet"
    said = run("map", folder, "--to", str(to), "--layout", "directions", "--class", "a")
    assert "120 instances" in said
    table = pl.read_parquet(to)
    assert table.columns == ["bag", "instance", "x", "y", "label", "chance", "presence"]
    assert table["bag"][2] == "bag 1"
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    run("map", folder, "--layout", "directions")
    assert pl.read_csv(tmp_path / "project" / "map" / "directions.csv").columns == ["bag", "instance", "x", "y"]
    result = CliRunner().invoke(app, ["map", folder, "--to", str(tmp_path / "map.txt")])
    assert isinstance(result.exception, BagwiseError)


# Questions about a region


def test_questions_about_some_bags_alone_until_none_is_left(make_project, say):
    project = make_project()
    among = [3, 17, 20]
    asked = []
    while leases := project.ask("ann", 2, among=among):
        for lease in leases:
            assert not lease.question.audit
            asked.append((lease.bag, lease.label_class))
            project.answer(lease.key, "ann", say(lease))
    # What was drawn at random is left for the random checks of others who are asked about everything.
    assert {bag for bag, _ in asked} == set(among)
    assert len(asked) == len(set(asked)) <= len(among) * len(project.classes)
    assert not any(event.audit for event in project.events)
    (lease,) = project.ask("ann")
    assert (lease.bag, lease.label_class) not in asked


def test_a_limit_does_not_lose_what_was_leased_before(make_project):
    project = make_project()
    (before,) = project.ask("ann")
    among = {bag for bag in range(10) if bag != before.bag}
    (limited,) = project.ask("ann", among=among)
    assert limited.bag in among
    assert before.key in [lease.key for lease in project.ask("ann", 2)]


def test_the_bags_of_a_region(tmp_path):
    with clouds(tmp_path) as project:
        with pytest.raises(BagwiseError, match="not computed yet"):
            Region.parse("directions,-1,1,-1,1").bags(project)
        found = project.map("directions")
        (left, bottom), (right, top) = (
            edge(found.coordinates[found.bags % 3 == 1], axis=0) for edge in (np.min, np.max)
        )
        bags, instances = Region("directions", left, right, bottom, top).bags(project)
        assert bags.tolist() == list(range(1, 60, 3))
        assert instances.tolist() == [0] * 20
    for text in ("", "directions", "directions,1,2,3", "directions,1,2,3,x", "directions,1,2,3,nan"):
        with pytest.raises(BagwiseError, match="LAYOUT,LEFT"):
            Region.parse(text)
