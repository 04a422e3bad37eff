"""A page to print about the quality of a project: figures with intervals, how they were made, and what was audited.

It is one HTML file without scripts and without anything from elsewhere, to be attached to a paper: black on white on
A4, light or dark on a screen. Every name is escaped.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from importlib import metadata
from importlib.resources import files

from bagwise.core.wording import counted
from bagwise.data import metrics
from bagwise.evaluation import Interval
from bagwise.project.answers.events import Event
from bagwise.project.project import Project
from bagwise.project.reports.quality import Report
from bagwise.project.reports.sentences import Sentences, having, sentences_about
from bagwise.project.reports.status import ClassStatus, Status, status_of

FILE = "quality.html"
STYLE = (files(__package__) / "quality_page.css").read_text(encoding="utf-8")
STYLE_DIGEST = f"sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}"
"""Of the style sheet, as a content security policy names it."""
SOFTWARE = "the Bagwise authors: Bagwise"
PAPER = (
    "T. Nguyen and R. Raich: Active Learning in Incomplete Label Multiple Instance Multiple Label Learning. "
    "Submitted to IEEE Transactions on Knowledge and Data Engineering."
)
WIDTH, HEIGHT, MARGIN = 120.0, 14.0, 4.0
UNKNOWN = "&ndash;"
DESIGNS = {
    "uniform": "each with the same probability",
    "balanced": "uncertain pairs and rare classes with a higher probability, which is stored and allowed for",
}
"""How audits are drawn, in words."""


@dataclass(frozen=True)
class Audited:
    """What was audited: the answers in effect to audit questions that gave a label.

    Parameters
    ----------
    labels, present : int
        How many there are, and how many of them found the class.
    bags, classes, people : int
        Of how many bags and classes, and by how many people.
    first, last : str
        The first and the last day (ISO 8601); empty without audits.
    share : float
        The share of questions that are audits, by the settings.
    design : {"uniform", "balanced"}
        How they are drawn, a key of `DESIGNS`.

    Examples
    --------
    >>> Audited(30, 4, 28, 5, 2, "2026-05-01", "2026-05-20", 0.1).labels
    30
    """

    labels: int
    present: int
    bags: int
    classes: int
    people: int
    first: str
    last: str
    share: float
    design: str = "uniform"

    @classmethod
    def of(cls, answers: Sequence[Event], share: float, design: str = "uniform") -> "Audited":
        """Count the audits among answers in effect."""
        audits = [one for one in answers if one.audit and one.answer in ("present", "absent") and one.labels_bag]
        days = sorted(one.at[:10] for one in audits)
        return cls(
            len(audits),
            sum(one.answer == "present" for one in audits),
            len({one.bag for one in audits}),
            len({one.label_class for one in audits}),
            len({one.annotator for one in audits}),
            days[0] if days else "",
            days[-1] if days else "",
            share,
            design,
        )


@dataclass(frozen=True)
class PageContent:
    """Everything that the page says of a project.

    Parameters
    ----------
    status : Status
        Its counts.
    report : Report
        The estimated quality.
    sentences : Sentences
        The same in words.
    audited : Audited
        What was audited.
    noun : str
        The word for one bag.
    made_at : datetime
        When the page was made.
    """

    status: Status
    report: Report
    sentences: Sentences
    audited: Audited
    noun: str
    made_at: datetime

    @property
    def bags(self) -> str:
        """How many bags there are, in words."""
        return counted(self.status.bags, self.noun)


def quality_page(project: Project, report: Report, made_at: datetime | None = None) -> str:
    """Return the page about the quality of a project, as HTML.

    Parameters
    ----------
    project : Project
        An open project.
    report : Report
        What `quality_of` returned for it.
    made_at : datetime, optional
        When it is made; now by default.

    Returns
    -------
    str

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from bagwise.formats import Source
    >>> from bagwise.project.reports.quality import quality_of
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0]]), np.array([[1.0]])], ["a", "b"])
    >>> with TemporaryDirectory() as folder, Project.create(f"{folder}/p", source, classes=["<wren>"]) as project:
    ...     page = quality_page(project, quality_of(project))
    >>> "&lt;wren&gt;: too early to say anything: at least 10 more answers." in page
    True
    """
    settings = project.settings
    content = PageContent(
        status_of(project),
        report,
        sentences_about(project, report),
        Audited.of(
            project.votes.all_effective(),
            settings.learning.audit,
            settings.learning.audit_design,
        ),
        settings.display.bag,
        made_at or datetime.now().astimezone(),
    )
    return rendered(content)


def rendered(content: PageContent) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    content : PageContent
        What it says.

    Returns
    -------
    str
    """
    title = f"{escape(content.status.name)}: estimated quality"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            "<header>",
            f"<h1>{title}</h1>",
            f'<p class="soft">{content.made_at:%Y-%m-%d}, Bagwise {escape(_version())}</p>',
            _facts(content),
            "</header>",
            "<main>",
            f'<p class="lead">{escape(content.sentences.overall)}<br>{_verdict(content)}</p>',
            _overall(content),
            _classes(content),
            _method(content),
            _words(content),
            "</main>",
            _footer(),
            "</body>",
            "</html>",
            "",
        ]
    )


def _facts(content: PageContent) -> str:
    status = content.status
    known = sum(one.present + one.absent for one in status.classes)
    pairs = known + sum(one.unsure + one.open for one in status.classes)
    answering = sum(sum(said.values()) > 0 for said in status.by_person.values())
    shown = {
        "size": f"{content.bags}, {counted(status.instances, 'instance')}",
        "classes": str(len(status.classes)),
        "people": str(answering),
        "answers": f"{status.answers}, of them {_audits(content.audited.labels)}",
        "known": f"{known} of {counted(pairs, 'pair')}",
    }
    if status.sites:
        shown["sites"] = str(sum(bool(site.name) for site in status.sites))
    if status.first_date and status.last_date:
        same = status.first_date == status.last_date
        shown["recorded"] = status.first_date if same else f"{status.first_date} to {status.last_date}"
    items = "".join(f"<div><dt>{name}</dt> <dd>{escape(value)}</dd></div>" for name, value in shown.items())
    return f'<dl class="facts">{items}</dl>'


def _audits(count: int) -> str:
    return counted(count, "audit")


def _verdict(content: PageContent) -> str:
    verdict = content.report.verdict
    return f"<b>{'You could stop' if verdict.stop else 'Go on'}.</b> {escape(verdict.why)}"


def _overall(content: PageContent) -> str:
    rows = [
        f'<tr><th scope="row">{escape(metrics.get(name).title)}</th>{_estimate(value)}'
        f'<td class="soft">{escape(_description(metrics.get(name)))}</td></tr>'
        for name, value in content.report.metrics.items()
    ]
    return _table(("overall", "estimate<br>(95&nbsp;% interval)", _scale(), ""), rows)


def _description(metric: metrics.Metric) -> str:
    """What a metric is; its description is on a scale where more is better."""
    text = metric.description
    return text if metric.more_is_better else f"Less is better: 1 minus {text[:1].lower()}{text[1:]}"


def _table(head: Sequence[str], rows: Sequence[str]) -> str:
    cells = "".join(f'<th scope="col">{words}</th>' if words else "<td></td>" for words in head)
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{cells}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
        "</div>"
    )


def _classes(content: PageContent) -> str:
    known = {one.name: one for one in content.status.classes}
    rows = []
    for one in content.report.classes:
        status = known.get(one.name, ClassStatus(one.name, 0, 0, 0, 0))
        rows.append(
            f'<tr><th scope="row">{escape(one.name)}</th>'
            f'<td class="estimate">{status.present} / {status.absent}</td>'
            f'<td class="estimate">{_counted(one.prevalence, content.report.bags)}</td>'
            f"{_estimate(one.recall)}{_estimate(one.precision)}</tr>"
        )
    head = (
        "class",
        "known<br>yes / no",
        f"have it,<br>of {content.report.bags}",
        "recall<br>(share found)",
        _scale(),
        "precision<br>(share of finds right)",
        _scale(),
    )
    return f"<h2>By class</h2>{_table(head, rows)}"


def _words(content: PageContent) -> str:
    items = "".join(f"<li>{escape(one)}</li>" for one in content.sentences.classes.values())
    return f'<section class="words"><h2>By class, in words</h2><ul>{items}</ul></section>'


def _estimate(interval: Interval | None) -> str:
    """Two cells: the figures, and the same drawn."""
    if interval is None:
        return f'<td class="estimate">{UNKNOWN}</td><td class="chart"></td>'
    words = f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"
    return f'<td class="estimate">{words}</td><td class="chart">{_drawn(interval)}</td>'


def _counted(share: Interval | None, bags: int) -> str:
    if share is None:
        return UNKNOWN
    value, low, high = having(share, bags)
    return f"{value} ({low} to {high})"


def _at(share: float) -> float:
    return round(MARGIN + (WIDTH - 2 * MARGIN) * share, 2)


def _svg(inside: str, label: str = "") -> str:
    named = f'role="img" aria-label="{escape(label)}"' if label else 'aria-hidden="true"'
    return f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" {named}>{inside}</svg>'


def _drawn(interval: Interval) -> str:
    middle = HEIGHT / 2
    ticks = "".join(
        f'<line class="axis" x1="{_at(share)}" x2="{_at(share)}" y1="3" y2="{HEIGHT - 3:g}"/>' for share in (0, 0.5, 1)
    )
    return _svg(
        f'<line class="axis" x1="{_at(0)}" x2="{_at(1)}" y1="{middle:g}" y2="{middle:g}"/>{ticks}'
        f'<line class="interval" x1="{_at(interval.low)}" x2="{_at(interval.high)}" y1="{middle:g}" y2="{middle:g}"/>'
        f'<circle class="value" cx="{_at(interval.value)}" cy="{middle:g}" r="3"/>',
        f"{interval.low:.2f} to {interval.high:.2f}",
    )


def _scale() -> str:
    """The scale of the drawings below."""
    anchors = ((0, "start"), (0.5, "middle"), (1, "end"))
    return _svg(
        "".join(
            f'<text x="{_at(share)}" y="{HEIGHT - 3:g}" text-anchor="{anchor}">{share:g}</text>'
            for share, anchor in anchors
        )
    )


def _method(content: PageContent) -> str:
    noun = escape(content.noun)
    not_covered = [
        f"other {noun}s than these, as of another season, place or device;",
        "wrong answers: what people said counts as the truth;",
        f"where in a {noun} a class is: all figures are about whole {noun}s;",
        "that several intervals are read together (of twenty, one is expected to miss), or were looked at again and "
        "again until one was good enough.",
    ]
    return (
        "<h2>What was audited, and how</h2>"
        f"<p>{_design(content)} Audits are learned from like other answers. <i>Unsure</i> is not a label: such pairs "
        "count as open.</p>"
        "<h2>How the figures were made</h2>"
        f"<p>The model is judged on the {escape(content.bags)} of the project as if it had not seen the answers about "
        "them: each is predicted by a model fitted without its labels (ten folds). Known labels count as they are. "
        "What the other pairs are is drawn many times from the predictions, corrected by how often these were wrong, "
        "which random checks tell; every draw gives all figures. The estimate is their median. A class is "
        f"predicted where its probability is above {metrics.THRESHOLD:g}{_other_thresholds(content.status)}.</p>"
        "<h2>What the intervals mean</h2>"
        f"<p>A 95&nbsp;% interval contains the true value for these {noun}s in about 95 of 100 projects; how often it "
        "does was measured on simulated projects (docs/quality.md of this version). Where there is a dash: a class "
        "that is predicted nowhere has no precision, one that was not found yet no recall. The intervals do not "
        "cover</p>"
        f"<ul>{''.join(f'<li>{one}</li>' for one in not_covered)}</ul>"
    )


def _other_thresholds(status: Status) -> str:
    """What is to be said where the predictions of the project have other thresholds than those that are judged."""
    if status.model.metric is None:
        return ""
    return f"; predictions of the project have thresholds that were learned for {escape(status.model.metric)} instead"


def _design(content: PageContent) -> str:
    """How audits are drawn, and which were answered."""
    audited, people, how = content.audited, content.audited.people, DESIGNS[content.audited.design]
    drawn = (
        f"With a probability of {audited.share:g} a question was an audit: a pair of a {escape(content.noun)} and a "
        f"class, drawn at random from the pairs without an answer instead of chosen by the model, {how}. "
    )
    if not audited.labels:
        return f"{drawn}None has been answered yet, so the estimates rest on assumptions about chosen questions."
    first, last = (f'<span class="estimate">{day}</span>' for day in (audited.first, audited.last))
    when = f"on {first}" if first == last else f"from {first} to {last}"
    about = f"{counted(audited.bags, content.noun)} and {counted(audited.classes, 'class')}"
    return (
        f"{drawn}{_audits(audited.labels)} ({audited.present} yes, {audited.labels - audited.present} no) about "
        f"{escape(about)} were answered {when}, by {people} {'person' if people == 1 else 'people'}; "
        f"{_share(audited.labels, content.status.answers)} of all answers in effect."
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}".replace("%", "&nbsp;%") if whole else "none"


def _footer() -> str:
    return (
        f"<footer><p>To cite: {escape(SOFTWARE)}, version {escape(_version())}. The method of asking and learning: "
        f"{escape(PAPER)}</p></footer>"
    )


def _version() -> str:
    return metadata.version("bagwise")
