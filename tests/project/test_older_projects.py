"""A project that an older Bagwise wrote opens as it was: its answers, its audits, and what is estimated from them.

`tests/recorded/schema_0010` is the project `default` of `tests/recorded` with three audits in ten, as commit b9df905
wrote it before audits had probabilities: its database as SQL, the labels and audits that it had, and the estimate of
its quality. Commit 97f44a0 gave the estimate of b9df905 within 1e-6; the estimate was recorded again when `open_pairs`
changed for all projects (674629f, 73bf56c, 3245866, 2b63564), with the same labels and audits.
"""

import json
import shutil
import sqlite3
from collections import Counter
from dataclasses import asdict

import numpy as np
import pytest

from bagwise.project import Project, quality_of
from bagwise.project.answers.audits import audit_history
from bagwise.project.answers.replay import Replay
from bagwise.project.storage import database as databases
from bagwise.project.storage.database import Database
from bagwise.project.storage.schema import VERSION
from bagwise.project.training.thresholds import labels_and_audits
from tests.project.test_project import all_is_well
from tests.recorded import FOLDER

OLDER = FOLDER / "schema_0010"


@pytest.fixture
def older(tmp_path, database):
    """The folder of the project, with its answers in a file or on a server."""
    folder = tmp_path / "older"
    folder.mkdir()
    for name in ("bagwise.toml", "instances.bin"):
        shutil.copyfile(OLDER / name, folder / name)
    with sqlite3.connect(folder / "bagwise.db") as connection:
        connection.executescript((OLDER / "bagwise.sql").read_text())
    connection.close()
    if database:
        file, server = Database.in_file(folder / "bagwise.db"), Database(database)
        server.upgrade("0010")
        with file.reading() as source, server.first_writing() as target:
            databases._copy_rows(source, target)
        file.close()
        server.close()
        (folder / "bagwise.db").unlink()
        settings = (folder / "bagwise.toml").read_text()
        (folder / "bagwise.toml").write_text(
            settings.replace('name = "older"', f'name = "older"\ndatabase = "{database}"')
        )
    return folder


def judged_pairs(project):
    """What estimates are made of: every known pair, and whether an audit labelled it."""
    counted = Replay(project.contents, project.settings)
    counted.count(project.events)
    labels, audits = labels_and_audits(counted)
    return [
        f"{bag} {label_class} {int(labels.value[bag, label_class])}{' audit' * int(audits.audited[bag, label_class])}"
        for bag, label_class in np.argwhere(labels.known).tolist()
    ]


def test_an_older_project_keeps_its_answers_and_its_estimate(older):
    recorded = json.loads((OLDER / "quality.json").read_text())
    with Project.open(older) as project:
        assert project.database.version() == VERSION
        kinds = Counter(event.kind for event in project.events)
        assert kinds == {"answer": 138 + 11, "correction": 10, "retraction": 11}
        assert sum(event.audit for event in project.events) == 50
        assert {event.probability for event in project.events} == {None}

        history = audit_history(project.contents, project.votes)
        alike = [1 / int(history.open_before(place).sum()) for place in range(len(history.draws))]
        assert history.probabilities.tolist() == pytest.approx(alike, rel=0.02)
        assert {draw.probability for draw in history.draws} == {None}
        assert history.opened.max() == 0

        assert judged_pairs(project) == recorded["pairs"]
        found = quality_of(project)
        assert (found.answers, found.audits) == (recorded["answers"], recorded["audits"])
        for name, expected in recorded["metrics"].items():
            assert asdict(found.metrics[name]) == pytest.approx(expected)
        for one in found.classes:
            for name, expected in recorded["classes"][one.name].items():
                assert asdict(getattr(one, name)) == pytest.approx(expected)

        (asked,) = project.ask("ann")
        project.answer(asked.key, "ann", "present")
        all_is_well(project)
    assert len(list((older / "backups").iterdir())) == 1


def test_what_came_later_to_an_older_project_is_known_from_the_times(older, database):
    """An import after half of the answers, and a class that was added after forty."""
    at = "2026-11-18T06:14:00.000+00:00"
    statements = (
        f"INSERT INTO imports VALUES (2, '{at}', 'more.npz', 1, 0, 0, 0)",
        "UPDATE bags SET import = 2 WHERE position = 59",
        "INSERT INTO classes VALUES (5, 'cuckoo')",
        f"INSERT INTO class_changes VALUES (1, '{at}', 'ann', 5, 'added', '{{}}', 40)",
    )
    place = Database(database) if database else Database.in_file(older / "bagwise.db")
    with place.first_writing() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
        before = connection.exec_driver_sql(f"SELECT count(*) FROM events WHERE at < '{at}'").scalar_one()
    place.close()
    assert 0 < before < 170
    with Project.open(older) as project:
        assert project.contents.bags_after.tolist() == [0] * 59 + [before]
        assert project.contents.classes_after.tolist() == [0] * 5 + [40]
