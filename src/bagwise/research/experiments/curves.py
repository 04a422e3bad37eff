"""Learning curves: the mean over the runs with a 95 % interval, as a chart."""

from pathlib import Path

import altair as alt
import polars as pl

from bagwise.research.experiments import measures

NORMAL_95 = 1.96


def mean_curves(rows: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Return the mean curves, with columns strategy, asked, mean, low, high, runs.

    Only points that every run of a strategy reached are used. The intervals allow for folds that share training
    bags, as `statistics.of_runs` does.
    """
    runs = rows.group_by("strategy").agg(pl.struct("fold", "seed").n_unique().alias("all_runs"))
    return (
        rows.group_by("strategy", "asked")
        .agg(
            pl.col(metric).mean().alias("mean"),
            pl.col(metric).std().fill_null(0).alias("spread"),
            pl.len().alias("runs"),
            pl.col("folds").first(),
        )
        .join(runs, on="strategy")
        .filter(pl.col("runs") == pl.col("all_runs"))
        .with_columns(
            (NORMAL_95 * pl.col("spread") * (1 / pl.col("runs") + 1 / (pl.col("folds") - 1)).sqrt()).alias("half")
        )
        .with_columns((pl.col("mean") - pl.col("half")).alias("low"), (pl.col("mean") + pl.col("half")).alias("high"))
        .sort("strategy", "asked")
        .select("strategy", "asked", "mean", "low", "high", "runs")
    )


def figure(
    rows: pl.DataFrame, metric: str = "bag_accuracy", title: str = "", x_title: str = "questions answered"
) -> alt.LayerChart:
    """Return a chart of the curves of one data set with their intervals."""
    return _panel(rows, metric, title, x_title, alt.Legend(orient="bottom-right", symbolOpacity=1)).properties(
        width=560, height=340
    )


def panels(rows: pl.DataFrame, metric: str, title: str, x_title: str, hover: bool = True) -> alt.HConcatChart:
    """Return one panel per data set with a common legend; `hover` adds points with tooltips."""
    legend = alt.Legend(orient="bottom", symbolOpacity=1, columns=3, labelLimit=400)
    charts = [
        _panel(rows.filter(pl.col("dataset") == name), metric, name, x_title, legend, hover).properties(
            width=300, height=240
        )
        for name in rows["dataset"].unique(maintain_order=True)
    ]
    return alt.hconcat(*charts, title=title)


Chart = alt.LayerChart | alt.HConcatChart | alt.VConcatChart


def _panel(
    rows: pl.DataFrame, metric: str, title: str, x_title: str, legend: alt.Legend, hover: bool = True
) -> alt.LayerChart:
    curves = mean_curves(rows, metric)
    strategies = rows["strategy"].unique(maintain_order=True).to_list()
    name = measures.title(metric)
    base = alt.Chart(curves, title=title).encode(
        x=alt.X("asked:Q", title=x_title),
        color=alt.Color("strategy:N", title=None, sort=strategies, legend=legend),
    )
    mean = alt.Y("mean:Q", title=name, scale=alt.Scale(zero=False))
    tooltip = ["strategy:N", "asked:Q", alt.Tooltip("mean:Q", format=".3f"), "runs:Q"]
    band = base.mark_area(opacity=0.18).encode(y=alt.Y("low:Q", title=name), y2="high:Q")
    point = alt.OverlayMarkDef(size=12) if hover else False
    line = base.mark_line(strokeWidth=2.5, point=point).encode(y=mean, tooltip=tooltip)
    return alt.LayerChart(layer=[band, line])


def save_figure(chart: Chart, stem: Path, page: bool = True, scale: int = 2) -> list[Path]:
    """Write the chart as SVG, PNG and, with `page`, a self-contained HTML page; return the paths."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.parent / f"{stem.name}{suffix}" for suffix in (".svg", ".png", ".html")[: 3 if page else 2]]
    chart.save(paths[0])
    chart.save(paths[1], scale_factor=scale)
    if page:
        chart.save(paths[2], inline=True)
    return paths
