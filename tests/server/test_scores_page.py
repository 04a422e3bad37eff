"""What a classifier thinks, beside the question."""

import contextlib

import pytest

from bagwise.project import Project
from tests.project.test_scores import COMMON, files, made  # noqa: F401
from tests.server.conftest import Running


@pytest.fixture
def scored(files):  # noqa: F811
    made(files, "--scores", files / "scores.csv", "--audit", "0")
    server = Running(files / "p")
    yield server
    with contextlib.suppress(Exception):
        server.stop()


@pytest.mark.slow
def test_the_page_says_what_the_classifier_thinks(page, scored):
    with Project.open(scored.project.folder) as project:
        expected = {
            str(name): project.opinion((place, 0)).probability for place, name in enumerate(project.contents.ids)
        }
    page.goto(scored.address)
    page.wait_for_selector("body[data-shown]:not([data-shown=''])")
    asked = set()
    for _ in range(6):
        name, bag = page.locator("#question b").inner_text(), page.locator("#which").inner_text()
        shown = page.locator("#opinion").inner_text()
        if name == "owl":
            assert shown == ""
        else:
            probability = next(value for one, value in expected.items() if one in bag.split())
            assert shown == f"scores thinks: {round(100 * probability)} %."
        asked.add(name)
        key = page.evaluate("document.body.dataset.shown")
        page.keyboard.press("n")
        page.wait_for_function("key => ![key, ''].includes(document.body.dataset.shown)", arg=key)
    assert "eurasian wren" in asked
    assert page.faults == []
