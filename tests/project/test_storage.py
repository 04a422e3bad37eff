"""The files of a project: private, readable where they cannot be written, clean after whatever failed."""

import os
import sqlite3
import stat
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from sqlalchemy import inspect, text

from bagwise.errors import BagwiseError
from bagwise.project import Project
from bagwise.project.database import Database
from tests import machine
from tests.conftest import source_of
from tests.project.test_project import all_is_well, answer_some
from tests.project.test_trouble import make_older


@pytest.fixture
def in_a_file(tmp_path, synthetic):
    with Project.create(tmp_path / "project", source_of(synthetic), classes=synthetic.classes) as project:
        yield project


def write_table(path, synthetic, prefix="more", order=None):
    """The bags of the synthetic data as a table; `order` mixes the rows."""
    codes = np.repeat(np.arange(len(synthetic.bags)), synthetic.bags.sizes)
    features = pl.DataFrame(np.asarray(synthetic.bags.instances), schema=[f"f{i}" for i in range(10)])
    frame = pl.DataFrame({"bag": [f"{prefix} {code}" for code in codes]}).hstack(features)
    (frame if order is None else frame[order]).write_parquet(path)
    return path


# On a folder that cannot be written


def test_a_project_in_a_read_only_folder_can_be_read(in_a_file, say, synthetic, tmp_path):
    answer_some(in_a_file, say, 6)
    in_a_file.close()
    folder, table = in_a_file.folder, write_table(tmp_path / "table.parquet", synthetic)
    with machine.read_only(folder):
        status, check, export, predict, backup, answer, more = machine.commands(
            ("status", folder),
            ("check", folder),
            ("export", folder, "--to", tmp_path / "labels.csv"),
            ("predict", folder, "--from", table, "--to", tmp_path / "predicted.csv"),
            ("backup", folder, "--to", tmp_path / "copy"),
            ("answer", folder, "--as", "ann", "--count", 1),
            ("import", folder, "--from", table),
        )
    for code, said in (status, check, export, predict, backup):
        assert code == 0, said
    assert "60 bags, 299 instances, 6 answers" in status[1]
    assert "All is well: 6 answers replayed" in check[1]
    assert len(pl.read_csv(tmp_path / "labels.csv")) == 6
    for code, said in (answer, more):
        assert code == 1, said
        assert "cannot be written" in said
        assert "Traceback" not in said
    assert "answers cannot be saved" in answer[1]
    with Project.open(tmp_path / "copy") as copy:
        assert len(copy.events) == 6
        answer_some(copy, say, 1)


def test_what_a_killed_process_left_in_the_log_is_read_from_a_read_only_folder(in_a_file, say, tmp_path):
    """The newest answers are in the write-ahead log only."""
    in_a_file.close()
    program = (
        "import os, sys; from bagwise.project import Project; project = Project.open(sys.argv[1]);"
        "[project.answer(project.ask('ann')[0].key, 'ann', 'absent') for _ in range(4)]; os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", program, str(in_a_file.folder)], check=False)
    assert (in_a_file.folder / "bagwise.db-wal").stat().st_size > 0
    with machine.read_only(in_a_file.folder):
        ((code, said),) = machine.commands(("export", in_a_file.folder, "--what", "answers", "--to", tmp_path / "a.csv"))
    assert code == 0, said
    assert len(pl.read_csv(tmp_path / "a.csv")) == 4


def test_an_older_project_in_a_read_only_folder_says_what_to_do(in_a_file, say):
    answer_some(in_a_file, say, 2)
    make_older(in_a_file)
    with machine.read_only(in_a_file.folder):
        ((code, said),) = machine.commands(("status", in_a_file.folder))
    assert code == 1
    assert "has to be upgraded, but cannot be written: copy it" in said


# Who may read it


def test_the_database_is_for_its_owner_alone(in_a_file, say, tmp_path):
    before = os.umask(0o022)
    try:
        with Project.create(tmp_path / "other", source_of_open(in_a_file), classes=["a"]) as project:
            project.answer(project.ask("ann")[0].key, "ann", "present")
            copy = project.backup(tmp_path / "copy")
            for name in ("bagwise.db", "bagwise.db-wal", "bagwise.db-shm"):
                assert stat.S_IMODE((project.folder / name).stat().st_mode) == 0o600, name
            assert stat.S_IMODE((copy / "bagwise.db").stat().st_mode) == 0o600
        make_older(project)
        Project.open(project.folder).close()
        (backup,) = (project.folder / "backups").iterdir()
        assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    finally:
        os.umask(before)


def source_of_open(project):
    from pathlib import Path

    from bagwise.formats import Source

    return Source.of_bags(Path("x.npz"), [np.array(project.bags[i]) for i in range(3)], ["a", "b", "c"])
