"""What the commands of projects share: options, reading of files, opening of projects, wording of events."""

import getpass
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape

from bagwise import formats
from bagwise.cli._app import console, progress_bar, say
from bagwise.core.errors import BagwiseError
from bagwise.core.wording import counted
from bagwise.evaluation.noise import Rate
from bagwise.formats import LabelTable, ScoreTable, Source
from bagwise.ingest.media import Files, Places, Spans
from bagwise.project import Event, Media, Project, ProjectModel
from bagwise.project.classes.class_file import ClassEntry, read_class_file
from bagwise.project.imports import segmentation
from bagwise.project.imports.details import Details

MOST_LISTED = 10
INSTANCES = "Instances: Parquet, CSV, npz, ARFF, mat or JSON lines; or a folder of recordings, pictures or documents."
SourceFile = Annotated[Path, typer.Option("--from", help=INSTANCES)]
Folder = Annotated[Path, typer.Argument(help="The folder of the project.")]
From = Annotated[Path | None, typer.Option("--from", help=INSTANCES)]
LabelsFile = Annotated[Path | None, typer.Option("--labels", help="Known labels, by the ids of the bags.")]
ClassesFile = Annotated[
    Path | None,
    typer.Option("--classes", help="Names of classes, one in a line, or a table with scientific and common names."),
]
BagColumn = Annotated[str | None, typer.Option("--bag", help="The column with the bag's id (default: bag).")]
MediaFolder = Annotated[
    Path | None,
    typer.Option("--media", help="Folder with a picture, sound or text for each bag, named as the bag is."),
]
PlacesFile = Annotated[
    Path | None, typer.Option("--places", help="CSV or Parquet: the place of each instance in the file of its bag.")
]
MediumName = Annotated[
    str | None, typer.Option("--medium", help="Of a folder's files: sound, picture or text (default: most of them).")
]
Way = Annotated[
    str | None, typer.Option("--cut", help="How to segment files (see docs/projects.md; default: by medium).")
]
ClipLength = Annotated[
    str | None,
    typer.Option(
        "--clip",
        metavar="LENGTH",
        help="Cut recordings into clips, each a bag, as 10s or 1min; none: leave them whole (default: 10s if one has "
        "more than a minute).",
    ),
]
ClipOverlap = Annotated[
    str, typer.Option("--overlap", metavar="LENGTH", help="What a clip shares with the next, as 2s.")
]
Embed = Annotated[
    str,
    typer.Option(
        help="Features of a trained model: its name (see `bagwise embeddings`), MODEL.onnx, 'COMMAND {file}' or "
        "MODULE:FUNCTION."
    ),
]
WeightsFile = Annotated[
    Path | None, typer.Option("--weights", help="The file or folder of the model that --embed names.")
]
ScoresFile = Annotated[
    Path | None,
    typer.Option("--scores", help="What a classifier thinks: a table of BirdNET, Raven, perch-hoplite, or any other."),
]
DetailsFile = Annotated[
    Path | None,
    typer.Option("--details", help="CSV or Parquet: where and when each file or bag was recorded, or where sites are."),
]
Sites = Annotated[list[str] | None, typer.Option("--site", help="Only bags of this site; several times for several.")]
FromDate = Annotated[str | None, typer.Option(metavar="DATE", help="Only bags from this day on, as in 2026-05-24.")]
ToDate = Annotated[str | None, typer.Option(metavar="DATE", help="Only bags until this day, itself included.")]
HoursOfDay = Annotated[
    str | None, typer.Option("--hours", help="Only bags that begin in this part of the day, as in 4-9 or 04:30-09:00.")
]
AnswerWord = Annotated[
    str,
    typer.Argument(metavar="ANSWER", help="yes (or present), no (or absent), unsure; where it was asked, skipped."),
]
Name = Annotated[str | None, typer.Option("--as", help="Who answers (default: the user's name).")]
At = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="What people type to get here, as in https://label.org (default: as it was served last).",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object.")]


SAID = {
    **dict.fromkeys(("present", "yes", "y"), "present"),
    **dict.fromkeys(("absent", "no", "n"), "absent"),
    **dict.fromkeys(("unsure", "u"), "unsure"),
    **dict.fromkeys(("skipped", "skip", "s"), "skipped"),
}


def answer_named(word: str) -> str:
    """Return the answer that a person's word stands for."""
    said = SAID.get(word.strip().lower())
    if said is None:
        raise BagwiseError(f"{word!r} is not an answer: say yes (present), no (absent), unsure or skipped.")
    return said


def me_or(name: str | None) -> str:
    return name if name is not None else getpass.getuser()


def read_instances(file: Path, bag_column: str | None) -> Source:
    """Read a file of instances, and say which of its variables were read and which not."""
    with console.status(f"Reading {escape(file.name)}"):
        source = formats.read(file, bag_column)
    if source.sentence:
        say(f"{escape(file.name)}: {escape(source.sentence)}.")
    return source


def read_labels(file: Path | None, bag_column: str | None) -> LabelTable | None:
    return formats.read_labels(file, bag_column) if file is not None else None


def read_scores(file: Path | None) -> ScoreTable | None:
    return formats.read_scores(file) if file is not None else None


def add_details(project: Project, details: Details | None) -> None:
    """Add where and when recordings were made, and list the names that did not match."""
    if details is None:
        return
    found = project.import_details(details)
    say(f"Details of {counted(found.files, 'recording')}: {escape(details.path.name)}.")
    _say_unknown(found.unknown, "site" if details.of_sites else "name", details.path.name)


def read_details(file: Path | None) -> Details | None:
    return Details.read(file) if file is not None else None


def add_scores(project: Project, table: ScoreTable | None, source: Source | None = None) -> None:
    """Add scores to a project, and say what did not match."""
    if table is None:
        return
    found = project.import_scores(table, source)
    matched = ", ".join(name if name == of else f"{name} ({of})" for name, of in found.matched.items())
    count = f"{len(found.matched)} of {len(project.classes)} classes"
    say(f"Scores of {escape(table.source)} for {count}: {escape(matched)}.")
    if found.without:
        named = [
            f"{one} ({' or '.join(found.nearest[one])}?)" if one in found.nearest else one for one in found.without
        ]
        say(f"{counted(len(named), 'class')} without scores: {escape(', '.join(named))}")
        if found.nearest:
            say("Where one of the names in brackets is meant, write it in --classes.")
    _say_unknown(found.unknown, "class", table.source)
    _say_unknown(found.unknown_bags, "bag", table.source)


def _say_unknown(names: Sequence[str], noun: str, source: str) -> None:
    if names:
        listed = f": {', '.join(names)}" if len(names) <= MOST_LISTED else ""
        are = "is" if len(names) == 1 else "are"
        say(f"{counted(len(names), noun)} of {escape(source)} {are} not in the project{escape(listed)}")


def add_scores_of_embedder(project: Project, before: Collection[Path] = ()) -> None:
    """Add the scores that an embedder kept, but for the tables that were there before."""
    for path in segmentation.score_files(project.folder)[1]:
        if path not in before:
            try:
                add_scores(project, segmentation.read_scores(path))
            except BagwiseError as error:
                say(f"The scores of the embedder are not used. {escape(str(error))}")


def stored_as(source: Source, float16: bool) -> Source:
    """The source, whose features are stored as 16-bit numbers if that is wanted."""
    return replace(source, dtype=np.dtype(np.float16)) if float16 else source


def read_media(folder: Path | None, places: Path | None, source: Source | None = None) -> Media | None:
    if folder is None and places is None:
        return None
    files = Files.in_folder(folder) if folder is not None else None
    if places is None and source is not None and source.spans is not None:
        return Media(files, Spans(source.ids, source.codes, source.spans))
    return Media(files, Places.read(places) if places is not None else None)


def import_bar(
    description: str, source: Source | None, media: Media | None
) -> AbstractContextManager[Callable[[int], None]]:
    """Progress through instances and files."""
    files = len(media.files.whole) if media is not None and media.files is not None else 0
    instances = len(source.codes) if source is not None else 0
    return progress_bar(description, instances + files, "instances and files" if files else "instances")


def read_classes(file: Path | None) -> list[ClassEntry]:
    return read_class_file(file) if file is not None else []


def describe_classes(project: Project, entries: Sequence[ClassEntry]) -> None:
    """Add what a class file says of its classes besides their names."""
    described = [entry for entry in entries if any(entry.details.values())]
    if described:
        project.class_changes.add_all(described, me_or(None))


def rate_in_words(rate: Rate) -> str:
    """Return a share with its interval."""
    return f"{rate.rate:.0%} ({rate.low:.0%} to {rate.high:.0%})"


def open_trained(folder: Path, quiet: bool = False) -> Project:
    """Open a project and train its model on all answers, with a progress bar."""
    project = Project.open(folder)
    count = len(project.events)
    with progress_bar("Reading the answers", count, "answers", quiet=quiet or count == 0) as progress:
        project.load(progress)
    return project


def load_model(project: Project) -> ProjectModel:
    """Return the model that predictions come from, and say which; only the online model needs a replay."""
    if project.model_info().kind == "online" and project.events:
        with progress_bar("Reading the answers", len(project.events), "answers") as progress:
            project.load(progress)
    model = project.model()
    say(escape(model.info.sentence))
    return model


def saved_in_words(project: Project, event: Event) -> str:
    """Return what was saved and what it replaced, in words."""
    saved = f"{_pair_in_words(project, event)}: {answer_in_words(event)}, saved as number {event.number}"
    replaced = project.replaced(event)
    if replaced is None:
        return saved
    of = "was imported" if replaced.annotator is None else f"{replaced.annotator} answered (number {replaced.number})"
    return f"{saved}; it replaces {replaced.answer}, as {of}"


def undone_in_words(project: Project, event: Event) -> str:
    """Return what an undo took back and what counts now, in words."""
    replaced, counts_as = project.replaced(event), project.counts_as(event.pair)
    saved = f"{_pair_in_words(project, event)} taken back (number {replaced.number if replaced else None})"
    if event.kind == "restoration":
        return f"{saved}, {answer_in_words(event)} again"
    return f"{saved}, {'open again' if counts_as is None else f'which counts as {counts_as}'}"


def answer_in_words(event: Event) -> str:
    """Return the answer of an event and what it points at, in words."""
    named = [(event.where, "it is"), (event.elsewhere, "it is not")]
    pointing = [f"{verb} instance {', '.join(map(str, some))}" for some, verb in named if some]
    return f"{event.answer} ({'; '.join(pointing)})" if pointing else event.answer


def _pair_in_words(project: Project, event: Event) -> str:
    place = "" if event.instance is None else f"instance {event.instance} of "
    return f"{project.classes[event.label_class]} in {place}{project.contents.ids[event.bag]}"
