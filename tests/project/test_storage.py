"""The files of a project: private, readable where they cannot be written, clean after whatever failed."""

import os
import sqlite3
import stat
import sys

import numpy as np
import polars as pl
import pytest
from sqlalchemy import inspect, text

from bagwise.core.errors import BagwiseError
from bagwise.formats import Source
from bagwise.ingest.media import Files
from bagwise.project import Media, Project
from bagwise.project.storage import database as databases
from bagwise.project.storage.database import Database
from tests.conftest import source_of
from tests.project.test_commands import bagwise
from tests.project.test_project import all_is_well, answer_some
from tests.project.test_trouble import make_older
from tests.support import example_media, forked, restrictions


@pytest.fixture
def in_a_file(tmp_path, synthetic):
    with Project.create(tmp_path / "project", source_of(synthetic), classes=synthetic.classes) as project:
        yield project


def write_table(path, rows=300, mixed=False):
    """Sixty bags as a table; `mixed`: the rows of a bag lie apart."""
    numbers = np.arange(rows) % 60 if mixed else np.sort(np.arange(rows) % 60)
    features = np.random.default_rng(0).normal(size=(rows, 10))
    frame = pl.DataFrame({"bag": [f"more {number}" for number in numbers]})
    frame.hstack(pl.DataFrame(features, schema=[f"f{i}" for i in range(10)])).write_parquet(path)
    return path


# On a folder that cannot be written


@pytest.mark.slow
def test_a_project_in_a_read_only_folder_can_be_read(in_a_file, synthetic, say, tmp_path):
    answer_some(in_a_file, say, 6)
    in_a_file.close()
    folder, table = in_a_file.folder, write_table(tmp_path / "table.parquet")
    with Project.create(tmp_path / "older", source_of(synthetic), classes=["a"]) as older:
        make_older(older)
    with restrictions.read_only(folder), restrictions.read_only(older.folder):
        status, check, export, predict, backup, answer, more, of_older = restrictions.commands(
            ("status", folder),
            ("check", folder),
            ("export", folder, "--to", tmp_path / "labels.csv"),
            ("predict", folder, "--from", table, "--to", tmp_path / "predicted.csv"),
            ("backup", folder, "--to", tmp_path / "copy"),
            ("answer", folder, "--as", "ann", "--count", 1),
            ("import", folder, "--from", table),
            ("status", older.folder),
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
    assert of_older[0] == 1
    assert "must be upgraded, but is read-only: copy it" in of_older[1]
    with Project.open(tmp_path / "copy") as copy:
        assert len(copy.events) == 6
        answer_some(copy, say, 1)


@pytest.mark.slow
def test_what_a_killed_process_left_in_the_log_is_read_from_a_read_only_folder(in_a_file, say, tmp_path):
    """The newest answers are in the write-ahead log only."""
    in_a_file.close()
    program = (
        "import os, sys; from bagwise.project import Project; project = Project.open(sys.argv[1]);"
        "[project.answer(project.ask('ann')[0].key, 'ann', 'absent') for _ in range(4)]; os._exit(9)"
    )
    assert forked.Popen([sys.executable, "-c", program, str(in_a_file.folder)]).wait() == 9
    assert (in_a_file.folder / "bagwise.db-wal").stat().st_size > 0
    with restrictions.read_only(in_a_file.folder):
        ((code, said),) = restrictions.commands(
            ("export", in_a_file.folder, "--what", "answers", "--to", tmp_path / "a.csv")
        )
    assert code == 0, said
    assert len(pl.read_csv(tmp_path / "a.csv")) == 4


# Who may read it


def test_bags_are_found_by_their_whole_name(tmp_path):
    names = ["b", "a", "bb", "ä", "10", "9", "B"]
    source = Source.of_bags(tmp_path / "made.npz", [np.array([[float(place)]]) for place in range(len(names))], names)
    with Project.create(tmp_path / "named", source, classes=["wren"]) as project:
        found = [
            project.contents.bag_position(name) for name in [*names, "", "c", "bbb", "á", "zz" * 50, "b" * 100_000_000]
        ]
    assert found == [*range(len(names)), *[None] * 6]


def test_the_database_is_for_its_owner_alone(synthetic, tmp_path):
    before = os.umask(0o022)
    try:
        with Project.create(tmp_path / "other", source_of(synthetic), classes=["a"]) as project:
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


# Imports that fail


def sizes_in(folder):
    """Of all files but those that come and go with the database."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files if "db" not in path.name}


@pytest.mark.parametrize("mixed", [False, True])
def test_an_import_without_room_leaves_no_bytes_behind(in_a_file, tmp_path, mixed):
    """Rows in the order of their bags are written one after the other, mixed ones to their places."""
    table = write_table(tmp_path / "more.parquet", 60_000, mixed)
    in_a_file.close()
    before = sizes_in(in_a_file.folder)
    ((code, said),) = restrictions.commands(("import", in_a_file.folder, "--from", table), largest_file=1_000_000)
    assert code == 1, said
    assert "instances.bin cannot be written: File too large. The project is unchanged." in said
    assert sizes_in(in_a_file.folder) == before
    with Project.open(in_a_file.folder) as project:
        all_is_well(project)


@pytest.mark.usefixtures("one_process")
def test_an_import_that_the_database_refuses_leaves_nothing_behind(in_a_file, synthetic, tmp_path, monkeypatch):
    """It fails at its very end, when instances and pictures are written."""
    monkeypatch.setattr(databases, "WAIT_FOR_LOCK", 0.2)
    in_a_file.close()
    (tmp_path / "pictures").mkdir()
    for number in range(5):
        pixels = np.zeros((4, 4, 3), np.uint8)
        example_media.write_png(tmp_path / "pictures" / f"more {number}.png", pixels)
    other = sqlite3.connect(in_a_file.folder / "bagwise.db", isolation_level=None)

    def meanwhile(_):
        if not other.in_transaction:
            other.execute("BEGIN IMMEDIATE")

    for parts in (None, 2):
        with Project.open(in_a_file.folder) as project:
            if parts is not None:
                project.partition(parts)
            before = sizes_in(project.folder)
            more = source_of(synthetic.select(range(5)), [f"more {number}" for number in range(5)])
            files = Media(Files.in_folder(tmp_path / "pictures"))
            with pytest.raises(BagwiseError, match="locked by another process"):
                project.import_(more, progress=meanwhile, media=files)
            other.execute("ROLLBACK")
            assert sizes_in(project.folder) == before
            all_is_well(project)
    other.close()
    with Project.open(in_a_file.folder) as project:
        project.import_(more, media=files)
        assert len(project.bags) == 65
        all_is_well(project)


def test_what_a_killed_import_left_goes_with_the_next_one(in_a_file, tmp_path):
    table = write_table(tmp_path / "more.parquet")
    in_a_file.close()
    before = sizes_in(in_a_file.folder)
    program = (
        "import os, sys; from bagwise import formats; from bagwise.project import Project;"
        "table = formats.read(sys.argv[2]);"
        "Project.open(sys.argv[1]).import_(table, progress=lambda _: os._exit(9))"
    )
    assert forked.Popen([sys.executable, "-c", program, str(in_a_file.folder), str(table)]).wait() == 9
    left = in_a_file.folder / "instances.bin"
    with left.open("ab") as file:
        file.write(b"left behind" * 100)
    with Project.open(in_a_file.folder) as project:
        project.import_(None, classes=["one more"])
        assert sizes_in(project.folder)["instances.bin"] == before["instances.bin"]
        all_is_well(project)


# Upgrades


def rows_of(file):
    with sqlite3.connect(file) as connection:
        found = list(connection.iterdump())
    connection.close()
    return found


def test_an_upgrade_that_fails_halfway_leaves_everything_as_it_was(in_a_file, say):
    """The second of two steps fails, since a table of the name is there already."""
    answer_some(in_a_file, say, 3)
    make_older(in_a_file)
    file = in_a_file.folder / "bagwise.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE invitations (name TEXT)")
    connection.close()
    before = rows_of(file)
    for _ in range(2):
        with pytest.raises(BagwiseError, match="already exists"):
            Project.open(in_a_file.folder)
        assert rows_of(file) == before
    assert list((in_a_file.folder / "backups").iterdir()) == []
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE invitations")
    connection.close()
    with Project.open(in_a_file.folder) as project:
        assert len(project.events) == 3
        all_is_well(project)


def test_an_upgrade_without_room_leaves_no_broken_copy(in_a_file, say):
    answer_some(in_a_file, say, 3)
    make_older(in_a_file)
    file = in_a_file.folder / "bagwise.db"
    before = rows_of(file)
    ((code, said),) = restrictions.commands(("status", in_a_file.folder), largest_file=file.stat().st_size // 2)
    assert code == 1, said
    assert "The database" in said
    assert rows_of(file) == before
    assert list((in_a_file.folder / "backups").iterdir()) == []
    with Project.open(in_a_file.folder) as project:
        assert len(project.events) == 3


# One database for each project


def test_a_second_project_leaves_the_first_one_of_a_database_alone(postgres_server, tmp_path, synthetic, say):
    """The second begins while the first imports: it ends with a sentence, and the first has all its tables."""
    address = postgres_server.new_database()
    refused = []

    def meanwhile(_):
        if not refused:
            with pytest.raises(BagwiseError, match="is not empty: a project needs its own") as error:
                Project.create(tmp_path / "second", source_of(synthetic), classes=["a"], database=address)
            refused.append(error)

    first = Project.create(
        tmp_path / "first", source_of(synthetic), classes=synthetic.classes, database=address, progress=meanwhile
    )
    with first:
        answer_some(first, say, 2)
        all_is_well(first)
    assert not (tmp_path / "second").exists()


def test_of_projects_begun_together_in_one_database_one_is_made(postgres_server, tmp_path, synthetic):
    address = postgres_server.new_database()
    program = (
        "import sys; from bagwise import datasets; from bagwise.core.errors import BagwiseError;"
        "from bagwise.project import Project; from tests.conftest import source_of;"
        "data = datasets.load('synthetic').select(range(60)); print('ready', flush=True); sys.stdin.readline()\n"
        "try:\n    Project.create(sys.argv[1], source_of(data), classes=['a', 'b'], database=sys.argv[2]).close()\n"
        "except BagwiseError as error:\n    print(error); sys.exit(7)"
    )
    commands = [[sys.executable, "-c", program, str(tmp_path / f"p{i}"), address] for i in range(3)]
    processes = [forked.Popen(command, stdin=forked.PIPE, stdout=forked.PIPE) for command in commands]
    for process in processes:
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        process.stdin.write(b"\n")
        process.stdin.flush()
    said = [process.stdout.read().decode() for process in processes]
    for process in processes:
        with process:
            process.wait(600)
    codes = [process.returncode for process in processes]
    assert sorted(codes) == [0, 7, 7], said
    assert all("is not empty" in words for words, code in zip(said, codes, strict=True) if code)
    with Project.open(tmp_path / f"p{codes.index(0)}") as project:
        all_is_well(project)
    assert sum((tmp_path / f"p{i}").exists() for i in range(3)) == 1


def test_a_project_that_fails_to_begin_leaves_its_own_database_empty(postgres_server, tmp_path, synthetic):
    address = postgres_server.new_database()

    def fail(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Project.create(tmp_path / "p", source_of(synthetic), classes=["a"], database=address, progress=fail)
    database = Database(address)
    assert inspect(database.engine).get_table_names() == []
    database.close()


# Passwords


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:S3CRET@127.0.0.1:9/nowhere",
        "postgresql://127.0.0.1:9/nowhere?user=ann&password=S3CRET",
        "postgresql:///nowhere?host=127.0.0.1&port=9&password=S3CRET",
        "postgresql://ann:S3@S3CRET@127.0.0.1/nowhere",
        "postgresql://ann:x@127.0.0.1:S3CRET/nowhere",
        "postgresql://ann@127.0.0.1:9/nowhere?passwort=S3CRET",
        "S3CRET",
        "mysql://ann:S3CRET@host/nowhere",
    ],
)
def test_a_password_is_never_printed(tmp_path, synthetic, address):
    with pytest.raises(BagwiseError) as error:
        Project.create(tmp_path / "p", source_of(synthetic), classes=["a"], database=address)
    assert "S3CRET" not in str(error.value)
    assert "S3CRET" not in repr(error.value)


def test_a_password_in_the_settings_is_never_printed(postgres_server, tmp_path, synthetic):
    address = postgres_server.new_database() + "?password=S3CRET&application_name=here"
    Project.create(tmp_path / "p", source_of(synthetic), classes=["a"], database=address).close()
    assert stat.S_IMODE((tmp_path / "p" / "bagwise.toml").stat().st_mode) == 0o600
    lines = (("status", tmp_path / "p"), ("status", tmp_path / "p", "--json"), ("check", tmp_path / "p"))
    good = [bagwise(*line) for line in lines]
    assert [code for code, _, _ in good] == [0, 0, 0], good
    database = Database(address)
    with database.first_writing() as connection:
        connection.execute(text("DROP TABLE leases, sessions, invitations, events, given_labels"))
        connection.execute(text("DROP TABLE alembic_version"))
    database.close()
    bad = [bagwise(*line) for line in lines]
    assert [code for code, _, _ in bad] == [1, 1, 1]
    assert "holds no Bagwise project" in bad[0][2]
    assert not any("S3CRET" in out + err for _, out, err in good + bad)
