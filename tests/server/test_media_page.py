"""What a person sees and hears of a bag, in a real browser."""

import numpy as np
import polars as pl
import pytest

from bagwise import formats
from bagwise.project import Project
from bagwise.project.storage import stored_leases
from tests.server.conftest import Running
from tests.server.test_looks import faults
from tests.server.test_page import wait_for_events
from tests.support import example_media

POSITION = "() => parseFloat(document.querySelector('.sound .time').textContent)"
BRIGHTEST = """
() => {
  const canvas = document.querySelector("#bag canvas");
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  const light = (x, y) => data[4 * (y * width + x)] + data[4 * (y * width + x) + 1];
  return Array.from({ length: width }, (_, x) => {
    const lights = Array.from({ length: height }, (_, y) => light(x, y));
    const most = Math.max(...lights);
    const middle = (lights.indexOf(most) + lights.lastIndexOf(most)) / 2;
    return [1 - (middle + 0.5) / height, most];
  });
}
"""


def opened(page, server, selector):
    page.goto(server.address)
    page.wait_for_selector(selector)
    return page


def shown(page):
    return page.locator("#which").inner_text().split(" · ")[0], page.locator("#question b").inner_text()


def answer(page, truth):
    bag, name = shown(page)
    before = page.locator("body").get_attribute("data-shown")
    page.keyboard.press("y" if name in truth[bag] else "n")
    page.wait_for_function("before => ![before, ''].includes(document.body.dataset.shown)", arg=before)


def lease_of(server, page):
    """The question that is shown."""
    with server.project.database.reading() as connection:
        key = page.locator("body").get_attribute("data-shown")
        return stored_leases.with_keys(connection, [key])[key]


def places_of(server, page):
    """The places of the bag that is shown, and which of them made the model ask."""
    lease = lease_of(server, page)
    return server.project.medium(lease.bag).places, lease.question.evidence[0]


def answer_until(page, truth, selector):
    """Go on until a question shows it."""
    for _ in range(30):
        if page.locator(selector).count():
            return
        answer(page, truth)
        page.wait_for_timeout(100)
    raise AssertionError(f"no question shows {selector}")


def test_pictures_with_their_boxes(page, serve):
    server, truth = serve("picture")
    opened(page, server, "#bag .picture .evidence")
    places, evidence = places_of(server, page)
    image = page.locator("#bag img").bounding_box()
    scale = image["width"] / 640
    assert image["height"] == pytest.approx(420 * scale, abs=1)
    assert page.locator("#bag .place").count() == len(places)
    box = page.locator("#bag .place.evidence").bounding_box()
    place = places[evidence]
    assert box["x"] - image["x"] == pytest.approx(place["x"] * scale, abs=1)
    assert box["y"] - image["y"] == pytest.approx(place["y"] * scale, abs=1)
    assert box["width"] == pytest.approx(place["width"] * scale, abs=1)
    colour = "getComputedStyle(document.querySelector('#bag .evidence')).outlineColor"
    marked = page.evaluate(colour)
    page.keyboard.press("h")
    assert page.evaluate(colour) != marked, "hidden, it looks like every other box"
    page.keyboard.press("h")
    page.locator("#bag .frame").dblclick(position={"x": 3, "y": 3})
    assert page.locator("#bag img").bounding_box()["width"] > 1.9 * image["width"]
    answer_until(page, truth, "#examples .picture.small img")
    assert page.locator("#examples .place.evidence").count() >= 1
    assert page.faults == []


def test_the_spectrogram_shows_every_tone_where_it_is(page, serve):
    server, truth = serve("sound")
    opened(page, server, "#bag .sound canvas")
    for _ in range(3):
        bag, _ = shown(page)
        places, _ = places_of(server, page)
        columns = page.evaluate(BRIGHTEST)
        for name, place in zip(truth[bag], places, strict=True):
            middle = round(len(columns) * (place["start"] + place["end"]) / 2 / 3.0)
            frequency = columns[middle][0] * example_media.RATE / 2
            assert frequency == pytest.approx(example_media.TONES[name], abs=example_media.RATE / 512)
        loud = np.array([light for _, light in columns]) > 300
        seconds = (np.arange(len(columns)) + 0.5) / len(columns) * 3.0
        inside = np.any([(seconds > p["start"]) & (seconds < p["end"]) for p in places], axis=0)
        assert (loud == inside).mean() > 0.95, "tones begin and end when they do"
        box, plot = (page.locator(f"#bag {one}").first.bounding_box() for one in (".place", ".plot"))
        assert (box["x"] - plot["x"]) / plot["width"] * 3.0 == pytest.approx(places[0]["start"], abs=0.01)
        top = (1 - (box["y"] - plot["y"]) / plot["height"]) * example_media.RATE / 2
        assert top == pytest.approx(places[0]["high"], abs=60)
        answer(page, truth)
        page.wait_for_selector("#bag .sound canvas")
    assert page.locator(".frequencies .tick").all_inner_texts() == ["0", "2", "4", "6", "8", "10"]
    assert page.locator(".times .tick").first.inner_text() == "0 s"
    assert page.faults == []


@pytest.mark.parametrize("rate", [8000, 44100, 192000])
def test_the_frequencies_are_those_of_the_file(page, serve, rate):
    """Ultrasound too: a browser's own rate would end at 24 kHz."""
    server, _ = serve("sound", 4)
    for bag in range(4):
        path = server.folder / "media" / f"{bag}.wav"
        path.unlink()
        example_media.write_wav(path, example_media.tone(0.4 * rate, 0.0, 1.0, 1.0, rate), rate)
    opened(page, server, "#bag .sound canvas")
    found = page.evaluate(BRIGHTEST)[600][0] * rate / 2
    assert found == pytest.approx(0.4 * rate, rel=0.01)
    last = float(page.locator(".frequencies .tick").last.inner_text())
    assert rate / 2000 * 0.75 < last <= rate / 2000


def test_the_transform_is_the_fourier_transform(page, serve):
    server, _ = serve("text", 4)
    opened(page, server, "#bag .text")
    samples = np.random.default_rng(0).normal(size=700)
    power = page.evaluate(
        """async (samples) => {
          const { powerSpectrum } = await import("/static/spectrogram.js");
          return [...powerSpectrum(512)(samples, 100)];
        }""",
        samples.tolist(),
    )
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(512) / 512)
    expected = abs(np.fft.rfft(samples[100:612] * hann)[:256]) ** 2 * 16 / 512**2
    np.testing.assert_allclose(power, expected, rtol=1e-9, atol=1e-15)


def playing(page):
    return page.locator(".controls .play b").inner_text() == "Stop"


def wait_to_play(page, on=True):
    word = "Stop" if on else "Play"
    page.wait_for_function("word => document.querySelector('.controls .play b').textContent === word", arg=word)


def start_or_stop(page, on):
    """With Space, which does the one or the other: an autoplay may have begun."""
    if playing(page) != on:
        page.keyboard.press(" ")
    wait_to_play(page, on)


def test_sound_is_played_sought_and_looped(page, serve):
    server, _ = serve("sound")
    opened(page, server, "#bag .sound canvas")
    page.keyboard.press("l")
    assert page.locator(".controls [aria-pressed=true]", has_text="Loop").count() == 1
    start_or_stop(page, False)
    start_or_stop(page, True)
    page.wait_for_function(f"() => ({POSITION})() >= 0.3")
    plot, head = (page.locator(f"#bag {one}").bounding_box() for one in (".plot", ".head"))
    assert head["x"] > plot["x"]
    page.locator(".controls .play").click()
    wait_to_play(page, False)
    page.mouse.click(plot["x"] + plot["width"] * 0.8, plot["y"] + 20)
    wait_to_play(page)
    assert page.evaluate(POSITION) >= 2.3
    page.wait_for_function(f"() => ({POSITION})() >= 2.8")
    page.wait_for_function(f"() => ({POSITION})() <= 2.6")
    assert playing(page), "it goes round between the click and the end"
    places, evidence = places_of(server, page)
    page.keyboard.press("m")
    for _ in range(20):
        page.wait_for_timeout(50)
        assert places[evidence]["start"] - 0.3 < page.evaluate(POSITION) < places[evidence]["end"] + 0.3
    page.keyboard.press("r")
    page.wait_for_function(f"() => ({POSITION})() >= 2.3")
    page.keyboard.press("l")
    wait_to_play(page, False)
    assert page.evaluate(POSITION) == pytest.approx(2.4, abs=0.1), "replay begins where was clicked"
    assert server.project.events == []
    assert page.faults == []


COUNT_SOUNDS = """
window.sounding = new Set();
const { start, stop } = AudioBufferSourceNode.prototype;
AudioBufferSourceNode.prototype.start = function (...all) { window.sounding.add(this); return start.apply(this, all); };
AudioScheduledSourceNode.prototype.stop = function (when) {
  if (when === undefined) window.sounding.delete(this);
  return stop.apply(this, when === undefined ? [] : [when]);
};
"""


def test_autoplay_is_remembered_and_what_is_gone_is_silent(page, serve):
    server, truth = serve("sound")
    page.add_init_script(COUNT_SOUNDS)
    opened(page, server, "#bag .sound canvas")
    page.keyboard.press("l")
    answer(page, truth)
    page.wait_for_selector("#bag .sound canvas")
    wait_to_play(page)
    page.wait_for_function("() => window.sounding.size === 1")
    page.keyboard.press("a")
    answer(page, truth)
    page.wait_for_selector("#bag .sound canvas")
    assert not playing(page)
    page.wait_for_function("() => window.sounding.size === 0")
    page.reload()
    page.wait_for_selector("#bag .sound canvas")
    assert page.locator(".controls [aria-pressed=true]", has_text="Autoplay").count() == 0
    assert page.locator(".controls [aria-pressed=true]", has_text="Loop").count() == 1
    answer(page, truth)
    page.wait_for_selector("#bag .sound canvas")
    assert not playing(page)


def test_hidden_evidence_is_neither_seen_nor_heard(page, serve):
    server, _ = serve("sound")
    opened(page, server, "#bag .sound canvas")
    page.keyboard.press("h")
    assert not page.locator(".for-evidence").is_visible()
    start_or_stop(page, False)
    page.keyboard.press("m")
    assert not playing(page)
    page.keyboard.press("n")
    wait_for_events(server, 1)
    assert server.project.events[0].shown == "not highlighted"


def test_space_presses_the_button_that_has_the_focus_but_not_one_that_was_clicked(page, serve):
    server, _ = serve("sound")
    opened(page, server, "#bag .sound canvas")
    page.keyboard.press("l")
    page.locator("#buttons .no").click()
    wait_for_events(server, 1)
    page.wait_for_selector("#bag .sound canvas")
    before = playing(page)
    page.keyboard.press(" ")
    wait_to_play(page, not before)
    page.locator("#buttons .no").focus()
    page.keyboard.press(" ")
    wait_for_events(server, 2)
    assert [event.answer for event in server.project.events] == ["absent", "absent"]


def test_examples_can_be_heard(page, serve):
    server, truth = serve("sound")
    opened(page, server, "#bag .sound canvas")
    answer_until(page, truth, "#examples button.sound canvas")
    example = page.locator("#examples button.sound").first
    page.wait_for_selector("#bag .sound canvas")
    page.keyboard.press("l")
    start_or_stop(page, True)
    example.evaluate("it => it.addEventListener('click', () => { window.heard = it.classList.contains('playing'); })")
    example.click()
    assert page.evaluate("window.heard")
    assert not playing(page), "one at a time"
    assert "clip" in example.get_attribute("aria-label")
    page.wait_for_selector("#examples button.sound:not(.playing)")
    assert page.faults == []


def test_text_with_its_passages(page, serve):
    server, truth = serve("text")
    opened(page, server, "#bag .text mark")
    for _ in range(10):
        bag, _ = shown(page)
        _, evidence = places_of(server, page)
        page.wait_for_selector("#bag .text mark")
        assert page.locator("#bag mark.evidence").all_inner_texts() == [example_media.PASSAGES[truth[bag][evidence]]]
        whole = (server.folder.parent / "text files" / f"{bag}.txt").read_text(encoding="utf-8")
        assert page.locator("#bag .text").evaluate("element => element.textContent") == whole
        answer(page, truth)
    answer_until(page, truth, "#examples blockquote")
    quoted = page.locator("#examples blockquote").all_inner_texts()
    assert quoted
    assert set(quoted) <= set(example_media.PASSAGES.values())
    assert page.faults == []


def test_marks_in_a_text_mean_nothing(page, serve):
    server, _ = serve("text", 3)
    for bag in range(3):
        (server.folder / "media" / f"{bag}.txt").unlink()
        (server.folder / "media" / f"{bag}.txt").write_text("<img src=x onerror=alert(1)><script>alert(2)</script>" * 5)
    alerts = []
    page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    opened(page, server, "#bag .text")
    page.get_by_text("<script>alert(2)</script>").first.wait_for()
    assert alerts == []
    assert page.locator("#bag img, #bag script").count() == 0


def test_a_file_that_is_gone_is_said_so_and_answers_go_on(page, serve):
    server, truth = serve("picture", 5)
    page.route("**/media/*", lambda route: route.fulfill(status=404, json={"detail": "gone"}))
    opened(page, server, "#bag .picture")
    page.get_by_text("cannot be shown").first.wait_for()
    answer(page, truth)
    wait_for_events(server, 1)


@pytest.mark.parametrize("kind", example_media.MEDIA)
def test_the_next_question_is_there_before_it_is_asked(page, serve, kind):
    server, truth = serve(kind)
    sent = []
    page.on("requestfinished", lambda request: sent.append(request.url) if "/media/" in request.url else None)
    opened(page, server, f"#bag .{kind} .evidence")
    while len({url.split("?")[0] for url in sent}) < 3:
        page.wait_for_timeout(50)
    page.wait_for_timeout(300)
    page.route("**/media/**", lambda route: route.abort())
    for _ in range(2):
        answer(page, truth)
        page.wait_for_selector(f"#bag .{kind} .evidence")
        assert page.get_by_text("cannot be shown").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", example_media.MEDIA)
def test_everything_fits_and_has_a_name(page, serve, kind):
    server, truth = serve(kind)
    opened(page, server, f"#bag .{kind} .evidence")
    answer_until(page, truth, "#examples > *")
    for width in (360, 1280, 3840):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        for button in page.locator("#asking button:visible").all():
            box = button.bounding_box()
            assert box["height"] >= 44
            assert box["width"] >= 44
            assert button.get_attribute("aria-label") or button.inner_text()


def test_a_table_of_features_has_names(page, tmp_path):
    wide = [f"feature number {i}" for i in range(40)]
    rows = [(f"bag {b}", b + i, -0.5 * i, 1e-9, *range(40)) for b in range(30) for i in range(3)]
    frame = pl.DataFrame(rows, schema=["bag", "peak frequency", "loudness", "<b>tiny</b>", *wide], orient="row")
    frame.write_csv(tmp_path / "t.csv")
    Project.create(tmp_path / "table", formats.read(tmp_path / "t.csv"), classes=["wren"]).close()
    server = Running(tmp_path / "table")
    try:
        opened(page, server, "#bag table.features")
        heads = page.locator("#bag thead th").all_inner_texts()
        assert heads[:4] == ["", "peak frequency", "loudness", "<b>tiny</b>"]
        assert "The first 24 of 43 features" in page.locator("#bag caption").inner_text()
        assert page.locator("#bag tbody tr").count() == 3
        assert page.locator("#bag tr.evidence").count() == 1
        cells = page.locator("#bag tbody tr").nth(1).locator("td").all_inner_texts()
        assert cells[1:3] == ["-0.5", "1.0e-9"]
        assert page.locator("#bag tbody th").all_inner_texts() == ["0", "1", "2"]
        answer_until(page, {f"bag {b}": ["wren"] for b in range(30)}, "#examples table.features tr.evidence")
        page.set_viewport_size({"width": 360, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    finally:
        server.stop()


@pytest.mark.slow
def test_a_picture_is_zoomed_and_moved_with_its_boxes(page, serve):
    server, _ = serve("picture", least=3)
    opened(page, server, '#bag [data-instance="2"]')
    window = page.locator("#bag .window").bounding_box()
    image = page.locator("#bag img").bounding_box()
    places, evidence = places_of(server, page)

    def aligned():
        """Every box is where it is in the picture, however large that is; gives how large."""
        shown = page.locator("#bag img").bounding_box()
        scale = shown["width"] / 640
        for number, place in enumerate(places):
            box = page.locator(f'#bag [data-instance="{number}"]').bounding_box()
            wanted = [shown["x"] + place["x"] * scale, shown["y"] + place["y"] * scale, place["width"] * scale]
            assert [box["x"], box["y"], box["width"]] == pytest.approx(wanted, abs=1.5)
        return shown

    marked = page.locator(f'#bag [data-instance="{evidence}"]').bounding_box()
    x, y = marked["x"] + marked["width"] / 2, marked["y"] + marked["height"] / 2
    page.mouse.move(x, y)
    page.mouse.wheel(0, -500)
    page.wait_for_function("() => document.querySelector('#bag .picture.zoomed')")
    zoomed = aligned()
    assert zoomed["width"] == pytest.approx(np.e * image["width"], rel=0.02)
    grown = page.locator(f'#bag [data-instance="{evidence}"]').bounding_box()
    assert grown["x"] <= x <= grown["x"] + grown["width"], "it stays under the pointer"
    page.mouse.move(window["x"] + window["width"] / 2, window["y"] + window["height"] / 2)
    page.mouse.down()
    page.mouse.move(window["x"] + window["width"] / 2 - 50, window["y"] + window["height"] / 2 - 40, steps=4)
    page.mouse.up()
    moved = aligned()
    assert moved["x"] < zoomed["x"] - 30
    assert page.locator("#bag [data-instance][aria-pressed=true]").count() == 0, "a drag picks nothing"
    page.keyboard.press("Shift+ArrowLeft")
    assert aligned()["x"] > moved["x"] + 30
    page.keyboard.press("Escape")
    assert aligned() == pytest.approx(image, abs=1)
    for key in "++-":
        page.keyboard.press(key)
    assert aligned()["width"] == pytest.approx(1.5 * image["width"], rel=0.02)
    page.locator(f'#bag [data-instance="{evidence}"]').click()
    assert page.locator("#bag [data-instance][aria-pressed=true]").count() == 1
    assert page.faults == []


def test_words_are_found_in_a_text(page, serve):
    server, truth = serve("text")
    opened(page, server, "#bag .text mark")
    bag, _ = shown(page)
    whole = (server.folder.parent / "text files" / f"{bag}.txt").read_text(encoding="utf-8")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Find in the text"
    page.keyboard.type("THE")
    total = whole.lower().count("the")
    count = page.locator(".finder .count")
    assert count.inner_text() == f"1 of {total}"
    marked = "name => [...CSS.highlights.get(name)].map(String)"
    assert {one.lower() for one in page.evaluate(marked, "found")} == {"the"}
    page.keyboard.press("Shift+Enter")
    assert count.inner_text() == f"{total} of {total}"
    page.get_by_role("button", name="Next place").click()
    assert count.inner_text() == f"1 of {total}"
    page.get_by_label("Find in the text").fill("(the$")
    assert count.inner_text() == "not found"
    words = example_media.PASSAGES[truth[bag][0]].split()
    page.get_by_label("Find in the text").fill(f"{words[0]}   {words[1]}")
    assert page.evaluate(marked, "found-one") == [f"{words[0]} {words[1]}"]
    assert page.locator("#bag .text").evaluate("element => element.textContent") == whole, "the text is as it was"
    assert faults(page) == []
    page.get_by_label("Find in the text").press("Escape")
    assert page.locator(".finder .count").is_hidden()
    page.keyboard.press("n")
    wait_for_events(server, 1)
    assert page.faults == []
