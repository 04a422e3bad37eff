"""Commands that create and maintain a project. They are thin: read options, call the library, show the result."""

import json
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from bagwise import project as projects
from bagwise.cli import _partition as parts
from bagwise.cli._app import app, console, errors, progress_bar, say, show_table
from bagwise.cli._folders import (
    RawFolder,
    add_from_folder,
    create_from_folder,
    is_raw,
    validate_no_folder_options,
    validate_no_table_options,
    with_weights,
)
from bagwise.cli._hardware import Cluster
from bagwise.cli._projects import (
    AsJson,
    BagColumn,
    ClassesFile,
    ClipLength,
    ClipOverlap,
    DetailsFile,
    Embed,
    Folder,
    From,
    LabelsFile,
    MediaFolder,
    MediumName,
    Name,
    PlacesFile,
    ScoresFile,
    SourceFile,
    Way,
    WeightsFile,
    add_details,
    add_scores,
    add_scores_of_embedder,
    describe_classes,
    import_bar,
    me_or,
    open_trained,
    rate_in_words,
    read_classes,
    read_details,
    read_instances,
    read_labels,
    read_media,
    read_scores,
    stored_as,
)
from bagwise.cli._quality import show_quality
from bagwise.core.errors import BagwiseError
from bagwise.core.wording import counted
from bagwise.evaluation.noise import Rate
from bagwise.learning.criteria import available as available_criteria
from bagwise.model import solvers
from bagwise.project import Asking, Learning, Project
from bagwise.project.imports import segmentation
from bagwise.project.imports.media import bags_with_a_file
from bagwise.project.reports.sentences import sentences_about
from bagwise.project.settings import GRANULARITIES, SPREADS


@app.command()
def init(
    folder: Folder,
    source: SourceFile,
    labels: LabelsFile = None,
    classes: ClassesFile = None,
    bag: BagColumn = None,
    media: MediaFolder = None,
    places: PlacesFile = None,
    medium: MediumName = None,
    cut: Way = None,
    clip: ClipLength = None,
    overlap: ClipOverlap = "0",
    embed: Embed = "",
    scores: ScoresFile = None,
    weights: WeightsFile = None,
    details: DetailsFile = None,
    database: Annotated[
        str, typer.Option(help="postgresql://USER:PASSWORD@HOST/DATABASE for a team (default: a file in the folder).")
    ] = "",
    people: Annotated[int, typer.Option(min=1, help="People to ask about each pair.")] = 1,
    share: Annotated[float, typer.Option(min=0, max=1, help="Share of the pairs that several are asked about.")] = 1.0,
    criterion: Annotated[str, typer.Option(help=f"One of {', '.join(available_criteria())}.")] = "widening_uncertainty",
    update: Annotated[str, typer.Option(help=f"One of {', '.join(solvers.available())}.")] = "replay",
    background: Annotated[bool, typer.Option(help="Add a class for instances of none of the classes.")] = True,
    audit: Annotated[float, typer.Option(min=0, max=1, help="Share of questions drawn at random.")] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Of everything random.")] = 0,
    granularity: Annotated[
        str, typer.Option(help=f"What a question is about, one of {', '.join(GRANULARITIES)}.")
    ] = "pair",
    float16: Annotated[bool, typer.Option(help="Store features as 16-bit numbers: half the disk and memory.")] = False,
    site: Annotated[
        list[str] | None, typer.Option("--site", help="Ask only about bags of this site; several times for several.")
    ] = None,
    hours: Annotated[
        str, typer.Option(help="Ask only about bags that begin in this part of the day, as in 04:00-09:00.")
    ] = "",
    spread: Annotated[
        str, typer.Option(help=f"Spread the questions evenly over: {' or '.join(SPREADS)}.", metavar="GROUPS")
    ] = "",
) -> None:
    """Make a labelling project from a file of instances, or from a folder of recordings, pictures or documents."""
    learning = Learning(criterion=criterion, update=update, background=background, audit=audit, seed=seed)
    asking = Asking(people=people, share=share, granularity=granularity, sites=site or [], hours=hours, spread=spread)
    located = read_details(details)
    known, entries, scored = read_labels(labels, bag), read_classes(classes), read_scores(scores)
    names = [entry.name for entry in entries]
    if scored is not None:
        solvers.validate_scores("update", update)
    if is_raw(source):
        raw = RawFolder(source, medium, cut, with_weights(embed, weights), clip, overlap)
        validate_no_table_options(bag, media, places)
        with create_from_folder(folder, raw, known, names, learning, asking, database, float16) as project:
            describe_classes(project, entries)
            _show_size(project)
            add_scores_of_embedder(project)
            add_scores(project, scored)
            add_details(project, located)
            _show_limits(project)
        say(f"Answer questions with: bagwise serve {escape(str(folder))}")
        return
    validate_no_folder_options(medium, cut, with_weights(embed, weights), clip)
    read = stored_as(read_instances(source, bag), float16)
    shown = read_media(media, places, read)
    with import_bar(f"Importing {escape(source.name)}", read, shown) as progress:
        project = Project.create(folder, read, known, names, learning, asking, database, progress, media=shown)
    with project:
        describe_classes(project, entries)
        _show_size(project)
        add_scores(project, scored, read)
        add_details(project, located)
        _show_limits(project)
        say(f"Answer questions with: bagwise {'answer' if shown is None else 'serve'} {escape(str(folder))}")


def _show_size(project: Project) -> None:
    counts = {
        "bag": len(project.contents.kept_bags),
        "instance": project.bags.n_instances,
        "feature": project.bags.n_features,
        "class": len(project.active_classes),
        "label": int((~np.isnan(project.labels().values)).sum()),
    }
    listed = ", ".join(counted(count, noun) for noun, count in counts.items())
    say(f"{escape(str(project.folder))}: {listed} known.")
    if project.placement.given:
        say(project.placement.sentence)
    without = sorted(
        set(range(len(project.bags))) - bags_with_a_file(project.folder, project.contents.bag_files.holders)
    )
    if 0 < len(without) < len(project.bags):
        first = escape(str(project.contents.ids[without[0]]))
        say(f"{len(without)} bags have no file and are shown as numbers; the first is {first}.")


def _show_limits(project: Project) -> None:
    wanted = project.settings.asking.filter
    if wanted:
        count = int(wanted.mask(project.contents.bag_files).sum())
        known = ", ".join(project.contents.bag_files.sites)
        say(
            f"Questions are about {count} of the bags."
            if count
            else f"No bag is of these sites and hours yet, so nothing will be asked. Known sites: {known or 'none'}."
        )


@app.command(name="import")
def import_(
    folder: Folder,
    source: From = None,
    labels: LabelsFile = None,
    classes: ClassesFile = None,
    bag: BagColumn = None,
    media: MediaFolder = None,
    places: PlacesFile = None,
    embed: Embed = "",
    scores: ScoresFile = None,
    weights: WeightsFile = None,
    details: DetailsFile = None,
    partition: parts.Count = None,
    to: parts.To = None,
    cluster: Cluster = "",
) -> None:
    """Add bags, labels, classes, scores, or what is seen of the bags, to a project; of a folder, what is new in it.

    With --partition, the new instances, or without --from those of the project, are written to partitions.
    """
    more = any(given is not None for given in (labels, classes, media, places))
    if partition is None:
        parts.validate_partition(to, cluster)
        if source is None and not more and scores is None and details is None:
            what = "--from, --labels, --classes, --scores, --details, --media or --places"
            raise BagwiseError(f"Nothing to import: give {what}.")
    elif scores is not None or details is not None:
        given = "--details" if scores is None else "--scores"
        raise BagwiseError(f"{given} is not imported together with --partition: import it before or after it.")
    located = read_details(details)
    with Project.open(folder) as project:
        known, entries, scored = read_labels(labels, bag), read_classes(classes), read_scores(scores)
        names = [entry.name for entry in entries]
        if source is None and not more and partition is None:
            add_scores(project, scored)
            add_details(project, located)
            return
        if partition is not None:
            each = parts.workers(cluster)
            if source is None:
                parts.partition(project, partition, to, each)
            else:
                validate_no_folder_options(None, None, embed)
                shown = read_media(media, places)
                parts.import_tables(project, source, bag, partition, to, each, known, names, shown)
                describe_classes(project, entries)
            if source is not None or not more:
                _show_size(project)
                return
        if source is not None and is_raw(source):
            validate_no_table_options(bag, media, places)
            before = segmentation.score_files(project.folder)[1]
            bags = len(project.bags)
            add_from_folder(project, RawFolder(source, embed=with_weights(embed, weights)), known, names)
            describe_classes(project, entries)
            _show_size(project)
            add_scores_of_embedder(project, before)
            add_scores(project, scored)
            add_details(project, located)
            _show_change(project, bags)
            return
        validate_no_folder_options(None, None, with_weights(embed, weights))
        read = read_instances(source, bag) if source is not None else None
        shown = read_media(media, places, read)
        bags = len(project.bags)
        with import_bar("Importing", read, shown) as progress:
            project.import_(read, known, names, progress, shown)
        describe_classes(project, entries)
        _show_size(project)
        add_scores(project, scored, read)
        add_details(project, located)
        _show_change(project, bags)


def _show_change(project: Project, bags: int) -> None:
    """Say how the bags after the first `bags` differ from those."""
    if len(project.bags) == bags:
        return
    with console.status("Comparing the new bags with those before"):
        found = projects.changed_data(project, bags)
    for sentence in found.sentences:
        say(escape(sentence))
    if found.classes:
        table = Table("class", "believed before", "in the new bags", title="Mean probability")
        for one in found.classes:
            table.add_row(escape(one.name), f"{one.before:.2f}", f"{one.new:.2f}")
        show_table(table, "class")


@app.command()
def status(folder: Folder, as_json: AsJson = False) -> None:
    """How far a project is: answers by person and class, what is known, estimated quality, disk use."""
    with Project.open(folder) as project:
        found, people = projects.status_of(project), projects.participants(project)
        with console.status("Estimating the quality"):
            estimated = projects.quality_of(project)
            sentences = sentences_about(project, estimated)
    if as_json:
        people_too = {"people": [vars(one) for one in people], "quality": sentences.added_to(estimated)}
        print(json.dumps({**found.as_json(), **people_too}, indent=2))
        return
    pointed = f", {found.pointed} of them pointing at instances" if found.pointed else ""
    size = f"{counted(found.bags, 'bag')}, {counted(found.instances, 'instance')}"
    say(f"[bold]{escape(found.name)}[/]: {size}, {counted(found.answers, 'answer')}{pointed}")
    table = Table("class", "present", "absent", "undecided", "open", title=f"{found.filled:.1%} of all pairs known")
    for one in found.classes:
        table.add_row(escape(one.name), *(str(n) for n in (one.present, one.absent, one.unsure, one.open)))
    show_table(table, "class")
    if found.sites:
        show_table(_table_of_sites(found.sites), "site")
    if people:
        show_table(_table_of(people, found.wrong_by_person), "person")
    show_quality(estimated, sentences)
    say(escape(found.model.sentence))
    if found.seconds_per_answer is not None:
        kinds = [f"{kind} {timed.seconds:.1f} s" for kind, timed in found.seconds_by_kind.items()]
        by_kind = f" ({', '.join(kinds)})" if len(kinds) > 1 else ""
        say(f"Median time per answer: {found.seconds_per_answer:.1f} s{by_kind}.")
    if found.disagreements:
        say(f"Disagreements: {counted(found.disagreements, 'pair')} (bagwise disagreements {escape(str(folder))}).")
    if found.removed:
        say(f"Removed: {escape(', '.join(found.removed))} (bagwise remove {escape(str(folder))} BAG --undo).")
    console.print("On disk: " + ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in found.bytes_on_disk.items()))


def _table_of_sites(sites: list[projects.SiteStatus]) -> Table:
    table = Table("site", "recordings", "bags", "answers", "known")
    for one in sites:
        numbers = (str(number) for number in (one.recordings, one.bags, one.answers))
        table.add_row(escape(one.name) or "(not known)", *numbers, f"{one.known / one.pairs:.0%}")
    return table


def _table_of(people: list[projects.Participation], rates: dict[str, Rate]) -> Table:
    table = Table("person", *projects.ANSWERS, "seconds", "last seen", *(["wrong (estimate)"] if rates else []))
    for one in people:
        seconds = "" if one.seconds_per_answer is None else f"{one.seconds_per_answer:.1f}"
        said = (str(one.said.get(answer, 0)) for answer in projects.ANSWERS)
        seen = (one.last_seen or "")[:16].replace("T", " ")
        wrong = rate_in_words(rates[one.name]) if one.name in rates else ""
        table.add_row(escape(one.name), *said, seconds, seen, *([wrong] if rates else []))
    return table


@app.command()
def remove(
    folder: Folder,
    bags: Annotated[list[str], typer.Argument(metavar="BAG...", help="The ids of the bags.")],
    undo: Annotated[bool, typer.Option("--undo", help="Restore removed bags, with all their answers.")] = False,
    name: Name = None,
) -> None:
    """Remove bags: they are not asked about, learned from or exported any more; their answers stay in the record."""
    with Project.open(folder) as project:
        (project.bring_back if undo else project.remove)(bags, me_or(name))
        left = len(project.contents.kept_bags)
    what = "is back" if undo else "was removed"
    for bag in dict.fromkeys(bags):
        say(f"{escape(bag)} {what}.")
    say(f"The project has {counted(left, 'bag')}.")


@app.command("rename-file")
def rename_file(
    folder: Folder,
    bag: Annotated[str, typer.Argument(help="The bag's id, which stays as it is.")],
    file: Annotated[Path, typer.Argument(help="The picture, sound or text of the bag, as it is called now.")],
) -> None:
    """Say what the file of a bag is called now, so that the page shows it."""
    with Project.open(folder) as project:
        project.rename_file(bag, file)
    say(f"{escape(bag)} is shown as {escape(str(file))}.")


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
    with open_trained(folder) as project:
        with progress_bar("Replaying", len(project.events), "answers") as progress:
            found = projects.check(project, progress)
        answers = len(project.events)
    for one in found:
        say(f"[red]✗[/] {one.what}: {escape(one.wrong)}" if one.wrong else f"[green]✓[/] {one.what}")
    if any(one.wrong for one in found):
        errors.print("The project is damaged: restore a backup, or report this output.")
        raise typer.Exit(1)
    say(f"All is well: {counted(answers, 'answer')} replayed.")
