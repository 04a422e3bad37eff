"""`bagwise import --partition` as a person uses it, on this machine and on a cluster."""

import shutil
import sys

import numpy as np
import polars as pl
import pytest

from bagwise.partitions import Partitions
from bagwise.project import Project
from bagwise.project.instances import worker_pool
from tests.project.test_commands import bagwise
from tests.support.local_ray import local_ray


@pytest.fixture
def files(tmp_path, synthetic):
    """first.parquet, and a folder `more` with two further tables and the first once more."""
    names = np.array([f"bag {i}" for i in range(60)])
    (tmp_path / "more").mkdir()
    for number, path in enumerate(("first.parquet", "more/second.parquet", "more/third.csv")):
        some = synthetic.bags.select(range(20 * number, 20 * number + 20))
        table = pl.DataFrame({"bag": np.repeat(names[20 * number : 20 * number + 20], some.sizes)})
        table = table.hstack(pl.DataFrame(some.instances, schema=[f"f{i}" for i in range(10)]))
        table.write_csv(tmp_path / path) if path.endswith("csv") else table.write_parquet(tmp_path / path)
    shutil.copyfile(tmp_path / "first.parquet", tmp_path / "more" / "first.parquet")
    (tmp_path / "classes.txt").write_text("\n".join(synthetic.classes))
    done = bagwise("init", tmp_path / "p", "--from", tmp_path / "first.parquet", "--classes", tmp_path / "classes.txt")
    assert done[0] == 0, done
    return tmp_path


def said(*arguments, keys=""):
    code, out, err = bagwise(*arguments, keys=keys)
    assert code == 0, err
    return out


def refused(*arguments):
    code, _, err = bagwise(*arguments)
    assert code in (1, 2)
    return err.replace("\n", " ")


def test_from_a_plain_project_to_partitions_and_more_of_them(files, synthetic):
    folder = files / "p"
    said("answer", folder, keys="ynyq")
    assert f"The instances are in 3 partitions in {folder / 'instances'}." in said("import", folder, "--partition", 3)
    out = said("import", folder, "--from", files / "more", "--partition", 2)
    assert "The instances are in 5 partitions now." in out
    assert "60 bags, 299 instances, 10 features, 6 classes" in out
    assert "Nothing new in" in said("import", folder, "--from", files / "more", "--partition", 2)
    assert "All is well: 3 answers replayed" in said("check", folder)
    said("answer", folder, keys="nyq")
    assert "instances 0.0 MB" in said("status", folder)
    said("export", folder, "--what", "predictions", "--to", files / "predicted.parquet")
    assert len(pl.read_parquet(files / "predicted.parquet")) == 60 * 6
    assert "fitted to 5 labels" in said("train", folder, "--to", files / "model.npz")
    with Project.open(folder) as project:
        assert sorted(project.bags.ids) == sorted(f"bag {i}" for i in range(60))
        assert np.array_equal(project.bags[25], synthetic.bags[25])
        assert len(Partitions.open(folder / "instances")) == 5


@pytest.mark.slow
def test_a_table_straight_into_partitions_elsewhere_by_several_processes(files, monkeypatch):
    monkeypatch.setattr(worker_pool, "thread_count", lambda: 2)
    said("import", files / "p", "--from", files / "more", "--partition", 4, "--to", files / "shared" / "p")
    assert sorted(path.name for path in (files / "shared" / "p").iterdir())[-1] == "parts.json"
    assert len(Partitions.open(files / "shared" / "p")) == 6
    assert "All is well" in said("check", files / "p")


def test_what_does_not_go_together_is_refused(files):
    folder = files / "p"
    assert "give --partition N as well" in refused("import", folder, "--to", files / "x", "--from", files / "more")
    assert "give --partition N as well" in refused("import", folder, "--cluster", "auto")
    assert "is not a table" in refused("import", folder, "--partition", 2, "--from", files)
    assert "are for a folder of raw" in refused("import", folder, "--partition", 2, "--from", files, "--embed", "a:b")
    said("import", folder, "--partition", 2)
    assert "is partitioned already" in refused("import", folder, "--partition", 2)
    again = ("import", folder, "--partition", 2, "--from", files / "more", "--to", files / "x")
    assert "import without --to" in refused(*again)


def test_without_a_cluster_it_says_how_to_start_one(files, monkeypatch):
    def nothing_there(**_):
        raise ConnectionError

    monkeypatch.setattr("ray.init", nothing_there)
    err = refused("import", files / "p", "--partition", 2, "--cluster", "auto")
    assert "Ray cluster" in err
    assert "tart one with `ray start --head`" in err


def test_without_ray_it_says_what_to_install(files, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("bagwise.cluster")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ray", None)
    err = refused("import", files / "p", "--partition", 2, "--cluster", "auto")
    assert "pip install 'bagwise[cluster]'" in err
    assert (files / "p" / "instances.bin").exists()


@pytest.fixture
def ray_cluster():
    with local_ray() as address:
        yield address


@pytest.mark.slow
@pytest.mark.usefixtures("ray_cluster")
def test_the_same_on_a_cluster(files):
    folder = files / "p"
    on_it = ("--cluster", "auto", "--partition", 3)
    assert "in 3 partitions" in said("import", folder, *on_it, "--to", files / "shared")
    assert "6 partitions now" in said("import", folder, *on_it, "--from", files / "more")
    assert "All is well" in said("check", folder)
    (files / "more" / "bad.csv").write_text("bag,f0\nx,1\n")
    assert "bad.csv: the feature f1 is missing" in refused("import", folder, *on_it, "--from", files / "more")
    assert len(Partitions.open(files / "shared")) == 6
