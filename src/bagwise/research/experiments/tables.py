"""Results as tables for the terminal."""

from collections.abc import Sequence

import polars as pl
from rich.table import Column, Table

from bagwise.research.experiments import measures
from bagwise.research.experiments.curves import mean_curves
from bagwise.research.experiments.statistics import Difference

BAR_WIDTH = 24


def final_values(rows: pl.DataFrame) -> pl.DataFrame:
    """Return, for every strategy, the metrics at the last point and the mean bag accuracy over the curve."""
    last = rows.filter(pl.col("asked") == pl.col("asked").max().over("strategy"))
    final = last.group_by("strategy", maintain_order=True).agg(
        pl.col(measures.measured(rows.columns)).mean(), pl.len().alias("runs")
    )
    area = rows.group_by("strategy").agg(pl.col("bag_accuracy").mean().alias("mean_accuracy_over_curve"))
    return final.join(area, on="strategy", maintain_order="left")


def final_table(rows: pl.DataFrame) -> Table:
    """Return `final_values` as a table."""
    measured = measures.measured(rows.columns)
    titles = [*map(measures.title, measured), "accuracy over curve"]
    table = Table(Column("strategy", no_wrap=True), "runs", *titles)
    for row in final_values(rows).to_dicts():
        values = [f"{row[column]:.3f}" for column in (*measured, "mean_accuracy_over_curve")]
        table.add_row(row["strategy"], str(row["runs"]), *values)
    return table


def difference_table(differences: Sequence[Difference], title: str) -> Table:
    """Return a table of paired differences in the area under the curve, with intervals and p values."""
    title += f": area under the curve against {differences[0].second}, {differences[0].runs} paired runs"
    middle = ["data set", "metric", "difference", "95 % interval", "p (Holm)"]
    table = Table(Column("strategy", no_wrap=True), *middle, Column(no_wrap=True), title=title)
    for one in differences:
        verdict = "better" if one.better else "worse" if one.worse else "unclear"
        interval = f"{one.low:+.3f} {one.high:+.3f}"
        table.add_row(
            one.first,
            one.dataset,
            measures.title(one.metric),
            f"{one.mean:+.3f}",
            interval,
            f"{one.p_holm:.3f}",
            verdict,
        )
    return table


def curve_table(rows: pl.DataFrame, step: int) -> Table:
    """Return a table of the bag accuracy of every strategy, every `step` answers."""
    means = mean_curves(rows, "bag_accuracy")
    strategies = means["strategy"].unique(maintain_order=True).to_list()
    table = Table("answers", *strategies, title="bag accuracy on held-out bags")
    for asked in sorted(set(means["asked"].to_list())):
        if asked % step == 0:
            at = {row["strategy"]: row["mean"] for row in means.filter(pl.col("asked") == asked).to_dicts()}
            table.add_row(str(asked), *(f"{_bar(at[s])} {at[s]:.3f}" if s in at else "" for s in strategies))
    return table


def _bar(share: float) -> str:
    return ("█" * round(share * BAR_WIDTH)).ljust(BAR_WIDTH, "·")
