"""A real browser on a real server on a real project."""

import itertools
import time

import numpy as np
import pytest

from bagwise.data.metrics import average_precision
from bagwise.project import Project, check
from tests.conftest import LONGEST, source_of
from tests.server.conftest import Running


@pytest.fixture
def open_page(page, running):
    page.goto(running.address)
    page.wait_for_selector("#bag .strip")
    return page


def shown(page):
    return page.locator("#which").inner_text(), page.locator("#question b").inner_text()


def answer_by_key(page, truth):
    """Press the right key and see the next question."""
    strip, name = shown(page)
    before = page.locator("body").get_attribute("data-shown")
    page.keyboard.press("y" if truth(strip, name) else "n")
    page.wait_for_function("before => ![before, ''].includes(document.body.dataset.shown)", arg=before)
    return strip, name


def wait_for_events(running, count):
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        running.project.catch_up()
        if len(running.project.events) >= count:
            return
        time.sleep(0.05)
    raise AssertionError(f"{len(running.project.events)} of {count} answers came")


def wait_for_questions(page, count):
    """Until so many are there, with the one that is shown."""
    page.wait_for_function("count => Number(document.body.dataset.ready) >= count", arg=count)


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
    open_page.get_by_text("As a table").click()
    truth_of = {
        row.split("\t")[0]: row.split("\t")[-1] for row in open_page.locator("#chart tbody tr").all_inner_texts()
    }
    assert int(truth_of["60"].rstrip(" %")) > int(truth_of["0"].rstrip(" %")), "the curve rises"
    assert open_page.locator("#chart polyline.truth").count() == 1
    assert all(not one.wrong for one in check(running.project))


def test_undo_brings_the_question_back(open_page, running, truth):
    asked = [answer_by_key(open_page, truth) for _ in range(3)]
    wait_for_events(running, 3)
    open_page.keyboard.press("z")
    open_page.locator("#message", has_text="Taken back: ").wait_for()
    open_page.wait_for_function("name => document.querySelector('#question b')?.textContent === name", arg=asked[-1][1])
    assert [event.kind for event in running.project.events] == ["answer"] * 3 + ["retraction"]


@pytest.mark.slow
def test_undo_goes_fifty_deep(open_page, running, truth):
    asked = [answer_by_key(open_page, truth) for _ in range(52)]
    wait_for_events(running, 52)
    for number in range(52):
        open_page.keyboard.press(["z", "ArrowLeft", "Backspace"][number % 3])
    wait_for_events(running, 104)
    assert running.project.votes.all_effective() == []
    taken_back = [running.project.contents.ids[event.bag] for event in running.project.events[52:]]
    assert taken_back == [strip for strip, _ in reversed(asked)]
    open_page.wait_for_function(
        "([strip, name]) => document.getElementById('which').textContent === strip"
        " && document.querySelector('#question b')?.textContent === name",
        arg=list(asked[0]),
    )


KEYS = {
    "y": "present",
    "Y": "present",
    "ArrowUp": "present",
    "n": "absent",
    "ArrowDown": "absent",
    "u": "unsure",
    "s": "skipped",
    "ArrowRight": "skipped",
}


def test_every_answer_has_its_keys(open_page, running):
    for count, key in enumerate(KEYS, start=1):
        before = open_page.locator("body").get_attribute("data-shown")
        open_page.keyboard.press(key)
        wait_for_events(running, count)
        open_page.wait_for_function("before => ![before, ''].includes(document.body.dataset.shown)", arg=before)
    assert [event.answer for event in running.project.events] == list(KEYS.values())


def test_the_space_bar_never_presses_what_was_clicked_before(open_page, running):
    open_page.locator("#buttons button.yes").click()
    wait_for_events(running, 1)
    open_page.keyboard.press("Space")
    open_page.wait_for_timeout(300)
    running.project.catch_up()
    assert len(running.project.events) == 1


def test_offline_and_back_every_answer_arrives_once(page, served, truth):
    page.goto(served.address)
    page.wait_for_selector("#bag .strip")
    answer_by_key(page, truth)
    wait_for_events(served, 1)
    wait_until_all_is_saved(page)
    wait_for_questions(page, 2)
    served.kill()
    given = 0
    while page.locator("#bag .strip").count() and given < 3:
        strip, name = shown(page)
        page.keyboard.press("y" if truth(strip, name) else "n")
        given += 1
    assert given >= 2, "questions were fetched ahead"
    page.get_by_text("not saved yet").wait_for()
    kept = page.evaluate("Object.entries(localStorage).filter(([name]) => name.startsWith('bagwise-outbox/'))")
    assert len(kept) == given
    served.start()
    wait_for_events(served, 1 + given)
    page.wait_for_function("() => document.getElementById('pending').textContent === ''")
    assert len(served.project.events) == 1 + given
    page.wait_for_selector("#bag .strip")
    assert page.evaluate("Object.keys(localStorage).filter((name) => name.startsWith('bagwise-outbox/'))") == []


def wait_until_all_is_saved(page):
    page.wait_for_function("() => document.getElementById('pending').textContent === ''")
    page.wait_for_function("() => !Object.keys(localStorage).some((name) => name.startsWith('bagwise-outbox/'))")


def test_what_is_pending_survives_a_reload_and_two_tabs(open_page, running):
    page = open_page
    wait_for_questions(page, 2)
    running.refused.add("/api/answers")
    for _ in range(2):
        page.keyboard.press("n")
    page.get_by_text("2 not saved yet").wait_for()
    other = page.context.new_page()
    other.goto(running.address)
    other.get_by_text("2 not saved yet").wait_for()
    page.reload()
    page.get_by_text("2 not saved yet").wait_for()
    assert running.project.events == []
    running.refused.clear()
    wait_for_events(running, 2)
    for tab in (page, other):
        wait_until_all_is_saved(tab)
    running.project.catch_up()
    assert [event.answer for event in running.project.events] == ["absent", "absent"]


def test_what_is_long_on_its_way_is_said_not_to_be_saved(open_page, running):
    wait_for_questions(open_page, 2)
    running.held.add("/api/answers")
    open_page.keyboard.press("n")
    open_page.get_by_text("1 not saved yet").wait_for()
    open_page.keyboard.press("n")
    open_page.get_by_text("2 not saved yet").wait_for()
    assert running.app.waited == 1, "they are sent in order, one at a time"
    running.held.clear()
    wait_for_events(running, 2)
    wait_until_all_is_saved(open_page)
    assert [event.answer for event in running.project.events] == ["absent", "absent"]


def test_what_a_dead_connection_took_is_sent_again_and_saved_once(page, running):
    page.add_init_script("const of = AbortSignal.timeout; AbortSignal.timeout = () => of.call(AbortSignal, 200);")
    page.goto(running.address)
    page.wait_for_selector("#bag .strip")
    running.held.add("/api/answers")
    page.keyboard.press("n")
    until = time.monotonic() + LONGEST
    while running.app.waited < 2 and time.monotonic() < until:
        page.wait_for_timeout(20)
    assert running.app.waited >= 2
    running.held.clear()
    wait_for_events(running, 1)
    wait_until_all_is_saved(page)
    running.project.catch_up()
    assert [event.answer for event in running.project.events] == ["absent"]


def test_a_full_store_of_the_browser_loses_no_answer(open_page, running):
    wait_for_questions(open_page, 2)
    fill = """() => {
      for (let size = 2 ** 22; size >= 1; size /= 2) {
        try { while (true) localStorage.setItem(`other/${size}/${localStorage.length}`, "x".repeat(size)); } catch {}
      }
    }"""
    open_page.evaluate(fill)
    asked = []
    for _ in range(2):
        asked.append(open_page.locator("body").get_attribute("data-shown"))
        open_page.keyboard.press("n")
    wait_for_events(running, 2)
    assert [event.key for event in running.project.events] == asked
    assert len(set(asked)) == 2
    assert open_page.faults == []


def test_a_reload_in_the_middle_loses_nothing(open_page, running, truth):
    for _ in range(4):
        answer_by_key(open_page, truth)
    open_page.reload()
    open_page.wait_for_selector("#bag .strip")
    wait_for_events(running, 4)
    assert len(running.project.events) == 4


def test_keys_of_a_character_can_be_switched_off(open_page, running):
    open_page.get_by_role("button", name="Help with every key").click()
    open_page.get_by_label("Letters and").uncheck()
    open_page.keyboard.press("Escape")
    for _ in range(2):
        for key in "ynuszhb?":
            open_page.keyboard.press(key)
        assert not open_page.locator("#help").is_visible()
        assert open_page.locator("#belief").inner_text() == ""
        open_page.reload()
        open_page.wait_for_selector("#bag .strip")
    open_page.keyboard.press("ArrowDown")
    wait_for_events(running, 1)
    assert [event.answer for event in running.project.events] == ["absent"], "it is remembered, and arrows go on"
    open_page.get_by_role("button", name="Help with every key").click()
    open_page.get_by_label("Letters and").check()
    open_page.keyboard.press("Escape")
    open_page.keyboard.press("y")
    wait_for_events(running, 2)
    assert running.project.events[1].answer == "present"


def test_highlight_belief_and_help(open_page, running, truth):
    assert open_page.locator("#bag.highlight canvas.evidence").count() == 1
    open_page.keyboard.press("h")
    assert open_page.locator("#bag.highlight").count() == 0
    open_page.keyboard.press("b")
    assert "The model believes" in open_page.locator("#belief").inner_text()
    open_page.keyboard.press("?")
    assert open_page.locator("#help").is_visible()
    open_page.keyboard.press("y")
    open_page.locator("#help button").click()
    assert running.project.events == [], "keys do nothing while the help is open"
    open_page.locator("#buttons button.yes").click()
    wait_for_events(running, 1)
    assert running.project.events[0].shown == "not highlighted"


def test_it_fits(open_page):
    for scheme, width in itertools.product(["light", "dark"], [360, 1280, 3840]):
        open_page.emulate_media(color_scheme=scheme)
        open_page.set_viewport_size({"width": width, "height": 800})
        assert open_page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (scheme, width)
        for button in open_page.locator("#buttons button:visible").all():
            box = button.bounding_box()
            assert box["height"] >= 44, (scheme, width)
            assert box["width"] >= 44, (scheme, width)


@pytest.mark.slow
def test_audit_questions_say_so_and_why(open_page, running, truth):
    for _ in range(60):
        if open_page.locator("#audit").is_visible():
            break
        answer_by_key(open_page, truth)
    key = open_page.locator("body").get_attribute("data-shown")
    # As many as the page may have fetched: it fetches more ahead where answers are on their way.
    asked = next(one for one in running.project.ask("ann", 20) if one.key == key)
    assert asked.question.audit
    why = open_page.get_by_role("tooltip")
    assert not why.is_visible()
    open_page.locator("#audit button").hover()
    assert "at random" in why.inner_text()
    open_page.mouse.move(0, 0)
    open_page.locator("#audit button").focus()
    assert why.is_visible()


@pytest.mark.slow
def test_the_chart_shows_values_under_the_pointer(open_page, running, truth):
    for _ in range(20):
        answer_by_key(open_page, truth)
    open_page.wait_for_function("() => document.querySelector('#figures dd').textContent === '20'")
    box = open_page.locator("#chart svg").bounding_box()
    open_page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert open_page.locator("#chart .readout").inner_text().startswith("After 10 answers")
    assert "After 20 answers" in open_page.locator("#chart svg").get_attribute("aria-label")


def test_when_nothing_is_left_the_page_says_what_next(page, tmp_path, synthetic):
    few = synthetic.select(np.arange(2))
    Project.create(tmp_path / "few", source_of(few), classes=synthetic.classes).close()
    server = Running(tmp_path / "few")
    try:
        page.goto(server.address)
        for _ in range(2 * len(synthetic.classes)):
            page.wait_for_selector("#bag table")
            before = page.locator("body").get_attribute("data-shown")
            page.keyboard.press("n")
            page.wait_for_function("before => document.body.dataset.shown !== before", arg=before)
        page.get_by_text("Nothing is left to ask you").wait_for()
        page.get_by_role("link", name="take the results").click()
        page.get_by_role("heading", name="Downloads").wait_for()
    finally:
        server.stop()


def test_names_are_text(page, tmp_path, synthetic):
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
