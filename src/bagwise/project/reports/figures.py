"""The figures of a report: activity by hour of the day, by site, and classes found in how many hours of sound."""

from pathlib import Path

import altair as alt
import polars as pl

from bagwise.project.reports.summary import ALL, Summary

MOST_CLASSES, MOST_ROWS = 12, 40
INK, QUIET, GRID = "#2b2b2b", "#6b6b6b", "#e4e4e4"
BAR = "#3b6ea5"
OF_SITES = (BAR, "#c8553d", "#588157", "#8e6c8a", "#d99a2b", "#4a9b9b", "#a05d3f", "#7d7d2f")
SCALE = 2
LEAST_DARK = 0.55
"""The part of the largest share above which text on a cell is white."""

Chart = alt.Chart | alt.LayerChart | alt.FacetChart


def draw(summary: Summary, folder: Path) -> list[str]:
    """Write the figures for which there are data as SVG and PNG; return their names without suffix.

    Parameters
    ----------
    summary : Summary
        What to draw.
    folder : Path
        Where to write; it exists.

    Returns
    -------
    list of str
    """
    charts: dict[str, Chart] = {}
    if len(summary.hours):
        charts["activity_by_hour"] = activity_by_hour(summary)
    charts["activity_by_site"] = activity_by_site(summary)
    charts["accumulation"] = accumulation(summary)
    for name, chart in charts.items():
        styled = (
            chart.configure_view(stroke=None)
            .configure_axis(labelColor=QUIET, titleColor=QUIET, titleFontWeight="normal", gridColor=GRID, domain=False)
            .configure_title(color=INK, anchor="start", fontSize=14, subtitleColor=QUIET, subtitleFontSize=11)
            .configure_header(labelColor=INK, labelFontSize=12, labelAnchor="start", labelFontWeight="bold")
            .configure_legend(labelColor=INK, titleColor=QUIET, titleFontWeight="normal", labelLimit=240)
        )
        styled.save(folder / f"{name}.svg")
        styled.save(folder / f"{name}.png", scale_factor=SCALE)
    return list(charts)


def activity_by_hour(summary: Summary) -> alt.FacetChart:
    """Return the share of clips with each class by hour of the day, the most frequent classes first.

    Parameters
    ----------
    summary : Summary
        What to draw.

    Returns
    -------
    altair.FacetChart
    """
    shown = _most_frequent(summary)
    data = summary.hours.filter(pl.col("class").is_in(shown)).with_columns(next=pl.col("hour") + 1)
    hours = alt.X("hour:Q", title="hour of the day", scale=alt.Scale(domain=[0, 24]), axis=_hour_axis())
    bars = alt.Chart(data).mark_rect(color=BAR).encode(hours, alt.X2("next:Q"), _share_axis(), y2=alt.datum(0))
    # Hours without a recording are no hours without the class: those that were searched have a line below.
    searched = alt.Chart(data).mark_rule(color=QUIET, strokeWidth=2).encode(hours, alt.X2("next:Q"), y=alt.datum(0))
    left = f", {len(shown)} of {len(summary.classes)} classes" if len(shown) < len(summary.classes) else ""
    title = alt.Title(
        "Activity by hour", subtitle=f"share of the clips of each hour{left}; a line marks searched hours"
    )
    columns = min(3, len(shown))
    return (
        alt.layer(bars, searched)
        .properties(width=210, height=110)
        .facet(alt.Facet("class:N", title=None, sort=shown), columns=columns, title=title)
    )


def activity_by_site(summary: Summary) -> alt.LayerChart:
    """Return the share of clips with each class at each site, as a table of shades.

    Parameters
    ----------
    summary : Summary
        What to draw.

    Returns
    -------
    altair.LayerChart
    """
    shown = _most_frequent(summary, MOST_ROWS)
    data = summary.shares.filter(pl.col("class").is_in(shown))
    if data["site"].n_unique() > 1:
        data = data.filter(pl.col("site") != ALL)
    highest = max(0.01, *data["share"].to_list())
    base = alt.Chart(data, title=alt.Title("Activity by site", subtitle="share of the clips with the class")).encode(
        alt.X("site:N", title=None, axis=alt.Axis(orient="top", labelAngle=0, ticks=False, labelColor=INK)),
        alt.Y("class:N", title=None, sort=shown, axis=alt.Axis(ticks=False, labelColor=INK, labelLimit=240)),
    )
    shade = alt.Color("share:Q", scale=alt.Scale(scheme="blues", domain=[0, highest]), legend=None)
    cells = base.mark_rect(stroke="white", strokeWidth=2).encode(shade)
    dark = alt.condition(alt.datum.share > LEAST_DARK * highest, alt.value("white"), alt.value(INK))
    texts = base.mark_text(fontSize=11).encode(alt.Text("share:Q", format=".0%"), color=dark)
    sites = data["site"].n_unique()
    return alt.LayerChart(layer=[cells, texts]).properties(width=max(90, 76 * sites), height=30 * len(shown))


def accumulation(summary: Summary) -> alt.Chart:
    """Return how many classes were found in the first hours (clips, where no length is known), of all and of each site.

    Parameters
    ----------
    summary : Summary
        What to draw.

    Returns
    -------
    altair.Chart
    """
    effort = "hours" if summary.accumulation["hours"].null_count() == 0 else "clips"
    data = summary.accumulation.select("site", pl.col(effort).cast(pl.Float64).alias("effort"), "classes")
    begins = data.unique("site", maintain_order=True).with_columns(pl.lit(0.0).alias("effort"), classes=0)
    data = pl.concat([begins, data], how="vertical_relaxed")
    sites = [name for name in data["site"].unique(maintain_order=True) if name != ALL]
    if len(sites) > len(OF_SITES):
        data, sites = data.filter(site=ALL), []
    name = "all sites" if sites else "all recordings"
    data = data.with_columns(pl.col("site").replace(ALL, name))
    order = [name, *sites]
    colours = [INK, *OF_SITES[: len(sites)]]
    legend = alt.Legend(title=None, orient="right") if sites else None
    base = alt.Chart(data, title=alt.Title("Accumulation of classes", subtitle="in the order of time")).encode(
        alt.X("effort:Q", title="hours of sound" if effort == "hours" else "clips"),
        alt.Y("classes:Q", title="classes found", axis=alt.Axis(tickMinStep=1, format="d")),
        alt.Color("site:N", sort=order, scale=alt.Scale(domain=order, range=colours), legend=legend),
        alt.StrokeWidth(
            "site:N", scale=alt.Scale(domain=order, range=[3, *[1.6] * len(sites)]), legend=None, sort=order
        ),
    )
    chart: alt.Chart = base.mark_line(interpolate="step-after").properties(width=420, height=220)
    return chart


def _most_frequent(summary: Summary, count: int = MOST_CLASSES) -> list[str]:
    overall = summary.shares.filter(site=ALL).sort("clips_with", descending=True, maintain_order=True)
    return overall["class"].head(count).to_list()


def _hour_axis() -> alt.Axis:
    return alt.Axis(values=[0, 6, 12, 18, 24], grid=False)


def _share_axis() -> alt.Y:
    return alt.Y("share_of_clips:Q", title=None, axis=alt.Axis(format="%", tickCount=3))
