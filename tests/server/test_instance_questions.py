"""Questions about one instance over HTTP and on the page: *is the marked one a wren?*"""

import contextlib

import httpx2 as httpx
import numpy as np
import polars as pl
import pytest

from bagwise import formats
from bagwise.formats import LabelTable
from bagwise.project import Asking, Learning, Project, check
from tests.conftest import LONGEST
from tests.server.conftest import Running
from tests.server.test_looks import faults
from tests.server.test_page import wait_for_events
from tests.server.test_pointing_page import Labeller
from tests.support import example_media

CLASSES = ["wren", "owl"]


@pytest.fixture
def table(tmp_path):
    """A project that asks about one row of a table, served; the labels of a third of the bags are known."""
    rows = [(f"bag {b}", b % 7 + i, -0.5 * i, b * i) for b in range(24) for i in range(4)]
    pl.DataFrame(rows, schema=["bag", "peak", "loudness", "length"], orient="row").write_csv(tmp_path / "t.csv")
    known = np.array([[b % 2, b % 3 == 0] for b in range(8)], float)
    labels = LabelTable([f"bag {b}" for b in range(8)], CLASSES, known)
    settings = {"asking": Asking(granularity="instance"), "learning": Learning(audit=0.0)}
    Project.create(tmp_path / "table", formats.read(tmp_path / "t.csv"), labels, CLASSES, **settings).close()
    running = Running(tmp_path / "table")
    yield running
    with contextlib.suppress(Exception):
        running.stop()


@pytest.fixture
def client(table):
    with httpx.Client(base_url=table.address, timeout=LONGEST) as client:
        yield client


def asked(client):
    (question,) = client.get("/api/questions/next").json()
    return question


def answer(client, question, answer, **fields):
    return client.post("/api/answers", json={"key": question["key"], "answer": answer, **fields})


def test_the_api_asks_about_an_instance_and_saves_what_is_said_of_it(table, client):
    question = asked(client)
    instance = question["instance"]
    assert question["evidence"] == instance
    assert question["pointing"]
    no = answer(client, question, "absent", instance=instance).json()
    assert (no["instance"], no["answer"], no["counts_as"], no["where"]) == (instance, "absent", None, [])
    assert answer(client, question, "absent", instance=instance).json() == no
    assert answer(client, question, "present").status_code == 409
    other = asked(client)
    yes = answer(client, other, "present").json()
    assert (yes["counts_as"], yes["where"]) == ("present", [other["instance"]])
    corrected = client.post("/api/corrections", json={"key": "c" * 8, "number": no["number"], "answer": "present"})
    assert (corrected.json()["instance"], corrected.json()["counts_as"]) == (instance, "present")
    undone = client.post("/api/undo", json={"key": "u" * 8}).json()
    assert (undone["kind"], undone["instance"], undone["counts_as"]) == ("restoration", instance, None)
    (first, second) = client.get("/api/review/answers").json()["answers"]
    assert [one["instance"] for one in (second, first)] == [instance, other["instance"]]
    known = {(one["instance"], one["present"]) for one in second["bag"]["known"]}
    assert (instance, False) in known
    assert not any(found.wrong for found in check(table.project))


def test_an_answer_arrives_although_its_lease_is_gone(table, client):
    question = asked(client)
    about = {"bag": question["bag"]["id"], "class_name": question["class_name"], "instance": question["instance"]}
    with table.project.database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM leases")
    saved = answer(client, question, "absent", **about).json()
    assert (saved["instance"], saved["counts_as"]) == (question["instance"], None)


def test_what_cannot_be_said_is_refused(client):
    question = asked(client)
    assert answer(client, question, "absent", where=[0]).status_code == 400
    assert answer(client, question, "absent", instance=question["instance"] + 1).status_code == 400
    assert answer(client, question, "absent", instance=-1).status_code == 422
    assert client.get("/api/answers").json() == []


@pytest.mark.slow
def test_the_page_asks_about_the_marked_row(page, table):
    """By keys, buttons and a click; replayed to the same model, taken back, and shown among the answers."""
    ann = Labeller(page, table)
    heading = page.locator("#question")
    assert heading.inner_text() in ["Is the marked row wren?", "Is the marked row owl?"]
    assert page.locator("#marked").inner_text() == f"Marked: row {ann.marked}."
    assert page.locator("#buttons [data-key=n]").inner_text().startswith("No, not this one")
    for key in ("#buttons [data-key=e]", "#aids [data-key=p]"):
        assert page.locator(key).is_hidden()
    assert page.locator("#aids [data-key=h]").is_disabled(), "what is asked about stays marked"
    assert faults(page) == []
    asked_about = [(*ann.question, ann.marked)]

    def note():
        asked_about.append((*ann.question, ann.marked))

    before = page.locator("body").get_attribute("data-shown")
    for key in ("h", "e", "p"):
        page.keyboard.press(key)
    assert page.locator("body").get_attribute("data-shown") == before
    ann.says(ann.press("n"), "absent")
    page.get_by_text("no, not the marked one.").wait_for()
    note()
    ann.says(ann.press("y"), where=[ann.marked])
    note()
    ann.says(page.locator("#buttons [data-key=u]").click, "unsure")
    note()
    ann.says(page.locator("#buttons [data-key=n]").click, "absent")
    note()
    ann.says(ann.press("s"), "skipped")
    note()
    other = ann.others[0]
    ann.instance(other).click()
    assert "Yes, the picked one" in page.locator("#buttons [data-key=y]").inner_text()
    ann.says(ann.press("y"), where=[other])
    note()
    ann.says(ann.press("n"), "absent")
    ann.undo()
    assert ann.marked == asked_about[-1][2], "the same row is asked about again"
    assert ann.arrived == ann.said
    project = table.project
    saved = [
        (str(project.contents.ids[one.bag]), project.classes[one.label_class], one.instance) for one in project.events
    ]
    assert saved == [*asked_about, asked_about[-1]]
    assert not any(found.wrong for found in check(project))
    assert page.faults == []

    page.locator("nav a[href='#answers']").click()
    bag, name, instance = asked_about[0]
    entry = page.locator("#history li[data-number='1']")
    entry.get_by_text(f"{name} in row {instance} of {bag}").wait_for()
    entry.get_by_role("button", name=f"{name} in row {instance} of {bag}: yes").click()
    page.get_by_text("Corrected:").wait_for()
    newest = project.events[-1]
    assert (newest.kind, newest.instance, newest.where) == ("correction", instance, (instance,))


@pytest.mark.parametrize(("kind", "word"), [("sound", "sound"), ("picture", "region"), ("text", "passage")])
def test_the_page_names_what_is_marked(page, tmp_path, kind, word):
    folder, _ = example_media.make(tmp_path, kind, 12, least=3)
    settings = folder / "bagwise.toml"
    changed = settings.read_text().replace('granularity = "pair"', 'granularity = "instance"')
    settings.write_text(changed.replace("audit = 0.1", "audit = 0.0"))
    with Project.open(folder) as project:
        # A cold start asks about bags, until a few are complete.
        for bag in range(10):
            for label_class in range(len(project.classes)):
                answer = ("present", "absent")[(bag + label_class) % 2]
                project.answer(f"{bag} {label_class}", "ann", answer, pair=(bag, label_class))
    running = Running(folder)
    try:
        ann = Labeller(page, running)
        assert page.locator("#question").inner_text().startswith(f"Is the marked {word} ")
        assert page.locator("#marked").inner_text().startswith(f"Marked: {word} {ann.marked + 1}")
        asked_about = *ann.question, ann.marked
        ann.says(ann.press("n"), "absent")
        wait_for_events(running, 10 * len(running.project.classes) + 1)
        event, project = running.project.events[-1], running.project
        saved = str(project.contents.ids[event.bag]), project.classes[event.label_class], event.instance
        assert saved == asked_about
    finally:
        running.stop()
