"""The page to print: everything that it should say, nothing that it should not load, and on one sheet of paper."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

from bagwise.evaluation import Interval
from bagwise.evaluation.forecast import Forecast
from bagwise.evaluation.stopping import Goal, Verdict
from bagwise.project import Asking, Learning, Project, quality_of, status_of
from bagwise.project.reports.quality import ClassReport, Report
from bagwise.project.reports.quality_page import (
    DESIGNS,
    PAPER,
    SOFTWARE,
    Audited,
    PageContent,
    quality_page,
    rendered,
)
from bagwise.project.reports.sentences import sentences_of
from bagwise.project.reports.status import ClassStatus
from tests.project.test_commands import bagwise

MADE_AT = datetime(2026, 5, 24, 4, tzinfo=UTC)
NASTY = '<script>alert("x")</script> & \'"><img src=x>'
ROOT = Path(__file__).parents[2]


@pytest.fixture
def database():
    """A page is the same with any database: in the folder."""
    return ""


class Elements(HTMLParser):
    """The elements, with their attributes, and the text of a page; fails where they are not nested."""

    VOID = ("meta", "br", "line", "circle")

    def __init__(self, page):
        super().__init__()
        self.found, self.text, self.open = [], "", []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


def made_content(project, classes=10, name="wren"):
    """The page of a project with estimates of so many classes."""
    status = status_of(project)
    found = [
        ClassReport(
            f"{name} {i}",
            Interval(0.9, 0.75, 0.98),
            Interval(0.5 + i / 50, 0.4, 0.9),
            Interval(0.1, 0.08, 0.14),
            Forecast(60, 30, 150),
        )
        for i in range(classes)
    ]
    quality = dict.fromkeys(("bag_accuracy", "hamming_loss", "micro_f1"), Interval(0.8, 0.7, 0.9))
    report = Report(
        300, 31, 60, "bag_accuracy", 0.9, quality, found, Verdict(False, f"Not yet {NASTY}."), None, history=[]
    )
    known = [ClassStatus(one.name, 3, 20, 1, 36) for one in found]
    counted = type(status)(**{**vars(status), "name": NASTY, "classes": known})
    audited = Audited(31, 6, 30, classes, 2, "2026-05-01", "2026-05-20", 0.1)
    sentences = sentences_of(report, Goal(), "recording")
    return PageContent(counted, report, sentences, audited, "recording", MADE_AT)


def test_names_are_text_and_nothing_is_loaded_or_run(project):
    page = rendered(made_content(project, name=NASTY))
    elements = Elements(page)
    assert {tag for tag, _ in elements.found}.isdisjoint({"script", "img", "link", "iframe", "object", "a", "form"})
    used = {name for _, attributes in elements.found for name in attributes}
    assert not {name for name in used if name.startswith("on")} | (used & {"src", "href", "style", "action"})
    assert f"{NASTY} 3" in elements.text
    assert f"Not yet {NASTY}." in elements.text
    assert not re.search(r"url\(|@import|https?:", page)


def test_it_says_what_was_estimated_how_and_from_what(make_project, say):
    project = make_project(learning=Learning(audit=0.5), asking=Asking())
    for _ in range(40):
        (asked,) = project.ask("ann")
        project.answer(asked.key, "ann", say(asked), seconds=1.0)
    report = quality_of(project)
    text = " ".join(Elements(quality_page(project, report, MADE_AT)).text.split())
    audits = [event for event in project.events if event.audit]
    present = sum(event.answer == "present" for event in audits)
    assert report.audits == len(audits) > 5
    day = sorted(event.at[:10] for event in audits)
    when = f"on {day[0]}" if day[0] == day[-1] else f"from {day[0]} to {day[-1]}"
    assert f"{len(audits)} audits ({present} yes, {len(audits) - present} no) about" in text
    assert f"were answered {when}, by 1 person; {len(audits) / 40:.0%}".replace("%", " %") in text
    assert "With a probability of 0.5 a question was an audit" in text
    assert "2026-05-24, Bagwise " in text
    assert "60 bags" in text
    for found in (*report.metrics.values(), report.classes[0].recall, report.classes[0].precision):
        assert found is None or f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})" in text
    sentences = sentences_of(report, project.settings.stopping)
    for sentence in (sentences.overall, *sentences.classes.values(), report.verdict.why):
        assert sentence in text


@pytest.mark.parametrize("design", DESIGNS)
def test_it_says_how_audits_were_drawn(project, design):
    content = made_content(project, classes=1)
    text = Elements(rendered(replace(content, audited=replace(content.audited, design=design)))).text
    assert f"instead of chosen by the model, {DESIGNS[design]}. 31 audits (6 yes, 25 no)" in text


def test_without_an_audit_it_says_so(project):
    text = Elements(quality_page(project, quality_of(project), MADE_AT)).text
    assert "None has been answered yet" in text
    assert "too early to say anything: at least 10 more answers." in text


def test_intervals_are_drawn_where_they_are(project):
    page = rendered(made_content(project, classes=1))
    drawn = [attributes for tag, attributes in Elements(page).found if attributes.get("class") == "interval"]
    # From 4 to 116 is from 0 to 1.
    lows, highs = ([(float(one[end]) - 4) / 112 for one in drawn] for end in ("x1", "x2"))
    assert lows == pytest.approx([0.7, 0.7, 0.7, 0.4, 0.75], abs=1e-3)
    assert highs == pytest.approx([0.9, 0.9, 0.9, 0.9, 0.98], abs=1e-3)


def test_it_is_cited_as_the_repository_says():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert f"{cited['authors'][0]['name']}: {cited['title']}" == SOFTWARE
    (paper,) = cited["references"]
    names = " and ".join(f"{one['given-names'][0]}. {one['family-names']}" for one in paper["authors"])
    assert f"{names}: {paper['title']}. {paper['notes']}" == PAPER


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_ten_classes_are_one_sheet_of_paper_black_on_white(project, page, tmp_path, scheme):
    (tmp_path / "quality.html").write_text(rendered(made_content(project)))
    page.emulate_media(color_scheme=scheme)
    page.goto((tmp_path / "quality.html").as_uri())
    sheets = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", sheets)) == 1
    colours = "() => { const of = getComputedStyle(document.body); return [of.color, of.backgroundColor]; }"
    on_screen = page.evaluate(colours)
    page.emulate_media(media="print", color_scheme=scheme)
    assert page.evaluate(colours) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    assert (on_screen[1] == "rgb(255, 255, 255)") == (scheme == "light")
    page.emulate_media(media="screen")
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), width


def test_the_report_command_writes_it(make_project, say, tmp_path, monkeypatch):
    monkeypatch.setattr("bagwise.project.reports.report_files.is_installed", lambda extra: False)
    project = make_project()
    for _ in range(12):
        (asked,) = project.ask("ann")
        project.answer(asked.key, "ann", say(asked))
    code, out, err = bagwise("report", project.folder, "--to", tmp_path / "report")
    assert code == 0, err
    assert "quality.html" in out
    with Project.open(project.folder) as again:
        sentences = sentences_of(quality_of(again), again.settings.stopping)
        text = Elements((tmp_path / "report" / "quality.html").read_text()).text
        assert all(one in text for one in sentences.classes.values())
    listed = (tmp_path / "report" / "report.md").read_text()
    assert "## How good the model is" in listed
    assert f"- {sentences.overall}" in listed
