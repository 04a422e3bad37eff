"""What the server refuses, over a real connection where that matters."""

import http.client
import os
import subprocess
import sys
import time

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from bagwise.cli import app
from bagwise.core.errors import BagwiseError
from bagwise.project import DatabaseError, Invitations, Project
from bagwise.project.answers.answers import Answers
from bagwise.server import Site, application
from bagwise.server.middleware import HEADERS, LARGEST_BODY

HERE = "http://127.0.0.1:8765"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def client(project):
    with TestClient(application(project, "ann"), base_url=HERE) as client:
        yield client


def raw(running, method, path, headers, body=b""):
    """A request exactly as written: no client puts it right."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=600)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    response = connection.getresponse()
    found = response.status, response.read()
    connection.close()
    return found


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/../../project/store.py",
        "/static/%2e%2e/%2e%2e/pyproject.toml",
        "/static/..%5c..%5capp.py",
        "/static/%252e%252e/app.py",
        "/static//etc/passwd",
        "/static/%00",
        "/../../etc/passwd",
        "/bagwise.db",
        "/bagwise.toml",
    ],
)
def test_no_path_leads_out(running, path):
    status, body = raw(running, "GET", path, {"Host": f"127.0.0.1:{running.port}"})
    assert status in (400, 404)
    assert b"import" not in body
    assert b"root:" not in body


@pytest.mark.parametrize("host", [None, "", "evil.example", "127.0.0.1.evil.example", "[::1", "evil.example:8765", "@"])
def test_a_missing_or_foreign_host_is_refused(running, host):
    status, _ = raw(running, "GET", "/api/status", {} if host is None else {"Host": host})
    assert status in (400, 421)


@pytest.mark.parametrize(
    ("site", "good", "bad"),
    [
        (Site(), ["localhost", "127.0.0.1", "::1"], ["192.168.1.5", "evil.example", None, ""]),
        (Site("192.168.1.5"), ["192.168.1.5", "localhost"], ["192.168.1.6", "evil.example"]),
        (Site("0.0.0.0"), ["192.168.1.5", "10.0.0.1"], ["evil.example", "", None]),
        (Site("127.0.0.1", "https://label.example"), ["label.example", "127.0.0.1"], ["evil.example", "example"]),
    ],
)
def test_the_names_a_server_goes_by(site, good, bad):
    assert all(site.answers_to(name) for name in good)
    assert not any(site.answers_to(name) for name in bad)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "http://127.0.0.1:8765.evil.example"},
        {"Origin": "http://[::1"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_other_sites_change_nothing(client, project, headers):
    (question,) = client.get("/api/questions/next").json()
    body = {"key": question["key"], "answer": "present"}
    for path, sent in (("/api/answers", body), ("/api/undo", {"key": "k"}), ("/api/sign-in", {"token": "t"})):
        assert client.post(path, json=sent, headers=headers).status_code == 403
    assert project.events == []


def test_a_page_of_another_site_does_not_even_lease_questions(client):
    assert client.get("/api/questions/next", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert client.get("/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200, "a link may lead here"


def test_behind_a_proxy_the_public_name_counts(project):
    with TestClient(application(project, "ann", Site(at="https://label.example")), base_url=HERE) as client:
        token = Invitations(project.database).invite("bea")
        signed = client.post("/api/sign-in", json={"token": token}, headers={"Origin": "https://label.example"})
        assert signed.status_code == 200
        assert "Secure" in signed.headers["set-cookie"]


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_only_json_is_read(client, project, kind):
    body = b'{"key": "k", "answer": "present"}'
    assert client.post("/api/answers", content=body, headers={"Content-Type": kind}).status_code == 415


def test_bodies_are_bounded(client, running):
    large = b'"' + b"x" * (LARGEST_BODY + 1) + b'"'
    assert client.post("/api/answers", content=large, headers=JSON).status_code == 413
    assert client.post("/api/answers", content=iter([large]), headers=JSON).status_code == 411
    assert client.post("/api/sign-in", json={"token": "x" * 1000}).status_code == 422
    assert client.post("/api/answers", content=b"[" * 30_000, headers=JSON).status_code in (400, 422)
    lies = {"Host": f"127.0.0.1:{running.port}", **JSON, "Content-Length": "-5"}
    assert raw(running, "POST", "/api/answers", lies)[0] in (400, 411)


def test_every_answer_has_a_strict_policy(client):
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert all(part in policy for part in ("default-src 'self'", "frame-ancestors 'none'", "form-action 'self'"))
    for path in ("/", "/static/page.js", "/api/status", "/api/openapi.json", "/nowhere"):
        assert client.get(path).headers["content-security-policy"] == policy


def test_the_page_runs_no_script_of_its_own_text(page, running):
    page.goto(running.address)
    page.wait_for_selector("#bag .strip")
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hit=1\">')")
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent='window.hit=1'; document.body.append(s) }"
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.hit === undefined")


def test_a_database_that_is_away_asks_to_try_again(client, project, monkeypatch):
    """The page sends an answer again on 503; on 400 it would give it up."""

    def away(*_):
        raise DatabaseError("The database cannot be reached.")

    (question,) = client.get("/api/questions/next").json()
    body = {"key": question["key"], "answer": "present"}
    monkeypatch.setattr(Answers, "submit", away)
    assert client.post("/api/answers", json=body).status_code == 503
    monkeypatch.undo()
    assert client.post("/api/answers", json=body).status_code == 200


@pytest.mark.slow
def test_no_token_in_what_a_served_process_writes(tmp_path, synthetic):
    from tests.conftest import source_of
    from tests.server.conftest import Running

    with Project.create(tmp_path / "p", source_of(synthetic), classes=synthetic.classes) as project:
        token = Invitations(project.database).invite("bea")
    spare = Running(tmp_path / "p")
    spare.stop()
    command = [sys.executable, "-m", "bagwise", "serve", str(tmp_path / "p"), "--port", str(spare.port), "--no-browser"]
    command += ["--host", "0.0.0.0", "--trust-proxy", "127.0.0.1"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=dict(os.environ))
        try:
            here = {"Host": f"127.0.0.1:{spare.port}"}
            for _ in range(600):
                try:
                    status, _ = raw(spare, "GET", "/api/me", {**here, "Authorization": f"Bearer {token}"})
                    break
                except ConnectionError:
                    time.sleep(0.1)
            assert status == 200
            raw(spare, "GET", "/api/me", {**here, "Authorization": f"Bearer {token}x"})
            raw(spare, "POST", "/api/sign-in", {**here, **JSON, "Content-Length": "3"}, token[:3].encode())
        finally:
            process.terminate()
            process.wait(600)
    written = (tmp_path / "log").read_text()
    assert token not in written
    assert written.count("not encrypted") == 1, "and it warned that others on the network can read along"


@pytest.mark.slow
def test_a_server_beyond_this_machine_needs_invitations(tmp_path, synthetic):
    from tests.conftest import source_of

    Project.create(tmp_path / "p", source_of(synthetic), classes=synthetic.classes).close()
    command = [sys.executable, "-m", "bagwise", "serve", str(tmp_path / "p"), "--host", "0.0.0.0", "--no-browser"]
    command += ["--port", "18765"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert said.returncode == 1
    assert "bagwise invite" in said.stderr
    assert "Traceback" not in said.stderr


def test_only_other_machines_without_tls_are_warned_about():
    assert Site("127.0.0.1").missing_tls is None
    assert Site("0.0.0.0", "https://label.example").missing_tls is None
    for site in Site("192.168.1.5"), Site("::"), Site("0.0.0.0", "http://label.example"):
        assert "not encrypted" in site.missing_tls


def test_a_proxy_that_is_none_is_said_so_at_once(tmp_path):
    with pytest.raises(BagwiseError, match="nginx is not the address of a proxy"):
        CliRunner().invoke(app, ["serve", str(tmp_path / "p"), "--trust-proxy", "nginx"], catch_exceptions=False)
