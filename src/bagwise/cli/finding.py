"""Commands that find bags without being asked: the nearest ones, and a map of all of them."""

import json
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.markup import escape
from rich.table import Table

from bagwise.cli._app import app, console, say
from bagwise.cli._folders import with_weights
from bagwise.cli._projects import AsJson, Embed, Folder, FromDate, HoursOfDay, Sites, ToDate, WeightsFile
from bagwise.core.errors import BagwiseError
from bagwise.core.extras import is_installed
from bagwise.project import Project
from bagwise.project.reports.review import bag_named, position_of
from bagwise.project.search.colours import beliefs_of_points, labels_of
from bagwise.project.search.plane import FOLDER as MAPS
from bagwise.project.search.plane import NEIGHBOURS_LAYOUT, Plane
from bagwise.project.storage.bag_filter import BagFilter


@app.command()
def similar(
    folder: Folder,
    bag: Annotated[str | None, typer.Option("--bag", metavar="ID", help="Search from this bag.")] = None,
    instance: Annotated[
        int | None, typer.Option(min=0, help="Of the bag, only this instance, counted from 0 (default: all).")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Search from a recording, picture or document, in the project or not.")
    ] = None,
    label_class: Annotated[
        str | None,
        typer.Option("--class", metavar="NAME", help="Only bags of which it is not known whether it is there."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="List so many.")] = 20,
    as_json: AsJson = False,
    site: Sites = None,
    from_date: FromDate = None,
    to_date: ToDate = None,
    hours: HoursOfDay = None,
    embed: Embed = "",
    weights: WeightsFile = None,
) -> None:
    """List the bags with the instances nearest to an instance, to a whole bag, or to a file."""
    if (bag is None) == (file is None):
        raise BagwiseError(
            "Say what to search for: --bag ID, with --instance N for one of its instances, or --file FILE."
        )
    if instance is not None and bag is None:
        raise BagwiseError("--instance is of a bag of the project: give --bag as well.")
    wanted = BagFilter.parse(site, from_date, to_date, hours)
    with Project.open(folder) as project, console.status("Comparing with every instance"):
        instances = None if file is None else project.instances_of_file(file, with_weights(embed, weights))
        found = project.similar(None if bag is None else bag_named(project, bag), instance, instances, wanted)
        open_ones = list(range(len(found.bags)))
        if label_class is not None:
            place = position_of(project, label_class)
            open_ones = [n for n in open_ones if project.counts_as((int(found.bags[n]), place)) is None]
        rows = [
            {
                "bag": str(project.contents.ids[found.bags[n]]),
                "instance": int(found.instances[n]),
                "distance": float(found.distances[n]),
                "like": found.like if instance is None else instance,
            }
            for n in open_ones[:count]
        ]
    if as_json:
        print(json.dumps({"measure": found.measure, "bags": rows}, indent=2))
        return
    if not rows:
        say("No bag is left.")
        return
    table = Table("bag", "instance", f"distance ({found.measure})", "to instance")
    for row in rows:
        table.add_row(escape(str(row["bag"])), str(row["instance"]), f"{row['distance']:.4g}", str(row["like"]))
    console.print(table)


@app.command("map")
def map_(
    folder: Folder,
    to: Annotated[
        Path | None,
        typer.Option("--to", help="Table of the coordinates, .csv or .parquet (default: map/LAYOUT.csv in it)."),
    ] = None,
    layout: Annotated[
        str, typer.Option(help="neighbours: what is alike lies together; directions: those in which they differ most.")
    ] = NEIGHBOURS_LAYOUT,
    label_class: Annotated[
        str | None, typer.Option("--class", metavar="NAME", help="Add what is known and believed of this class.")
    ] = None,
) -> None:
    """Put the instances of a project on a plane: a table of coordinates, and a figure of them."""
    target = folder / MAPS / f"{layout}.csv" if to is None else to
    if target.suffix not in (".csv", ".parquet"):
        raise BagwiseError(f"{target} is neither a .csv nor a .parquet file: choose one of both.")
    with Project.open(folder) as project, console.status("Computing the map"):
        plane = project.map(layout)
        table = _table_of(project, plane, label_class)
    try:
        table.write_parquet(target) if target.suffix == ".parquet" else table.write_csv(target)
    except OSError as error:
        raise BagwiseError(f"{target} cannot be written: {error.strerror or error}.") from error
    sample = "" if table.height == plane.of else f", an even sample of {plane.of}"
    say(f"{escape(str(target))}: {table.height} instances{sample}.")
    if not is_installed("figures"):
        say("The figure is missing: it needs `pip install 'bagwise[figures]'`.")
        return
    from bagwise.project.search.figure import draw_map

    draw_map(table, target.with_suffix(".png"))
    say(f"{escape(str(target.with_suffix('.png')))}: the figure.")


def _table_of(project: Project, plane: Plane, label_class: str | None) -> pl.DataFrame:
    """The points of a map, a row for each."""
    contents = project.contents
    x, y = plane.coordinates.T
    columns: dict[str, object] = {
        "bag": contents.ids[plane.bags].astype(str),
        "instance": plane.instances,
        "x": x,
        "y": y,
    }
    files = contents.bag_files
    if files.sites:
        columns["site"] = [files.sites[place] if place >= 0 else "" for place in files.site_of[plane.bags].tolist()]
    if label_class is not None:
        place = position_of(project, label_class)
        labels = labels_of(project, place)
        columns["label"] = pl.Series([labels[bag] for bag in plane.bags.tolist()], dtype=pl.String)
        columns["chance"], columns["presence"] = beliefs_of_points(project, plane, place)
    return pl.DataFrame(columns)
