"""Whole-bag questions on the page and through the API: ticked by keyboard, saved in one go, taken back in one go."""

import time

import httpx2 as httpx
import pytest

from tests.conftest import LONGEST
from tests.server.conftest import Running
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
