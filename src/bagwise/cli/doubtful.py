"""The command that lists the answers that are probably wrong."""

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from bagwise.cli._app import app, console, say, show_table
from bagwise.cli._projects import AsJson, Folder, FromDate, HoursOfDay, Sites, ToDate
from bagwise.project import Project
from bagwise.project.storage.bag_filter import BagFilter


@app.command()
def doubtful(
    folder: Folder,
    count: Annotated[int, typer.Option(min=1, help="List so many.")] = 20,
    as_json: AsJson = False,
    site: Sites = None,
    from_date: FromDate = None,
    to_date: ToDate = None,
    hours: HoursOfDay = None,
) -> None:
    """List the answers that are most probably wrong, to be settled with `correct` or `adjudicate`."""
    wanted = BagFilter.parse(site, from_date, to_date, hours)
    with Project.open(folder) as project, console.status("Comparing every answer with the others"):
        passing = set(project.contents.ids[project.bags_passing(wanted)].tolist())
        found = [one for one in project.doubts() if one.bag in passing][:count]
    if as_json:
        print(json.dumps([asdict(one) for one in found], indent=2))
        return
    if not found:
        say("There are no answers to doubt.")
        return
    table = Table("number", "bag", "class", "person", "answer", "believed present", "probably wrong")
    for one in found:
        words = (one.bag, one.label_class, one.annotator, one.answer)
        table.add_row(str(one.number), *map(escape, words), f"{one.belief:.0%}", f"{one.wrong:.0%}")
    show_table(table, "bag", "class")
