"""The API without a page: what it does, what it refuses."""

import socket

import pytest
from fastapi.testclient import TestClient

from bagwise.cli.labelling import serve
from bagwise.core.errors import BagwiseError
from bagwise.project import Invitations
from bagwise.server import Site, application, validate_host, validate_port


@pytest.fixture
def client(project):
    with TestClient(application(project, "ann"), base_url="http://127.0.0.1:8765") as client:
        yield client


def test_a_script_can_label(client, project):
    for number in range(1, 6):
        (question,) = client.get("/api/questions/next").json()
        saved = client.post("/api/answers", json={"key": question["key"], "answer": "present", "seconds": 1}).json()
        assert saved["number"] == number
    assert client.get("/api/status").json()["answers"] == 5
    again = client.post("/api/answers", json={"key": question["key"], "answer": "present"})
    assert again.json()["number"] == 5
    conflict = client.post("/api/answers", json={"key": question["key"], "answer": "absent"})
    assert conflict.status_code == 409
    corrected = client.post("/api/corrections", json={"key": "c", "number": 5, "answer": "absent"}).json()
    assert corrected["replaces"] == 5
    undone = client.post("/api/undo", json={"key": "u"}).json()
    assert (undone["kind"], undone["answer"]) == ("restoration", "present")
    assert [one["number"] for one in client.get("/api/answers").json()] == [5, 4, 3, 2, 1]
    undone = client.post("/api/undo", json={"key": "v"}).json()
    assert undone["kind"] == "retraction"
    assert [one["number"] for one in client.get("/api/answers").json()] == [4, 3, 2, 1]
    assert len(project.events) == 8


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"key": "nothing", "answer": "present"}, 400),
        ({"key": "", "answer": "present"}, 422),
        ({"key": "k", "answer": "perhaps"}, 422),
        ({"key": "k" * 100, "answer": "present"}, 422),
        ({"answer": "present"}, 422),
    ],
)
def test_nonsense_is_refused(client, project, body, code):
    assert client.post("/api/answers", json=body).status_code == code
    assert project.events == []


def test_other_sites_and_hosts_are_refused(client, project):
    (question,) = client.get("/api/questions/next").json()
    body = {"key": question["key"], "answer": "present"}
    assert client.post("/api/answers", json=body, headers={"Origin": "http://evil.example"}).status_code == 403
    assert client.post("/api/answers", json=body, headers={"Origin": "http://127.0.0.1:9999"}).status_code == 403
    assert client.get("/api/status", headers={"Host": "evil.example"}).status_code == 421
    form = client.post("/api/answers", content="key=x", headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert form.status_code == 415
    large = client.post("/api/answers", content=b"x" * 100_000, headers={"Content-Type": "application/json"})
    assert large.status_code == 413
    assert project.events == []
    allowed = client.post("/api/answers", json=body, headers={"Origin": "http://127.0.0.1:8765"})
    assert allowed.status_code == 200


def test_every_answer_keeps_the_page_to_itself(client):
    for path in ("/", "/static/page.js", "/api/status", "/nowhere"):
        headers = client.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd"]
)
def test_files_cannot_leave_their_folder(client, path):
    assert client.get(path).status_code == 404


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "example.org"])
def test_other_machines_are_served_only_where_people_sign_in(project, host):
    with pytest.raises(BagwiseError, match="bagwise invite"):
        validate_host(project, Site(host))
    Invitations(project.database).invite("bea")
    validate_host(project, Site(host))


def test_a_port_in_use_is_said_so():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(BagwiseError, match="choose another with --port"):
            validate_port("127.0.0.1", taken.getsockname()[1])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
def test_this_machine_is_served(project, host):
    validate_host(project, Site(host))


def test_a_folder_that_is_not_there_is_said_before_a_port_that_is_taken(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(BagwiseError, match="is not a Bagwise project"):
            serve(tmp_path / "nowhere", port=taken.getsockname()[1])
