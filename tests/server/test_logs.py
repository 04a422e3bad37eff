"""What a server logs, at which level, and that no token is among it."""

import logging
import time

import pytest
from fastapi.testclient import TestClient

from bagwise.core.logs import LogLevel, configure_logging, current_level
from bagwise.project import DatabaseError, Invitations, Project
from bagwise.project.training import trainer_process
from bagwise.server import application, middleware
from tests.server.conftest import Served


@pytest.fixture
def database():
    """Nothing that is logged here comes from a database: in the folder."""
    return ""


@pytest.fixture
def client(project):
    with TestClient(application(project, "ann"), base_url="http://127.0.0.1:8765") as client:
        yield client


def found(caplog, logger):
    return [(one.levelname, one.getMessage()) for one in caplog.records if one.name == logger]


def test_a_refused_sign_in_is_a_warning_without_the_token(client, project, caplog):
    Invitations(project.database).invite("bea")
    client.post("/api/sign-in", json={"token": "secret-token"})
    ((level, message),) = found(caplog, "bagwise.server.dependencies")
    assert level == "WARNING"
    assert message.startswith("sign-in refused")
    assert "secret-token" not in caplog.text


def test_a_slow_request_is_a_warning_without_its_query(client, caplog, monkeypatch):
    monkeypatch.setattr(middleware, "SLOW_SECONDS", -1.0)
    client.get("/api/review/answers?annotator=bea")
    ((level, message),) = found(caplog, "bagwise.server.middleware")
    assert level == "WARNING"
    assert message.startswith("slow request: GET '/api/review/answers' took")


def test_a_database_that_fails_is_a_warning(client, project, caplog, monkeypatch):
    def away(*_):
        raise DatabaseError("The database cannot be reached.")

    monkeypatch.setattr(project, "catch_up", away)
    assert client.get("/api/answers").status_code == 503
    ((level, message),) = found(caplog, "bagwise.server.app")
    assert level == "WARNING"
    assert message == "GET '/api/answers': 503, The database cannot be reached."


@pytest.mark.slow
def test_a_crash_of_the_training_process_is_a_warning(project, caplog, monkeypatch):
    monkeypatch.setattr(trainer_process, "RESTART_SECONDS", 0.0)
    caplog.set_level(logging.INFO, logger="bagwise")
    with Project.open(project.folder, apart=True) as served:
        for _ in range(2):
            (asked,) = served.ask("ann")
            served.answer(asked.key, "ann", "absent")
            process = served._state.trainer._process
            if process is not None:
                process.kill()
            while served._state.trainer._process is process:
                time.sleep(0.01)
    messages = found(caplog, trainer_process.__name__)
    assert any(level == "INFO" and "started" in message for level, message in messages)
    assert any(level == "WARNING" and "restarting" in message for level, message in messages)


def test_a_child_process_logs_at_the_level_of_its_parent():
    logger = logging.getLogger("bagwise")
    before = logger.level
    try:
        configure_logging(LogLevel.INFO)
        assert current_level() == LogLevel.INFO
    finally:
        logger.setLevel(before)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["info", "warning"])
def test_the_level_of_a_server_is_an_option(tmp_path, project, capfd, level):
    project.close()
    served = Served(project.folder, "--log-level", level)
    served.stop()
    assert ("INFO bagwise.server.run: serving" in capfd.readouterr().err) == (level == "info")
