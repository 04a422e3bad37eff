"""`bagwise import --partition`: write instances to partitions, with a progress bar; locally or on a cluster."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from bagwise.cli._app import console, progress_bar, say
from bagwise.core.errors import BagwiseError
from bagwise.formats import LabelTable
from bagwise.partitions import partitions_of
from bagwise.project import Each, Media, Project, Tables, in_processes

Count = Annotated[
    int | None,
    typer.Option("--partition", min=1, help="Write the instances to so many partitions (docs/cluster.md)."),
]
To = Annotated[
    Path | None, typer.Option("--to", help="Folder for the partitions, on shared storage (default: instances in DIR).")
]


def validate_partition(to: Path | None, cluster: str) -> None:
    """Raise an error where --to or --cluster is given without --partition."""
    if to is not None or cluster:
        raise BagwiseError("--to and --cluster are for partitions: give --partition N as well.")


def workers(cluster: str) -> Each:
    """Return what runs the work: processes of this machine, or the tasks of a cluster."""
    if not cluster:
        return in_processes
    from bagwise.cluster.tasks import RayTasks

    return RayTasks(cluster)


def partition(project: Project, count: int, to: Path | None, each: Each) -> None:
    """Write the instances of the project to partitions."""
    with progress_bar("Partitioning", project.bags.n_instances, "instances") as progress:
        place = project.partition(count, to, each, progress)
    say(f"The instances are in {_how_many(project)} in {escape(str(place))}.")


def import_tables(
    project: Project,
    source: Path,
    bag: str | None,
    count: int,
    to: Path | None,
    each: Each,
    labels: LabelTable | None,
    classes: Sequence[str],
    media: Media | None,
) -> None:
    """Import new bags as partitions; a project that is not partitioned is partitioned first, into the same size."""
    with console.status(f"Reading {escape(source.name)}"):
        tables = Tables.look_at(project, source, bag, each)
    if not tables.instances:
        say(f"Nothing new in {escape(str(source))}.")
        return
    before = partitions_of(project.bags)
    if before is None:
        usual = tables.instances / count
        partition(project, max(1, round(project.bags.n_instances / usual)), to, each)
    elif to is not None:
        raise BagwiseError(f"The partitions of {project.folder} are in {before.folder}: import without --to.")
    with progress_bar(f"Importing {escape(source.name)}", tables.instances, "instances") as progress:
        tables.import_into(project, count, labels, classes, progress, media)
    say(f"The instances are in {_how_many(project)} now.")


def _how_many(project: Project) -> str:
    partitions = partitions_of(project.bags)
    assert partitions is not None
    count = len(partitions)
    return f"{count} partition{'s' if count > 1 else ''}"
