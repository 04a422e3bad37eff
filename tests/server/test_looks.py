"""The page at any size, light and dark, for eyes, keyboards and screen readers."""

import re
import shutil

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe

from bagwise.project import Invitations, Project, quality_of
from tests.conftest import source_of
from tests.server.conftest import Running
from tests.support import example_media

VIEWS = {
    "label": "#bag .strip",
    "answers": "#history li",
    "predictions": "#beliefs li",
    "map": "#map-key li",
    "class-list": "#class-rows li",
    "downloads": "#downloads li",
}
SERIOUS = ("serious", "critical")


def faults(page):
    """What axe-core finds and calls serious."""
    found = Axe().run(page).response["violations"]
    return [
        (one["id"], node["html"][:200], node["failureSummary"])
        for one in found
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]


def at_both_sizes(page):
    """The same on a screen and on a telephone, where also nothing is wider than it."""
    found = []
    for width, height in ((390, 844), (1280, 900)):
        page.set_viewport_size({"width": width, "height": height})
        found += faults(page)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    return found


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """A project with a few answers, perhaps one of them to a random check, and what is estimated from them."""
    folder = tmp_path_factory.mktemp("looks") / "digits"
    example_media.make_demo(folder)
    with Project.open(folder) as project:
        for _ in range(25):
            (asked,) = project.ask("ann")
            project.answer(asked.key, "ann", "present" if asked.bag % 2 else "absent", seconds=2.0)
        quality_of(project)
        project.map("directions")
    return folder


@pytest.fixture
def running(answered, tmp_path):
    server = Running(shutil.copytree(answered, tmp_path / "digits"))
    yield server
    server.stop()


@pytest.fixture
def seen(page, running):
    """The panel shows the answers."""
    return page


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_fault_in_any_view(seen, running, scheme):
    seen.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    for view, there in VIEWS.items():
        seen.goto(f"{running.address}/#{view}")
        seen.wait_for_selector(there)
        seen.wait_for_function("() => document.querySelector('#figures dd') || document.body.dataset.view !== 'label'")
        assert at_both_sizes(seen) == [], view
    seen.goto(f"{running.address}/#label")
    seen.get_by_text("As a table").click()
    seen.get_by_text("The figures", exact=True).click()
    seen.locator("#audit").evaluate("mark => (mark.hidden = false)")
    seen.locator("#audit button").focus()
    seen.keyboard.press("b")
    assert at_both_sizes(seen) == [], "random check, belief and table"
    seen.keyboard.press("?")
    assert at_both_sizes(seen) == [], "help"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_fault_at_the_sign_in(page, running, scheme):
    Invitations(running.project.database).invite("bea")
    page.emulate_media(color_scheme=scheme)
    page.goto(running.address)
    page.get_by_role("dialog", name="Sign in").wait_for()
    assert faults(page) == []
    page.get_by_label("Token").fill("wrong")
    page.keyboard.press("Enter")
    page.get_by_text("This token is unknown").wait_for()
    assert faults(page) == [], "a wrong token"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_fault_when_there_is_nothing_to_ask(page, tmp_path, synthetic, scheme):
    few = synthetic.select(np.arange(1))
    with Project.create(tmp_path / "few", source_of(few), classes=synthetic.classes) as project:
        project.answer_listed("ann", "absent", [(0, c) for c in range(len(project.classes))], "all")
    server = Running(tmp_path / "few")
    try:
        page.emulate_media(color_scheme=scheme)
        page.goto(server.address)
        page.get_by_text("Nothing is left").wait_for()
        page.wait_for_selector("#figures dd")
        assert faults(page) == []
    finally:
        server.stop()


@pytest.mark.parametrize("width", [360, 768, 1280, 3840])
def test_every_view_fits(seen, running, tmp_path, width):
    seen.set_viewport_size({"width": width, "height": 800})
    for view, there in VIEWS.items():
        seen.goto(f"{running.address}/#{view}")
        seen.wait_for_selector(there)
        assert seen.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), view
        picture = tmp_path / f"{view}-{width}.png"
        seen.screenshot(path=picture)
        assert picture.stat().st_size > 5000


def test_on_a_small_telephone_nothing_needed_for_an_answer_is_out_of_sight(seen, running):
    seen.set_viewport_size({"width": 360, "height": 640})
    seen.goto(running.address)
    seen.wait_for_selector("#bag .strip")
    for wanted in ("#question", "#bag", *(f"#buttons [data-key={key}]" for key in "yenusz")):
        box = seen.locator(wanted).bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 640, wanted


def test_what_answers_a_long_document_is_in_sight(page, serve):
    running, _ = serve("text")
    page.goto(running.address)
    page.wait_for_selector("#bag .text")
    for width, height in ((1280, 560), (390, 560)):
        page.set_viewport_size({"width": width, "height": height})
        for button in page.locator("#buttons button:visible").all():
            box = button.bounding_box()
            assert box["y"] + box["height"] <= height, button.inner_text()


@pytest.mark.parametrize("size", [(1280, 900), (390, 844)])
def test_the_help_begins_at_its_beginning_and_its_sentences_are_not_broken_into_columns(seen, running, size):
    seen.set_viewport_size({"width": size[0], "height": size[1]})
    seen.goto(running.address)
    seen.wait_for_selector("#bag .strip")
    seen.keyboard.press("?")
    dialog = seen.locator("#help")
    assert dialog.evaluate("one => one.scrollTop") == 0
    assert seen.locator("#help-title").bounding_box()["y"] > 0
    assert dialog.evaluate("one => one.scrollWidth <= one.clientWidth"), "nothing is cut at the side"
    sentence = seen.locator("#help .switch")
    widths = sentence.evaluate("one => [...one.children].map((part) => part.getBoundingClientRect().width)")
    assert len(widths) == 2, "a box and a sentence"
    assert widths[1] > 0.7 * sentence.bounding_box()["width"]
    seen.keyboard.press("Escape")
    assert not dialog.is_visible()


def test_one_number_of_answers_what_it_means_and_how_well_by_class(seen, running):
    project = running.project
    for number in range(3):
        project.undo("ann", f"undo {number}")
    project.correct(1, "ann", "unsure")
    seen.goto(running.address)
    seen.wait_for_selector("#figures dd")
    assert seen.locator("#figures dd").first.inner_text() == "22"
    assert seen.locator("#chart .readout").inner_text().startswith("After 22 answers")
    assert seen.locator("#answers-note").inner_text().startswith("1 of them unsure · 4 corrected or taken back")
    assert "the share that is both" in seen.locator("#metric-meaning").inner_text()
    sentences = seen.locator("#by-class-words li").all_inner_texts()
    assert len(sentences) == len(project.active_classes)
    bags = len(project.contents.kept_bags)
    having = rf"\d: .*(?:of {bags} strips ha(?:s|ve) it|in none of the {bags} strips)"
    assert all(re.match(having, text) for text in sentences)
    assert seen.locator("#in-words").inner_text().startswith("Overall: ")
    rows = seen.locator("#by-class-rows tr")
    assert rows.count() > 0
    seen.get_by_text("The figures", exact=True).click()
    assert "of the strips that have it, how many the model finds" in seen.locator("#by-class").inner_text()
    cells = rows.locator("td").all_inner_texts()
    having, shares = cells[::3], [text for place, text in enumerate(cells) if place % 3]
    assert all(re.fullmatch(r"\d+ \d+\N{EN DASH}\d+", text) for text in having), "how many bags have it"
    assert all("%" in text or text == "\N{EN DASH}" for text in shares)


def test_the_way_to_a_target_is_the_sentence_of_the_server(seen, running):
    coming = ["too early to forecast", "about 30 more answers (10 to 100)"]

    def with_sentence(route):
        route.fulfill(json={**route.fetch().json(), "forecast_sentence": coming[0]})

    seen.route("**/api/progress*", with_sentence)
    seen.goto(running.address)
    while coming:
        seen.wait_for_function("words => document.querySelector('#forecast').textContent === words", arg=coming[0])
        coming.pop(0)
        if coming:
            seen.locator("#target").dispatch_event("change")


@pytest.mark.parametrize("view", ["label", "downloads"])
def test_the_page_to_print_opens_with_its_style_and_without_a_fault(seen, running, view):
    seen.goto(f"{running.address}/#{view}")
    with seen.context.expect_page() as opening:
        seen.get_by_role("link", name="page to print").locator("visible=true").click()
    printed = opening.value
    complaints = []
    printed.on("console", lambda message: complaints.append(message.text))
    printed.reload()
    assert printed.locator("h1").inner_text() == "digits: estimated quality"
    assert printed.evaluate("getComputedStyle(document.querySelector('table')).borderCollapse") == "collapse"
    assert printed.locator("tbody tr").count() == 3 + len(running.project.active_classes)
    assert complaints == [], "the policy of the page allows what it has"
    assert at_both_sizes(printed) == []


def test_everything_is_reached_and_done_by_keyboard_alone(seen, running):
    seen.goto(running.address)
    seen.wait_for_selector("#bag .strip")
    reached = []
    views = seen.locator("nav a").all_inner_texts()
    for _ in range(13 + len(views)):
        seen.keyboard.press("Tab")
        reached.append(seen.evaluate("document.activeElement.textContent.trim() || document.activeElement.id"))
        ring = seen.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert ring != "none", f"{reached[-1]} has no visible focus"
    assert reached[: len(views) + 1] == [*views, "?"]
    answers = ["Yes, this one", "Yes, elsewhere", "No", "Unsure"]
    assert [name for one in reached for name in answers if one.startswith(name)] == answers
    seen.locator("nav a").nth(1).focus()
    seen.keyboard.press("Enter")
    seen.wait_for_selector("#history li")
    assert seen.evaluate("document.activeElement.textContent") == "Answers", "the heading has the focus"
