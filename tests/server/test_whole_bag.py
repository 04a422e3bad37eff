"""Whole-bag questions on the page and through the API: ticked by keyboard, saved in one go, taken back in one go."""

import time

import httpx2 as httpx
import pytest

from bagwise.project import Asking, Project
from tests.conftest import LONGEST, source_of
from tests.server.conftest import Running
from tests.server.test_looks import at_both_sizes
from tests.support import example_media


@pytest.fixture
def whole(tmp_path):
    """The project of the demo, served, asking about whole bags."""
    example_media.make_demo(tmp_path / "digits")
    settings = tmp_path / "digits" / "bagwise.toml"
    settings.write_text(settings.read_text().replace('granularity = "pair"', 'granularity = "bag"'))
    running = Running(tmp_path / "digits")
    yield running
    running.stop()


def decided(running):
    running.project.catch_up()
    return {pair: decision.present for pair, decision in running.project.votes.decisions.items()}


def wait_until(true):
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("It did not come.")


def test_ticked_sent_and_taken_back_by_keyboard(page, whole):
    page.goto(whole.address)
    page.wait_for_selector("#checklist button[aria-pressed]")
    assert page.locator("#question").inner_text().startswith("Which of these are in this")
    names = page.locator("#checklist button[aria-pressed]").evaluate_all("all => all.map((one) => one.dataset.class)")
    assert len(names) > 1
    assert page.locator("#buttons [data-key=y]").is_hidden()
    shown = page.locator("body").get_attribute("data-shown")
    for key in "1", "2", "2", "3", "3", "3":
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.wait_for_function("before => ![before, ''].includes(document.body.dataset.shown)", arg=shown)
    wait_until(lambda: len(decided(whole)) == len(names))
    project = whole.project
    said = {project.classes[c]: present for (_, c), present in decided(whole).items()}
    assert said == {**dict.fromkeys(names, False), names[0]: True, names[1]: None}
    page.keyboard.press("z")
    wait_until(lambda: not decided(whole))
    page.wait_for_selector("#checklist button[aria-pressed]")
    assert page.faults == []


def test_a_script_answers_a_whole_bag_once(whole):
    client = httpx.Client(base_url=whole.address, timeout=LONGEST)
    (question,) = client.get("/api/questions/next").json()
    said = {"key": question["key"], "classes": question["classes"], "present": question["classes"][:1], "seconds": 9}
    first = client.post("/api/answers/whole", json=said)
    assert first.status_code == 200
    assert client.post("/api/answers/whole", json=said).json() == first.json()
    assert [one["answer"] for one in first.json()].count("present") == 1
    refused = client.post("/api/answers/whole", json={**said, "present": ["no such class"]})
    assert refused.status_code == 400
    client.close()


def keys_shown(page):
    """The key of every class, as its button says."""
    buttons = page.locator("#checklist button[aria-pressed]")
    return dict(
        buttons.evaluate_all("all => all.map((one) => [one.dataset.class, one.querySelector('kbd')?.innerText ?? ''])")
    )


@pytest.mark.slow
def test_a_class_has_the_same_key_in_every_question(page, whole):
    project = whole.project
    for bag in range(len(project.bags)):
        known = [(bag, c) for c in range(len(project.classes)) if (bag + c) % 3 == 0]
        project.answer_listed("bea", "absent", known, f"known {bag}")
    page.goto(whole.address)
    seen = []
    for _ in range(4):
        page.wait_for_selector("#checklist button[aria-pressed]")
        shown = page.locator("body").get_attribute("data-shown")
        keys = keys_shown(page)
        seen.append(list(keys))
        assert keys == {name: "1234567890"[project.classes.index(name)] for name in keys}
        assert list(keys) == sorted(keys, key=project.classes.index), "in the order of the project"
        name = list(keys)[-1]
        page.keyboard.press(keys[name])
        assert page.locator("#checklist [aria-pressed=true]").get_attribute("data-class") == name
        page.keyboard.press("Enter")
        page.wait_for_function("before => ![before, ''].includes(document.body.dataset.shown)", arg=shown)
    assert len({tuple(one) for one in seen}) > 1, "other classes are open in other bags"


def test_what_is_not_pressed_is_said_to_be_absent_and_send_is_in_sight(page, whole):
    page.goto(whole.address)
    page.wait_for_selector("#checklist button[aria-pressed]")
    assert "What you leave unpressed is saved as not there" in page.locator("#checklist").inner_text()
    send = page.get_by_role("button", name="Send")
    assert "10 not there" in send.inner_text()
    page.keyboard.press("1")
    page.keyboard.press("2")
    page.keyboard.press("2")
    assert "1 there, 1 unsure, 8 not there" in send.inner_text()
    for width, height in ((1280, 500), (390, 844), (360, 500)):
        page.set_viewport_size({"width": width, "height": height})
        box = send.bounding_box()
        assert box["y"] + box["height"] <= height, "without scrolling"
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert at_both_sizes(page) == []
    shown = page.locator("body").get_attribute("data-shown")
    send.click()
    page.wait_for_function("before => ![before, ''].includes(document.body.dataset.shown)", arg=shown)
    assert page.faults == []


@pytest.fixture
def many(tmp_path, synthetic):
    """Served: whole bags of twenty-five classes."""
    classes = [f"species {c + 1}" for c in range(25)]
    source = source_of(synthetic)
    Project.create(tmp_path / "many", source, classes=classes, asking=Asking(granularity="bag")).close()
    running = Running(tmp_path / "many")
    yield running
    running.stop()


@pytest.mark.slow
def test_more_than_ten_classes_have_keys_or_are_found_by_their_name(page, many):
    page.goto(many.address)
    page.wait_for_selector("#checklist button[aria-pressed]")
    keys = keys_shown(page)
    assert at_both_sizes(page) == []
    assert [keys[f"species {n}"] for n in (1, 10, 11, 20, 21)] == ["1", "0", "⇧1", "⇧0", ""]
    page.keyboard.press("Shift+Digit2")
    assert page.locator("#checklist [aria-pressed=true]").get_attribute("data-class") == "species 12"
    page.keyboard.press("t")
    page.keyboard.type("ES 24")
    assert [one.inner_text() for one in page.locator("#checklist button[aria-pressed]:visible").all()] == ["species 24"]
    page.keyboard.press("Enter")
    pressed = page.locator("#checklist [aria-pressed=true]").evaluate_all("all => all.map((one) => one.dataset.class)")
    assert pressed == ["species 12", "species 24"]
    assert page.locator("#checklist button[aria-pressed]:visible").count() == 25
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    wait_until(lambda: len(decided(many)) == 25)
    said = {many.project.classes[c] for (_, c), present in decided(many).items() if present}
    assert said == {"species 12", "species 24"}
    assert page.faults == []
