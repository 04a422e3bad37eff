"""Show figures: a table for the terminal, Markdown for a page, and a chart."""

from collections.abc import Sequence

import altair as alt
import polars as pl
from rich.table import Column, Table

from bagwise.research.bench.comparison import Change
from bagwise.research.bench.figures import Document, Figure, Report

HEAD = ("figure", "ratio", "quartiles", "one thread", "time", "floor", "its time", "goal")
DIGITS = 3


def table(report: Report) -> Table:
    """Return a table of every figure of a suite beside its floor; red where a goal is missed."""
    head, *rows = filled(report.figures)
    title = f"{report.suite}: {report.unit}; {report.size}"
    shown = Table(Column(head[0], min_width=20), *head[1:], title=title)
    for figure, row in zip(report.figures, rows, strict=True):
        shown.add_row(*row, style="red" if figure.reaches_goal is False else None)
    return shown


def markdown(report: Report) -> str:
    """Return the same table as Markdown."""
    head, *rows = filled(report.figures)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))


def filled(figures: Sequence[Figure]) -> list[list[str]]:
    """Return head and rows, without columns that are empty for every figure."""
    details = list(dict.fromkeys(name for figure in figures for name in figure.details))
    rows = [cells(figure, details) for figure in figures]
    used = [column for column in range(len(HEAD) + len(details)) if any(row[column] for row in rows)]
    return [[row[column] for column in used] for row in ([*HEAD, *details], *rows)]


def cells(figure: Figure, details: Sequence[str]) -> list[str]:
    """Return one row of either table."""
    goal = "" if figure.goal is None else f"at {'least' if figure.larger_is_better else 'most'} {figure.goal:g}"
    spread = f"{_number(figure.low)} to {_number(figure.high)}" if figure.rounds > 1 else ""
    times = [_time(figure.seconds), figure.floor, _time(figure.floor_seconds)]
    beside = [_text(figure.details.get(name, "")) for name in details]
    one_thread = "" if figure.one_thread is None else _number(figure.one_thread)
    return [figure.name, _number(figure.ratio), spread, one_thread, *times, goal, *beside]


def change_table(found: Sequence[Change]) -> Table:
    """Return a table of the changes since another run, the worst first."""
    shown = Table("suite", "figure", "before", "now", "times worse", "")
    for one in sorted(found, key=lambda change: -change.times_worse):
        style = {"worse": "red", "better": "green"}.get(one.verdict)
        ratios = (_number(one.before.judged), _number(one.now.judged), f"{one.times_worse:.2f}")
        shown.add_row(one.suite, one.now.name, *ratios, one.verdict, style=style)
    return shown


def chart(document: Document) -> alt.VConcatChart:
    """Return a panel for every suite: ratios with their quartiles on a logarithmic scale; 1 is the floor."""
    return alt.vconcat(*(_panel(report) for report in document.reports.values()))


def _panel(report: Report) -> alt.LayerChart:
    rows = pl.DataFrame(
        [{"figure": f.name, "ratio": f.ratio, "low": f.low, "high": f.high, "floor": f.floor} for f in report.figures]
    )
    y = alt.Y("figure:N", title=None, sort=None, axis=alt.Axis(labelLimit=420))
    base = alt.Chart(rows, title=f"{report.suite}: {report.size}").encode(y=y)
    scale = alt.Scale(type="log" if all(figure.low > 0 for figure in report.figures) else "linear")
    axis = alt.X("ratio:Q", title=report.unit, scale=scale)
    legend = alt.Legend(orient="bottom", labelLimit=420)
    spread = base.mark_rule(strokeWidth=4, opacity=0.4).encode(x=alt.X("low:Q", title=report.unit), x2="high:Q")
    point = base.mark_point(filled=True, size=70).encode(
        x=axis, color=alt.Color("floor:N", title="floor", legend=legend)
    )
    one = alt.Chart(pl.DataFrame({"floor": [1.0]})).mark_rule(strokeDash=[4, 4]).encode(x="floor:Q")
    return alt.LayerChart(layer=[one, spread, point]).properties(width=520)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def _text(value: object) -> str:
    return f"{value:.{DIGITS}f}" if isinstance(value, float) else str(value)


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.{0 if seconds >= 0.1 else 1}f} ms"
