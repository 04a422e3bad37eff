"""Values that a database or JSON cannot hold are refused as such, and a trainer that is away asks to try again."""

import json
import sys

import pytest
from fastapi.testclient import TestClient

from bagwise.project import Asking, Project, TrainerStopped
from bagwise.project.queue import ranking
from bagwise.server import application
from tests.conftest import source_of

HERE = "http://127.0.0.1:8765"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def client(project):
    # A fault must show as 500, as it does in a browser.
    with TestClient(application(project, "ann"), base_url=HERE, raise_server_exceptions=False) as client:
        yield client


CANNOT_BE_WRITTEN = [
    ("/api/answers", '{"key": "k", "answer": "present", "seconds": NaN}'),
    ("/api/answers", '{"key": "k", "answer": "present", "seconds": 1e999}'),
    ("/api/answers", '{"key": "k", "answer": "present", "seconds": -Infinity}'),
    ("/api/answers", '{"key": NaN, "answer": "present"}'),
    ("/api/answers", r'{"key": "\ud800", "answer": "present"}'),
    ("/api/answers", r'{"key": "k", "answer": "\udfff"}'),
    ("/api/corrections", '{"key": "k", "number": NaN, "answer": "present"}'),
    ("/api/corrections", '{"key": "k", "number": 1e999, "answer": "present"}'),
    ("/api/undo", r'{"key": "\ud800"}'),
    ("/api/sign-in", r'{"token": "\ud800"}'),
    ("/api/sign-in", "NaN"),
    ("/api/review/answers", r'{"key": "k", "class_name": "\ud800", "answer": "absent", "bags": ["\udc00"]}'),
    ("/api/answers/whole", r'{"key": "k", "classes": ["\ud800"], "present": []}'),
    ("/api/answers/whole", '{"key": "k", "classes": [NaN], "present": [1e999], "seconds": NaN}'),
]


def test_what_json_cannot_hold_is_refused(client, project):
    for path, body in CANNOT_BE_WRITTEN:
        refused = client.post(path, content=body.encode(), headers=JSON)
        assert refused.status_code == 422, body
        assert all(set(one) == {"loc", "msg", "type"} for one in refused.json()["detail"])
    for number in ("1" * 5000, "1e999", "-1"):
        body = f'{{"key": "k", "number": {number}, "answer": "present"}}'
        refused = client.post("/api/corrections", content=body.encode(), headers=JSON)
        assert refused.status_code in (400, 422)
        json.loads(refused.content, parse_constant=pytest.fail)
    assert project.events == []


def keyed(project, key):
    """Every request that carries a key."""
    (asked,) = project.ask("ann")
    name = project.classes[0]
    return {
        "/api/answers": {"key": key, "answer": "present"},
        "/api/answers/whole": {"key": key, "classes": [project.classes[asked.label_class]], "present": []},
        "/api/undo": {"key": key},
        "/api/corrections": {"key": key, "number": 1, "answer": "unsure"},
        "/api/review/answers": {"key": key, "class_name": name, "answer": "absent", "bags": ["bag 1", "bag 2"]},
    }


def test_what_a_database_cannot_hold_is_refused(client, project):
    for key in ("\0", "a\0b", "k" * 64 + "\0", "\n"):
        for path, body in keyed(project, key).items():
            assert client.post(path, json=body).status_code == 422, path
    for name in ("\0", "wr\0en"):
        for path in ("/api/review/answers", "/api/review/predictions"):
            assert client.get(path, params={"class_name": name, "annotator": name}).status_code == 400, path
        body = {"key": "k", "class_name": name, "answer": "absent", "bags": [name]}
        assert client.post("/api/review/answers", json=body).status_code == 400
        assert client.post("/api/sign-in", json={"token": name}).status_code == 401
    assert project.events == []


def test_the_longest_keys_work_or_are_refused(make_project):
    """Of a request about several things each is saved under a key of its own, which is longer."""
    project = make_project(asking=Asking(granularity="bag"))
    with TestClient(application(project, "ann"), base_url=HERE, raise_server_exceptions=False) as client:

        def status(path, length, **body):
            return client.post(path, json={"key": "k" * length, **body}).status_code

        (question,) = client.get("/api/questions/next").json()
        body = {"key": question["key"], "classes": question["classes"], "present": []}
        assert len(client.post("/api/answers/whole", json=body).json()) == len(project.classes) > 1
        assert status("/api/undo", 64) == 422
        assert status("/api/undo", 48) == 200
        assert len(project.events) == 2 * len(project.classes), "each was taken back"
        bulk = {"class_name": project.classes[0], "answer": "absent", "bags": [f"bag {i}" for i in range(1, 31)]}
        assert status("/api/review/answers", 64, **bulk) == 422
        assert status("/api/review/answers", 47, **bulk) == 200
        whole = {"classes": question["classes"], "present": []}
        assert status("/api/answers/whole", 64, **whole) == 422
        assert status("/api/corrections", 65, number=len(project.events), answer="unsure") == 422
        assert status("/api/corrections", 64, number=len(project.events), answer="unsure") == 200


@pytest.fixture
def folder(tmp_path, synthetic):
    Project.create(tmp_path / "project", source_of(synthetic), classes=synthetic.classes).close()
    return tmp_path / "project"


def test_a_trainer_that_ended_asks_to_try_again(folder, monkeypatch):
    monkeypatch.setattr("bagwise.project.training.trainer_process.RESTART_SECONDS", 0.0)
    with (
        Project.open(folder, apart=True) as served,
        TestClient(application(served, "ann"), base_url=HERE) as client,
    ):
        with monkeypatch.context() as broken:
            broken.setattr(sys, "executable", "/bin/false")
            bulk = {"key": "b", "class_name": served.classes[0], "answer": "absent", "bags": ["bag 1"]}
            for refused in (
                client.get("/api/questions/next"),
                client.get("/api/review/predictions", params={"class_name": served.classes[0]}),
                client.post("/api/review/answers", json=bulk),
            ):
                assert refused.status_code == 503
                assert int(refused.headers["retry-after"]) > 0
                assert "training process" in refused.json()["detail"]
        (question,) = client.get("/api/questions/next").json()
        saved = client.post("/api/answers", json={"key": question["key"], "answer": "absent"})
        assert saved.status_code == 200, "another was started"
        assert client.post("/api/review/answers", json=bulk).status_code == 200, (
            "and what was refused can be sent again"
        )


def test_a_trainer_that_ends_again_and_again_lets_nobody_wait_for_ever(folder, monkeypatch):
    """What was published before is good enough for questions; whoever needs a newer model is told to try again."""
    monkeypatch.setattr("bagwise.project.training.trainer_process.RESTART_SECONDS", 0.0)
    monkeypatch.setattr(ranking, "TIMEOUT", 0.01)
    with (
        Project.open(folder, apart=True) as served,
        TestClient(application(served, "ann"), base_url=HERE) as client,
    ):
        (question,) = client.get("/api/questions/next").json()
        monkeypatch.setattr(sys, "executable", "/bin/false")
        served._state.trainer._process.kill()
        answer = {"key": question["key"], "answer": "absent"}
        assert client.post("/api/answers", json=answer).status_code == 200
        assert client.get("/api/questions/next").status_code == 200
        with pytest.raises(TrainerStopped):
            served.online_model()
        refused = client.get("/api/review/predictions", params={"class_name": served.classes[0]})
        assert refused.status_code == 503
