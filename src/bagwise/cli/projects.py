"""Commands that make and keep a project. They are thin: read options, call the library, show what came back."""

import json
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from bagwise import project as projects
from bagwise.cli._app import app, console, errors, progress_bar, say
from bagwise.cli._projects import (
    AsJson,
    BagColumn,
    ClassesFile,
    Folder,
    From,
    LabelsFile,
    SourceFile,
    open_taught,
    read_classes,
    read_instances,
    read_labels,
)
from bagwise.cli._quality import show_quality
from bagwise.criteria import available as available_criteria
from bagwise.errors import BagwiseError
from bagwise.model import solvers
from bagwise.project import Asking, Learning, Project


@app.command()
def init(
    folder: Folder,
    source: SourceFile,
    labels: LabelsFile = None,
    classes: ClassesFile = None,
    bag: BagColumn = None,
    database: Annotated[
        str, typer.Option(help="postgresql://USER:PASSWORD@HOST/DATABASE for a team (default: a file in the folder).")
    ] = "",
    people: Annotated[int, typer.Option(min=1, help="People to ask about each pair.")] = 1,
    share: Annotated[float, typer.Option(min=0, max=1, help="Share of the pairs that several are asked about.")] = 1.0,
    criterion: Annotated[str, typer.Option(help=f"One of {', '.join(available_criteria())}.")] = "balanced_uncertainty",
    update: Annotated[str, typer.Option(help=f"One of {', '.join(solvers.available())}.")] = "replay",
    background: Annotated[bool, typer.Option(help="Add a class for instances of none of the classes.")] = True,
    audit: Annotated[float, typer.Option(min=0, max=1, help="Share of questions drawn at random.")] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Of everything random.")] = 0,
) -> None:
    """Make a labelling project from a file of instances."""
    learning = Learning(criterion=criterion, update=update, background=background, audit=audit, seed=seed)
    asking = Asking(people=people, share=share)
    read = read_instances(source, bag)
    known, names = read_labels(labels, bag), read_classes(classes)
    with progress_bar(f"Importing {escape(source.name)}", len(read.codes), "instances") as progress:
        project = Project.create(folder, read, known, names, learning, asking, database, progress)
    with project:
        _say_what_is_there(project)
        say(f"Answer questions with: bagwise answer {escape(str(folder))}")


def _say_what_is_there(project: Project) -> None:
    known = int((project.contents.given >= 0).sum())
    say(
        f"{escape(str(project.folder))}: {len(project.bags)} bags, {len(project.bags.instances)} instances, "
        f"{project.bags.n_features} features, {len(project.classes)} classes, {known} labels known."
    )


@app.command(name="import")
def import_(
    folder: Folder,
    source: From = None,
    labels: LabelsFile = None,
    classes: ClassesFile = None,
    bag: BagColumn = None,
) -> None:
    """Add bags, labels or classes to a project."""
    if source is None and labels is None and classes is None:
        raise BagwiseError("Nothing to import: give --from FILE, --labels FILE or --classes FILE.")
    with Project.open(folder) as project:
        read = read_instances(source, bag) if source is not None else None
        known, names = read_labels(labels, bag), read_classes(classes)
        with progress_bar("Importing", len(read.codes) if read is not None else 0, "instances") as progress:
            project.import_(read, known, names, progress)
        _say_what_is_there(project)


@app.command()
def status(folder: Folder, as_json: AsJson = False) -> None:
    """How far a project is: answers by person and class, what is known, estimated quality, disk use."""
    with Project.open(folder) as project:
        found = projects.status_of(project)
        with console.status("Estimating the quality"):
            estimated = projects.quality_of(project)
    if as_json:
        print(json.dumps({**found.as_json(), "quality": estimated.as_json()}, indent=2))
        return
    say(f"[bold]{escape(found.name)}[/]: {found.bags} bags, {found.instances} instances, {found.answers} answers")
    table = Table("class", "present", "absent", "undecided", "open", title=f"{found.filled:.1%} of all pairs known")
    for one in found.classes:
        table.add_row(escape(one.name), *(str(n) for n in (one.present, one.absent, one.unsure, one.open)))
    console.print(table)
    if found.by_person:
        people = Table("person", *projects.ANSWERS)
        for name, counts in found.by_person.items():
            people.add_row(escape(name), *(str(counts.get(answer, 0)) for answer in projects.ANSWERS))
        console.print(people)
    show_quality(estimated)
    if found.seconds_per_answer is not None:
        say(f"Median time per answer: {found.seconds_per_answer:.1f} s.")
    if found.disagreements:
        say(f"Disagreements: {found.disagreements} pairs (bagwise disagreements {escape(str(folder))}).")
    console.print("On disk: " + ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in found.bytes_on_disk.items()))


@app.command()
def backup(
    folder: Folder,
    to: Annotated[
        Path | None, typer.Option("--to", help="Folder to make (default: beside the project, dated).")
    ] = None,
) -> None:
    """Copy the whole project while it is in use; the copy is a project of its own."""
    dated = folder.resolve().with_name(f"{folder.resolve().name}-{time.strftime('%Y%m%d-%H%M%S')}")
    with Project.open(folder) as project, console.status("Copying"):
        place = project.backup(to if to is not None else dated)
    say(f"Backup: {escape(str(place))}")


@app.command()
def check(folder: Folder) -> None:
    """Verify a project: the database, the answers, the features, and that the model equals a fresh replay."""
    with open_taught(folder) as project:
        with progress_bar("Replaying", len(project.events), "answers") as progress:
            found = projects.check(project, progress)
        answers = len(project.events)
    for one in found:
        say(f"[red]✗[/] {one.what}: {escape(one.wrong)}" if one.wrong else f"[green]✓[/] {one.what}")
    if any(one.wrong for one in found):
        errors.print("The project is not in order: restore a backup, or send this to somebody who can help.")
        raise typer.Exit(1)
    say(f"All is well: {answers} answers replayed.")
