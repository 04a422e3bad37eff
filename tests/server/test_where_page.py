"""Where and when on the page: one line with the question, and filters on the views that list bags."""

import contextlib
import json
import urllib.error
import urllib.parse
import urllib.request

import polars as pl
import pytest

from bagwise import MIMLClassifier
from bagwise.project import Display, Learning, Project
from tests.conftest import source_of
from tests.project.test_where import SITES, located
from tests.server.conftest import Running
from tests.server.test_looks import faults
from tests.server.test_page import wait_for_events


@pytest.fixture
def server(tmp_path, synthetic, say):
    """Sixty bags at three sites, 30 answers."""
    folder = tmp_path / "p"
    options = {"learning": Learning(audit=0.0), "display": Display(picture="2x5")}
    with Project.create(folder, source_of(synthetic), classes=synthetic.classes, **options) as made:
        made.import_details(located(tmp_path))
        for _ in range(30):
            (lease,) = made.ask("ann")
            made.answer(lease.key, "ann", say(lease))
    running = Running(folder)
    yield running
    with contextlib.suppress(Exception):
        running.stop()


def site_of(project, bag):
    return project.source_of(bag).file.origin.site


def test_the_question_says_where_and_when_in_one_line(page, server):
    page.goto(server.address)
    page.wait_for_selector("body[data-shown]:not([data-shown=''])")
    (lease, *_) = server.project.ask("ann")
    number = lease.bag
    site = site_of(server.project, number)
    expected = f"{site} · 2026-05-{1 + number % 30:02d} {number % 24:02d}:15:00 · bag {number}"
    assert page.locator("#which").inner_text() == expected
    assert faults(page) == []
    assert page.faults == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_answers_are_filtered_by_site_day_and_hour(page, server, width):
    project = server.project
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{server.address}/#answers")
    page.wait_for_selector("#history li .whereabouts")
    page.locator("#history-site option").nth(len(SITES)).wait_for(state="attached")
    assert page.locator("#history-site option").all_inner_texts() == ["all sites", *SITES]
    assert page.locator("#history-from").get_attribute("min") == "2026-05-01"
    assert faults(page) == []
    page.locator("#history-site").select_option("north")
    at_north = [event.bag for event in project.events if site_of(project, event.bag) == "north"]
    assert at_north
    page.locator("#history-pager", has_text=f"of {len(at_north)}").wait_for()
    page.wait_for_function(
        "() => [...document.querySelectorAll('.whereabouts')].every((one) => one.textContent.startsWith('north'))"
    )
    page.locator("#history-hours").fill("0-12")
    page.locator("#history-hours").press("Enter")
    early = [bag for bag in at_north if bag % 24 < 12]
    page.wait_for_function("count => document.querySelectorAll('#history li').length === count", arg=len(early))
    page.locator("#history-hours").fill("dawn")
    page.locator("#history-hours").press("Enter")
    page.get_by_text("'dawn' are no hours of a day: give them as 4-9 or 04:00-09:00.").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert [fault for fault in page.faults if "400" not in fault] == []


@pytest.mark.slow
def test_predictions_are_filtered_by_site_and_day(page, server):
    page.goto(f"{server.address}/#predictions")
    page.wait_for_selector("#beliefs li")
    page.locator("#belief-site").select_option("pond")
    page.wait_for_function(
        "() => [...document.querySelectorAll('#beliefs .note')].every((one) => one.textContent.startsWith('pond · '))"
    )
    page.locator("#belief-from").fill("2026-05-03")
    page.locator("#belief-to").fill("2026-05-06")
    page.wait_for_function(
        "() => [...document.querySelectorAll('#beliefs .note')].every((one) => /2026-05-0[36] /.test(one.textContent))"
    )
    assert page.locator("#beliefs li").count() <= 4
    assert faults(page) == []
    assert page.faults == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_questions_are_limited_to_a_site_and_hours_until_that_is_lifted(page, server, width):
    project, site = server.project, "north"
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(server.address)
    page.wait_for_selector("body[data-shown]:not([data-shown=''])")
    page.get_by_text("Ask about some sites, days or hours only").click()
    page.locator("#limit-site").select_option(site)
    page.locator("#limit-hours").fill("0-12")
    page.locator("#limit-hours").press("Enter")
    page.get_by_text("Only about what was recorded at north, at 0-12; no random checks.").wait_for()
    for _ in range(4):
        page.wait_for_function(
            "() => document.body.dataset.shown && document.querySelector('#which').textContent.startsWith('north · ')"
        )
        page.keyboard.press("n")
    wait_for_events(server, 34)
    bags = [event.bag for event in project.events[30:]]
    assert {site_of(project, bag) for bag in bags} == {site}
    assert all(bag % 24 < 12 for bag in bags)
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    # It is remembered while the tab is open, and what no bag passes is said and lifted.
    page.reload()
    page.wait_for_selector("body[data-shown]:not([data-shown=''])")
    assert page.locator("#limit-site").input_value() == site
    page.get_by_text("Ask about some sites, days or hours only").click()
    page.locator("#limit-hours").fill("dawn")
    page.locator("#limit-hours").press("Enter")
    page.get_by_text("'dawn' are no hours of a day: give them as 4-9 or 04:00-09:00.").wait_for()
    page.wait_for_selector("body[data-shown]:not([data-shown=''])")
    assert not page.locator("#limit").is_visible()
    assert page.locator("#limit-site").input_value() == ""
    assert [fault for fault in page.faults if "400" not in fault] == []


def test_the_map_shows_and_chooses_what_passes_the_filters(page, server):
    project = server.project
    project.map("directions")
    page.goto(f"{server.address}/#map")
    page.wait_for_function("() => document.body.dataset.map")
    everything = page.locator("#map-message").inner_text()
    page.locator("#map-site").select_option("pond")
    page.get_by_text("of them pass the filters.", exact=False).wait_for()
    assert page.locator("#map-message").inner_text().startswith(everything)
    page.get_by_role("button", name="Choose all that is shown").click()
    at_pond = sum(site_of(project, bag) == "pond" for bag in range(len(project.bags)))
    page.get_by_text(f"instances of {at_pond} bags.", exact=False).wait_for()
    assert faults(page) == []
    page.locator("#map-ask").click()
    page.get_by_text(f"{at_pond} bags that you chose on the map and what was recorded at pond").wait_for()
    page.wait_for_function(
        "() => document.body.dataset.shown && document.querySelector('#which').textContent.startsWith('pond · ')"
    )
    page.goto(f"{server.address}/#map")
    page.get_by_role("button", name="Choose all that is shown").click()
    page.locator("#map-look").click()
    page.wait_for_selector("#beliefs li")
    assert page.locator("#belief-site").input_value() == "pond"
    assert page.faults == []


@pytest.mark.slow
def test_downloads_are_filtered_by_site_and_a_model_is_not(page, server, tmp_path):
    page.goto(f"{server.address}/#downloads")
    page.locator("#download-site").select_option("marsh")
    for what, form in (("predictions", "csv"), ("answers", "csv"), ("model", "npz")):
        with page.expect_download() as started:
            page.get_by_role("button", name=f"Download {what} as {form}").click()
        started.value.save_as(tmp_path / f"{what}.{form}")
    predictions = pl.read_csv(tmp_path / "predictions.csv")
    assert set(predictions["site"]) == {"marsh"}
    answered = pl.read_csv(tmp_path / "answers.csv")["bag"].to_list()
    at_marsh = [event for event in server.project.events if site_of(server.project, event.bag) == "marsh"]
    assert len(answered) == len(at_marsh)
    assert MIMLClassifier.load(tmp_path / "model.npz")
    assert faults(page) == []
    assert page.faults == []


def test_without_sites_and_times_there_is_nothing_to_filter_by(page, running):
    page.goto(f"{running.address}/#answers")
    page.wait_for_function("() => document.querySelectorAll('#history-class option').length > 1")
    assert not page.locator("#history-recorded").is_visible()
    assert not page.locator("#limit-by").is_visible()
    page.goto(f"{running.address}/#label")
    page.wait_for_selector("body[data-shown]:not([data-shown=''])")
    assert page.locator("#which").inner_text().startswith("strip ")


def test_the_api_filters_and_refuses(server):
    def get(path, **query):
        asked = urllib.parse.urlencode(query, doseq=True)
        with urllib.request.urlopen(f"{server.address}{path}?{asked}") as reply:
            return json.load(reply)

    found = get("/api/review/predictions", class_name=server.project.classes[0], site=["north", "marsh"], count=100)
    assert {one["bag"]["source"]["site"] for one in found["bags"]} == {"north", "marsh"}
    assert get("/api/review/imported", site="north") == {"of": 0, "labels": []}
    sites = get("/api/status")["sites"]
    assert [(one["name"], one["recordings"], one["pairs"]) for one in sites] == [
        ("marsh", 18, 108),
        ("north", 18, 108),
        ("pond", 24, 144),
    ]
    assert sum(one["answers"] for one in sites) == 30
    with pytest.raises(urllib.error.HTTPError) as error:
        get("/api/review/answers", site="lake")
    assert error.value.code == 400
    assert "There is no site lake" in json.load(error.value)["detail"]
