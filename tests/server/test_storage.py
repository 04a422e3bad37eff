"""The files under a running server are replaced, removed or read-only: it stops with a sentence and loses nothing."""

import shutil
import signal
import subprocess
import sys
import threading

import httpx2 as httpx
import pytest
from sqlalchemy import text

from bagwise.core.errors import BagwiseError
from bagwise.project import Project
from tests.conftest import source_of
from tests.project.test_project import all_is_well, answer_some
from tests.server.conftest import Served
from tests.support import restrictions


@pytest.fixture
def folder(tmp_path, synthetic):
    Project.create(tmp_path / "project", source_of(synthetic), classes=synthetic.classes).close()
    return tmp_path / "project"


@pytest.fixture
def server(folder):
    served = Served(folder)
    yield served
    served.stop()


def answers(client, count):
    """Answer so many questions; the keys that were acknowledged and what the server said of the others."""
    saved, refused = [], []
    questions = client.get("/api/questions/next", params={"count": 20})
    asked = questions.json() if questions.status_code == 200 else []
    if not asked:
        refused.append((questions.status_code, questions.json()["detail"]))
    for question in asked[:count]:
        done = client.post("/api/answers", json={"key": question["key"], "answer": "absent"})
        if done.status_code == 200:
            saved.append(question["key"])
        else:
            refused.append((done.status_code, done.json()["detail"]))
    return saved, refused


def test_nothing_is_acknowledged_after_the_folder_was_replaced(server, folder, tmp_path):
    """Many connections are open: none may go on with the old file, none with the new one."""
    with httpx.Client(base_url=server.address, timeout=600) as client:
        before, _ = answers(client, 5)
        prepared = client.get("/api/questions/next", params={"count": 20}).json()
        server.project.backup(tmp_path / "copy")
        folder.rename(tmp_path / "old")
        (tmp_path / "copy").rename(folder)
        said = []

        def go_on(question):
            done = client.post("/api/answers", json={"key": question["key"], "answer": "present"})
            said.append((done.status_code, done.json().get("detail")))

        threads = [threading.Thread(target=go_on, args=[question]) for question in prepared]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(said) == 20
        for code, sentence in [*said, *answers(client, 5)[1]]:
            assert code == 503
            assert "was replaced by another file while it was in use" in sentence
        assert client.get("/api/status").status_code == 503
    for place in (tmp_path / "old", folder):
        with Project.open(place) as project:
            assert [event.key for event in project.events] == before
            project.answer(project.ask("bob")[0].key, "bob", "present")
            all_is_well(project)


@pytest.mark.slow
def test_nothing_is_acknowledged_after_the_folder_was_removed(server, folder):
    with httpx.Client(base_url=server.address, timeout=600) as client:
        assert len(answers(client, 3)[0]) == 3
        prepared = client.get("/api/questions/next", params={"count": 10}).json()
        shutil.rmtree(folder)
        for question in prepared:
            done = client.post("/api/answers", json={"key": question["key"], "answer": "present"})
            assert done.status_code == 503
            assert "does not exist any more" in done.json()["detail"]
    assert not folder.exists()


@pytest.mark.slow
def test_the_terminal_ends_with_a_sentence_when_the_folder_was_replaced(folder, tmp_path):
    with Project.open(folder) as project:
        project.backup(tmp_path / "copy")
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "bagwise", "answer", str(folder), "--as", "ann"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stdin.write("y")
    process.stdin.flush()
    for line in process.stdout:
        if "saved as number 1" in line:
            break
    # Between the two it must not look: it would say that the folder is gone.
    process.send_signal(signal.SIGSTOP)
    folder.rename(tmp_path / "old")
    (tmp_path / "copy").rename(folder)
    process.send_signal(signal.SIGCONT)
    _, said = process.communicate("yyq", timeout=600)
    assert process.returncode == 1
    assert "was replaced by another file while it was in use" in said
    for place, expected in ((tmp_path / "old", 1), (folder, 0)):
        with Project.open(place) as project:
            assert len(project.events) == expected


def test_an_older_database_under_an_open_project_is_noticed(postgres_server, tmp_path, synthetic, say):
    """What a restored dump is to PostgreSQL; numbers would go on with a gap."""
    address = postgres_server.new_database()
    with Project.create(tmp_path / "p", source_of(synthetic), classes=synthetic.classes, database=address) as project:
        answer_some(project, say, 5)
        (asked,) = project.ask("ann")
        with project.database.first_writing() as connection:
            connection.execute(text("DELETE FROM events WHERE number > 3"))
            connection.execute(text("UPDATE changes SET last_event = 3"))
        with pytest.raises(BagwiseError, match="has 3 answers where there were 5 before"):
            project.answer(asked.key, "ann", "present")
    with Project.open(tmp_path / "p") as again:
        answer_some(again, say, 1)
        all_is_well(again)


@pytest.mark.slow
def test_a_read_only_folder_is_served_for_reading(folder, say):
    with Project.open(folder) as project:
        answer_some(project, say, 4)
    with restrictions.read_only(folder):
        server = Served(folder, under=restrictions.obeying_permissions())
        try:
            with httpx.Client(base_url=server.address, timeout=600) as client:
                assert client.get("/api/status").json()["answers"] == 4
                assert client.get("/api/review/answers").json()["of"] == 4
                assert client.get("/api/downloads/labels", params={"form": "csv"}).status_code == 200
                asked = client.get("/api/questions/next")
                assert asked.status_code == 503
                assert "answers cannot be saved" in asked.json()["detail"]
        finally:
            server.stop()
