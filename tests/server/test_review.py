"""Looking back on the page: corrections, predictions accepted many at a time, downloads."""

import polars as pl
import pytest
from fastapi.testclient import TestClient

from bagwise.model import MIMLClassifier
from bagwise.project.reports.exports import EXPORTS, forms_of
from bagwise.server import application
from tests.server.test_page import wait_for_events


@pytest.fixture
def client(project):
    with TestClient(application(project, "ann"), base_url="http://127.0.0.1:8765") as client:
        yield client


@pytest.fixture
def answered(running, truth):
    """Thirty questions have their answers."""
    for _ in range(30):
        (asked,) = running.project.ask("ann")
        bag, name = running.project.contents.ids[asked.bag], running.project.classes[asked.label_class]
        said = "present" if truth(bag, name) else "absent"
        running.project.answer(asked.key, "ann", said, seconds=1.0)
    return running


def test_a_correction_in_place(page, answered):
    page.goto(f"{answered.address}/#answers")
    page.wait_for_selector("#history li")
    assert page.locator("#history li").count() == 20
    assert page.locator("#history-pager").inner_text().split("\n")[1] == "1 to 20 of 30"
    page.get_by_role("button", name="Older").click()
    page.get_by_text("21 to 30 of 30").wait_for()
    row = page.locator("#history li").last
    assert row.get_attribute("data-number") == "1"
    before = answered.project.events[0].answer
    row.locator("button[aria-pressed=false]").first.click()
    page.get_by_text("Corrected:").wait_for()
    answered.project.catch_up()
    event = answered.project.events[-1]
    assert (event.kind, event.replaces, event.annotator) == ("correction", 1, "ann")
    assert event.answer != before
    assert page.faults == []


def test_answers_are_filtered(page, answered):
    page.goto(f"{answered.address}/#answers")
    page.wait_for_selector("#history li")
    page.select_option("#history-answer", "present")
    expected = sum(event.answer == "present" for event in answered.project.events)
    page.locator("#history-pager", has_text=f"of {expected}").wait_for()
    page.select_option("#history-class", "3")
    expected = sum(event.answer == "present" and event.label_class == 3 for event in answered.project.events)
    page.wait_for_function("count => document.querySelectorAll('#history li').length === count", arg=expected)
    assert page.locator("#history-person option").all_inner_texts() == ["everybody", "ann"]
    page.get_by_label("only where people disagree").check()
    page.get_by_text("No answer fits.").wait_for()


def test_keys_do_not_answer_in_other_views(page, answered):
    page.goto(f"{answered.address}/#answers")
    page.wait_for_selector("#history li")
    for key in ("y", "n", "z", "ArrowUp"):
        page.keyboard.press(key)
    page.wait_for_timeout(300)
    answered.project.catch_up()
    assert len(answered.project.events) == 30


@pytest.mark.slow
def test_predictions_are_accepted_and_rejected_in_bulk(page, answered):
    page.goto(answered.address)
    page.wait_for_selector("#bag .strip")
    page.get_by_role("link", name="Predictions").click()
    page.wait_for_selector("#beliefs li")
    page.select_option("#belief-class", "7")
    page.wait_for_function("() => document.querySelector('#beliefs input').ariaLabel.includes(': 7 is')")
    shares = [int(text.rstrip(" %")) for text in page.locator("#beliefs b").all_inner_texts()]
    assert shares == sorted(shares, reverse=True)
    assert page.locator("#accept").is_disabled()
    chosen = [page.locator("#beliefs input").nth(place) for place in (0, 2)]
    bags = [one.get_attribute("value") for one in chosen]
    for one in chosen:
        one.check()
    page.get_by_role("button", name="Yes to 2").click()
    page.get_by_text("for 2 bags").wait_for()
    wait_for_events(answered, 32)
    said = answered.project.events[30:]
    assert [answered.project.contents.ids[event.bag] for event in said] == bags
    assert all((event.answer, event.label_class, event.audit) == ("present", 7, False) for event in said)
    page.wait_for_function(
        "bag => ![...document.querySelectorAll('#beliefs input')].some((one) => one.value === bag)", arg=bags[0]
    )
    page.select_option("#belief-order", "least")
    page.wait_for_function("() => parseInt(document.querySelector('#beliefs b').textContent) < 50")
    page.get_by_label("choose all on this page").check()
    page.get_by_role("button", name="No to 24").click()
    wait_for_events(answered, 56)
    page.get_by_role("link", name="Label").click()
    page.wait_for_selector("#bag .strip")
    page.keyboard.press("n")
    wait_for_events(answered, 57)
    assert page.faults == []


@pytest.mark.slow
def test_downloads_from_the_page(page, answered, tmp_path):
    page.goto(f"{answered.address}/#downloads")
    page.wait_for_selector("#downloads button")
    assert page.locator("#downloads button").count() == sum(len(forms_of(what)) for what in EXPORTS)

    def fetched(what, form):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=f"Download {what} as {form}", exact=True).click()
        waiting.value.save_as(tmp_path / waiting.value.suggested_filename)
        return tmp_path / waiting.value.suggested_filename

    labels = pl.read_csv(fetched("labels", "csv"))
    assert labels.height == 30
    assert pl.read_parquet(fetched("answers", "parquet")).height == 30
    assert pl.read_parquet(fetched("predictions", "parquet")).height > 0
    found = pl.read_csv(fetched("detections", "csv"), infer_schema=False)
    assert set(found["class"]) <= set(answered.project.classes)
    model = MIMLClassifier.load(fetched("model", "npz"))
    assert model.class_names_ == answered.project.classes
    assert (tmp_path / "digits-model.npz").exists()
    assert page.faults == []


@pytest.mark.slow
def test_the_page_says_which_model_predicts(page, answered):
    page.goto(f"{answered.address}/#predictions")
    page.wait_for_selector("#beliefs li")
    online = "Model: online, 30 answers, threshold 0.5."
    assert page.locator("#belief-model").inner_text().startswith(online)
    answered.project.train()
    page.get_by_role("link", name="Downloads").click()
    page.wait_for_selector("#downloads button")
    said = page.locator("#downloads .model").all_inner_texts()
    assert said == ["Model: trained, 30 answers, threshold 0.5."] * 3, "of predictions, detections and the model"
    page.get_by_role("link", name="Predictions").click()
    page.locator("#belief-model", has_text="Model: trained, 30 answers").wait_for()
    assert page.faults == []


def test_a_download_that_cannot_be_made_says_why(page, running):
    page.goto(f"{running.address}/#downloads")
    page.get_by_role("button", name="Download model as npz").click()
    page.get_by_text("Nothing is known yet").wait_for()


def test_a_script_can_review(client, project):
    asked = client.get("/api/questions/next").json()[0]
    client.post("/api/answers", json={"key": asked["key"], "answer": "unsure"})
    name = project.classes[1]
    found = client.get("/api/review/predictions", params={"class_name": name, "count": 5}).json()
    bags = [one["bag"]["id"] for one in found["bags"]]
    body = {"key": "bulk", "class_name": name, "answer": "absent", "bags": bags}
    first = client.post("/api/review/answers", json=body)
    assert [one["bag_id"] for one in first.json()] == bags
    assert client.post("/api/review/answers", json=body).json() == first.json()
    again = client.post("/api/review/answers", json={**body, "key": "other"})
    assert again.status_code == 409
    history = client.get("/api/review/answers", params={"answer": "absent", "count": 3}).json()
    assert (history["of"], len(history["answers"])) == (5, 3)
    progress = client.get("/api/progress", params={"target": 0.8}).json()
    assert progress["answers"] == 6
    assert [point["answers"] for point in progress["curve"]] == [0, 6]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/review/predictions?class_name=nothing", 400),
        ("/api/review/predictions", 422),
        ("/api/review/answers?count=101", 422),
        ("/api/review/answers?class_name=nothing", 400),
        ("/api/progress?target=2", 422),
        ("/api/downloads/labels?form=exe", 400),
        ("/api/downloads/labels", 422),
        ("/api/downloads/everything?form=csv", 422),
        ("/api/downloads/..%2f..%2fbagwise.toml?form=csv", 404),
    ],
)
def test_nonsense_is_refused(client, path, code):
    assert client.get(path).status_code == code


def test_bulk_answers_to_what_is_not_there_are_refused(client, project):
    body = {"key": "k", "class_name": project.classes[0], "answer": "absent", "bags": ["bag 1", "nothing"]}
    assert client.post("/api/review/answers", json=body).status_code == 400
    assert project.events == []
