"""Classes and notes through the API."""

import base64

import numpy as np
import pytest
from fastapi.testclient import TestClient

from bagwise.project import Invitations, Project, check
from bagwise.server import application

PNG = b"\x89PNG\r\n\x1a\n" + bytes(50)


@pytest.fixture
def client(project):
    with TestClient(application(project, "ann"), base_url="http://127.0.0.1:8765") as client:
        yield client


def post(client, what, **body):
    return client.post(f"/api/{what}", json=body)


def active(found):
    return [one["name"] for one in found.json()["classes"] if not one["retired"] and one["merged_into"] is None]


def test_a_script_can_change_classes(client, project):
    before = project.classes
    assert active(post(client, "classes", name="cuckoo", description="calls its name"))[-1] == "cuckoo"
    assert active(post(client, "classes/rename", name="cuckoo", to="common cuckoo"))[-1] == "common cuckoo"
    merged = post(client, "classes/merge", names=before[:2], into=before[0])
    assert active(merged) == [*before[2:], "common cuckoo", before[0]]
    assert merged.json()["classes"][-1]["members"] == before[:2]
    assert active(post(client, "classes/split", name=before[0])) == [*before, "common cuckoo"]
    assert active(post(client, "classes/retire", name=before[0])) == [*before[1:], "common cuckoo"]
    assert before[0] not in [one["name"] for one in client.get("/api/status").json()["classes"]]
    assert active(post(client, "classes/restore", name=before[0])) == [*before, "common cuckoo"]
    kinds = [one["kind"] for one in client.get("/api/classes/changes").json()]
    assert kinds[:3] == ["added", "described", "renamed"]
    refused = post(client, "classes", name=before[0])
    assert (refused.status_code, refused.json()["detail"]) == (400, f"There is a class {before[0]} already.")
    assert [one.wrong for one in check(project)] == [""] * 7


def test_an_example_is_sent_and_shown(client, project):
    name = project.classes[0]
    sent = {"file": "../wren.PNG", "content": base64.b64encode(PNG).decode()}
    assert post(client, "classes/describe", name=name, example=sent, description="brown").status_code == 200
    one = client.get("/api/classes").json()["classes"][0]
    assert (one["description"], one["example_kind"]) == ("brown", "picture")
    shown = client.get(one["example"])
    assert (shown.content, shown.headers["content-type"]) == (PNG, "image/png")
    assert client.get("/api/classes/1/example").status_code == 404
    assert client.get("/api/classes/999/example").status_code == 404
    for file, content in (("x.png", "no base64!"), ("x.exe", ""), ("x.png", "")):
        wrong = {"file": file, "content": content}
        assert post(client, "classes/describe", name=name, example=wrong).status_code == 400
    (question,) = [one for one in client.get("/api/questions/next?count=20").json() if one["class_name"] == name][:1]
    assert question["guide"]["description"] == "brown"


def test_annotators_may_look_but_not_change(client, project):
    people = Invitations(project.database)
    ann, eve = ({"Authorization": f"Bearer {people.invite(who, adjudicator=who == 'eve')}"} for who in ("ann", "eve"))
    assert client.get("/api/classes").status_code == 401
    assert client.get("/api/classes", headers=ann).json()["may_change"] is False
    refused = client.post("/api/classes", json={"name": "cuckoo"}, headers=ann)
    assert (refused.status_code, "ann cannot change classes" in refused.json()["detail"]) == (403, True)
    assert client.get("/api/classes", headers=eve).json()["may_change"] is True
    assert client.post("/api/classes", json={"name": "cuckoo"}, headers=eve).status_code == 200


def test_notes(client, project):
    bag = str(project.contents.ids[3])
    note = {"key": "n", "bag": bag, "class_name": project.classes[1], "text": "wind"}
    first = post(client, "notes", **note).json()
    assert post(client, "notes", **note).json() == first
    post(client, "notes", key="m", bag=str(project.contents.ids[0]), text="rain")
    assert [one["text"] for one in client.get("/api/notes").json()] == ["wind", "rain"]
    assert [one["text"] for one in client.get("/api/notes", params={"bag": bag}).json()] == ["wind"]
    assert post(client, "notes", key="x", bag="nowhere", text="?").status_code == 400


@pytest.mark.slow
def test_after_a_day_with_all_of_it_the_model_is_a_replay(client, project, synthetic):
    """Answers, classes that change, also here, more like this, likely bags, undo and notes, one after the other."""

    def answer(count):
        for question in client.get(f"/api/questions/next?count={count}").json():
            bag = project.contents.ids.tolist().index(question["bag"]["id"])
            place = project.contents.class_list.position(question["class_name"])
            said = "present" if place < 6 and synthetic.labels.value[bag, place] else "absent"
            assert post(client, "answers", key=question["key"], answer=said).status_code == 200

    first, second, third, *_ = project.classes
    answer(12)
    post(client, "classes", name="cuckoo")
    (question,) = client.get("/api/questions/next").json()
    also = {"bag": question["bag"]["id"], "class_name": "cuckoo", "answer": "present", "where": [0]}
    assert post(client, "answers", key="also", **also).status_code == 200
    answer(8)
    post(client, "classes/rename", name="cuckoo", to="common cuckoo")
    post(client, "classes/merge", names=[first, second], into="either")
    found = client.get("/api/similar", params={"class_name": third, "bag": question["bag"]["id"], "instance": 0}).json()
    cards = [one["bag"]["id"] for one in found["bags"][:5]]
    assert post(client, "review/answers", key="cards", class_name=third, answer="absent", bags=cards).status_code == 200
    assert post(client, "undo", key="back").status_code == 200
    answer(8)
    post(client, "classes/retire", name=third)
    post(client, "notes", key="note", bag=cards[0], text="wind")
    answer(8)
    assert post(client, "classes/split", name="either").status_code == 200
    post(client, "classes/restore", name=third)
    answer(4)
    assert not any(event.audit for event in project.events if event.key.startswith(("also", "cards")))
    assert [one.wrong for one in check(project)] == [""] * 7
    with Project.open(project.folder) as again:
        assert again.active_classes == [*project.classes[:6], "common cuckoo"]
        assert np.array_equal(again.learner.model.weights_, project.learner.model.weights_)
        assert [one.wrong for one in check(again)] == [""] * 7
