"""Find more like this and the map on the page, in a real browser.

With `--pictures docs/images` they take the pictures of docs/finding.md again.
"""

import base64
import contextlib
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from bagwise import datasets
from bagwise.cli import app
from bagwise.cli._demo import make_demo
from bagwise.project import Project
from bagwise.project.answers.events import LISTED
from bagwise.project.search.plane import LAYOUTS
from tests.server.conftest import Running
from tests.server.test_looks import faults
from tests.server.test_page import wait_for_events
from tests.support import example_media

DROP = """([name, content]) => {
  const bytes = Uint8Array.from(atob(content), (one) => one.charCodeAt(0));
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([bytes], name));
  for (const kind of ["dragenter", "dragover", "drop"]) {
    const event = new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true });
    document.querySelector("main").dispatchEvent(event);
  }
}"""


def cards(page):
    return [one.get_attribute("value") for one in page.locator("#beliefs input").all()]


def focused(page):
    return page.evaluate("document.activeElement.value")


def last_event(server, count):
    wait_for_events(server, count)
    return server.project.events[-1]


@pytest.mark.slow
def test_more_like_a_region_is_answered_by_keys_alone(page, serve, picture):
    server, truth = serve("picture", bags=40, least=2)
    page.goto(server.address)
    page.wait_for_selector("#bag .place.evidence")
    shown = page.locator("#which").inner_text()
    # The second region, whatever is marked.
    while page.evaluate("document.activeElement.dataset.instance") != "1":
        page.keyboard.press(".")
    page.keyboard.press("Enter")
    asked = page.locator("#question b").inner_text()
    page.keyboard.press("g")
    page.get_by_role("heading", name="More like this").wait_for()
    page.wait_for_selector("#beliefs img")
    page.locator("#belief-source", has_text=f"region 2 of {shown}").wait_for()
    assert page.locator("#belief-class").input_value() == asked
    wanted = truth[shown][1]
    found = cards(page)
    assert shown not in found
    having = sum(wanted in content for name, content in truth.items() if name != shown)
    assert all(wanted in truth[name] for name in found[: min(having, len(found))]), (
        "those with the same shape come first"
    )
    assert focused(page) == found[0]
    picture(page, "similar")
    page.keyboard.press("y")
    event = last_event(server, 1)
    assert (server.project.contents.ids[event.bag], event.answer) == (found[0], "present")
    assert (server.project.classes[event.label_class], event.audit, event.shown) == (asked, False, LISTED)
    assert event.belief is not None
    page.get_by_text(f"Saved: {asked}, yes, for {found[0]}").wait_for()
    assert cards(page)[0] == found[1] == focused(page), "the next one has the focus"
    page.keyboard.press(".")
    assert focused(page) == found[2]
    page.keyboard.press("u")
    assert server.project.contents.ids[last_event(server, 2).bag] == found[2]
    page.get_by_text(f"Saved: {asked}, unsure").wait_for()
    page.keyboard.press("z")
    assert last_event(server, 3).kind == "retraction"
    page.locator("#belief-message", has_text="Taken back").wait_for()
    page.wait_for_function("bag => document.querySelectorAll('#beliefs input')[1].value === bag", arg=found[2])
    page.keyboard.press("g")
    page.wait_for_function("before => document.querySelector('#belief-source').textContent !== before", arg=shown)
    page.get_by_role("button", name="Back to all predictions").click()
    page.get_by_role("heading", name="Predictions").wait_for()
    assert page.faults == []


def test_several_cards_are_chosen_and_answered_together_for_another_class(page, running):
    page.goto(running.address)
    page.wait_for_selector("#bag .strip")
    page.get_by_role("button", name="More like this").click()
    page.wait_for_selector("#beliefs li")
    page.select_option("#belief-class", "3")
    page.wait_for_function("() => document.querySelector('#beliefs input').ariaLabel.includes(' 3 is')")
    chosen = cards(page)[:3]
    for number in range(3):
        page.locator("#beliefs input").nth(number).check()
    page.keyboard.press("n")
    wait_for_events(running, 3)
    said = running.project.events
    assert sorted(running.project.contents.ids[event.bag] for event in said) == sorted(chosen)
    assert all((event.answer, event.label_class, event.audit) == ("absent", 3, False) for event in said)
    page.get_by_text("for 3 bags").wait_for()
    assert page.faults == []


@pytest.fixture
def raw(tmp_path, monkeypatch, one_process):
    """A project of pictures that were segmented here."""
    rng = np.random.default_rng(1)
    example_media.pictures(tmp_path / "files", rng, 5)
    (tmp_path / "classes.txt").write_text("\n".join(example_media.SHAPES))
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["init", "p", "--from", "files", "--classes", "classes.txt"])
    assert result.exit_code == 0, result.output
    server = Running(tmp_path / "p")
    yield server
    with contextlib.suppress(Exception):
        server.stop()


@pytest.mark.slow
def test_a_dropped_file_is_searched_for(page, raw, tmp_path, picture):
    page.goto(raw.address)
    page.wait_for_selector("#bag .outlines")
    name, content = "scene 3.png", (tmp_path / "files" / "scene 3.png").read_bytes()
    page.wait_for_function("() => !document.querySelector('.file').hidden")
    page.evaluate(DROP, [name, base64.b64encode(content).decode()])
    page.locator("#belief-source", has_text=f"The nearest to {name}").wait_for()
    page.wait_for_selector("#beliefs .outlines")
    assert cards(page)[0] == name, "the same picture is the nearest"
    assert len(cards(page)) == 5
    picture(page, "similar-file")
    page.keyboard.press("y")
    event = last_event(raw, 1)
    assert (raw.project.contents.ids[event.bag], event.answer, event.audit) == (name, "present", False)
    assert len(raw.project.contents.ids) == 5, "it does not become part of the project"
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"not a picture")
    page.locator("#belief-file").set_input_files(broken)
    page.locator("#belief-message", has_text="broken.png").wait_for()
    assert not [one for one in page.faults if "400" not in one]


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """The demo with a few answers, and its map."""
    folder = tmp_path_factory.mktemp("map") / "digits"
    make_demo(folder)
    with Project.open(folder) as project:
        data = datasets.load("digits")
        has = dict(
            zip((f"strip {i + 1}" for i in range(len(data.bags))), data.labels.value[:, 0].tolist(), strict=True)
        )
        for answer in ("present", "absent"):
            bags = [bag for bag in range(60) if has[project.contents.ids[bag]] == (answer == "present")]
            project.answer_listed("ann", answer, [(bag, 0) for bag in bags], answer)
        for layout in LAYOUTS:
            project.map(layout)
    return folder


@pytest.fixture
def mapped(answered, tmp_path):
    server = Running(shutil.copytree(answered, tmp_path / "digits"))
    yield server
    with contextlib.suppress(Exception):
        server.stop()


def open_map(page, server):
    page.goto(f"{server.address}/#map")
    page.wait_for_function("() => document.body.dataset.map")


def test_a_region_of_the_map_is_looked_at_labelled_and_asked_about(page, mapped, picture):
    open_map(page, mapped)
    page.get_by_text("All 1,430 instances.").wait_for()
    plane = mapped.project.map("neighbours")
    box = page.locator("#map-canvas").bounding_box()
    middle = np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    scale = min(box["width"], box["height"]) / 2 / 1.08

    def drag(left, top, right, bottom):
        (x, y), (u, v) = middle + scale * np.array([left, -top]), middle + scale * np.array([right, -bottom])
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move((x + u) / 2, (y + v) / 2, steps=3)
        page.mouse.move(u, v, steps=3)
        page.mouse.up()

    drag(-0.4, 0.4, 0.3, -0.3)
    page.locator("#map-chosen-words", has_text="instances of").wait_for()
    said = page.locator("#map-chosen-words").inner_text().split()
    inner, outer = plane.points_in(-0.38, 0.28, -0.28, 0.38), plane.points_in(-0.42, 0.32, -0.32, 0.42)
    assert len(inner) <= int(said[0]) <= len(outer)
    picture(page, "map")
    page.get_by_role("button", name="Look", exact=True).click()
    page.get_by_role("heading", name="A region of the map").wait_for()
    page.wait_for_selector("#beliefs li")
    page.locator("#belief-pager", has_text=f"of {said[3]}").wait_for()
    page.get_by_role("link", name="Map").click()
    page.get_by_role("button", name="Label", exact=True).click()
    page.get_by_role("heading", name="Label a region of the map").wait_for()
    page.wait_for_selector("#beliefs li")
    page.keyboard.press("n")
    event = last_event(mapped, 61)
    chosen = {int(bag) for bag in plane.bags[outer]}
    assert (event.bag in chosen, event.answer, event.audit) == (True, "absent", False)
    page.get_by_role("link", name="Map").click()
    page.get_by_role("button", name="Ask about these").click()
    page.get_by_text(f"Only about {said[3]} bags that you chose on the map; no random checks.").wait_for()
    page.wait_for_selector("#bag .strip")
    ids = {str(mapped.project.contents.ids[bag]) for bag in chosen}
    for number in range(4):
        assert page.locator("#which").inner_text() in ids
        assert page.locator("#audit").is_hidden()
        page.keyboard.press("n")
        wait_for_events(mapped, 62 + number)
        page.wait_for_function("() => document.body.dataset.shown")
    picture(page, "map-questions")
    page.get_by_role("button", name="Ask about all again").click()
    page.locator("#limit").wait_for(state="hidden")
    page.wait_for_function("() => document.body.dataset.shown")
    assert page.faults == []


def test_the_map_by_keyboard_alone(page, mapped):
    open_map(page, mapped)
    page.locator("#map-canvas").focus()
    page.keyboard.press("Enter")
    page.get_by_text(f"1430 instances of {len(mapped.project.bags)} bags.").wait_for()
    page.keyboard.press("Escape")
    page.locator("#map-chosen").wait_for(state="hidden")
    for key in ("+", "+", "+", "ArrowUp", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    page.locator("#map-chosen-words", has_text="instances of").wait_for()
    count = int(page.locator("#map-chosen-words").inner_text().split()[0])
    assert 0 < count < 1430
    page.keyboard.press("0")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "map-label":
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Label a region of the map").wait_for()
    page.wait_for_selector("#beliefs li")
    page.keyboard.press("y")
    assert last_event(mapped, 61).answer == "present"
    assert page.faults == []


def test_the_map_has_other_colours_and_layouts(page, mapped):
    open_map(page, mapped)

    def pixels():
        return page.evaluate("document.querySelector('#map-canvas').toDataURL()")

    seen = [pixels()]
    page.select_option("#map-colour", "certainty")
    page.wait_for_function("() => document.body.dataset.map.endsWith('certainty')")
    seen.append(pixels())
    page.select_option("#map-layout", "directions")
    page.wait_for_function("() => document.body.dataset.map.startsWith('directions')")
    seen.append(pixels())
    page.select_option("#map-class", "7")
    page.wait_for_function("() => document.body.dataset.map.includes(' 7 ')")
    seen.append(pixels())
    assert len(set(seen)) == 4
    assert page.locator("#map-key li").all_inner_texts() == ["the model is unsure", "it is sure"]
    assert page.faults == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_telephone_everything_fits_and_has_no_serious_fault(page, mapped, scheme):
    page.set_viewport_size({"width": 360, "height": 740})
    page.emulate_media(color_scheme=scheme)
    open_map(page, mapped)
    page.get_by_role("button", name="Choose all that is shown").click()
    page.get_by_text(f"instances of {len(mapped.project.bags)} bags").wait_for()

    def fits():
        return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")

    assert fits()
    assert faults(page) == []
    page.get_by_role("button", name="Look", exact=True).click()
    page.wait_for_selector("#beliefs li")
    assert fits()
    assert faults(page) == []
    page.get_by_role("link", name="Map").click()
    page.get_by_role("button", name="Ask about these").click()
    page.wait_for_selector("#bag .strip")
    page.wait_for_selector("#figures dd")
    page.wait_for_selector("#chart svg[aria-label]", state="attached")
    assert fits()
    assert faults(page) == []
