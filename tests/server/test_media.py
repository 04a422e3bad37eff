"""The route to the files: fixed types, byte ranges, and no way out of the project."""

import shutil

import pytest
from fastapi.testclient import TestClient

from bagwise.project import Project
from bagwise.server import application
from tests.support import example_media


@pytest.fixture
def folder(tmp_path):
    return example_media.make(tmp_path, "sound", bags=4)[0]


@pytest.fixture
def client(folder):
    with (
        Project.open(folder) as project,
        TestClient(application(project, "ann"), base_url="http://127.0.0.1:8765") as client,
    ):
        yield client


def test_a_question_says_where_its_file_is(client, folder):
    (question,) = client.get("/api/questions/next").json()
    medium = question["bag"]["medium"]
    assert (medium["kind"], medium["type"]) == ("sound", "audio/wav")
    assert question["bag"]["instances"] == [], "what can be heard need not be sent as numbers"
    assert set(medium["places"][question["evidence"]]) == {"start", "end", "low", "high"}
    got = client.get(medium["url"])
    assert got.status_code == 200
    assert len(got.content) == medium["bytes"]
    number = medium["url"].split("?")[0].rpartition("/")[2]
    assert got.content == (folder / "media" / f"{number}.wav").read_bytes()


def test_examples_say_where_the_model_believes_the_class(client):
    for _ in range(6):
        (question,) = client.get("/api/questions/next").json()
        client.post("/api/answers", json={"key": question["key"], "answer": "present"})
    (question,) = client.get("/api/questions/next").json()
    assert question["examples"]
    for example in question["examples"]:
        assert 0 <= example["evidence"] < len(example["medium"]["places"])


def test_how_a_file_is_sent(client):
    headers = client.get("/media/0").headers
    assert headers["content-type"] == "audio/wav"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"].startswith("private")
    assert "default-src 'self'" in headers["content-security-policy"]
    assert client.get("/api/status").headers["cache-control"] == "no-store"


def test_byte_ranges(client):
    whole = client.get("/media/0").content
    part = client.get("/media/0", headers={"Range": "bytes=100-199"})
    assert part.status_code == 206
    assert part.content == whole[100:200]
    assert part.headers["content-range"] == f"bytes 100-199/{len(whole)}"
    assert client.get("/media/0", headers={"Range": f"bytes={len(whole)}-"}).status_code == 416


@pytest.mark.parametrize(
    "path",
    [
        "/media/../bagwise.db",
        "/media/%2e%2e/bagwise.db",
        "/media/..%2fbagwise.toml",
        "/media/%2e%2e%2fbagwise.toml",
        "/media//etc/passwd",
        "/media/%2fetc%2fpasswd",
        "/media/0.wav",
        "/media/0/../../bagwise.toml",
        "/media/places.npy",
        "/media/0%00.png",
        "/media/-1",
        "/media/4",
        "/media/99999999999999999999999",
        "/media/0x0",
        "/media/\u0660x",
        "/media/",
        "/media",
    ],
)
def test_only_numbers_of_bags_lead_to_files(client, path):
    got = client.get(path)
    assert got.status_code in (404, 422), got.text


def test_a_link_is_never_followed(client, folder, tmp_path):
    (tmp_path / "secret.wav").write_text("secret")
    (folder / "media" / "0.wav").unlink()
    (folder / "media" / "0.wav").symlink_to(tmp_path / "secret.wav")
    (folder / "media" / "1.wav").unlink()
    (folder / "media" / "1.wav").symlink_to(folder / "bagwise.toml")
    (folder / "media" / "2.wav").unlink()
    (folder / "media" / "2.wav").mkdir()
    for bag in range(3):
        assert client.get(f"/media/{bag}").status_code == 404


def test_a_folder_that_is_a_link_is_never_followed(client, folder, tmp_path):
    shutil.move(folder / "media", tmp_path / "elsewhere")
    (folder / "media").symlink_to(tmp_path / "elsewhere")
    assert client.get("/media/0").status_code == 404


@pytest.mark.parametrize("name", ["0.svg", "0.html", "0.js", "0.npy", "0"])
def test_what_is_not_on_the_list_is_not_sent(client, folder, name):
    (folder / "media" / "0.wav").rename(folder / "media" / name)
    assert client.get("/media/0").status_code == 404


def test_text_is_sent_as_text(tmp_path):
    folder, _ = example_media.make(tmp_path, "text", bags=2)
    (folder / "media" / "0.txt").unlink()
    (folder / "media" / "0.txt").write_text("<script>alert(1)</script>")
    with (
        Project.open(folder) as project,
        TestClient(application(project, "ann"), base_url="http://127.0.0.1:8765") as client,
    ):
        headers = client.get("/media/0").headers
        assert headers["content-type"] == "text/plain; charset=utf-8"
        assert headers["x-content-type-options"] == "nosniff"


def test_other_sites_cannot_have_the_files(client):
    assert client.get("/media/0", headers={"Host": "evil.example"}).status_code == 421
