"""Label Studio as a client, over HTTP, with requests as Label Studio 1.23 sends them."""

import base64
import json
import shutil
import urllib.error
import urllib.request
from urllib.parse import urljoin

import pytest

from bagwise.project import Invitations, Project, check
from bagwise.server.middleware import LARGEST_BODY
from tests.server.conftest import Running
from tests.support import example_media

CONFIG = """<View><Audio name="audio" value="$audio"/>
<Choices name="tones" toName="audio" choice="multiple">
<Choice value="low tone"/><Choice value="high tone"/><Choice value="whistle"/></Choices>
<Choices name="unsure" toName="audio" choice="multiple"><Choice value="whistle"/></Choices>
<Labels name="calls" toName="audio"><Label value="low tone"/><Label value="high tone"/></Labels></View>"""
PROJECT = {"id": 2, "title": "tones", "label_config": CONFIG, "model_version": "bagwise", "created_by": 1}
UNIQUE = "6f7d0f3e-6c0a-4c85-9f0a-2f3f6a0a3b11"


class Studio:
    """What Label Studio does with the backend at an address."""

    def __init__(self, running, user="label-studio", token=None):
        self.address, self.project = f"{running.address}/label-studio", running.project
        self.headers = {"Content-Type": "application/json", "User-Agent": "heartex/1.23.2"}
        if token is not None:
            self.headers["Authorization"] = "Basic " + base64.b64encode(f"{user}:{token}".encode()).decode()
        self.clock = 0

    def send(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(urljoin(f"{self.address}/", path), data, self.headers)
        with urllib.request.urlopen(request) as response:
            return json.load(response)

    def refused(self, path, body=None):
        with pytest.raises(urllib.error.HTTPError) as found:
            self.send(path, body)
        with found.value as response:
            return response.code, json.load(response)["detail"]

    def predict(self, *tasks, config=CONFIG):
        body = {"tasks": list(tasks), "project": "2.1763400000", "label_config": config}
        return self.send("predict", {**body, "params": {"login": None, "password": None, "context": None}})["results"]

    def annotation(self, number, task, result, user=7, **more):
        self.clock += 1
        return {
            "id": number,
            "result": result,
            "was_cancelled": False,
            "ground_truth": False,
            "created_at": "2026-11-17T19:00:00.536303Z",
            "updated_at": f"2026-11-17T19:00:{self.clock:02}.536370Z",
            "draft_created_at": None,
            "lead_time": 3.5,
            "prediction": {},
            "result_count": 0,
            "unique_id": UNIQUE,
            "task": task["id"],
            "project": 2,
            "completed_by": user,
            **more,
        }

    def save(self, number, task, result, action="ANNOTATION_CREATED", **more):
        """The webhook of an annotation that was just saved, and what was sent."""
        sent = {"action": action, "annotation": self.annotation(number, task, result, **more), "project": PROJECT}
        sent["task"] = task
        return self.send("webhook", sent)["events"], sent

    def delete(self, number):
        body = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": number}], "project": PROJECT}
        return self.send("webhook", body)["events"]

    def counts(self, bag):
        """What counts for each class of a bag."""
        self.project.catch_up()
        place = self.project.contents.ids.tolist().index(bag)
        return [self.project.counts_as((place, c)) for c in range(3)]


def task(number, name):
    data = {"audio": f"http://127.0.0.1:8080/data/upload/2/1a2b3c4d-{name}.wav".replace(" ", "%20")}
    meta = {"is_labeled": False, "overlap": 1, "annotations": [], "predictions": [], "file_upload": 46}
    return {"id": number, "data": data, "meta": {}, "project": 2, "inner_id": number, **meta}


def chosen(*names, control="tones"):
    value = {"choices": list(names)}
    return {"id": "WArqkkifYE", "from_name": control, "to_name": "audio", "type": "choices", "value": value}


def switch_on(folder, people=()):
    path = folder / "bagwise.toml"
    names = f"people = {json.dumps(list(people))}"
    path.write_text(path.read_text().replace("on = false", "on = true").replace("people = []", names))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder, _ = example_media.make(tmp_path_factory.mktemp("made"), "sound", 12)
    switch_on(folder, ["7=ann"])
    return folder


@pytest.fixture
def studio(tmp_path, made):
    folder = shutil.copytree(made, tmp_path / "sound")
    running = Running(folder)
    yield Studio(running)
    running.stop()
    with Project.open(folder) as project:
        assert [found for found in check(project) if found.wrong] == []


def test_it_is_off_unless_it_is_switched_on(running):
    assert Studio(running).refused("health")[0] == 404


def test_connecting(studio):
    assert studio.send("health") == {"status": "UP", "model_class": "Bagwise"}
    body = {"project": "2.1763400000", "schema": CONFIG, "hostname": "http://localhost:8080", "access_token": "x"}
    assert studio.send("setup", {**body, "extra_params": None}) == {"model_version": "bagwise-0"}
    studio.save(1, task(1, "clip 0"), [chosen("whistle")])
    assert studio.send("setup", body) == {"model_version": "bagwise-3"}, "a new version for every answer"
    assert studio.send("webhook", {"action": "START_TRAINING", "project": PROJECT}) == {"events": 0}


def test_the_lowest_score_is_the_question_that_bagwise_asks_first(studio):
    for number, name in enumerate(("low tone", "high tone", "whistle")):
        studio.save(number, task(number, f"clip {number}"), [chosen(name)])
    tasks = [task(number, f"clip {number}") for number in range(12)]
    scores = [one["score"] for one in studio.predict(*tasks)]
    order = list(dict.fromkeys(question.bag for question in studio.project.rank(100).questions))
    assert [number for number in sorted(range(12), key=scores.__getitem__) if scores[number] < 1] == order
    assert scores[:3] == [1.0, 1.0, 1.0], "nothing is left to ask about them"


def test_predictions_are_choices_and_regions(studio):
    assert studio.predict(task(9, "clip 9"))[0]["result"] == [], "nothing was learned yet"
    sounds = studio.project.contents.ids.tolist()
    for number in range(8):
        bag = sounds.index(f"clip {number}")
        of = [name for c, name in enumerate(studio.project.classes) if (studio.project.bags[bag][:, c] > 0.5).any()]
        studio.save(number, task(number, f"clip {number}"), [chosen(*of)])
    (found,) = studio.predict(task(9, "clip 9"))
    assert found["model_version"] == "bagwise"
    table = studio.project.predictions()
    row = table.ids.index("clip 9")
    likely = [name for name, predicted in zip(table.classes, table.predicted[row], strict=True) if predicted]
    assert likely
    choices, *regions = found["result"]
    assert choices == {"from_name": "tones", "to_name": "audio", "type": "choices", "value": {"choices": likely}}
    assert [one["value"]["labels"] for one in regions] == [[name] for name in likely if name != "whistle"]
    for region in regions:
        c = table.classes.index(region["value"]["labels"][0])
        place = studio.project.medium(sounds.index("clip 9")).places[table.evidence[row, c]]
        assert (region["value"]["start"], region["value"]["end"]) == (place["start"], place["end"])
        assert (region["from_name"], region["to_name"], region["type"]) == ("calls", "audio", "labels")
        assert region["score"] == pytest.approx(table.probability[row, c])


def test_an_annotation_becomes_answers_corrections_and_undo(studio):
    one = task(3, "clip 3")
    count, sent = studio.save(17, one, [chosen("whistle")])
    assert count == 3
    assert studio.counts("clip 3") == ["absent", "absent", "present"]
    events = studio.project.events
    assert {(event.annotator, event.kind) for event in events} == {("ann", "answer")}
    assert [event.seconds for event in events if event.seconds] == [3.5]
    assert studio.send("webhook", sent)["events"] == 0, "sent twice it is saved once"
    count, changed = studio.save(17, one, [chosen("low tone")], "ANNOTATION_UPDATED")
    assert count == 2
    assert studio.counts("clip 3") == ["present", "absent", "absent"]
    assert studio.send("webhook", sent)["events"] == 0, "what comes late does not replace what is newer"
    assert studio.counts("clip 3") == ["present", "absent", "absent"]
    studio.delete(17)
    assert studio.counts("clip 3") == [None, None, None]
    assert {event.kind for event in studio.project.events} == {"answer", "correction", "restoration", "retraction"}
    assert [studio.delete(17), studio.delete(99)] == [0, 0]
    assert studio.send("webhook", changed)["events"] == 0, "a deleted annotation does not come back"


def test_unsure_and_skipped(studio):
    one = task(3, "clip 3")
    studio.save(17, one, [chosen("low tone"), chosen("whistle", control="unsure")])
    assert studio.counts("clip 3") == ["present", "absent", "unsure"]
    studio.save(17, one, [], "ANNOTATION_UPDATED", was_cancelled=True)
    assert studio.counts("clip 3") == [None, None, None]


def test_a_region_points_at_its_instance(studio):
    bag = studio.project.contents.ids.tolist().index("clip 4")
    place = studio.project.medium(bag).places[0]
    value = {"start": place["start"], "end": place["end"], "channel": 0, "labels": ["high tone"]}
    region = {"original_length": 3.0, "value": value, "id": "r", "from_name": "calls", "to_name": "audio"}
    studio.save(18, task(4, "clip 4"), [{**region, "type": "labels", "origin": "manual"}])
    assert studio.counts("clip 4") == ["absent", "present", "absent"]
    assert [event.where for event in studio.project.events if event.answer == "present"] == [(0,)]


def test_with_choices_called_absent_nothing_is_absent_that_nobody_said(studio):
    config = CONFIG.replace('"tones"', '"present"').replace('"unsure"', '"absent"')
    project = {**PROJECT, "label_config": config}
    annotation = studio.annotation(5, task(5, "clip 5"), [chosen("low tone", control="present")])
    sent = {"action": "ANNOTATION_CREATED", "annotation": annotation, "task": task(5, "clip 5"), "project": project}
    studio.send("webhook", sent)
    assert studio.counts("clip 5") == ["present", None, None]
    later = studio.annotation(5, task(5, "clip 5"), [chosen("whistle", control="absent")])
    studio.send("webhook", {**sent, "annotation": later, "action": "ANNOTATION_UPDATED"})
    assert studio.counts("clip 5") == [None, None, "absent"], "what it says no more is undone"


def test_what_was_answered_on_the_page_since_stays(studio):
    one = task(3, "clip 3")
    studio.save(17, one, [chosen("whistle")])
    (event,) = [event for event in studio.project.events if event.answer == "present"]
    studio.project.correct(event.number, "ann", "absent")
    known = studio.annotation(17, one, [chosen("whistle")])
    studio.predict({**one, "annotations": [known]})
    assert studio.counts("clip 3") == ["absent", "absent", "absent"]


def test_what_a_webhook_lost_comes_with_the_next_prediction(studio):
    one = {**task(3, "clip 3"), "annotations": [studio.annotation(17, task(3, "clip 3"), [chosen("whistle")])]}
    broken = {**task(4, "clip 4"), "annotations": [{"id": "x"}, studio.annotation(18, one, [{"type": "choices"}])]}
    assert len(studio.predict(one, broken)) == 2
    assert studio.counts("clip 3") == ["absent", "absent", "present"]
    saved = len(studio.project.events)
    studio.predict(one)
    studio.send("train", {"annotations": [one], "project": "2.1", "label_config": CONFIG, "params": {}})
    assert len(studio.project.events) == saved


def test_two_users_are_two_people(studio):
    studio.save(17, task(3, "clip 3"), [chosen("whistle")])
    studio.save(18, task(3, "clip 3"), [chosen("low tone")], user=8)
    assert {event.annotator for event in studio.project.events} == {"ann", "label-studio-8"}
    both = [studio.annotation(20, task(5, "clip 5"), []), studio.annotation(21, task(6, "clip 6"), [])]
    sent = {"action": "ANNOTATIONS_CREATED", "annotation": both, "task": [task(5, "clip 5"), task(6, "clip 6")]}
    assert studio.send("webhook", {**sent, "project": PROJECT})["events"] == 6


def test_how_tasks_name_their_bag(studio):
    names = ["clip 7", "clip 7.wav", "s3://bucket/sounds/clip%207.wav", "/data/local-files/?d=sounds/clip%207.wav"]
    for data in [{"bag": "clip 7"}, *({"audio": name, "site": "marsh"} for name in names)]:
        assert studio.predict({**task(1, ""), "data": data})[0]["score"] < 1, data
    for data in ({"audio": "http://x/other.wav"}, {}, {"audio": 3}, {"audio": "http://[x/clip.wav"}):
        assert studio.predict({**task(1, ""), "data": data}) == [{"result": [], "score": 1, "model_version": "bagwise"}]


def test_bad_requests_say_what_to_do(studio):
    one = studio.annotation(1, task(1, "clip 1"), [chosen("whistle")])
    good = {"action": "ANNOTATION_CREATED", "annotation": one, "task": task(1, "clip 1"), "project": PROJECT}
    for change, words in (
        ({"annotation": None}, "Send payload"),
        ({"task": task(1, "clip 99")}, "as `bag`"),
        ({"annotation": {**one, "id": None}}, "is not the number"),
        ({"annotation": {**one, "updated_at": "now"}}, "is not the time"),
        ({"annotation": {**one, "result": [{"type": "choices", "value": {}}]}}, "not a list of names"),
        ({"project": {"label_config": "<View"}}, "not XML"),
        ({"project": {"label_config": "<!DOCTYPE x><View/>"}}, "document type"),
    ):
        code, why = studio.refused("webhook", {**good, **change})
        assert (code, words in why) == (400, True), why
    assert studio.project.events == []


def test_nobody_takes_the_key_of_an_annotation(studio):
    body = {"key": "studio:17.99", "bag": "clip 1", "class_name": "whistle", "answer": "absent"}
    assert studio.refused("/api/answers", body)[0] == 422


def test_many_tasks_in_one_request(studio):
    tasks = [{**task(1, "clip 1"), "meta": {"notes": "x" * 1000}}] * (LARGEST_BODY // 1000 + 10)
    assert len(studio.predict(*tasks)) == len(tasks)


def test_it_takes_the_token_of_an_adjudicator(tmp_path, made):
    folder = shutil.copytree(made, tmp_path / "sound")
    with Project.open(folder) as project:
        people = Invitations(project.database)
        token, other = people.invite("label-studio", adjudicator=True), people.invite("bea")
    running = Running(folder)
    try:
        assert Studio(running, token=token).send("health")["status"] == "UP"
        assert Studio(running).refused("health")[0] == 401
        assert Studio(running, "bea", token).refused("health")[0] == 401
        assert Studio(running, "bea", other).refused("health")[0] == 403
        studio = Studio(running, token=token)
        assert studio.save(1, task(1, "clip 1"), [chosen("whistle")])[0] == 3
        assert {event.annotator for event in running.project.events} == {"ann"}
    finally:
        running.stop()
