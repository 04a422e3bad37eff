"""Find more like this and the map, for a script."""

import base64

import pytest
from fastapi.testclient import TestClient

from bagwise.project import Project
from bagwise.project.search.plane import MOST_POINTS
from bagwise.server import application
from bagwise.server.middleware import LARGEST_BODY
from tests.conftest import source_of


@pytest.fixture
def project(tmp_path, synthetic):
    with Project.create(tmp_path / "project", source_of(synthetic), classes=synthetic.classes) as project:
        yield project


@pytest.fixture
def client(project):
    with TestClient(application(project, "ann"), base_url="http://127.0.0.1:8765") as client:
        yield client


def like(client, **query):
    found = client.get("/api/similar", params={"class_name": "class 0", "count": 5, **query})
    assert found.status_code == 200, found.text
    return found.json()


def test_the_nearest_without_an_answer_come_first(client, project):
    name = project.classes[0]
    found = like(client, bag="bag 3", instance=1, class_name=name)
    expected = project.similar(bag=3, instance=1)
    assert (found["of"], found["measure"]) == (59, "euclidean")
    assert [one["bag"]["id"] for one in found["bags"]] == project.contents.ids[expected.bags[:5]].tolist()
    assert [one["evidence"] for one in found["bags"]] == expected.instances[:5].tolist()
    assert [one["distance"] for one in found["bags"]] == expected.distances[:5].tolist()
    first = found["bags"][0]["bag"]["id"]
    said = {"key": "k", "class_name": name, "answer": "absent", "bags": [first]}
    (event,) = client.post("/api/review/answers", json=said).json()
    assert not project.events[event["number"] - 1].audit
    again = like(client, bag="bag 3", instance=1, class_name=name)
    assert [one["bag"]["id"] for one in again["bags"][:4]] == [one["bag"]["id"] for one in found["bags"][1:]]
    assert like(client, bag="bag 3", instance=1, class_name=project.classes[1])["of"] == 59
    client.post("/api/undo", json={"key": "u"})
    assert like(client, bag="bag 3", instance=1, class_name=name)["bags"][0]["bag"]["id"] == first
    second = like(client, bag="bag 3", instance=1, class_name=name, start=1, count=1)
    assert second["bags"] == found["bags"][1:2]


def test_a_search_is_done_once(client, project, monkeypatch):
    name = project.classes[0]
    before = like(client, bag="bag 3", class_name=name)
    monkeypatch.setattr(type(project), "similar", None)
    assert like(client, bag="bag 3", class_name=name) == before


def test_what_cannot_be_searched_for_is_refused(client, project):
    for query in (
        {},
        {"bag": "bag 1", "file": "x"},
        {"file": "x"},
        {"bag": "nothing"},
        {"bag": "bag 1", "instance": 900},
        {"file": "x", "instance": 1},
        {"bag": "bag 1", "class_name": "nothing"},
    ):
        found = client.get("/api/similar", params={"class_name": project.classes[0], **query})
        assert found.status_code == 400, query
        assert found.json()["detail"].endswith(".")


def test_a_file_for_a_project_from_a_table_is_refused(client):
    assert not client.get("/api/status").json()["accepts_files"]
    sent = {"name": "a.txt", "content": base64.b64encode(b"a wren").decode()}
    assert "made from a table" in client.post("/api/similar/files", json=sent).json()["detail"]
    assert client.post("/api/similar/files", json={**sent, "content": "?"}).status_code == 400
    assert client.post("/api/similar/files", json={**sent, "name": "../../x\0.txt"}).status_code == 422
    large = {"name": "a.txt", "content": "A" * LARGEST_BODY}
    assert client.post("/api/similar/files", json=large).status_code == 400, "files may be larger than other bodies"


def test_the_map_and_its_colours(client, project):
    assert client.get("/api/map").json()["layout"] is None
    assert client.get("/api/map/colours", params={"layout": "directions", "class_name": "x"}).status_code == 400
    plane, name = project.map("directions"), project.classes[0]
    found = client.get("/api/map").json()
    assert (found["layout"], found["layouts"], found["of"]) == ("directions", ["directions"], project.bags.n_instances)
    assert len(found["x"]) == project.bags.n_instances <= MOST_POINTS
    assert [found["x"], found["y"]] == plane.coordinates.T.tolist()
    project.answer_listed("ann", "present", [(5, 0)], "k")
    colours = client.get("/api/map/colours", params={"layout": "directions", "class_name": name}).json()
    assert {bag for bag, label in zip(found["bags"], colours["labels"], strict=True) if label} == {5}
    chance = project.model().classifier.predict_instance_proba(project.bags)[:, 0]
    assert colours["chance"] == pytest.approx(chance.tolist(), abs=1e-4)
    assert all(0 <= one <= 1 for one in colours["certainty"])
    assert (colours["sites"], set(colours["site"])) == ([], {-1})


def test_a_region_is_looked_at_labelled_and_asked_about(client, project):
    plane, name = project.map("directions"), project.classes[0]
    region = "directions,-0.3,0.3,-0.3,0.3"
    there = {int(bag) for bag in plane.bags[plane.points_in(-0.3, 0.3, -0.3, 0.3)]}
    assert 3 < len(there) < 60
    one = min(there)
    project.answer_listed("ann", "unsure", [(one, 0)], "k")
    query = {"region": region, "class_name": name, "count": 100}
    everything = client.get("/api/map/bags", params={**query, "answered": True}).json()
    assert everything["of"] == len(there)
    assert {one["bag"]["id"] for one in everything["bags"]} == {str(project.contents.ids[bag]) for bag in there}
    assert [one["label"] for one in everything["bags"] if one["label"]] == ["unsure"]
    open_ones = client.get("/api/map/bags", params=query).json()
    assert open_ones["of"] == len(there) - 1
    beliefs = [one["belief"] for one in open_ones["bags"]]
    assert beliefs == sorted(beliefs, reverse=True)
    asked = client.get("/api/questions/next", params={"region": region, "count": 5}).json()
    assert len(asked) == 5
    assert {question["bag"]["id"] for question in asked} <= {str(project.contents.ids[bag]) for bag in there}
    assert not any(question["audit"] for question in asked)
    assert client.get("/api/questions/next", params={"region": "directions,2,3,2,3"}).json() == []
    for wrong in ("directions,1,2", "neighbours,0,1,0,1", "flat,0,1,0,1"):
        assert client.get("/api/questions/next", params={"region": wrong}).status_code == 400
        assert client.get("/api/map/bags", params={**query, "region": wrong}).status_code == 400
