"""A real browser on a real server on a real project."""

import json

import pytest

from bagwise.metrics import average_precision
from bagwise.project import Project, check


@pytest.fixture
def open_page(page, running):
    page.goto(running.address)
    page.wait_for_selector("#bag .strip")
    return page


def shown(page):
    return page.locator("#which").inner_text().split(" · ")[0], page.locator("#question b").inner_text()


def answer_by_key(page, truth):
    """Press the right key and see the next question."""
    strip, name = shown(page)
    before = page.locator("body").get_attribute("data-shown")
    page.keyboard.press("y" if truth(strip, name) else "n")
    page.wait_for_function("before => ![before, ''].includes(document.body.dataset.shown)", arg=before)
    return strip, name


def wait_for_events(running, count):
    for _ in range(200):
        running.project.catch_up()
        if len(running.project.events) >= count:
            return
        __import__("time").sleep(0.05)
    raise AssertionError(f"{len(running.project.events)} of {count} answers came")


def test_sixty_answers_by_keyboard(open_page, running, truth, digits):
    before = average_precision(digits.labels.value, running.project.learner.predict_proba(digits.bags))
    asked = [answer_by_key(open_page, truth) for _ in range(60)]
    wait_for_events(running, 60)
    assert len(set(asked)) == 60
    for event, (strip, name) in zip(running.project.events, asked, strict=True):
        assert running.project.contents.ids[event.bag] == strip
        assert digits.classes[event.label_class] == name
        assert (event.answer == "present") == truth(strip, name)
        assert event.seconds is not None
        assert event.shown == "highlighted"
    after = average_precision(digits.labels.value, running.project.learner.predict_proba(digits.bags))
    assert after > before + 0.1
    assert open_page.faults == []
    open_page.wait_for_function("() => document.querySelector('#figures dd').textContent === '60'")
    assert all(not one.wrong for one in check(running.project))


def test_undo_brings_the_question_back(open_page, running, truth):
    asked = [answer_by_key(open_page, truth) for _ in range(3)]
    wait_for_events(running, 3)
    open_page.keyboard.press("z")
    open_page.get_by_text("Taken back").wait_for()
    open_page.wait_for_function("name => document.querySelector('#question b')?.textContent === name", arg=asked[-1][1])
    assert [event.kind for event in running.project.events] == ["answer"] * 3 + ["retraction"]


def test_offline_and_back_every_answer_arrives_once(open_page, running, truth):
    answer_by_key(open_page, truth)
    wait_for_events(running, 1)
    open_page.wait_for_timeout(500)
    running.stop()
    given = 0
    while open_page.locator("#bag .strip").count() and given < 3:
        strip, name = shown(open_page)
        open_page.keyboard.press("y" if truth(strip, name) else "n")
        given += 1
    assert given >= 2, "questions were fetched ahead"
    open_page.get_by_text("not saved yet").wait_for()
    assert len(json.loads(open_page.evaluate("localStorage.getItem('bagwise-outbox')"))) == given
    running.start()
    wait_for_events(running, 1 + given)
    open_page.wait_for_function("() => document.getElementById('pending').textContent === ''")
    assert len(running.project.events) == 1 + given
    open_page.wait_for_selector("#bag .strip")


def test_a_reload_in_the_middle_loses_nothing(open_page, running, truth):
    for _ in range(4):
        answer_by_key(open_page, truth)
    open_page.reload()
    open_page.wait_for_selector("#bag .strip")
    wait_for_events(running, 4)
    assert len(running.project.events) == 4


def test_highlight_belief_and_help(open_page, running, truth):
    assert open_page.locator("#bag.highlight canvas.evidence").count() == 1
    open_page.keyboard.press("h")
    assert open_page.locator("#bag.highlight").count() == 0
    open_page.keyboard.press("b")
    assert "The model believes" in open_page.locator("#which").inner_text()
    open_page.keyboard.press("?")
    assert open_page.locator("#help").is_visible()
    open_page.keyboard.press("y")
    open_page.locator("#help button").click()
    assert running.project.events == [], "keys do nothing while the help is open"
    open_page.locator("#buttons button.yes").click()
    wait_for_events(running, 1)
    assert running.project.events[0].shown == "not highlighted"


@pytest.mark.parametrize("width", [360, 1280, 3840])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits(open_page, width, scheme):
    open_page.emulate_media(color_scheme=scheme)
    open_page.set_viewport_size({"width": width, "height": 800})
    assert open_page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    for button in open_page.locator("#buttons button").all():
        box = button.bounding_box()
        assert box["height"] >= 44
        assert box["width"] >= 44


def test_names_are_text(page, tmp_path, synthetic):
    from tests.conftest import source_of
    from tests.server.conftest import Running

    evil = "<img src=x onerror=alert(1)>"
    names = [f"<script>alert({i})</script>" for i in range(60)]
    Project.create(tmp_path / "evil", source_of(synthetic, names), classes=[evil, "b"]).close()
    server = Running(tmp_path / "evil")
    try:
        alerts = []
        page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
        page.goto(server.address)
        page.wait_for_selector("table.features")
        for _ in range(3):
            assert "<script>" in page.locator("#which").inner_text()
            page.keyboard.press("n")
            page.wait_for_timeout(100)
        assert alerts == []
        assert page.locator("#asking img, #asking script").count() == 0
    finally:
        server.stop()
