"""Answers over HTTP and on the page: undone, corrected by those who may, saved when the lease is gone, all or none."""

import json

import httpx2 as httpx
import pytest
from sqlalchemy import delete, text, update

from bagwise.formats import LabelTable
from bagwise.project import Invitations, Project, check
from bagwise.project.storage import schema
from tests.conftest import LONGEST
from tests.server.conftest import Running
from tests.server.test_page import wait_for_events
from tests.support import example_media, probabilities


@pytest.fixture
def client(running):
    """A script of the one person there is, ann."""
    with httpx.Client(base_url=running.address, timeout=LONGEST) as client:
        yield client


@pytest.fixture
def team(running):
    """The clients of bea and cem, who were invited, and of eve, an adjudicator."""
    people = Invitations(running.project.database)
    tokens = {name: people.invite(name, adjudicator=name == "eve") for name in ("bea", "cem", "eve")}
    headers = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
    options = {"base_url": running.address, "timeout": LONGEST}
    clients = {name: httpx.Client(headers=one, **options) for name, one in headers.items()}
    yield clients
    for client in clients.values():
        client.close()


@pytest.fixture
def whole(tmp_path):
    """The project of the demo, served, asking about whole bags."""
    example_media.make_demo(tmp_path / "whole")
    settings = tmp_path / "whole" / "bagwise.toml"
    settings.write_text(settings.read_text().replace('granularity = "pair"', 'granularity = "bag"'))
    running = Running(tmp_path / "whole")
    yield running
    running.stop()


@pytest.fixture
def audited(tmp_path, monkeypatch):
    """The project of the demo, served; every question is an audit."""
    probabilities.make_up(monkeypatch)
    example_media.make_demo(tmp_path / "audited")
    settings = tmp_path / "audited" / "bagwise.toml"
    settings.write_text(settings.read_text().replace("audit = 0.1", "audit = 1.0"))
    running = Running(tmp_path / "audited")
    yield running
    running.stop()


def answered(client, answer="present"):
    (question,) = client.get("/api/questions/next").json()
    return client.post("/api/answers", json={"key": question["key"], "answer": answer}).json()


def forget_leases(project):
    """As a crash of PostgreSQL may do, whose last leases were not on the disk."""
    with project.database.writing() as connection:
        connection.execute(delete(schema.leases))


def label_of(running, saved):
    running.project.catch_up()
    (place,) = [i for i, name in enumerate(running.project.contents.ids) if name == saved["bag_id"]]
    return running.project.counts_as((place, running.project.classes.index(saved["class_name"])))


def test_undoing_a_correction_restores_the_answer(running, client):
    first = answered(client)
    corrected = client.post("/api/corrections", json={"key": "c", "number": first["number"], "answer": "absent"}).json()
    assert corrected["replaced"] == {"answer": "present", "number": first["number"], "annotator": "ann"}
    assert label_of(running, first) == "absent"
    undone = client.post("/api/undo", json={"key": "u"}).json()
    assert (undone["kind"], undone["answer"], undone["counts_as"]) == ("restoration", "present", "present")
    assert client.post("/api/undo", json={"key": "u"}).json() == undone
    assert label_of(running, first) == "present"
    assert [one["number"] for one in client.get("/api/answers").json()] == [first["number"]]
    again = client.post("/api/corrections", json={"key": "d", "number": first["number"], "answer": "unsure"})
    assert again.status_code == 200, "an answer that is in effect again can be corrected again"
    for expected in ("present", None):
        client.post("/api/undo", json={"key": f"to {expected}"})
        assert label_of(running, first) == expected
    assert all(not found.wrong for found in check(running.project))


def test_the_page_says_what_an_undo_restored(page, running, client):
    first = answered(client)
    page.goto(f"{running.address}/#answers")
    page.locator("#history li button.absent").click()
    page.get_by_text("no; before: yes (ann)").wait_for()
    page.get_by_text("corrected, before: yes (ann)").wait_for()
    page.get_by_role("link", name="Label").click()
    page.wait_for_selector("#bag .strip")
    page.keyboard.press("z")
    page.get_by_text(f"Taken back: {first['class_name']} in {first['bag_id']}, yes again.").wait_for()
    page.wait_for_selector("#bag .strip")
    page.keyboard.press("z")
    page.get_by_text(f"Taken back: {first['class_name']} in {first['bag_id']}, open again.").wait_for()
    assert label_of(running, first) is None
    assert page.faults == []


def test_only_the_role_for_it_replaces_anothers_answer(running, team):
    first = answered(team["bea"])

    def correct(name, number, answer):
        body = {"key": f"{name} {number} {answer}", "number": number, "answer": answer}
        return team[name].post("/api/corrections", json=body)

    refused = correct("cem", first["number"], "absent")
    assert refused.status_code == 403
    assert "is by bea" in refused.json()["detail"]
    assert label_of(running, first) == "present"
    by_eve = correct("eve", first["number"], "absent")
    assert by_eve.status_code == 200
    assert by_eve.json()["replaced"]["annotator"] == "bea"
    for name in ("bea", "cem"):
        assert correct(name, by_eve.json()["number"], "present").status_code == 403
    assert team["bea"].post("/api/undo", json={"key": "bea"}).status_code == 400, "it is no longer hers to take back"
    assert label_of(running, first) == "absent"
    assert team["eve"].post("/api/undo", json={"key": "eve"}).json()["counts_as"] == "present"


def test_undo_with_the_key_of_another_person_is_refused(running, team):
    answered(team["bea"])
    answered(team["cem"])
    assert team["bea"].post("/api/undo", json={"key": "mine"}).status_code == 200
    assert team["cem"].post("/api/undo", json={"key": "mine"}).status_code == 403
    running.project.catch_up()
    assert len(running.project.events) == 3
    saved = answered(team["cem"])
    (key,) = [event.key for event in running.project.events[3:]]
    assert team["bea"].post("/api/undo", json={"key": key}).status_code == 403
    assert team["cem"].post("/api/undo", json={"key": key}).status_code == 409, "that was an answer"
    assert label_of(running, saved) == "present"


def test_an_answer_whose_lease_is_gone_is_saved(running, client):
    (question,) = client.get("/api/questions/next").json()
    forget_leases(running.project)
    body = {"key": question["key"], "answer": "present"}
    assert client.post("/api/answers", json=body).status_code == 400
    body |= {"bag": question["bag"]["id"], "class_name": question["class_name"]}
    saved = client.post("/api/answers", json=body)
    assert saved.status_code == 200
    assert (saved.json()["bag_id"], saved.json()["class_name"]) == (body["bag"], body["class_name"])
    assert client.post("/api/answers", json=body).json() == saved.json()
    assert client.post("/api/answers", json={**body, "key": "other"}).status_code == 409, "ann answered this before"
    assert client.post("/api/answers", json={**body, "key": "other", "bag": "nothing"}).status_code == 400
    (other,) = client.get("/api/questions/next").json()
    mixed = {**body, "key": other["key"]}
    assert client.post("/api/answers", json=mixed).status_code == 400, "key and pair are of two questions"


def test_a_day_after_its_lease_an_answer_is_saved(running, client):
    (question,) = client.get("/api/questions/next").json()
    with running.project.database.writing() as connection:
        connection.execute(update(schema.leases).values(until=schema.leases.c.until - 3 * 24 * 3600))
    running.project.ask("bob")
    body = {"key": question["key"], "answer": "absent"}
    body |= {"bag": question["bag"]["id"], "class_name": question["class_name"]}
    assert client.post("/api/answers", json=body).status_code == 200


def test_the_page_keeps_an_answer_whose_lease_is_gone(page, running):
    page.goto(running.address)
    page.wait_for_selector("#bag .strip")
    strip, name = page.locator("#which").inner_text(), page.locator("#question b").inner_text()
    forget_leases(running.project)
    page.keyboard.press("y")
    wait_for_events(running, 1)
    assert label_of(running, {"bag_id": strip, "class_name": name}) == "present"
    assert page.faults == []


def test_a_whole_bag_whose_lease_is_gone_is_saved(whole):
    with httpx.Client(base_url=whole.address, timeout=LONGEST) as client:
        (question,) = client.get("/api/questions/next").json()
        forget_leases(whole.project)
        body = {"key": question["key"], "classes": question["classes"], "present": question["classes"][:1]}
        assert client.post("/api/answers/whole", json=body).status_code == 400
        saved = client.post("/api/answers/whole", json={**body, "bag": question["bag"]["id"]})
        assert saved.status_code == 200
        assert {one["bag_id"] for one in saved.json()} == {question["bag"]["id"]}
        assert len(saved.json()) == len(question["classes"])


def test_a_whole_bag_is_saved_and_undone_in_one_transaction(whole):
    """The database fails in the middle: at an answer, later at an undo."""

    def fail(when):
        with whole.project.database.writing() as connection:
            connection.execute(text("DROP TRIGGER IF EXISTS failing"))
            if when:
                condition = f"BEGIN SELECT RAISE(ABORT, 'disk failure') WHERE {when}; END"
                connection.execute(text(f"CREATE TRIGGER failing BEFORE INSERT ON events {condition}"))

    def events():
        whole.project.catch_up()
        return len(whole.project.events)

    with httpx.Client(base_url=whole.address, timeout=LONGEST) as client:
        (question,) = client.get("/api/questions/next").json()
        first, second, third, *_ = question["classes"]
        body = {"key": question["key"], "classes": question["classes"], "present": [second], "unsure": [third]}
        fail("NEW.answer = 'unsure'")
        assert client.post("/api/answers/whole", json=body).status_code >= 500
        assert events() == 0
        fail("")
        assert client.post("/api/answers/whole", json=body).status_code == 200
        assert events() == len(question["classes"])
        fail("NEW.kind = 'retraction' AND NEW.answer = 'present'")
        assert client.post("/api/undo", json={"key": "u"}).status_code >= 500
        assert events() == len(question["classes"])
        fail("")
        undone = client.post("/api/undo", json={"key": "u"}).json()
        assert len(undone["others"]) == len(question["classes"]) - 1
        assert events() == 2 * len(question["classes"])
        assert all(one["counts_as"] is None for one in [*undone["others"], undone])
        assert client.post("/api/undo", json={"key": "u"}).json() == undone
    assert first == question["class_name"]


def test_an_audit_has_its_probability_from_the_question_to_the_download(audited):
    """Answered, corrected, undone and asked again over HTTP: it is always that of the one draw."""
    options = {"base_url": audited.address, "timeout": LONGEST}
    with httpx.Client(**options) as client:
        (question,) = client.get("/api/questions/next").json()
        place = audited.project.contents.ids.tolist().index(question["bag"]["id"])
        drawn = probabilities.made_up((place, question["positions"][0]))
        assert (question["audit"], question["probability"]) == (True, drawn)
        saved = client.post("/api/answers", json={"key": question["key"], "answer": "present"}).json()
        client.post("/api/corrections", json={"key": "c", "number": saved["number"], "answer": "absent"})
        (shown,) = client.get("/api/review/answers").json()["answers"]
        assert (shown["answer"], shown["audit"], shown["probability"]) == ("absent", True, drawn)
        for key in ("to the answer", "to nothing"):
            client.post("/api/undo", json={"key": key})
        (again,) = client.get("/api/questions/next").json()
        fields = ("class_name", "audit", "probability")
        assert again["bag"]["id"] == question["bag"]["id"]
        assert [again[name] for name in fields] == [question[name] for name in fields]
        assert again["key"] != question["key"]
        client.post("/api/answers", json={"key": again["key"], "answer": "absent"})
        client.post(
            "/api/review/answers", json={"key": "l", "class_name": question["class_name"], **_another(client, question)}
        )
        rows = client.get("/api/downloads/answers", params={"form": "jsonl"}).text.splitlines()
        assert [json.loads(row)["probability"] for row in rows] == [drawn] * 5 + [None]


def _another(client, question):
    """An answer about a bag that was not asked about."""
    found = client.get("/api/review/predictions", params={"class_name": question["class_name"]}).json()["bags"]
    return {"bags": [found[0]["bag"]["id"]], "answer": "absent"}


@pytest.fixture
def imported(tmp_path, digits):
    """The project of the demo, in which all of three strips was imported as known, served."""
    example_media.make_demo(tmp_path / "imported")
    with Project.open(tmp_path / "imported") as project:
        ids = project.contents.ids[:3].tolist()
        project.import_(None, LabelTable(ids, digits.classes, digits.labels.value[:3].astype(float)))
    running = Running(tmp_path / "imported")
    yield running
    running.stop()


def test_an_imported_label_is_corrected_on_the_page(page, imported):
    page.goto(f"{imported.address}/#answers")
    page.get_by_label("imported labels instead").check()
    page.locator("#history-pager", has_text="of 30").wait_for()
    row = page.locator("#history li").first
    name, bag = row.locator(".about b").inner_text(), imported.project.contents.ids[0]
    was = row.locator("button[aria-pressed=true]").inner_text()
    row.locator("button.unsure").click()
    page.get_by_text(f"Corrected: {name} in {bag}, unsure; before: {was} (imported).").wait_for()
    page.locator("#history-pager", has_text="of 29").wait_for()
    assert label_of(imported, {"bag_id": bag, "class_name": name}) == "unsure"
    page.get_by_label("imported labels instead").uncheck()
    page.get_by_text(f"corrected, before: {was} (imported)").wait_for()
    page.get_by_role("link", name="Label").click()
    page.wait_for_selector("#bag .strip")
    page.keyboard.press("z")
    page.get_by_text(f"Taken back: {name} in {bag}, {was} again.").wait_for()
    assert label_of(imported, {"bag_id": bag, "class_name": name}) == {"yes": "present", "no": "absent"}[was]
    assert all(not found.wrong for found in check(imported.project))
    assert page.faults == []


def test_a_script_corrects_an_imported_label(imported):
    with httpx.Client(base_url=imported.address, timeout=LONGEST) as client:
        found = client.get("/api/review/imported", params={"answer": "present", "count": 1}).json()
        (label,) = found["labels"]
        body = {"key": "c", "bag": label["bag_id"], "class_name": label["class_name"], "answer": "absent"}
        saved = client.post("/api/corrections/imported", json=body)
        assert saved.status_code == 200
        assert saved.json()["replaced"] == {"answer": "present", "number": None, "annotator": None}
        assert client.post("/api/corrections/imported", json=body).json() == saved.json()
        assert client.post("/api/corrections/imported", json={**body, "answer": "unsure"}).status_code == 409
        assert client.post("/api/corrections/imported", json={**body, "bag": "nothing"}).status_code == 400
        of = client.get("/api/review/imported", params={"answer": "present"}).json()["of"]
        assert of == found["of"] - 1
        assert label_of(imported, label) == "absent"
        token = Invitations(imported.project.database).invite("bea")
    with httpx.Client(
        base_url=imported.address, headers={"Authorization": f"Bearer {token}"}, timeout=LONGEST
    ) as client:
        assert client.post("/api/corrections/imported", json={**body, "key": "d"}).status_code == 403
    assert label_of(imported, label) == "absent"
