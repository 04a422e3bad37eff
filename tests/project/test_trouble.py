"""When the world is not as it should be: a clear sentence each, and nothing lost."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import inspect, text

from bagwise.core.errors import BagwiseError
from bagwise.formats import Source
from bagwise.learning.learner import ActiveLearner
from bagwise.project import Learning, Project, check
from bagwise.project.storage import database as databases
from bagwise.project.storage.database import Database
from bagwise.project.storage.schema import VERSION, metadata
from tests.conftest import source_of
from tests.project.test_project import all_is_well, answer_some


@pytest.fixture
def in_a_file(tmp_path, synthetic):
    with Project.create(tmp_path / "project", source_of(synthetic), classes=synthetic.classes) as project:
        yield project


def test_the_migrations_lead_to_the_schema(tmp_path):
    """Step by step gives the same tables as the definition."""
    stepwise, direct = Database.in_file(tmp_path / "a.db"), Database.in_file(tmp_path / "b.db")
    stepwise.upgrade()
    metadata.create_all(direct.engine)

    def columns(database):
        seen = inspect(database.engine)
        return {
            table: sorted(
                (column["name"], str(column["type"]), column["nullable"]) for column in seen.get_columns(table)
            )
            for table in seen.get_table_names()
            if table != "alembic_version"
        }

    assert columns(stepwise) == columns(direct)
    stepwise.close()
    direct.close()


def make_older(project):
    """The same project as the first version of Bagwise would have written it."""
    project.close()
    file = project.folder / "bagwise.db"
    old = Database.in_file(project.folder / "old.db")
    old.upgrade("0001")
    with sqlite3.connect(project.folder / "old.db") as connection:
        connection.execute(f"ATTACH '{file}' AS new")
        for (table,) in connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall():
            if table in metadata.tables:
                columns = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]
                names = ", ".join(f'"{name}"' for name in columns)
                connection.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM new.{table}")
    connection.close()
    old.close()
    for suffix in ("", "-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    (project.folder / "old.db").replace(file)


def test_an_older_project_is_upgraded_after_a_backup(in_a_file, say):
    answer_some(in_a_file, say, 8)
    events = [replace(event, marked=None) for event in in_a_file.events]
    in_a_file.train()
    make_older(in_a_file)
    with Project.open(in_a_file.folder) as upgraded:
        assert upgraded.model_info().kind == "trained", "it was trained on the same answers and is still current"
        assert upgraded.database.version() == VERSION
        assert upgraded.events == events
        all_is_well(upgraded)
        answer_some(upgraded, say, 2)
    (backup,) = (in_a_file.folder / "backups").iterdir()
    kept = Database.in_file(backup)
    assert kept.version() == "0001"
    with kept.reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM events")).scalar_one() == 8
    kept.close()


def test_a_newer_project_is_refused(project):
    with project.database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(BagwiseError, match="newer Bagwise"):
        Project.open(project.folder)


def test_a_database_that_holds_something_else_is_refused(postgres_server, tmp_path, synthetic):
    database = postgres_server.new_database()
    other = Database(database)
    with other.first_writing() as connection:
        connection.execute(text("CREATE TABLE accounts (id integer)"))
    with pytest.raises(BagwiseError, match="not empty"):
        Project.create(tmp_path / "p", source_of(synthetic), classes=["a"], database=database)
    assert not (tmp_path / "p").exists()
    assert list(tmp_path.iterdir()) == []
    other.close()


def test_a_locked_database_says_so(in_a_file, monkeypatch):
    in_a_file.close()
    monkeypatch.setattr(databases, "WAIT_FOR_LOCK", 0.2)
    with Project.open(in_a_file.folder) as project:
        (asked,) = project.ask("ann")
        other = sqlite3.connect(project.folder / "bagwise.db", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(BagwiseError, match="locked by another process"):
            project.answer(asked.key, "ann", "present")
        other.execute("ROLLBACK")
        other.close()
        project.answer(asked.key, "ann", "present")
        assert len(project.events) == 1


@pytest.mark.parametrize("keep", [0, 100, 5000])
def test_a_truncated_database_says_so(in_a_file, say, keep):
    answer_some(in_a_file, say, 30)
    in_a_file.close()
    file = in_a_file.folder / "bagwise.db"
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(BagwiseError, match=r"is damaged|holds no Bagwise project"):
        Project.open(in_a_file.folder)


def test_missing_parts_say_so(in_a_file):
    in_a_file.close()
    features = in_a_file.folder / "instances.bin"
    content = features.read_bytes()
    features.write_bytes(content[:-1])
    with pytest.raises(BagwiseError, match="not complete"):
        Project.open(in_a_file.folder)
    features.write_bytes(content)
    (in_a_file.folder / "bagwise.db").unlink()
    with pytest.raises(BagwiseError, match=r"no bagwise\.db"):
        Project.open(in_a_file.folder)
    with pytest.raises(BagwiseError, match="is not a Bagwise project"):
        Project.open(in_a_file.folder / "nowhere")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("audit = 2.0", r"toml: \[learning\] audit = 2.0 must be less than or equal to 1"),
        ('criterion = "best"', "no criterion 'best'"),
        ("audits = 0.1", r"toml: \[learning\] audits is not a setting: known are criterion, "),
        ('seed = "one"', r"toml: \[learning\] seed = 'one' must be a valid integer"),
        ("background = 1", r"toml: \[learning\] background = 1 must be a valid boolean"),
        ('scaling = "none at all"', "scaling = 'none at all' must be one of standardise, centre"),
        ('audit_design = "best"', r"\[learning\] audit_design = 'best' must be one of uniform, balanced"),
        ("seed = ", "is not TOML"),
    ],
)
def test_bad_settings_say_so(in_a_file, line, words):
    in_a_file.close()
    config = in_a_file.folder / "bagwise.toml"
    key = line.split(" = ")[0]
    lines = [one for one in config.read_text().splitlines() if not one.startswith(f"{key} =")]
    lines.insert(lines.index("[learning]") + 1, line)
    config.write_text("\n".join(lines))
    with pytest.raises(BagwiseError, match=words):
        Project.open(in_a_file.folder)


def test_how_audits_are_drawn_is_nothing_that_a_model_depends_on(in_a_file, say):
    """Projects that are older than this setting keep their trained models, snapshots and estimates."""
    assert set(asdict(Learning())) - set(Learning().fingerprint) == {"audit_design"}
    answer_some(in_a_file, say, 8)
    in_a_file.train()
    in_a_file.close()
    config = in_a_file.folder / "bagwise.toml"
    config.write_text(config.read_text().replace(f'audit_design = "{Learning().audit_design}"\n', ""))
    with Project.open(in_a_file.folder) as older:
        assert older.settings.learning == Learning()
        assert older.model_info().kind == "trained"
    config.write_text(config.read_text().replace("[learning]\n", '[learning]\naudit_design = "balanced"\n'))
    with Project.open(in_a_file.folder) as other:
        assert other.settings.learning.audit_design == "balanced"
        assert other.model_info().kind == "trained"


def test_changed_settings_are_replayed(in_a_file, say):
    answer_some(in_a_file, say, 10)
    before = in_a_file.learner.model.weights_
    in_a_file.close()
    config = in_a_file.folder / "bagwise.toml"
    config.write_text(config.read_text().replace("prior = 1.0", "prior = 5.0"))
    with Project.open(in_a_file.folder) as project:
        assert not np.array_equal(project.learner.model.weights_, before)
        all_is_well(project)


def fill(path):
    with path.open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(b"\0" * 4096)


def test_a_full_disk_loses_nothing(tmp_path, synthetic, say):
    """A real file system of two megabytes."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", small], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this machine does not let us mount a small disk")
    try:
        project = Project.create(small / "project", source_of(synthetic), classes=synthetic.classes)
        answer_some(project, say, 5)
        fill(small / "filler")
        acknowledged = 5

        def go_on():
            nonlocal acknowledged
            for _ in range(200):
                (asked,) = project.ask("ann")
                project.answer(asked.key, "ann", say(asked))
                acknowledged += 1

        with pytest.raises(BagwiseError, match="disk is full"):
            go_on()
        (small / "filler").unlink()
        # An import that does not fit gives back what it took: answers go on.
        more = Source.of_bags(Path("more.npz"), [np.zeros((400_000, 10))], ["more"])
        with pytest.raises(BagwiseError, match="No space left on device"):
            project.import_(more)
        answer_some(project, say, 3)
        acknowledged += 3
        project.close()
        with Project.open(small / "project") as again:
            assert len(again.events) == acknowledged
            answer_some(again, say, 3)
            all_is_well(again)
    finally:
        subprocess.run(["umount", "-l", small], check=True)


def test_a_read_only_folder_says_so(tmp_path, synthetic, say):
    """On a real read-only file system: permissions do not stop root."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", disk], capture_output=True, check=False).returncode:
        pytest.skip("this machine does not let us mount")
    try:
        with Project.create(disk / "project", source_of(synthetic), classes=synthetic.classes) as project:
            answer_some(project, say, 3)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)

        with Project.open(disk / "project") as project:
            assert len(project.events) == 3
            all_is_well(project)
            with pytest.raises(BagwiseError, match=r"read-only\. It can be read, but answers cannot be saved"):
                project.ask("ann")
        with pytest.raises(BagwiseError, match="cannot be made"):
            Project.create(disk / "other", source_of(synthetic), classes=["a"])
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        with Project.open(disk / "project") as project:
            assert len(project.events) == 3
            all_is_well(project)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_stopped_server_says_so_and_nothing_is_lost(postgres_server, tmp_path, synthetic, say):
    address = postgres_server.new_database()
    with Project.create(tmp_path / "p", source_of(synthetic), classes=synthetic.classes, database=address) as project:
        answer_some(project, say, 5)
        (asked,) = project.ask("ann")
        postgres_server.stop()
        try:
            with pytest.raises(BagwiseError, match="cannot be reached"):
                project.answer(asked.key, "ann", "present")
        finally:
            postgres_server.start()
        project.answer(asked.key, "ann", "present")
        assert len(project.events) == 6
        all_is_well(project)


def test_a_password_is_not_shown(tmp_path, synthetic):
    address = "postgresql://somebody:secret@127.0.0.1:9/nowhere"
    with pytest.raises(BagwiseError, match="cannot be reached") as error:
        Project.create(tmp_path / "p", source_of(synthetic), classes=["a"], database=address)
    assert "secret" not in str(error.value)
    with pytest.raises(BagwiseError, match="SQLite or PostgreSQL"):
        Project.create(tmp_path / "p", source_of(synthetic), classes=["a"], database="mysql://x/y")


def test_check_finds_what_is_wrong(in_a_file, say):
    answer_some(in_a_file, say, 10)
    in_a_file.close()
    with sqlite3.connect(in_a_file.folder / "bagwise.db") as connection:
        connection.execute("DELETE FROM events WHERE number = 4")
    connection.close()
    with Project.open(in_a_file.folder) as project:
        assert [one.wrong for one in check(project) if one.wrong] == ["number 4 is missing"]


def test_nothing_is_written_over(tmp_path, synthetic):
    place = tmp_path / "notes"
    place.mkdir()
    (place / "mine.txt").write_text("important")
    with pytest.raises(BagwiseError, match="exists already"):
        Project.create(place, source_of(synthetic), classes=["a"])
    assert (place / "mine.txt").read_text() == "important"
    shutil.rmtree(place)


def test_opening_many_answers_is_fast_through_a_snapshot(in_a_file, say, monkeypatch):
    """Nothing is learned again."""
    answer_some(in_a_file, say, 50)
    in_a_file.close()
    learned = []
    original = ActiveLearner._update
    monkeypatch.setattr(ActiveLearner, "_update", lambda self, *rest: learned.append(1) or original(self, *rest))
    with Project.open(in_a_file.folder) as project:
        assert project.learner.labels.n_known == 50
    assert learned == []


def test_two_imports_at_once_do_not_mix(in_a_file, synthetic, monkeypatch):
    """While one import writes features, the other waits."""
    first = source_of(synthetic.select(range(20)), [f"first {i}" for i in range(20)])
    second = source_of(synthetic.select(range(20, 25)), [f"second {i}" for i in range(5)])
    with Project.open(in_a_file.folder) as other:
        waiting = threading.Thread(target=lambda: other.import_(second))

        def meanwhile(_):
            if not waiting.ident:
                waiting.start()
                time.sleep(0.3)

        in_a_file.import_(first, progress=meanwhile)
        waiting.join(600)
        assert not waiting.is_alive()
    with Project.open(in_a_file.folder) as project:
        assert len(project.bags) == 85
        for bags, name in ((first.to_bags(), "first 7"), (second.to_bags(), "second 3")):
            position = project.contents.ids.tolist().index(name)
            assert np.array_equal(project.bags[position], bags[int(name.split()[1])])
        all_is_well(project)


def test_features_that_are_not_what_was_imported_are_noticed(in_a_file):
    in_a_file.close()
    file = in_a_file.folder / "instances.bin"
    content = bytearray(file.read_bytes())
    content[40:44] = content[80:84]
    file.write_bytes(content)
    with Project.open(in_a_file.folder) as project:
        assert [one.wrong for one in check(project) if one.wrong] == [
            "those of import 1 (synthetic.npz) are not what was imported"
        ]


def test_an_interrupt_while_learning_leaves_no_trace(in_a_file, say, monkeypatch):
    answer_some(in_a_file, say, 5)
    (asked,) = in_a_file.ask("ann")
    original = ActiveLearner._update

    def interrupted(self, *rest):
        raise KeyboardInterrupt

    monkeypatch.setattr(ActiveLearner, "_update", interrupted)
    in_a_file.answer(asked.key, "ann", "present")
    with pytest.raises(KeyboardInterrupt):
        in_a_file.load()
    monkeypatch.setattr(ActiveLearner, "_update", original)
    in_a_file.close()
    with Project.open(in_a_file.folder) as project:
        assert len(project.events) == 6, "it was saved before it was learned"
        assert project.learner.labels.n_known == 6
        all_is_well(project)


def test_snapshots_of_a_restored_past_are_not_taken_up(in_a_file, say, synthetic, tmp_path):
    answer_some(in_a_file, say, 10)
    backup = in_a_file.backup(tmp_path / "backup")
    in_a_file.import_(source_of(synthetic.select([0, 1]), ["x", "y"]))
    answer_some(in_a_file, say, 5)
    in_a_file.close()
    for name in ("bagwise.db", "instances.bin"):
        shutil.copyfile(backup / name, in_a_file.folder / name)
    with Project.open(in_a_file.folder) as restored:
        restored.import_(source_of(synthetic.select([2, 3, 4]), ["u", "v", "w"]))
        answer_some(restored, say, 5)
        all_is_well(restored)
    with Project.open(in_a_file.folder) as again:
        all_is_well(again)


def test_mutated_snapshots_are_never_taken_up(in_a_file, say, rng):
    answer_some(in_a_file, say, 12)
    weights = in_a_file.learner.model.weights_
    in_a_file.close()
    folder = in_a_file.folder / "snapshots"
    newest = max(folder.glob("[0-9]*.npz"), key=lambda path: int(path.stem))
    content = newest.read_bytes()
    for _ in range(40):
        mutated = bytearray(content)
        mutated[rng.integers(0, len(content))] ^= 1 << int(rng.integers(0, 8))
        newest.write_bytes(mutated)
        with Project.open(in_a_file.folder) as project:
            assert np.array_equal(project.learner.model.weights_, weights)


def test_a_failed_start_leaves_the_database_empty(tmp_path, synthetic, database):
    bad = Source.of_bags(Path("bad.npz"), [np.array([[1.0], [np.nan]])], ["a"])
    with pytest.raises(BagwiseError, match="missing"):
        Project.create(tmp_path / "p", bad, classes=["a"], database=database)
    assert list(tmp_path.iterdir()) == []
    Project.create(tmp_path / "p", source_of(synthetic), classes=["a"], database=database).close()


def test_values_too_large_for_the_project_are_refused(in_a_file):
    wide = np.zeros((1, 10))
    wide[0, 3] = 1e300
    with pytest.raises(BagwiseError, match=r"bad\.npz, row 1, column 4: a feature is too large"):
        in_a_file.import_(Source.of_bags(Path("bad.npz"), [wide], ["wide"]))
    assert len(in_a_file.bags) == 60


def test_lost_events_are_noticed(in_a_file, say):
    answer_some(in_a_file, say, 5)
    in_a_file.close()
    with sqlite3.connect(in_a_file.folder / "bagwise.db") as connection:
        connection.execute("DELETE FROM events WHERE number >= 4")
    connection.close()
    with Project.open(in_a_file.folder) as project:
        assert [one.wrong for one in check(project) if one.wrong] == ["5 were saved, 3 exist"]


@pytest.mark.parametrize("name", ["what?now", "50%", "a#b", "with space", "ünï"])
def test_folders_may_be_called_anything(tmp_path, synthetic, name):
    with Project.create(tmp_path / name, source_of(synthetic), classes=["a"]) as project:
        assert (project.folder / "bagwise.db").exists()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_people_who_open_an_older_project_together_all_can(in_a_file, say):
    answer_some(in_a_file, say, 8)
    make_older(in_a_file)
    faults = []

    def open_it():
        try:
            with Project.open(in_a_file.folder) as project:
                assert len(project.events) == 8
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert faults == []
    assert len(list((in_a_file.folder / "backups").iterdir())) == 1
