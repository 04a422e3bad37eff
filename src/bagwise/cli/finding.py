"""Commands that find bags without being asked: the nearest ones, and a map of all of them."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from bagwise.cli._app import app, console, say
from bagwise.cli._folders import with_weights
from bagwise.cli._projects import AsJson, Embed, Folder, FromDate, HoursOfDay, Sites, ToDate, WeightsFile
from bagwise.core.errors import BagwiseError
from bagwise.project import Project
from bagwise.project.reports.review import bag_named, position_of
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
                "like": int(found.like[n] if instance is None else instance),
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
