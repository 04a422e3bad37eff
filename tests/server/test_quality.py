import pytest
from fastapi.testclient import TestClient

from bagwise.server.app import application


@pytest.fixture
def database():
    """An estimate is the same with any database: in the folder."""
    return ""


@pytest.mark.slow
def test_the_quality_is_in_the_api(project, say):
    for _ in range(60):
        (asked,) = project.ask("ann")
        project.answer(asked.key, "ann", say(asked))
    client = TestClient(application(project, "ann"), base_url="http://127.0.0.1:8765")
    found = client.get("/api/quality").json()
    assert found["answers"] == 60
    assert found["bag_accuracy"]["low"] <= found["bag_accuracy"]["value"] <= found["bag_accuracy"]["high"]
    assert len(found["classes"]) == len(project.classes)
    assert found["verdict"]["stop"] is False
    assert "/api/quality" in client.get("/api/openapi.json").json()["paths"]
    assert found["sentence"].startswith("Overall: ")
    for one in found["classes"]:
        assert one["sentence"].startswith(f"{one['name']}: ")
    shown = client.get("/api/progress").json()
    assert shown["sentence"] == found["sentence"]
    assert [one["sentence"] for one in shown["classes"]] == [one["sentence"] for one in found["classes"]]
    page = client.get("/api/quality/report")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert found["sentence"] in page.text
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
