"""The routes to the files: fixed types, byte ranges, parts of recordings, and no way out of the project."""

import dataclasses
import io
import shutil

import numpy as np
import pytest
import soundfile
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


def heard(response):
    """The samples of a part of a recording, as loud as they are in the file, and their rate."""
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "audio/wav"
    samples, rate = soundfile.read(io.BytesIO(response.content), dtype="int16")
    assert abs(samples).max(initial=0) in (0, 32767), "full scale"
    return samples / 32767 * float(response.headers["bagwise-peak"]), rate


def replace_recording(folder, samples, rate, suffix="wav", **options):
    (folder / "media" / "0.wav").unlink()
    soundfile.write(folder / "media" / f"0.{suffix}", samples, rate, **options)


@pytest.mark.parametrize("suffix", ["wav", "flac", "ogg", "mp3"])
def test_a_part_of_a_recording(client, folder, suffix):
    """Of any format, at the rate of the file, the mean of its channels."""
    rate = 24000
    samples = np.random.default_rng(0).normal(0, 0.05, (8 * rate, 2)).cumsum(axis=0) % 1.0 - 0.5
    replace_recording(folder, samples, rate, suffix)
    whole, _ = soundfile.read(folder / "media" / f"0.{suffix}")
    found, at = heard(client.get("/media/0/sound?start=2.5&end=4"))
    assert at == rate
    np.testing.assert_allclose(found, whole.mean(axis=1)[60000:96000], atol=1e-3 if suffix in ("ogg", "mp3") else 4e-5)
    last, _ = heard(client.get("/media/0/sound?start=7.9&end=20"))
    assert len(last) == len(whole) - 189600, "what lies after the end is left out"


def test_a_part_is_as_loud_as_16_bits_can_be_and_never_clipped(client, folder):
    faint = 1e-4 * np.sin(np.arange(8000) / 5)
    replace_recording(folder, np.concatenate([faint, 7.0 * 1e4 * faint, np.zeros(8000)]), 8000, subtype="FLOAT")
    for start, loudest in ((0, 1e-4), (1, 7.0)):
        found, _ = heard(client.get(f"/media/0/sound?start={start}&end={start + 1}"))
        np.testing.assert_allclose(found, loudest * 1e4 * faint, atol=loudest / 30000)
    silence, _ = heard(client.get("/media/0/sound?start=2&end=3"))
    assert not silence.any()


def test_how_a_part_is_sent(client):
    part = client.get("/media/0/sound?start=1&end=2&version=1")
    assert part.headers["cache-control"].startswith("private, max-age")
    assert part.headers["cross-origin-resource-policy"] == "same-origin"
    assert len(part.content) == 44 + 2 * example_media.RATE
    assert client.get("/media/0/sound?start=1&end=2", headers={"Host": "evil.example"}).status_code == 421


WRONG_SECONDS = {
    "start=1": "Field required",
    "start=a&end=2": "valid number",
    "start=-1&end=2": "greater than or equal to 0",
    "start=nan&end=2": "finite number",
    "start=1&end=inf": "finite number",
    "start=2&end=2": "`end` must be later",
    "start=2&end=1": "`end` must be later",
    "start=3&end=4": "The recording ends at 3.000 s",
    "start=0&end=120.1": "At most 120 s",
}


def test_wrong_seconds_are_refused(client):
    for query, sentence in WRONG_SECONDS.items():
        refused = client.get(f"/media/0/sound?{query}")
        assert refused.status_code == 422
        assert sentence in refused.json()["detail"][0]["msg"]


def test_a_part_has_a_limit_of_samples_too(client, folder):
    replace_recording(folder, np.zeros(1000), 500_000)
    assert "At most 32 s" in client.get("/media/0/sound?start=0&end=33").text


def test_where_there_is_no_sound(client, folder, tmp_path):
    assert client.get("/media/4/sound?start=0&end=1").json()["detail"] == "This bag has no sound."
    (folder / "media" / "0.wav").unlink()
    (folder / "media" / "0.wav").write_bytes(b"RIFF    WAVE and then nothing")
    assert client.get("/media/0/sound?start=0&end=1").json()["detail"].endswith("cannot be decoded.")
    pictures, _ = example_media.make(tmp_path, "picture", bags=2)
    with (
        Project.open(pictures) as project,
        TestClient(application(project, "ann"), base_url="http://127.0.0.1:8765") as other,
    ):
        assert other.get("/media/0/sound?start=0&end=1").status_code == 404
        assert other.get("/api/questions/next").json()[0]["bag"]["medium"]["sound"] is None


def test_a_question_says_where_its_clip_is(folder, monkeypatch):
    with Project.open(folder) as project:
        plain = project.medium
        with TestClient(application(project, "ann"), base_url="http://127.0.0.1:8765") as client:
            (question,) = client.get("/api/questions/next").json()
            whole = {"start": 0.0, "end": 3.0, "seconds": 3.0, "rate": example_media.RATE}
            assert question["bag"]["medium"]["sound"] == whole
            monkeypatch.setattr(project, "medium", lambda bag: dataclasses.replace(plain(bag), clip=(1.5, 9.0)))
            (question,) = client.get("/api/questions/next").json()
            assert question["bag"]["medium"]["sound"] == whole | {"start": 1.5}, "it ends with its file"
