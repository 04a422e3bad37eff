"""A partitioned project is the same project: the same questions, answers and predictions; interrupted or not."""

import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bagwise import BagwiseError, formats
from bagwise.core.errors import FileError
from bagwise.formats import Source
from bagwise.partitions import Partitions, partitions_of
from bagwise.project import Project, Tables, check, in_processes, status_of
from bagwise.project.instances import worker_pool
from bagwise.project.instances.partition_writer import edges
from tests.conftest import source_of
from tests.partitions import crashing, work


@pytest.fixture(autouse=True)
def one_process(monkeypatch):
    """A start costs more than these few partitions."""
    monkeypatch.setattr(worker_pool, "thread_count", lambda: 1)


@pytest.fixture
def plain(tmp_path, synthetic):
    """The folder of a project of sixty bags."""
    source = source_of(synthetic)
    Project.create(tmp_path / "plain", source, classes=synthetic.classes).close()
    return tmp_path / "plain"


def copied(plain, name):
    return Path(shutil.copytree(plain, plain.parent / name))


def answered(project, say, count):
    """(pair, score, belief) of so many questions, answered by the truth."""
    found = []
    for _ in range(count):
        (asked,) = project.ask("ann")
        found.append((asked.bag, asked.label_class, asked.question.evidence[0]))
        event = project.answer(asked.key, "ann", say(asked))
        found[-1] += (event.score, event.belief)
    return found


def all_is_well(project):
    assert not [one for one in check(project) if one.wrong]


def same_bags(found, expected):
    assert found.ids.tolist() == expected.ids.tolist()
    assert found.offsets.tolist() == expected.offsets.tolist()
    assert np.array_equal(found.instances, expected.instances)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60), st.integers(1, 9))
def test_partitions_are_alike_in_size_and_none_is_empty(sizes, count):
    starts = edges(np.cumsum([0, *sizes]), count)
    assert (starts[0], starts[-1]) == (0, len(sizes))
    assert len(starts) == min(count, len(sizes)) + 1
    assert all(first < last for first, last in pairwise(starts))
    if count <= len(sizes) / max(sizes):
        largest = max(sum(sizes[first:last]) for first, last in pairwise(starts))
        assert largest <= sum(sizes) / count + max(sizes)


@pytest.mark.parametrize("count", [1, 5])
def test_the_questions_are_those_of_the_plain_project(plain, say, count):
    folder = copied(plain, "partitioned")
    with Project.open(plain) as one, Project.open(folder) as other:
        assert answered(one, say, 10) == answered(other, say, 10)
        text = (folder / "bagwise.toml").read_text()
        (folder / "bagwise.toml").write_text(text.replace("lease_seconds = 300.0", "lease_seconds = 250.0"))
        place = other.partition(count)
        assert "lease_seconds = 250.0" in (folder / "bagwise.toml").read_text()
        assert place == folder.resolve() / "instances"
        assert not (folder / "instances.bin").exists()
        assert len(partitions_of(other.bags)) == count
        assert answered(one, say, 10) == answered(other, say, 10)
    with Project.open(plain) as one, Project.open(folder) as other:
        assert answered(one, say, 10) == answered(other, say, 10)
        all_is_well(other)
        for name, expected in one.snapshot().items():
            assert np.array_equal(other.snapshot()[name], expected), name
        assert np.array_equal(one.fit_model().weights_, other.fit_model().weights_)
        predicted, expected = other.predictions(), one.predictions()
        assert np.array_equal(predicted.probability, expected.probability)
        assert np.array_equal(predicted.evidence, expected.evidence)
        assert status_of(one).instances == status_of(other).instances
        with pytest.raises(BagwiseError, match="is partitioned already, in "):
            other.partition(2)


def test_partitions_do_not_end_where_imports_do(plain, synthetic):
    with Project.open(plain) as project:
        for number in range(3):
            some = [np.array(bag) for bag in synthetic.bags.select(range(number, 2 * number + 3))]
            ids = [f"import {number}, {i}" for i in range(len(some))]
            project.import_(Source.of_bags(Path(f"{number}.npz"), some, ids))
        before = np.array(project.bags.instances)
        project.partition(4)
        assert np.array_equal(project.bags.instances, before)
        all_is_well(project)


def test_looking_at_bags_reads_no_more_than_these(plain):
    with Project.open(plain) as project:
        project.partition(4)
        bag = len(project.bags) - 1
        assert len(project.bags[bag]) == project.bags.sizes[bag]
        assert project.labels().values.shape == project.contents.given.shape
        assert status_of(project).bytes_on_disk["instances"] > 0
        assert not project.bags.store.is_loaded


def test_partitions_may_be_elsewhere_and_a_backup_has_them(plain, tmp_path, synthetic):
    shared = tmp_path / "shared" / "partitions"
    with Project.open(plain) as project:
        assert project.partition(3, shared) == shared
        assert f'parts = "{shared}"' in (plain / "bagwise.toml").read_text()
        assert status_of(project).bytes_on_disk[str(shared)] == Partitions.open(shared).n_bytes
        project.backup(tmp_path / "backup")
    moved = plain.rename(tmp_path / "moved")
    shared.rename(tmp_path / "shared" / "away")
    with pytest.raises(BagwiseError, match=r"parts\.json: is missing: the folder holds no partitions, or restore"):
        Project.open(moved)
    with Project.open((tmp_path / "backup").rename(tmp_path / "restored")) as project:
        assert partitions_of(project.bags).folder == tmp_path / "restored" / "instances"
        assert np.array_equal(project.bags.instances, synthetic.bags.instances)
        all_is_well(project)


def test_bags_that_come_later_become_partitions_also_from_a_process_that_was_there_before(plain, synthetic):
    with Project.open(plain) as stale, Project.open(plain) as project:
        project.partition(3)
        more = [np.array(bag) for bag in synthetic.bags.select(range(7))]
        stale.import_(Source.of_bags(Path("more.npz"), more, [f"new {i}" for i in range(7)]))
        project.catch_up()
        for one in (stale, project):
            assert len(partitions_of(one.bags)) == 4
            assert one.bags.n_instances == sum(len(bag) for bag in [*synthetic.bags, *more])
            assert np.array_equal(one.bags[62], more[2])
            all_is_well(one)
        assert not (plain / "instances.bin").exists()


def test_partitions_that_do_not_count_are_overwritten(plain, synthetic):
    with Project.open(plain) as project:
        project.partition(2)
        extra = Partitions.write(plain.parent / "extra", [synthetic.bags, synthetic.bags, synthetic.bags.select([0])])
        place = plain / "instances"
        shutil.copyfile(extra.folder / "part-00002.parquet", place / "part-00002.parquet")
        Partitions.open(place).extended([extra.entries[2]]).save()
    with Project.open(plain) as project:
        assert len(partitions_of(project.bags)) == 2
        project.import_(Source.of_bags(Path("more.npz"), [np.array(synthetic.bags[3])], ["new"]))
        assert len(Partitions.open(place)) == 3
        assert np.array_equal(project.bags[60], synthetic.bags[3])
        all_is_well(project)


def test_what_is_wrong_with_the_partitions_is_reported(plain, synthetic):
    with Project.open(plain) as project:
        project.partition(3)
    path = plain / "instances" / "part-00001.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    with Project.open(plain) as project:
        wrong = [one.wrong for one in check(project) if one.wrong]
        assert len(wrong) == 1
        assert "part-00001.parquet: has changed since it was written, its checksum differs: restore it" in wrong[0]
    path.unlink()
    with pytest.raises(BagwiseError, match=r"part-00001\.parquet: is missing: restore it from a backup, or import"):
        Project.open(plain)


def test_instances_of_others_are_refused(plain, tmp_path, synthetic):
    Project.create(tmp_path / "other", source_of(synthetic), classes=synthetic.classes).close()
    with Project.open(tmp_path / "other") as other:
        other.partition(2, tmp_path / "shared")
    with Project.open(plain) as project:
        for there in (tmp_path / "shared", tmp_path, plain / "bagwise.db"):
            with pytest.raises(BagwiseError, match="exists already: choose another folder with"):
                project.partition(2, there)
        assert not list(tmp_path.rglob("*.part"))
    text = (plain / "bagwise.toml").read_text()
    (plain / "bagwise.toml").write_text(text.replace('parts = ""', f'parts = "{tmp_path / "shared"}"'))
    with pytest.raises(BagwiseError, match=r"parts\.json: holds the instances of another project"):
        Project.open(plain)
    (plain / "bagwise.toml").write_text(text.replace('parts = ""', 'parts = "nowhere"'))
    with pytest.raises(BagwiseError, match=r"nowhere/parts\.json: is missing"):
        Project.open(plain)


def test_a_file_that_is_not_what_was_imported_is_not_taken_over(plain):
    path = plain / "instances.bin"
    content = bytearray(path.read_bytes())
    content[17] ^= 1
    path.write_bytes(content)
    with Project.open(plain) as project, pytest.raises(BagwiseError, match="is not what was imported"):
        project.partition(3)
    assert path.exists()
    assert not (plain / "instances").exists()
    assert not list(plain.glob(".*.part"))


@pytest.mark.slow
def test_killed_at_any_stage_the_project_is_as_it_was_and_a_second_run_works(plain, say, synthetic):
    stages = list(crashing.STAGES)
    for stage in stages:
        copied(plain, stage)
    command = [sys.executable, crashing.__file__, str(plain.parent), *stages]
    subprocess.run(command, check=True, timeout=600)
    with Project.open(plain) as project:
        expected = answered(project, say, 3)
    for stage in stages:
        folder = plain.parent / stage
        with Project.open(folder) as project:
            done = partitions_of(project.bags) is not None
            assert done == (stage in ("settings", "removing"))
            assert np.array_equal(project.bags.instances, synthetic.bags.instances)
            if done:
                with pytest.raises(BagwiseError, match="is partitioned already"):
                    project.partition(4)
            else:
                project.partition(4)
            assert answered(project, say, 3) == expected
            all_is_well(project)
        assert not list(folder.glob(".*.part"))
        assert not (folder / "instances.bin").exists()


# Tables


def write_table(path, bags, ids, columns=None, order=None, **more):
    """One row per instance."""
    names = np.repeat(ids, bags.sizes)
    rows = np.arange(len(names)) if order is None else order
    table = {"bag": names[rows]} | {f"f{i}": bags.instances[rows, i] for i in columns or range(bags.n_features)}
    table |= {name: np.repeat(values, bags.sizes)[rows] for name, values in more.items()}
    frame = pl.DataFrame(table)
    frame.write_csv(path) if path.suffix == ".csv" else frame.write_parquet(path)


@pytest.fixture
def tables(tmp_path, synthetic, rng):
    """60 bags in three files: one in order, one whose rows lie apart, one with other columns and with labels."""
    folder = tmp_path / "tables"
    folder.mkdir()
    bags = [synthetic.bags.select(range(first, first + 20)) for first in (0, 20, 40)]
    names = [[f"bag {i}" for i in range(first, first + 20)] for first in (0, 20, 40)]
    write_table(folder / "a.parquet", bags[0], names[0])
    write_table(folder / "b.csv", bags[1], names[1], order=rng.permutation(bags[1].n_instances))
    known = synthetic.labels.value[40:, 0].astype(int)
    write_table(folder / "c.parquet", bags[2], names[2], columns=range(9, -1, -1), **{"label:class 0": known})
    return folder


@pytest.fixture
def first_table(tables, tmp_path, synthetic):
    """A project of the first file alone."""
    Project.create(tmp_path / "p", formats.read(tables / "a.parquet"), classes=synthetic.classes).close()
    return tmp_path / "p"


@pytest.mark.parametrize("count", [1, 2, 5])
def test_tables_become_partitions_and_are_what_they_are_in_one_file(first_table, tables, count):
    folder = copied(first_table, "one by one")
    with Project.open(folder) as expected, Project.open(first_table) as project:
        for name in ("b.csv", "c.parquet"):
            expected.import_(formats.read(tables / name))
        project.partition(1)
        found = Tables.look_at(project, tables, None, in_processes)
        assert found.instances == expected.bags.n_instances - project.bags.n_instances
        found.import_into(project, count)
        assert len(partitions_of(project.bags)) == 1 + count
        same_bags(project.bags, expected.bags)
        assert np.array_equal(project.contents.given, expected.contents.given)
        all_is_well(project)
        assert Tables.look_at(project, tables, None, in_processes).instances == 0


def test_of_a_file_that_grew_only_new_bags_come(first_table, tables, synthetic):
    (tables / "b.csv").unlink()
    (tables / "c.parquet").unlink()
    write_table(tables / "a.parquet", synthetic.bags.select(range(30)), [f"bag {i}" for i in range(30)])
    with Project.open(first_table) as project:
        project.partition(2)
        Tables.look_at(project, tables, None, in_processes).import_into(project, 1)
        same_bags(project.bags, Source.of_bags(Path("x"), list(synthetic.bags.select(range(30))),
                                               [f"bag {i}" for i in range(30)]).to_bags())  # fmt: skip
        with pytest.raises(FileError, match="bag bag 0 is in the project already"):
            Tables.look_at(project, tables / "a.parquet", None, in_processes).import_into(project, 1)
        all_is_well(project)


def test_bad_tables_leave_the_project_as_it_was(first_table, tables, synthetic):
    def refused(what, path=tables):
        with pytest.raises(BagwiseError, match=what):
            Tables.look_at(project, path, None, in_processes).import_into(project, 2)

    few = synthetic.bags.select([0, 1])
    with Project.open(first_table) as project:
        project.partition(2)
        before = partitions_of(project.bags)
        write_table(tables / "d.csv", few, ["bag 25", "new"])
        refused(r"d\.csv: bag bag 25 is in b\.csv as well: give it once")
        few.instances[3, 2] = np.nan
        write_table(tables / "d.csv", few, ["newer", "new"])
        refused(r"d\.csv, line 5, column f2: a feature is missing")
        write_table(tables / "d.csv", few, ["newer", "new"], columns=range(9))
        refused(r"d\.csv: the feature f9 is missing")
        (tables / "d.csv").unlink()
        (tables / "call.wav").write_bytes(b"RIFF")
        refused(r"tables holds call\.wav, which is not a table: partitions are made of tables")
        refused("no such file", tables / "nothing.csv")
        (tables / "call.wav").unlink()
        seen = Tables.look_at(project, tables, None, in_processes)
        write_table(tables / "b.csv", synthetic.bags.select(range(20, 30)), [f"bag {i}" for i in range(20, 30)])
        with pytest.raises(BagwiseError, match=r"b\.csv: changed during the import"):
            seen.import_into(project, 2)
        assert partitions_of(project.bags) == before == Partitions.open(first_table / "instances")
        assert not list((first_table / "instances").glob(".*"))
        all_is_well(project)


# Processes


@pytest.mark.slow
def test_processes_return_results_or_raise_errors(monkeypatch):
    monkeypatch.setattr(worker_pool, "thread_count", lambda: 2)
    assert worker_pool.in_order(in_processes(work.doubled, [3, 1, 2])) == [6, 2, 4]
    with pytest.raises(FileError, match=r"^t\.csv, line 3, column x: is bad\.$") as error:
        list(in_processes(work.refused, range(3)))
    assert error.value.exit_code == 2
    with pytest.raises(BagwiseError, match=r"was killed by SIGKILL while it ran [01]: "):
        list(in_processes(work.killed, range(2)))
