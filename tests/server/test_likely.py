"""Where many bags probably have a class, the page says so and leads to them."""

import numpy as np
import pytest
from fastapi.testclient import TestClient

from bagwise.project.reports.review import AT_ONCE, LEAST_PRESENT, LIKELY, beliefs, likely
from bagwise.server import application


@pytest.fixture
def known(running, truth):
    """Forty bags are known completely: enough for confident predictions."""
    project = running.project
    pairs = [(bag, place) for bag in project.contents.kept_bags[:40].tolist() for place in range(len(project.classes))]
    for said, wanted in (("present", True), ("absent", False)):
        some = [pair for pair in pairs if truth(project.contents.ids[pair[0]], project.classes[pair[1]]) == wanted]
        project.answer_listed("ann", said, some, said)
    return running


@pytest.mark.slow
def test_the_page_leads_to_the_likely_bags_of_a_class(page, known):
    found = likely(known.project, "ann")
    page.goto(known.address)
    page.locator("#likely a").wait_for()
    assert page.locator("#likely").inner_text() == (
        f"{found.bags} more bags probably have {found.class_name}: answer them at once."
    )
    page.locator("#likely a").click()
    page.wait_for_selector("#beliefs li")
    assert page.locator("#belief-class").input_value() == found.class_name
    shares = [int(text.rstrip(" %")) for text in page.locator("#beliefs b").all_inner_texts()]
    assert min(shares[:AT_ONCE]) >= 100 * LIKELY
    for place in range(AT_ONCE):
        page.locator("#beliefs input").nth(place).check()
    before = len(known.project.events)
    page.get_by_role("button", name=f"Yes to {AT_ONCE}").click()
    page.get_by_text(f"for {AT_ONCE} bags").wait_for()
    known.project.catch_up()
    assert len(known.project.events) == before + AT_ONCE
    assert page.faults == []


def test_the_line_comes_with_the_answers(page, running):
    page.goto(running.address)
    page.wait_for_selector("#bag .strip")
    assert page.locator("#likely").is_hidden()
    page.get_by_role("link", name="Predictions").click()
    page.wait_for_selector("#beliefs li")
    page.get_by_label("choose all on this page").check()
    page.route("**/api/review/likely", lambda route: route.fulfill(json={"class_name": "7", "bags": 12}))
    with page.expect_request("**/api/review/likely"):
        page.get_by_role("button", name="No to 24").click()
    page.wait_for_function("() => !document.getElementById('likely').hidden")
    assert page.locator("#likely").text_content() == "12 more bags probably have 7: answer them at once."
    assert page.faults == []


def test_there_is_nothing_likely_before_a_class_has_a_few(project):
    assert likely(project, "ann") is None
    with TestClient(application(project, "ann"), base_url="http://127.0.0.1:8765") as client:
        found = client.get("/api/review/likely")
        assert (found.status_code, found.json()) == (200, None)


@pytest.mark.slow
def test_the_class_is_the_one_whose_tenth_is_likeliest(known):
    project, found = known.project, likely(known.project, "ann")
    present = dict(zip(project.classes, np.nansum(project.labels().values, axis=0), strict=True))
    tenth = {
        name: beliefs(project, "ann", name, AT_ONCE - 1, 1).bags[0].belief
        for name in project.classes
        if present[name] >= LEAST_PRESENT
    }
    assert found.class_name == max(tenth, key=tenth.get)
    of_class = beliefs(project, "ann", found.class_name, 0, found.bags + 1).bags
    assert [one.belief >= LIKELY for one in of_class] == [True] * found.bags + [False]
