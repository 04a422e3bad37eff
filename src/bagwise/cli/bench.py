"""`bagwise bench`: speed relative to a floor measured in the same run."""

from pathlib import Path
from typing import Annotated

import typer

from bagwise.cli._app import app, console, errors, say
from bagwise.core.errors import BagwiseError
from bagwise.research import bench as suites
from bagwise.research.bench import Document, Report
from bagwise.research.bench.comparison import changes, save_reference
from bagwise.research.bench.display import change_table, chart, table
from bagwise.research.bench.runner import regression_message, run
from bagwise.research.experiments.curves import save_figure


@app.command()
def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SUITE",
            help=f"From {', '.join(suites.available())} (default: {' '.join(suites.DEFAULT)}).",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, to check that the suites run.")] = False,
    compare: Annotated[Path | None, typer.Option(help="JSON file of an earlier run: show what changed.")] = None,
    kept: Annotated[bool, typer.Option("--keep", help="Make these figures the reference for later runs.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for the figures (JSON) and the chart.")] = Path("results/bench"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Measure how fast Bagwise is here: every figure is a ratio to a floor measured beside it.

    Fails where a ratio is worse than the reference by more than half. `peers` and `train` install other libraries from
    the package index into a separate folder, and announce it.
    """
    if kept and quick:
        raise BagwiseError("--keep needs the full size: leave --quick out.")
    before = Document.read(compare) if compare else None
    chosen = {name: suites.get(name) for name in names or suites.DEFAULT}
    document, failures = run(chosen, quick, lambda message: errors.print(message, highlight=False))
    if document.reports:
        path = out / f"{'-'.join(document.reports)}.json"
        document.write(path)
        figures = save_figure(chart(document), path.with_suffix(""))
        if as_json:
            print(path.read_text(), end="")
        else:
            _show(document, before)
            say(f"Figures: {path}   Chart: {figures[1]} (and .svg, .html)")
    if kept:
        save_reference(document)
    else:
        failures += regression_message(document.reports.values())
    if failures:
        raise BagwiseError(" ".join(failures))


def _show(document: Document, before: Document | None) -> None:
    for name, report in document.reports.items():
        console.print(table(report))
        for note in report.notes:
            say(note)
        if before and name in before.reports:
            _show_changes(before.reports[name], report)
    machine = document.machine
    say(f"{machine['processor']}, {machine['cores']} cores, {machine['system']}")


def _show_changes(before: Report, now: Report) -> None:
    if before.size == now.size:
        console.print(change_table(list(changes(before, now))))
    else:
        say(f"{now.suite}: cannot be compared, because the other run has another size ({before.size}).")
