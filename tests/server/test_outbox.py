"""What was not saved yet belongs to one project and one person, whatever else the same address serves later."""

import pytest

from bagwise.project import Invitations, Project
from tests.conftest import source_of
from tests.server.conftest import Running, free_port
from tests.server.test_page import wait_for_events
from tests.support import example_media

UNSENT = "Object.keys(localStorage).filter((name) => name.startsWith('bagwise-outbox/')).length"


@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def first(tmp_path):
    example_media.make_demo(tmp_path / "first")
    return tmp_path / "first"


@pytest.fixture
def second(tmp_path, synthetic):
    """Another project, with two answers of the same person."""
    with Project.create(tmp_path / "second", source_of(synthetic), classes=synthetic.classes) as project:
        for _ in range(2):
            (asked,) = project.ask("ann")
            project.answer(asked.key, "ann", "absent")
    return tmp_path / "second"


def leave_unsent(page, running):
    """Save an answer, then give another and take one back while the server is away."""
    page.goto(running.address)
    page.wait_for_selector("#bag .strip")
    page.keyboard.press("n")
    wait_for_events(running, 1)
    page.wait_for_selector("#bag .strip")
    running.stop()
    page.keyboard.press("n")
    page.keyboard.press("z")
    page.get_by_text("2 not saved yet").wait_for()


@pytest.mark.slow
@pytest.mark.parametrize("page_stays_open", [True, False])
def test_what_is_unsent_waits_for_its_project(page, first, second, port, page_stays_open):
    leave_unsent(page, Running(first, port))
    if not page_stays_open:
        page.goto("about:blank")
    other = Running(second, port)
    try:
        if not page_stays_open:
            page.goto(other.address)
        page.wait_for_function("() => document.getElementById('name').textContent === 'second'")
        page.wait_for_selector("#bag table")
        page.keyboard.press("y")
        wait_for_events(other, 3)
        page.locator("#message", has_text="Saved: ").wait_for()
        assert [event.kind for event in other.project.events] == ["answer"] * 3, "nothing was taken back here"
        assert page.evaluate(UNSENT) == 2, "and nothing of the other project is lost"
        page.goto("about:blank")
    finally:
        other.stop()
    again = Running(first, port)
    try:
        page.goto(again.address)
        wait_for_events(again, 3)
        page.wait_for_function(f"() => {UNSENT} === 0")
        assert [event.kind for event in again.project.events] == ["answer", "answer", "retraction"]
        assert again.project.events[2].replaces == 2
    finally:
        again.stop()


@pytest.mark.slow
def test_a_page_of_one_person_sends_nothing_as_another(page, running):
    """Two tabs share a cookie: whoever signs in on one of them is signed in on the other."""
    people = Invitations(running.project.database)
    page.goto(f"{running.address}/#token={people.invite('bea')}")
    page.wait_for_selector("#bag .strip")
    other = page.context.new_page()
    other.goto(f"{running.address}/#token={people.invite('cem')}")
    other.wait_for_selector("#bag .strip")
    page.keyboard.press("n")
    page.wait_for_function("() => document.getElementById('me-name').textContent === 'cem'")
    page.wait_for_selector("#bag .strip")
    running.project.catch_up()
    assert running.project.events == []
    assert page.evaluate(UNSENT) == 1
    other.goto("about:blank")
    other.goto(f"{running.address}/#token={people.invite('bea')}")
    wait_for_events(running, 1)
    assert [event.annotator for event in running.project.events] == ["bea"]


def test_a_script_can_say_which_project_and_person_it_means(project):
    from fastapi.testclient import TestClient

    from bagwise.server import application

    with TestClient(application(project, "Ann Ä"), base_url="http://127.0.0.1:8765") as client:
        me = client.get("/api/me").json()
        assert (me["name"], me["project"]) == ("Ann Ä", project.contents.project)
        right = {"Bagwise-Project": me["project"], "Bagwise-Person": "Ann%20%C3%84"}
        assert client.get("/api/me", headers=right).status_code == 200
        for name in right:
            refused = client.post("/api/undo", json={"key": "k"}, headers={**right, name: "other"})
            assert refused.status_code == 412
            assert "load the page again" in refused.json()["detail"]
