"""What a person sees of raw files that were cut here, in a real browser."""

import contextlib

import numpy as np
import pytest
import soundfile
from PIL import Image
from typer.testing import CliRunner

from bagwise.cli import app
from bagwise.ingest import worker_pool
from tests.server.conftest import Running
from tests.server.test_media_page import answer_until, lease_of, opened, places_of, shown
from tests.support import example_media


@pytest.fixture
def serve(tmp_path, monkeypatch):
    monkeypatch.setattr(worker_pool, "cores", lambda: 1)
    servers = []

    def start(classes):
        (tmp_path / "classes.txt").write_text("\n".join(classes))
        words = ["init", "p", "--from", "files", "--classes", "classes.txt"]
        monkeypatch.chdir(tmp_path)
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
        servers.append(Running(tmp_path / "p"))
        return servers[0]

    yield start
    for server in servers:
        with contextlib.suppress(Exception):
            server.stop()


@pytest.mark.slow
def test_the_region_that_made_the_model_ask_is_outlined(page, serve, tmp_path):
    rng = np.random.default_rng(1)
    found, _ = example_media.pictures(tmp_path / "files", rng, 4)
    turned = Image.open(tmp_path / "files" / "scene 0.png")
    exif = Image.Exif()
    exif[0x0112] = 6
    for number in range(4):
        turned.save(tmp_path / "files" / f"turned {number}.jpg", exif=exif)
    server = serve(example_media.SHAPES)
    truth = {f"scene {number}.png": content for number, content in enumerate(found)}
    truth |= {f"turned {number}.jpg": found[0] for number in range(4)}
    opened(page, server, "#bag .outlines .evidence")
    seen = set()
    # Half of the bags are turned: after so many questions, whichever they are, both kinds were seen.
    for _ in range(4 * len(example_media.SHAPES) + 1):
        bag, _ = shown(page)
        page.wait_for_selector("#bag .outlines .evidence")
        places, evidence = places_of(server, page)
        image, outline = (page.locator(f"#bag {one}").bounding_box() for one in ("img", ".outlines .evidence"))
        width, height = (420, 640) if "turned" in bag else (640, 420)
        assert image["width"] / image["height"] == pytest.approx(width / height, rel=0.01)
        scale, place = image["width"] / width, places[evidence]
        assert outline["x"] - image["x"] == pytest.approx(place["x"] * scale, abs=4)
        assert outline["y"] - image["y"] == pytest.approx(place["y"] * scale, abs=4)
        assert outline["width"] == pytest.approx(place["width"] * scale, abs=8)
        assert page.locator("#bag .outlines .region").count() == len(places)
        seen.add("turned" in bag)
        before = page.locator("body").get_attribute("data-shown")
        page.keyboard.press("n")
        page.wait_for_function("before => ![before, ''].includes(document.body.dataset.shown)", arg=before)
        if len(seen) == 2:
            break
    assert seen == {True, False}
    stroke = "getComputedStyle(document.querySelector('#bag .outlines .evidence')).strokeWidth"
    page.wait_for_selector("#bag .outlines .evidence")
    assert page.evaluate(stroke) == "4px"
    page.keyboard.press("h")
    assert page.evaluate(stroke) == "1px", "hidden, it looks like every other region"
    answer_until(page, dict.fromkeys(truth, example_media.SHAPES), "#examples .outlines .evidence")
    assert page.faults == []


@pytest.mark.slow
def test_the_passage_of_a_converted_document_is_marked(page, serve, tmp_path):
    (tmp_path / "files").mkdir()
    parts = [
        "Schöne Grüße aus dem Café an der Straße, und bis bald im Juli.",
        "An owl called twice from the old barn tonight.",
    ]
    for number, encoding in enumerate(["latin-1", "utf-16", "utf-8", "utf-8-sig"]):
        (tmp_path / "files" / f"{number}.txt").write_bytes("\r\n\r\n".join(parts).encode(encoding))
    server = serve(["owl", "barn"])
    opened(page, server, "#bag .text mark")
    for _ in range(4):
        page.wait_for_selector("#bag .text mark")
        _, evidence = places_of(server, page)
        assert page.locator("#bag mark.evidence").all_inner_texts() == [parts[evidence]]
        before = page.locator("body").get_attribute("data-shown")
        page.keyboard.press("n")
        page.wait_for_function("before => before !== document.body.dataset.shown", arg=before)
    assert page.faults == []


@pytest.mark.slow
def test_outlines_are_sent_only_where_there_are_some(page, serve, tmp_path):
    example_media.pictures(tmp_path / "files", np.random.default_rng(1), 2)
    server = serve(example_media.SHAPES)
    (tmp_path / "p" / "media" / "1.outlines").unlink()
    page.goto(server.address)
    asked = "address => fetch(address).then((response) => response.status)"
    assert [page.evaluate(asked, f"/media/{bag}/outlines") for bag in (0, 1, 9)] == [200, 404, 404]
    page.wait_for_selector("#bag .picture :is(.outlines, .place)")


@pytest.mark.slow
def test_a_clip_of_a_long_recording_is_seen_at_its_time_and_only_its_seconds_are_sent(page, serve, tmp_path):
    """Three minutes with one tone in each: whichever clip is asked about, its marked sound is where the axis says."""
    rate, seconds = 16_000, 180
    sound = np.random.default_rng(0).normal(scale=0.003, size=rate * seconds)
    for start in range(5, seconds, 10):
        when = np.arange(start * rate, (start + 1) * rate)
        sound[when] += 0.3 * np.sin(2 * np.pi * 3000 * when / rate)
    (tmp_path / "files" / "pond").mkdir(parents=True)
    soundfile.write(tmp_path / "files" / "pond" / "20260524_040000.wav", sound, rate)
    server = serve(["wren", "robin"])
    sent = []
    page.on("response", lambda one: sent.append((one.url, len(one.body()))) if "/sound?" in one.url else None)
    opened(page, server, "#bag .evidence")
    lease = lease_of(server, page)
    start, end = server.project.medium(lease.bag).clip
    places, evidence = places_of(server, page)
    assert places[evidence]["start"] == pytest.approx(start + 5, abs=0.2)
    label = page.locator("#bag .plot").get_attribute("aria-label")
    minutes, rest = divmod(int(start), 60)
    assert f"{minutes}:{rest:02}" in label
    plot, box = (page.locator(f"#bag {one}").bounding_box() for one in (".plot", ".evidence"))
    assert (box["x"] - plot["x"]) / plot["width"] == pytest.approx(0.5, abs=0.05)
    when = f"pond · 2026-05-24 04:{minutes:02}:{rest:02} · pond/20260524_040000.wav, {minutes}:{rest:02} to "
    assert page.locator("#which").inner_text().startswith(when)
    ours = [size for url, size in sent if f"/media/{lease.bag}/" in url]
    assert sum(ours) == 44 + 2 * rate * (end - start), "ten seconds, not three minutes"
    assert page.faults == []
