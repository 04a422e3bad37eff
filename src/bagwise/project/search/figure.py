"""The map of a project as a figure, where Altair is installed."""

from pathlib import Path

import altair as alt
import polars as pl

SIDE, SCALE = 640, 2
QUIET, POINT = "#6b6b6b", "#3b6ea5"


def draw_map(table: pl.DataFrame, path: Path) -> None:
    """Write a figure of the points of a map.

    Parameters
    ----------
    table : DataFrame
        The columns x and y, and chance or site, by which the points are coloured.
    path : Path
        A file whose suffix is .png or .svg.
    """
    coloured = {
        "chance": alt.Color("chance:Q", scale=alt.Scale(scheme="blues", domain=[0, 1])),
        "site": alt.Color("site:N", scale=alt.Scale(scheme="tableau10")),
    }
    by = next((one for name, one in coloured.items() if name in table.columns), alt.value(POINT))
    axis = alt.Axis(labels=False, ticks=False, grid=False, title=None)
    with alt.data_transformers.enable("default", max_rows=None):
        chart = (
            alt.Chart(table)
            .mark_circle(size=12, opacity=0.7)
            .encode(alt.X("x:Q", axis=axis), alt.Y("y:Q", axis=axis), color=by)
            .properties(width=SIDE, height=SIDE)
            .configure_view(stroke=None)
            .configure_legend(labelColor=QUIET, titleColor=QUIET, titleFontWeight="normal")
        )
        chart.save(path, **({"scale_factor": SCALE} if path.suffix == ".png" else {}))
