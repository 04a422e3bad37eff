"""Answers that point, over HTTP: saved with the answer, corrected and undone with it, refused where they cannot be."""

import httpx2 as httpx
import pytest

from bagwise.project import Invitations, check
from tests.conftest import LONGEST
from tests.server.conftest import Running
from tests.support import example_media


@pytest.fixture
def client(running):
    """A script of the one person there is, ann."""
    with httpx.Client(base_url=running.address, timeout=LONGEST) as client:
        yield client


@pytest.fixture
def team(tmp_path):
    """The demo, two people asked about everything, and the clients of ann, bea and eve, who adjudicates."""
    example_media.make_demo(tmp_path / "team")
    settings = tmp_path / "team" / "bagwise.toml"
    settings.write_text(settings.read_text().replace("people = 1", "people = 2"))
    running = Running(tmp_path / "team")
    people = Invitations(running.project.database)
    clients = {}
    for name in ("ann", "bea", "eve"):
        token = people.invite(name, adjudicator=name == "eve")
        headers = {"Authorization": f"Bearer {token}"}
        clients[name] = httpx.Client(base_url=running.address, timeout=LONGEST, headers=headers)
    running.clients = clients
    yield running
    for client in clients.values():
        client.close()
    running.stop()


@pytest.fixture
def whole(tmp_path):
    """The project of the demo, served, asking about whole bags."""
    example_media.make_demo(tmp_path / "whole")
    settings = tmp_path / "whole" / "bagwise.toml"
    settings.write_text(settings.read_text().replace('granularity = "pair"', 'granularity = "bag"'))
    running = Running(tmp_path / "whole")
    with httpx.Client(base_url=running.address, timeout=LONGEST) as client:
        running.client = client
        yield running
    running.stop()


def asked(client):
    (question,) = client.get("/api/questions/next").json()
    return question


def answer(client, question, answer="present", **fields):
    return client.post("/api/answers", json={"key": question["key"], "answer": answer, **fields})


def place_of(running, bag):
    return running.project.contents.ids.tolist().index(bag)


def instance_labels(running, bag):
    """(instance, class, present) of everything that the model was taught about the instances of a bag."""
    labels = running.project.learner.labels.instances.of(place_of(running, bag))
    return {(one.instance, running.project.classes[one.label_class], one.present) for one in labels}


def nothing_wrong(running):
    return not any(found.wrong for found in check(running.project))


def test_an_answer_points_and_teaches(running, client):
    question = asked(client)
    name, marked = question["class_name"], question["evidence"]
    assert question["pointing"]
    assert question["evidences"] == [marked]
    saved = answer(client, question, where=[marked]).json()
    assert (saved["where"], saved["elsewhere"], saved["disputed"]) == ([marked], [], [])
    assert answer(client, question, where=[marked]).json() == saved, "sent again, it is saved once"
    assert instance_labels(running, saved["bag_id"]) == {(marked, name, True)}
    other = asked(client)
    elsewhere = answer(client, other, elsewhere=[other["evidence"]]).json()
    assert (elsewhere["where"], elsewhere["elsewhere"]) == ([], [other["evidence"]])
    assert instance_labels(running, elsewhere["bag_id"]) >= {(other["evidence"], other["class_name"], False)}
    assert [one["where"] for one in client.get("/api/answers").json()] == [[], [marked]]
    assert nothing_wrong(running)


def test_the_same_key_with_other_instances_is_a_conflict(client):
    question = asked(client)
    answer(client, question, where=[0])
    again = answer(client, question, where=[1])
    assert again.status_code == 409
    assert client.get("/api/answers").json()[0]["where"] == [0]


def test_what_is_known_of_a_bag_comes_with_it(client):
    question = asked(client)
    saved = answer(client, question, where=[2], elsewhere=[0, 1]).json()
    (listed,) = client.get("/api/review/answers").json()["answers"]
    known = {(one["instance"], one["class_name"], one["present"]) for one in listed["bag"]["known"]}
    assert known == {(2, saved["class_name"], True), (0, saved["class_name"], False), (1, saved["class_name"], False)}


@pytest.mark.parametrize(
    ("answered", "fields", "says"),
    [
        ("present", {"where": [99]}, "there is no instance 99"),
        ("present", {"elsewhere": [99]}, "there is no instance 99"),
        ("absent", {"where": [0]}, "only where the class is present"),
        ("unsure", {"elsewhere": [0]}, "only where the class is present"),
        ("present", {"where": [0, 1], "elsewhere": [1]}, "Instance 1 is said to be of the class and not to be of it"),
    ],
)
def test_instances_that_cannot_be_pointed_at_are_refused(running, client, answered, fields, says):
    question = asked(client)
    refused = answer(client, question, answered, **fields)
    assert refused.status_code == 400
    assert says in refused.json()["detail"]
    assert answer(client, question, "present", where=[-1]).status_code == 422
    assert running.project.events == []


def test_a_correction_replaces_what_was_pointed_at_and_undo_restores_it(running, client):
    question = asked(client)
    name = question["class_name"]
    saved = answer(client, question, where=[0]).json()

    def correct(key, number, **fields):
        return client.post("/api/corrections", json={"key": key, "number": number, **fields})

    refused = correct("no", saved["number"], answer="present", where=[77])
    assert refused.status_code == 400
    moved = correct("moved", saved["number"], answer="present", where=[1], elsewhere=[0]).json()
    assert instance_labels(running, saved["bag_id"]) == {(1, name, True), (0, name, False)}
    assert correct("moved", saved["number"], answer="present", where=[2]).status_code == 409
    correct("gone", moved["number"], answer="absent")
    assert instance_labels(running, saved["bag_id"]) == set()
    undone = client.post("/api/undo", json={"key": "1"}).json()
    assert (undone["kind"], undone["where"], undone["elsewhere"]) == ("restoration", [1], [0])
    assert instance_labels(running, saved["bag_id"]) == {(1, name, True), (0, name, False)}
    client.post("/api/undo", json={"key": "2"})
    assert instance_labels(running, saved["bag_id"]) == {(0, name, True)}
    client.post("/api/undo", json={"key": "3"})
    assert instance_labels(running, saved["bag_id"]) == set()
    assert nothing_wrong(running)


def test_a_whole_bag_answer_points_for_each_class(whole):
    question = asked(whole.client)
    one, other, third, *_ = question["classes"]
    assert len(question["evidences"]) == len(question["classes"])
    body = {"key": question["key"], "classes": question["classes"], "present": [one, other]}

    def send(**where):
        return whole.client.post("/api/answers/whole", json={**body, "where": where})

    assert send(**{third: [0]}).status_code == 400, "a class that is absent is nowhere"
    assert send(**{"no class": [0]}).status_code == 400
    assert send(**{one: [50]}).status_code == 400
    assert whole.project.events == []
    saved = send(**{one: [0, 1], other: [2]}).json()
    assert {event["class_name"]: event["where"] for event in saved if event["where"]} == {one: [0, 1], other: [2]}
    bag = question["bag"]["id"]
    assert instance_labels(whole, bag) == {(0, one, True), (1, one, True), (2, other, True)}
    assert send(**{one: [0, 1], other: [2]}).json() == saved
    whole.client.post("/api/undo", json={"key": "undo"})
    assert instance_labels(whole, bag) == set()
    assert nothing_wrong(whole)


def test_people_who_point_at_different_instances_do_not_disagree(team):
    ann, bea = team.clients["ann"], team.clients["bea"]
    question = asked(ann)
    name, bag = question["class_name"], question["bag"]["id"]
    about = {"bag": bag, "class_name": name}
    answer(ann, question, where=[0])
    saved = answer(bea, {"key": "of bea"}, where=[1], elsewhere=[2], **about).json()
    assert saved["disputed"] == []
    assert instance_labels(team, bag) == {(0, name, True), (1, name, True), (2, name, False)}
    assert team.clients["eve"].get("/api/review/answers", params={"disagreement": True}).json()["of"] == 0
    assert nothing_wrong(team)


def test_an_instance_that_is_claimed_and_denied_teaches_nothing_until_it_is_decided(team):
    ann, bea, eve = (team.clients[name] for name in ("ann", "bea", "eve"))
    question = asked(ann)
    name, bag = question["class_name"], question["bag"]["id"]
    about = {"bag": bag, "class_name": name}
    answer(ann, question, where=[0, 1])
    saved = answer(bea, {"key": "of bea"}, elsewhere=[1], **about).json()
    assert saved["disputed"] == [1]
    assert instance_labels(team, bag) == {(0, name, True)}
    listed = eve.get("/api/review/answers", params={"disagreement": True}).json()
    assert [one["disputed"] for one in listed["answers"]] == [[1], [1]]
    assert [one["instance"] for one in listed["answers"][0]["bag"]["known"]] == [0]
    decided = answer(eve, {"key": "of eve"}, where=[1], **about).json()
    assert decided["disputed"] == []
    assert instance_labels(team, bag) == {(1, name, True)}, "the adjudicator's pointing replaces that of all others"
    assert nothing_wrong(team)
    eve.post("/api/undo", json={"key": "u"})
    assert instance_labels(team, bag) == {(0, name, True)}


def test_an_instance_that_is_claimed_for_two_classes_is_a_disagreement(running, client):
    question = asked(client)
    name, bag = question["class_name"], question["bag"]["id"]
    other = next(one for one in running.project.classes if one != name)
    first = answer(client, question, where=[0, 1]).json()
    second = answer(client, {"key": "made"}, where=[0], bag=bag, class_name=other).json()
    assert second["disputed"] == [0]
    listed = client.get("/api/review/answers", params={"disagreement": True}).json()
    assert {one["class_name"]: one["disputed"] for one in listed["answers"]} == {name: [0], other: [0]}
    body = {"key": "right", "number": first["number"], "answer": "present", "where": [1]}
    assert client.post("/api/corrections", json=body).json()["disputed"] == []
    assert client.get("/api/review/answers", params={"disagreement": True}).json()["of"] == 0
    assert instance_labels(running, bag) == {(1, name, True), (0, other, True)}
    assert nothing_wrong(running)
