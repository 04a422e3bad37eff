"""Over plain HTTP from another machine: the page lives without what browsers keep for https and localhost."""

import contextlib

import pytest

from tests.conftest import HOST_NAME
from tests.server.conftest import Running
from tests.server.test_page import wait_for_events
from tests.support import example_media


@pytest.fixture
def elsewhere(tmp_path):
    """A project of sounds under a host name that is not this machine's to the browser."""
    folder, _ = example_media.make(tmp_path, "sound", 20)
    running = Running(folder, name=HOST_NAME)
    yield running
    with contextlib.suppress(Exception):
        running.stop()


@pytest.mark.slow
def test_everything_works_on_a_plain_http_host_name(page, elsewhere):
    page.goto(elsewhere.address)
    page.wait_for_selector("#bag .sound canvas")
    assert page.evaluate("window.isSecureContext") is False
    for number, key in enumerate("ynn", start=1):
        before = page.locator("body").get_attribute("data-shown")
        page.keyboard.press(key)
        wait_for_events(elsewhere, number)
        page.wait_for_function("before => ![before, ''].includes(document.body.dataset.shown)", arg=before)
    page.keyboard.press("z")
    page.locator("#message", has_text="Taken back: ").wait_for()
    wait_for_events(elsewhere, 4)
    page.get_by_role("link", name="Answers").click()
    page.locator("#history li button.unsure").first.click()
    wait_for_events(elsewhere, 5)
    page.get_by_role("link", name="Predictions").click()
    page.wait_for_selector("#beliefs input")
    for place in (0, 1):
        page.locator("#beliefs input").nth(place).check()
    page.get_by_role("button", name="Yes to 2").click()
    page.get_by_text("for 2 bags").wait_for()
    wait_for_events(elsewhere, 7)
    kinds = [event.kind for event in elsewhere.project.events]
    assert kinds == ["answer"] * 3 + ["retraction", "correction"] + ["answer"] * 2
    assert page.faults == []
