"""The command for the report of a project."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from bagwise.cli._app import app, console, say
from bagwise.cli._projects import Folder, FromDate, HoursOfDay, Sites, ToDate, load_model
from bagwise.core.extras import is_installed
from bagwise.project import Project, quality_of
from bagwise.project.reports.quality_page import FILE, quality_page
from bagwise.project.reports.report_files import write_report
from bagwise.project.reports.sentences import sentences_about
from bagwise.project.reports.summary import PERIODS, summary_of
from bagwise.project.storage.bag_filter import BagFilter


@app.command()
def report(
    folder: Folder,
    to: Annotated[Path, typer.Option("--to", help="Folder for the report.")],
    by: Annotated[str, typer.Option(help=f"Period to count by: {', '.join(PERIODS)}.")] = "day",
    threshold: Annotated[
        float | None,
        typer.Option(metavar="P", help="Found above this probability, all classes (default: those of the model)."),
    ] = None,
    site: Sites = None,
    from_date: FromDate = None,
    to_date: ToDate = None,
    hours: HoursOfDay = None,
) -> None:
    """Write what was found by site, class and period: intervals, detection histories, figures, a page to print."""
    wanted = BagFilter.parse(site, from_date, to_date, hours)
    with Project.open(folder) as project:
        load_model(project)
        with console.status("Counting"):
            summary = summary_of(project, by, threshold, wanted)
        with console.status("Estimating the quality"):
            quality = quality_of(project)
        with console.status("Writing"):
            page = write_report(summary, to, sentences_about(project, quality), quality_page(project, quality))
    if not is_installed("figures"):
        say("Without figures: they need `pip install 'bagwise[figures]'`.")
    say(f"report: {escape(str(page))}, and to print {escape(str(page.with_name(FILE)))}")
