"""What the project commands share: their options, and how files and projects are opened."""

import getpass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from bagwise import formats
from bagwise.cli._app import console, progress_bar
from bagwise.errors import FileError
from bagwise.formats import LabelTable, Source
from bagwise.project import Project

SourceFile = Annotated[Path, typer.Option("--from", help="Instances: Parquet, CSV, npz, ARFF, mat or JSON lines.")]
Folder = Annotated[Path, typer.Argument(help="The folder of the project.")]
From = Annotated[Path | None, typer.Option("--from", help="Instances: Parquet, CSV, npz, ARFF, mat or JSON lines.")]
LabelsFile = Annotated[Path | None, typer.Option("--labels", help="Labels that are known, by the bags' ids.")]
ClassesFile = Annotated[Path | None, typer.Option("--classes", help="Names of classes, one in a line.")]
BagColumn = Annotated[str | None, typer.Option("--bag", help="The column with the bag's id (default: bag).")]
Name = Annotated[str | None, typer.Option("--as", help="Who says so (default: the user's name).")]
At = Annotated[str, typer.Option(metavar="ADDRESS", help="What people type to get here, as in https://label.org.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object.")]


def me_or(name: str | None) -> str:
    return name if name is not None else getpass.getuser()


def read_instances(file: Path, bag_column: str | None) -> Source:
    with console.status(f"Reading {escape(file.name)}"):
        return formats.read(file, bag_column)


def read_labels(file: Path | None, bag_column: str | None) -> LabelTable | None:
    return formats.read_labels(file, bag_column) if file is not None else None


def read_classes(file: Path | None) -> list[str]:
    if file is None:
        return []
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise FileError(file, "is not UTF-8 text: save it as UTF-8.") from None
    except OSError as error:
        raise FileError(file, f"cannot be read: {error.strerror}.") from None
    names: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        name = line.strip()
        if name in names:
            raise FileError(file, f"the class {name} is there twice.", number)
        if name:
            names[name] = number
    return list(names)


def open_taught(folder: Path, quiet: bool = False) -> Project:
    """Open the project and bring its model up to date, showing how far that is."""
    project = Project.open(folder)
    count = len(project.events)
    with progress_bar("Reading the answers", count, "answers", quiet=quiet or count == 0) as progress:
        project.load(progress)
    return project
