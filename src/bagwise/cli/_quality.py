"""Shows the quality of a project in a terminal."""

from rich.markup import escape
from rich.table import Table

from bagwise.cli._app import say, show_table
from bagwise.data import metrics
from bagwise.evaluation import Interval
from bagwise.project import Report
from bagwise.project.reports.sentences import Sentences, having


def show_quality(report: Report, sentences: Sentences) -> None:
    """Print what the quality is in words and as a table with intervals, then the verdict."""
    if None in report.metrics.values():
        say(f"Estimated quality. {escape(sentences.overall)}")
        return
    for sentence in (*sentences.classes.values(), sentences.overall):
        say(escape(sentence))
    title = f"Estimated quality on these bags, 95 % intervals ({report.audits} audit answers)"
    table = Table("class", f"of {report.bags} bags", "found", "false alarms", title=title)
    for one in report.classes:
        counts = _counted(one.prevalence, report.bags)
        table.add_row(escape(one.name), counts, _in_words(one.recall), _in_words(one.false_alarms))
    shown = ", ".join(f"{metrics.get(name).title} {_in_words(value)}" for name, value in report.metrics.items())
    table.caption = shown[0].upper() + shown[1:]
    show_table(table, "class")
    say(f"Of {report.bags} bags: how many have the class.", end=" ")
    say("Found: the share of the bags with the class that the model finds (recall).", end=" ")
    say("False alarms: the share of the bags it reports that do not have it (1 - precision).")
    meant = metrics.get(report.metric)
    say(f"{meant.goodness_title[0].upper()}{meant.goodness_title[1:]}: {meant.description}")
    say(f"[bold]{'Stop' if report.verdict.stop else 'Go on'}.[/] {escape(report.verdict.why)}")


def _in_words(interval: Interval | None) -> str:
    return "unknown" if interval is None else f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def _counted(share: Interval | None, bags: int) -> str:
    if share is None:
        return "unknown"
    value, low, high = having(share, bags)
    return f"{value} ({low} to {high})"
