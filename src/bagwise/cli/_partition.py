"""`bagwise import --partition`: instances become parts, with a bar; on this machine or on a cluster."""

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
    int | None, typer.Option("--partition", min=1, help="Put the instances into so many parts (see docs/cluster.md).")
]
To = Annotated[
    Path | None, typer.Option("--to", help="Folder for the parts, on shared storage (default: instances in DIR).")
]


def validate_partition(to: Path | None, cluster: str) -> None:
    """Both say how parts are made."""
    if to is not None or cluster:
        raise BagwiseError("--to and --cluster say where parts are made: give --partition N as well.")


def workers(cluster: str) -> Each:
    """Processes of this machine, or the tasks of a cluster."""
    if not cluster:
        return in_processes
    from bagwise.cluster.tasks import RayTasks

    return RayTasks(cluster)


def partition(project: Project, count: int, to: Path | None, each: Each) -> None:
    """What the project has becomes parts."""
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
    """What is new in a file or a folder becomes parts; what the project has becomes parts of the same size before."""
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
        raise BagwiseError(f"The parts of {project.folder} lie in {before.folder}: import without --to.")
    with progress_bar(f"Importing {escape(source.name)}", tables.instances, "instances") as progress:
        tables.import_into(project, count, labels, classes, progress, media)
    say(f"The instances are in {_how_many(project)} now.")


def _how_many(project: Project) -> str:
    partitions = partitions_of(project.bags)
    assert partitions is not None
    count = len(partitions)
    return f"{count} part{'s' if count > 1 else ''}"
