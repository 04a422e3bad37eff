"""Classes that live, *also here* and notes, in a real browser, while another person answers."""

import pytest

from bagwise.project import check
from tests.server.test_looks import faults
from tests.server.test_page import wait_for_events
from tests.support import example_media

CLASSES = ["low tone", "high tone", "whistle"]


def words(page):
    return page.locator("#question b").inner_text()


@pytest.fixture
def sounds(serve):
    return serve("sound", 8)[0]


def open_classes(page, server):
    page.goto(f"{server.address}/#class-list")
    page.locator("#class-rows li").first.wait_for()


def names(page):
    return page.locator("#class-rows b").all_inner_texts()


def test_a_class_is_added_renamed_and_merged_while_another_person_answers(page, sounds, picture, tmp_path):
    example = tmp_path / "example.wav"
    example_media.write_wav(example, example_media.tone(3000, 0, 0.5, 0.5))
    sounds.project.set_role("ann", "adjudicator")
    leases = sounds.project.ask("bob", 5)
    open_classes(page, sounds)
    assert names(page) == CLASSES
    page.get_by_role("button", name="Add a class").click()
    page.get_by_label("Name", exact=True).fill("chirp")
    page.get_by_label("Scientific name").fill("Chirpus chirpus")
    page.get_by_label("What belongs to it").fill("Short, with a rising end. Not the whistle, which is longer.")
    page.get_by_label("A picture or sound").set_input_files(example)
    picture(page, "class-edit")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Saved: chirp.").wait_for()
    assert names(page) == [*CLASSES, "chirp"]
    first = leases[0]
    sounds.project.answer(first.key, "bob", "present", pair=first.pair)
    page.get_by_role("button", name="Edit high tone").click()
    page.get_by_label("Name", exact=True).fill("peep")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Saved: peep.").wait_for()
    for one in ("peep", "whistle"):
        page.get_by_label(f"Choose {one} to merge").check()
    page.get_by_label("Name of the merged class").fill("whistle")
    picture(page, "class-list")
    page.get_by_role("button", name="Merge", exact=True).click()
    page.get_by_text("peep and whistle are one class now: whistle.").wait_for()
    assert names(page) == ["low tone", "chirp", "whistle"]
    page.get_by_text("merged from peep, whistle").wait_for()
    page.get_by_role("button", name="Retire low tone").click()
    page.get_by_role("button", name="Ask about low tone again").wait_for()
    assert names(page) == ["chirp", "whistle"]
    for lease in leases[1:]:
        sounds.project.answer(lease.key, "bob", "absent", pair=lease.pair)
    page.reload()
    page.locator("#class-rows li").first.wait_for()
    assert names(page) == ["chirp", "whistle"]
    assert faults(page) == []
    page.locator("nav a", has_text="Predictions").click()
    page.wait_for_function("() => document.querySelectorAll('#belief-class option').length === 2")
    project = sounds.project
    project.catch_up()
    assert [event.label_class for event in project.events] == [lease.label_class for lease in leases]
    assert [change.kind for change in project.class_changes.history()] == [
        *("added", "described", "described", "renamed", "added", "renamed", "merged", "merged", "retired")
    ]
    assert [one.wrong for one in check(project)] == [""] * 7


@pytest.mark.slow
def test_a_guideline_is_shown_with_the_question(page, sounds, picture, tmp_path):
    example = tmp_path / "example.png"
    example_media.write_png(
        example, 200 * (example_media.np.indices((60, 90)).sum(axis=0) % 2)[..., None].repeat(3, 2).astype("u1")
    )
    for one in CLASSES:
        sounds.project.class_changes.describe(
            one, "ann", example, description=f"Only a clear {one}.\nNot its echo.", scientific_name="Tonus purus"
        )
    page.goto(sounds.address)
    page.locator("#guide").get_by_text("Not its echo.").wait_for()
    assert page.locator("#guide i").inner_text() == "Tonus purus"
    shown = page.get_by_role("img", name=f"An example of {words(page)}")
    page.wait_for_function("() => document.querySelector('#guide img').naturalWidth === 90")
    assert shown.is_visible()
    assert faults(page) == []
    page.locator("#bag canvas, #bag img").first.wait_for()
    picture(page, "guideline")
    assert page.faults == []


def test_also_here_is_an_answer_about_another_class(page, sounds, picture):
    page.goto(sounds.address)
    page.locator("#bag [data-instance]").first.wait_for()
    asked = words(page)
    other = next(one for one in CLASSES if one != asked)
    page.keyboard.press(".")
    page.keyboard.press("Enter")
    page.keyboard.press("o")
    page.get_by_role("dialog").get_by_text("Said of the one you picked.").wait_for()
    page.keyboard.type(other[:3])
    page.get_by_role("option", name=other).wait_for()
    picture(page, "also-here")
    assert faults(page) == []
    page.keyboard.press("Enter")
    wait_for_events(sounds, 1)
    (event,) = sounds.project.events
    assert (sounds.project.classes[event.label_class], event.answer) == (other, "present")
    assert len(event.where) == 1
    assert not event.audit
    assert words(page) == asked, "the question stays"
    page.keyboard.press("n")
    wait_for_events(sounds, 2)
    assert [one.bag for one in sounds.project.events] == [event.bag] * 2
    assert page.faults == []


def test_a_class_that_nobody_thought_of_is_added_on_the_spot(page, sounds):
    page.goto(sounds.address)
    page.locator("#bag [data-instance]").first.wait_for()
    page.keyboard.press("o")
    page.locator("#also-list li").first.wait_for()
    page.keyboard.type("cuckoo")
    page.get_by_role("option", name="Add the class cuckoo").click()
    wait_for_events(sounds, 1)
    assert sounds.project.classes[sounds.project.events[0].label_class] == "cuckoo"
    assert [one.wrong for one in check(sounds.project)] == [""] * 7


@pytest.mark.slow
def test_a_note_is_written_and_shown(page, sounds):
    page.goto(sounds.address)
    page.locator("#bag [data-instance]").first.wait_for()
    page.keyboard.press("j")
    page.get_by_role("dialog").get_by_label("Note").fill("wind, or the sea?")
    page.keyboard.press("Control+Enter")
    page.locator("#notes").get_by_text("wind, or the sea?").wait_for()
    page.get_by_text("Noted about").wait_for()
    (note,) = sounds.project.notes.all()
    assert (note.text, sounds.project.classes[note.label_class]) == ("wind, or the sea?", words(page))
    page.reload()
    page.locator("#notes").get_by_text("wind, or the sea?").wait_for()
    assert faults(page) == []


def test_who_may_not_change_classes_sees_them(page, sounds):
    sounds.project.answer_listed("bob", "present", [(0, 0)], key="b")
    open_classes(page, sounds)
    page.get_by_text("An adjudicator or the owner of the project can change them.").wait_for()
    assert page.get_by_role("button", name="Add a class").count() == 0
    assert page.get_by_role("button", name="Retire").count() == 0


@pytest.mark.slow
def test_on_a_phone(page, sounds):
    page.set_viewport_size({"width": 390, "height": 844})
    open_classes(page, sounds)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert faults(page) == []
    page.get_by_role("button", name="Edit whistle").click()
    assert faults(page) == []
    page.keyboard.press("Escape")
    page.goto(f"{sounds.address}/#label")
    page.locator("#bag [data-instance]").first.wait_for()
    page.get_by_role("button", name="Also here").click()
    page.locator("#also-list li").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert faults(page) == []
