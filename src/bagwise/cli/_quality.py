"""Shows the quality of a project in a terminal."""

from rich.markup import escape
from rich.table import Table

from bagwise.cli._app import say, show_table
from bagwise.data import metrics
from bagwise.evaluation import Interval
from bagwise.evaluation.forecast import Forecast
from bagwise.project import Report


def show_quality(report: Report) -> None:
    """Print a table with intervals, then the forecast and the verdict."""
    if None in report.metrics.values():
        say("Estimated quality: too few answers to say anything yet.")
        return
    title = f"Estimated quality on these bags, 95 % intervals ({report.audits} audit answers)"
    table = Table("class", f"of {report.bags} bags", "found", "false alarms", "answers to target", title=title)
    for one in report.classes:
        having = _counted(one.prevalence, report.bags)
        wrong = _in_words(one.false_alarms)
        table.add_row(escape(one.name), having, _in_words(one.recall), wrong, _needed(one.forecast))
    shown = ", ".join(f"{metrics.get(name).title} {_in_words(value)}" for name, value in report.metrics.items())
    table.caption = shown[0].upper() + shown[1:]
    show_table(table, "class")
    say(f"Of {report.bags} bags: how many have the class.", end=" ")
    say("Found: the share of the bags with the class that the model finds (recall).", end=" ")
    say("False alarms: the share of the bags it reports that do not have it (1 - precision).")
    meant = metrics.get(report.metric)
    say(f"{meant.goodness_title[0].upper()}{meant.goodness_title[1:]}: {meant.description}")
    say(f"Answers until {report.metric.replace('_', ' ')} {report.target:g}: {_needed(report.forecast)}.")
    say(f"[bold]{'Stop' if report.verdict.stop else 'Go on'}.[/] {escape(report.verdict.why)}")


def _in_words(interval: Interval | None) -> str:
    return "unknown" if interval is None else f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def _counted(share: Interval | None, bags: int) -> str:
    if share is None:
        return "unknown"
    value, low, high = (round(one * bags) for one in (share.value, share.low, share.high))
    return f"{value} ({low} to {high})"


def _needed(forecast: Forecast | None) -> str:
    if forecast is None or (forecast.low == 0 and forecast.high is None):
        return "too early to say"
    if forecast.needed is None:
        return "out of reach" if forecast.low is None else f"at least {forecast.low}, perhaps out of reach"
    if forecast.high == 0:
        return "reached"
    return f"{forecast.needed} ({forecast.low} to {'never' if forecast.high is None else forecast.high})"
