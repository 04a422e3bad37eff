"""Looking into a recording: zoomed, moved, at any speed, and only as much of the file as is needed."""

import dataclasses
import wave

import numpy as np
import pytest

from tests.server.test_looks import faults
from tests.server.test_media_page import opened, playing, start_or_stop, wait_to_play
from tests.support import example_media

HOUR, CLIP = 3600, (1800.0, 1803.0)
RATE = 8000
AT = """
(number) => {
  const canvas = document.querySelector("#bag canvas");
  const area = document.querySelector(`#bag [data-instance="${number}"]`).getBoundingClientRect();
  const drawn = canvas.getBoundingClientRect();
  const light = (x) => {
    const column = Math.floor(((x - drawn.x) / drawn.width) * canvas.width);
    if (column < 0 || column >= canvas.width) return { most: 0, at: -1 };
    const { data } = canvas.getContext("2d").getImageData(column, 0, 1, canvas.height);
    const lights = Array.from({ length: canvas.height }, (_, y) => data[4 * y] + data[4 * y + 1]);
    const most = Math.max(...lights);
    const middle = (lights.indexOf(most) + lights.lastIndexOf(most) + 1) / 2;
    return { most, at: (drawn.y + (middle / canvas.height) * drawn.height - area.y) / area.height };
  };
  const near = 0.06 * area.width;
  return [area.x - near, area.x + near, area.x + area.width / 2, area.right - near, area.right + near].map(light);
}
"""
IS_DRAWN = f"""
(number) => {{
  const [before, first, middle, last, after] = ({AT})(number);
  const inside = (one) => one.most > 300 && one.at > 0 && one.at < 1;
  return before.most < 300 && after.most < 300 && [first, middle, last].every(inside);
}}
"""


LIGHT = """
() => {
  const canvas = document.querySelector("#bag canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return data.reduce((sum, one) => sum + one, 0);
}
"""


KEEP_STARTED = """
const { start } = AudioBufferSourceNode.prototype;
AudioBufferSourceNode.prototype.start = function (...all) {
  window.started = { source: this, at: this.context.currentTime };
  return start.apply(this, all);
};
"""
# By the clock of the sound: another clock runs faster or slower than it on a busy machine.
HEARD = """
(least) => {
  const shown = parseFloat(document.querySelector(".sound .time").textContent);
  const { source, at } = window.started;
  const samplesPerSecond = source.buffer.sampleRate * source.playbackRate.value;
  return shown >= least && { shown, samplesPerSecond, passed: source.context.currentTime - at };
}
"""


def wait_until_drawn(page, number):
    """Until the tone of an instance begins and ends in the picture where its box does, and is inside of it."""
    page.wait_for_function(IS_DRAWN, arg=number)


def box_of(page, number):
    return page.locator(f'#bag [data-instance="{number}"]').bounding_box()


def plot_of(page):
    return page.locator("#bag .plot").bounding_box()


def label_of(page):
    return page.locator("#bag .plot").get_attribute("aria-label")


def wait_for_label(page, words):
    page.wait_for_function(
        "words => document.querySelector('#bag .plot').getAttribute('aria-label').includes(words)", arg=words
    )


@pytest.fixture
def still(page):
    """Nothing plays by itself."""
    page.add_init_script("Object.defineProperty(navigator, 'userActivation', { value: { hasBeenActive: false } })")
    return page


def three_tones(serve, page):
    """A question about a recording of at least two tones."""
    server, _ = serve("sound", least=3)
    opened(page, server, '#bag [data-instance="2"]')
    return server


@pytest.mark.slow
def test_zoomed_and_moved_by_wheel_keys_and_drag(still, serve):
    page = still
    server = three_tones(serve, page)
    wait_until_drawn(page, 1)
    plot, whole = plot_of(page), box_of(page, 1)
    middle = whole["x"] + whole["width"] / 2
    page.mouse.move(middle, plot["y"] + 10)
    page.mouse.wheel(0, -500)
    page.wait_for_function(
        "width => document.querySelector('#bag [data-instance=\"1\"]').clientWidth > 2 * width", arg=whole["width"]
    )
    wait_until_drawn(page, 1)
    zoomed = box_of(page, 1)
    assert zoomed["width"] == pytest.approx(np.e * whole["width"], rel=0.02)
    assert zoomed["x"] + zoomed["width"] / 2 == pytest.approx(middle, abs=2), "it stays under the pointer"
    page.mouse.down()
    page.mouse.move(middle - 60, plot["y"] + 10, steps=4)
    page.mouse.up()
    assert box_of(page, 1)["x"] == pytest.approx(zoomed["x"] - 60, abs=7), "dragged, less what a click may shake"
    assert not playing(page), "a drag is no click"
    page.keyboard.press("Shift+ArrowLeft")
    assert box_of(page, 1)["x"] > zoomed["x"] + 60
    page.keyboard.press("Escape")
    assert box_of(page, 1) == pytest.approx(whole)
    page.keyboard.press("+")
    page.keyboard.press("Shift+ArrowUp")
    assert box_of(page, 1)["width"] == pytest.approx(2.25 * whole["width"], rel=0.02)
    marked = page.locator("#bag .evidence").bounding_box()
    assert plot["x"] <= marked["x"], "keys keep what is marked in sight"
    assert marked["x"] + marked["width"] <= plot["x"] + plot["width"]
    page.keyboard.press("-")
    page.keyboard.press("Shift+ArrowDown")
    assert box_of(page, 1) == pytest.approx(whole, abs=0.1)
    for _ in range(3):
        page.keyboard.press("+")
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    page.locator('#bag [data-instance="0"]').focus()
    wait_until_drawn(page, 0)
    assert plot["x"] < box_of(page, 0)["x"] + box_of(page, 0)["width"], "what gets the focus is moved into sight"
    assert server.project.events == [], "Shift and arrows answer nothing"
    assert page.faults == []


@pytest.mark.slow
def test_frequencies_brightness_and_scale_are_set_and_remembered(still, serve):
    page = still
    three_tones(serve, page)
    page.keyboard.press("v")
    assert page.locator(".viewing").get_attribute("aria-expanded") == "true"
    before = [box_of(page, number)["height"] for number in range(3)]
    page.get_by_label("Highest frequency").fill("8000")
    page.get_by_label("Lowest frequency").fill("500")
    wait_for_label(page, "0.5 to 8 kHz")
    after = [box_of(page, number)["height"] for number in range(3)]
    assert after == pytest.approx([height * (example_media.RATE / 2 / 7500) for height in before], rel=0.02)
    for number in range(3):
        wait_until_drawn(page, number)
    page.get_by_role("button", name="Mel scale").click()
    for number in range(3):
        wait_until_drawn(page, number)
    ticks = [float(one) for one in page.locator(".frequencies .tick").all_inner_texts()]
    assert ticks == sorted(ticks)
    assert {1.0, 5.0} <= set(ticks)
    dark = page.evaluate(LIGHT)
    page.get_by_label("Brightness").fill("12")
    assert page.evaluate(LIGHT) > 1.1 * dark
    assert page.get_by_label("Brightness").get_attribute("aria-valuetext") == "+12 dB"
    page.get_by_label("Contrast").fill("2")
    page.get_by_role("button", name="0.25").click()
    page.reload()
    page.wait_for_selector('#bag [data-instance="2"]')
    wait_for_label(page, "0.5 to 8 kHz")
    assert page.get_by_role("button", name="Mel scale").get_attribute("aria-pressed") == "true"
    assert page.get_by_label("Contrast").input_value() == "2"
    assert "0.25" in page.locator(".sound .time").inner_text()
    (name,) = page.evaluate("Object.keys(localStorage).filter((name) => name.startsWith('bagwise-view/'))")
    assert name.endswith("/ann")
    page.get_by_role("button", name="Reset").click()
    wait_for_label(page, "0 to 11 kHz")
    page.get_by_label("Highest frequency").focus()
    page.keyboard.press("Escape")
    assert page.locator(".panel").is_hidden()
    assert page.evaluate("document.activeElement.textContent").startswith("View")
    assert page.faults == []


def test_space_stops_and_autoplay_plays_the_marked_part_at_the_speed_that_is_set(page, serve):
    page.add_init_script(KEEP_STARTED)
    server, _ = serve("sound")
    opened(page, server, "#bag .sound canvas")
    page.keyboard.press("l")
    for _ in range(2):
        page.keyboard.press("<")
    assert "0.25" in page.locator(".sound .time").inner_text()
    start_or_stop(page, False)
    start_or_stop(page, True)
    found = page.wait_for_function(HEARD, arg=0.2).json_value()
    assert found["samplesPerSecond"] == pytest.approx(0.25 * example_media.RATE)
    assert found["shown"] <= 0.25 * found["passed"] + 0.06, "never ahead of the sound, but for rounding"
    start_or_stop(page, False)
    page.keyboard.press("n")
    page.wait_for_selector("#bag .sound canvas")
    wait_to_play(page)
    box, plot = page.locator("#bag .evidence").bounding_box(), plot_of(page)
    seconds = [3.0 * (x - plot["x"]) / plot["width"] for x in (box["x"], box["x"] + box["width"])]
    for _ in range(10):
        page.wait_for_timeout(30)
        time = float(page.locator(".sound .time").inner_text().split(" ")[0])
        assert seconds[0] - 0.4 < time < seconds[1] + 0.4
    page.keyboard.press(" ")
    assert not playing(page)
    page.wait_for_timeout(100)
    assert not playing(page)


def test_samples_are_played_at_their_own_rate_and_ultrasound_is_made_audible(page, serve):
    """Of bats at 500 kHz: slow, a call is heard lower; at full speed what cannot be heard is left out, not folded."""
    server, _ = serve("text", 4)
    opened(page, server, "#bag .text")
    found = page.evaluate(
        """async () => {
          const { slowed, filters } = await import("/static/player.js");
          const { powerSpectrum } = await import("/static/spectrogram.js");
          const wave = (frequency, time) => 0.3 * Math.sin(2 * Math.PI * frequency * time);
          const tones = (rate, count, ...all) => Float32Array.from(
            { length: count },
            (_, i) => all.reduce((sum, frequency) => sum + wave(frequency, i / rate), 0),
          );
          const rendered = async (samples, rate, speed, band) => {
            const place = new OfflineAudioContext(1, 48000 * 0.2, 48000);
            const { buffer, rate: playbackRate } = slowed(samples, rate, speed);
            const source = new AudioBufferSourceNode(place, { buffer, playbackRate });
            [source, ...filters(place, band, speed), place.destination].reduce((before, next) => before.connect(next));
            source.start();
            const heard = (await place.startRendering()).getChannelData(0);
            const power = [...powerSpectrum(4096)(heard, 2048)];
            const bin = (frequency) => Math.round((frequency * 4096) / 48000);
            const at = (frequency) => Math.max(...power.slice(bin(frequency) - 3, bin(frequency) + 4));
            const loudest = power.indexOf(Math.max(...power)) * 48000 / 4096;
            return { at, loudest, all: Math.max(...power) };
          };
          const expanded = await rendered(tones(500000, 100000, 45000), 500000, 0.1);
          const lowRate = await rendered(tones(8000, 1600, 3000), 8000, 0.1);
          const full = await rendered(tones(500000, 100000, 47000, 8000), 500000, 1);
          const twice = await rendered(tones(44100, 44100, 4000), 44100, 2);
          const band = await rendered(tones(44100, 44100, 1000, 4000, 9000), 44100, 1, { low: 3000, high: 5000 });
          const slowBand = await rendered(tones(44100, 44100, 1000, 4000, 9000), 44100, 0.5, { low: 3000, high: 5000 });
          return {
            expanded: expanded.loudest, lowRate: lowRate.loudest, twice: twice.loudest,
            full: [full.loudest, full.at(50000 - 47000) / full.all],
            band: [1000, 9000].map((one) => band.at(one) / band.at(4000)),
            slowBand: [500, 4500].map((one) => slowBand.at(one) / slowBand.at(2000)),
          };
        }"""
    )
    assert found["expanded"] == pytest.approx(4500, abs=15)
    assert found["lowRate"] == pytest.approx(300, abs=15)
    assert found["twice"] == pytest.approx(8000, abs=15)
    assert found["full"][0] == pytest.approx(8000, abs=15)
    assert found["full"][1] < 1e-5
    assert max(found["band"] + found["slowBand"]) < 0.01


@pytest.fixture(scope="module")
def an_hour(tmp_path_factory):
    """A recording with tones in its middle; it is only read."""
    samples = np.zeros(HOUR * RATE)
    second = example_media.tone(1500, 0.2, 0.8, 1.0, RATE)
    for start in range(1780, 1830):
        samples[start * RATE : (start + 1) * RATE] = second
    path = tmp_path_factory.mktemp("recordings") / "hour.wav"
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes((samples * 20000).astype("<i2").tobytes())
    return path


@pytest.fixture
def hour(serve, monkeypatch, an_hour):
    """Bags that are clips of three seconds in the middle of an hour, and what of the file is sent."""
    server, _ = serve("sound", 4)
    for bag in range(4):
        (server.folder / "media" / f"{bag}.wav").unlink()
        (server.folder / "media" / f"{bag}.wav").hardlink_to(an_hour)
    plain = server.project.medium

    def serve_as(clip):
        def medium(bag):
            kept = plain(bag)
            second = 1800.0
            places = [
                {"start": second + i + 0.2, "end": second + i + 0.8, "low": 1200, "high": 1800}
                for i in range(len(kept.places))
            ]
            return dataclasses.replace(kept, places=places, clip=clip)

        monkeypatch.setattr(server.project, "medium", medium)
        return server

    return serve_as


def count_bytes(page):
    """The bytes of media that are sent from now on, by address."""
    found = {}
    page.on(
        "response", lambda one: "/media/" in one.url and found.update({one.url: int(one.headers["content-length"])})
    )
    return found


@pytest.mark.slow
def test_of_an_hour_only_the_clip_is_sent_and_context_when_it_is_asked_for(still, hour):
    page = still
    server = hour(CLIP)
    sent = count_bytes(page)
    opened(page, server, "#bag .sound canvas")
    wait_until_drawn(page, 0)
    page.wait_for_timeout(300)
    assert sent
    assert all("/sound?" in url and size == 44 + 2 * 3 * RATE for url, size in sent.items()), sent
    assert page.locator(".times .tick").first.inner_text() == "0:30:00.0"
    assert "0:30:00.0 to 0:30:03.0" in label_of(page)
    assert page.locator(".outside:visible").count() == 0
    before = dict(sent)
    page.get_by_role("button", name="Context").click()
    wait_for_label(page, "0:29:58.0 to 0:30:05.0")
    left, right = (page.locator(f".outside.{side}").bounding_box() for side in ("before", "after"))
    plot = plot_of(page)
    assert left["width"] == pytest.approx(plot["width"] * 2 / 7, abs=2)
    assert right["x"] == pytest.approx(plot["x"] + plot["width"] * 5 / 7, abs=2)
    page.wait_for_function(
        "() => { const canvas = document.querySelector('#bag canvas').getBoundingClientRect();"
        " const plot = document.querySelector('#bag .plot').getBoundingClientRect();"
        " return canvas.left <= plot.left + 1 && canvas.right >= plot.right - 1; }"
    )
    wait_until_drawn(page, 0)
    fetched = sum(sent.values()) - sum(before.values())
    assert 4 * 2 * RATE < fetched <= 2 * 44 + 11 * 2 * RATE, (
        "what is shown and half as much on either side, less the clip"
    )
    start_or_stop(page, True)
    page.wait_for_function("() => document.querySelector('.sound .time').textContent.startsWith('0:29:58.')")
    page.keyboard.press("c")
    wait_for_label(page, "0:30:00.0 to 0:30:03.0")
    assert sum(sent.values()) < 0.02 * 2 * HOUR * RATE
    assert page.faults == []


def test_an_hour_shows_half_a_minute_around_what_is_asked_about(still, hour):
    page = still
    server = hour(None)
    sent = count_bytes(page)
    opened(page, server, "#bag .sound canvas")
    wait_until_drawn(page, 0)
    start, _, end = label_of(page).split(": ", 1)[1].split(",")[0].partition(" to ")
    assert start.startswith("0:29:4")
    assert end.startswith("0:30:1")
    page.wait_for_timeout(300)
    assert set(sent.values()) == {44 + 2 * 30 * RATE}
    for _ in range(4):
        page.keyboard.press("Shift+ArrowRight")
    wait_for_label(page, "0:30:1")
    page.set_viewport_size({"width": 360, "height": 740})
    page.keyboard.press("v")
    page.keyboard.press("Escape")
    wait_for_label(page, start)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    edges = page.locator(".times .tick").evaluate_all(
        "all => all.flatMap((one) => [one.getBoundingClientRect().left, one.getBoundingClientRect().right])"
    )
    assert len(edges) >= 6
    assert edges == sorted(edges), "no time is written over another"
    assert sum(sent.values()) < 0.1 * 2 * HOUR * RATE
    assert page.faults == []


def test_what_only_browsers_decode_is_decoded_by_the_browser(still, serve):
    page = still
    server, _ = serve("sound", 4, least=3)

    def without_sound(route):
        questions = route.fetch().json()
        for one in questions:
            one["bag"]["medium"]["sound"] = None
        route.fulfill(json=questions)

    page.route("**/api/questions/next*", without_sound)
    sent = count_bytes(page)
    opened(page, server, '#bag [data-instance="2"]')
    wait_until_drawn(page, 1)
    assert not any("/sound?" in url for url in sent)
    assert page.faults == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sound", "picture"])
def test_pinched_and_dragged_on_a_telephone(chromium, serve, kind):
    server, _ = serve(kind, least=3)
    context = chromium.new_context(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    try:
        page = context.new_page()
        opened(page, server, '#bag [data-instance="2"]')
        surface = page.locator("#bag .plot, #bag .window").bounding_box()
        before = box_of(page, 1)
        x, y = before["x"] + before["width"] / 2, surface["y"] + surface["height"] / 2
        touch = context.new_cdp_session(page)

        def fingers(kind, *places):
            points = [{"x": place, "y": y, "id": number} for number, place in enumerate(places)]
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        fingers("touchStart", x - 20)
        fingers("touchStart", x - 20, x + 20)
        for spread in (25, 30, 40, 50, 60):
            fingers("touchMove", x - spread, x + spread)
        fingers("touchEnd")
        after = box_of(page, 1)
        assert after["width"] > 2 * before["width"]
        assert page.evaluate("window.visualViewport.scale") == 1, "the page itself is not zoomed"
        fingers("touchStart", x)
        for by in (10, 20, 30, 40):
            fingers("touchMove", x + by)
        fingers("touchEnd")
        assert box_of(page, 1)["x"] > after["x"] + 20
        assert page.locator("#bag [aria-pressed=true][data-instance]").count() == 0, "nothing was picked"
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    finally:
        context.close()


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1280])
def test_the_controls_fit_have_names_and_no_serious_fault(still, hour, width):
    page = still
    server = hour(CLIP)
    page.set_viewport_size({"width": width, "height": 800})
    opened(page, server, "#bag .sound canvas")
    page.keyboard.press("v")
    page.keyboard.press("c")
    wait_for_label(page, "0:29:58.0")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    for button in page.locator("#bag button:visible").all():
        box = button.bounding_box()
        assert min(box["height"], box["width"]) >= 44
        assert button.get_attribute("aria-label") or button.inner_text()


def test_keys_of_a_single_character_can_be_switched_off(still, serve):
    page = still
    three_tones(serve, page)
    page.locator("#character-keys").evaluate("box => box.click()")
    before = label_of(page)
    for key in "+-vc<>lf":
        page.keyboard.press(key)
    assert label_of(page) == before
    assert page.locator(".panel").is_hidden()
    page.keyboard.press("Shift+ArrowUp")
    assert label_of(page) != before
    page.keyboard.press("Escape")
    assert label_of(page) == before
