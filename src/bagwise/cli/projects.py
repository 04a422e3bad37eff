"""Commands about labelling projects. They are thin: read options, call the library, show what came back."""

import csv
import getpass
import json
import threading
import time
import webbrowser
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
import typer
from rich.markup import escape
from rich.table import Table

from bagwise import datasets, formats, server
from bagwise import project as projects
from bagwise.cli._app import app, console, errors, progress_bar, say
from bagwise.cli._keys import keys
from bagwise.criteria import available as available_criteria
from bagwise.errors import BagwiseError, FileError
from bagwise.formats import LabelTable, Source
from bagwise.model import MIMLClassifier, solvers
from bagwise.project import AlreadyAnswered, Asking, Display, Learning, Project

KEYS = {"y": "present", "n": "absent", "u": "unsure", "s": "skipped"}
SHOWN_FEATURES = 8
EXPORTS = ("labels", "predictions", "answers", "model")

SourceFile = Annotated[Path, typer.Option("--from", help="Instances: Parquet, CSV, npz, ARFF, mat or JSON lines.")]
Folder = Annotated[Path, typer.Argument(help="The folder of the project.")]
From = Annotated[Path | None, typer.Option("--from", help="Instances: Parquet, CSV, npz, ARFF, mat or JSON lines.")]
LabelsFile = Annotated[Path | None, typer.Option("--labels", help="Labels that are known, by the bags' ids.")]
ClassesFile = Annotated[Path | None, typer.Option("--classes", help="Names of classes, one in a line.")]
BagColumn = Annotated[str | None, typer.Option("--bag", help="The column with the bag's id (default: bag).")]
Name = Annotated[str | None, typer.Option("--as", help="Who says so (default: the user's name).")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object.")]


def _me(name: str | None) -> str:
    return name if name is not None else getpass.getuser()


def _read(file: Path, bag_column: str | None) -> Source:
    with console.status(f"Reading {escape(file.name)}"):
        return formats.read(file, bag_column)


def _read_labels(file: Path | None, bag_column: str | None) -> LabelTable | None:
    return formats.read_labels(file, bag_column) if file is not None else None


def _read_classes(file: Path | None) -> list[str]:
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


def _open(folder: Path, quiet: bool = False) -> Project:
    """Open the project and bring its model up to date, showing how far that is."""
    project = Project.open(folder)
    count = len(project.events)
    with progress_bar("Reading the answers", count, "answers", quiet=quiet or count == 0) as progress:
        project.load(progress)
    return project


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
    read = _read(source, bag)
    known, names = _read_labels(labels, bag), _read_classes(classes)
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
        read = _read(source, bag) if source is not None else None
        known, names = _read_labels(labels, bag), _read_classes(classes)
        with progress_bar("Importing", len(read.codes) if read is not None else 0, "instances") as progress:
            project.import_(read, known, names, progress)
        _say_what_is_there(project)


@app.command()
def status(folder: Folder, as_json: AsJson = False) -> None:
    """How far a project is: answers by person and class, what is known, estimated quality, disk use."""
    with Project.open(folder) as project:
        found = projects.status_of(project)
    if as_json:
        print(json.dumps(found.as_json(), indent=2))
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
    if found.agreement is None:
        console.print("Estimated quality: no audit question was answered yet.")
    else:
        share = found.agreement
        say(
            f"Estimated quality: the model was right about {share.value:.0%} of {share.of} pairs drawn at random "
            f"(95 % interval {share.low:.0%} to {share.high:.0%})."
        )
    if found.seconds_per_answer is not None:
        say(f"Median time per answer: {found.seconds_per_answer:.1f} s.")
    if found.disagreements:
        say(f"Disagreements: {found.disagreements} pairs (bagwise disagreements {escape(str(folder))}).")
    console.print("On disk: " + ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in found.bytes_on_disk.items()))


@app.command()
def answer(
    folder: Folder,
    name: Name = None,
    count: Annotated[int | None, typer.Option(min=1, help="Stop after so many answers.")] = None,
) -> None:
    """Answer questions in the terminal, one key each."""
    me = _me(name)
    with _open(folder) as project, keys() as pressed:
        say(f"You are {escape(me)}. \\[y]es  \\[n]o  \\[u]nsure  \\[s]kip  \\[z] undo  \\[q]uit")
        given = 0
        while count is None or given < count:
            questions = project.ask(me)
            if not questions:
                console.print("Nothing is left to ask you.")
                break
            question, start = questions[0], time.monotonic()
            _show(project, question)
            key = next((key for key in pressed if key in KEYS or key in "zq"), "q")
            if key == "q":
                break
            if key == "z":
                _undo(project, me)
                continue
            try:
                event = project.answer(question.key, me, KEYS[key], time.monotonic() - start)
            except AlreadyAnswered as error:
                say(f"  {escape(str(error))}")
                continue
            given += 1
            say(f"  {event.answer}, saved as number {event.number}")
        say(f"{given} answers given; the project has {len(project.events)} events.")


@app.command()
def serve(
    folder: Folder,
    name: Name = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")] = 8765,
    host: Annotated[
        str, typer.Option(help="Address to listen on; only this machine may be served so far.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Answer questions on a page in the browser."""
    server.refuse_other_machines(host)
    server.refuse_taken_port(host, port)
    with _open(folder) as project:
        _serve(project, _me(name), host, port, browser)


def _serve(project: Project, me: str, host: str, port: int, browser: bool) -> None:
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    say(f"Bagwise is at {address} for {escape(me)}. Stop it with Ctrl-C; what was answered is saved.")
    if browser:
        threading.Timer(1.0, webbrowser.open, [address]).start()
    server.serve(project, me, host, port)


def demo_page(folder: Path, port: int, browser: bool) -> None:
    """The digits as a project, made at the first time, and its page."""
    server.refuse_taken_port("127.0.0.1", port)
    if not (folder / "bagwise.toml").exists():
        digits = datasets.load("digits")
        ids = [f"strip {number}" for number in range(1, len(digits.bags) + 1)]
        source = Source.of_bags(Path("digits"), [np.array(bag) for bag in digits.bags], ids)
        learning = Learning(scaling="centre")
        display = Display(bag="strip", picture="8x8")
        Project.create(folder, source, None, digits.classes, learning, display=display).close()
    with _open(folder) as project:
        _serve(project, _me(None), "127.0.0.1", port, browser)


def _show(project: Project, question: projects.Asked) -> None:
    instances = project.bags[question.bag]
    values = ", ".join(f"{value:.3g}" for value in instances[question.evidence][:SHOWN_FEATURES])
    more = ", ..." if instances.shape[1] > SHOWN_FEATURES else ""
    say(f"Is [bold]{escape(question.class_name)}[/] in bag [bold]{escape(question.bag_id)}[/]?", end="  ")
    say(f"[dim]instance {question.evidence} (of {len(instances)}, from 0): {values}{more}[/]")


def _undo(project: Project, me: str) -> None:
    try:
        event = project.undo(me)
    except BagwiseError as error:
        say(f"  {escape(str(error))}")
    else:
        bag, name = project.contents.ids[event.bag], project.classes[event.label_class]
        say(f"  {escape(name)} in {escape(str(bag))} taken back (number {event.replaces})")


@app.command()
def export(
    folder: Folder,
    to: Annotated[Path, typer.Option("--to", help="File to write; its suffix says the format.")],
    what: Annotated[str, typer.Option(help=f"One of {', '.join(EXPORTS)}.")] = "labels",
    form: Annotated[
        str | None, typer.Option("--format", help=f"One of {', '.join(formats.able_to('write_labels'))}.")
    ] = None,
) -> None:
    """Write labels, predictions, all answers or the model to a file."""
    if what not in EXPORTS:
        raise BagwiseError(f"There is no export {what!r}: choose one of {', '.join(EXPORTS)}.")
    if what in ("labels", "predictions"):
        module = formats.writer(to, what, form)
    with _open(folder) if what == "predictions" else Project.open(folder) as project:
        match what:
            case "labels":
                module.write_labels(project.labels(), to)
            case "predictions":
                module.write_predictions(project.predictions(), to)
            case "answers":
                _write_answers(project, to)
            case "model":
                project.trained().save(to)
    say(f"{what}: {escape(str(to))}")


def _write_answers(project: Project, to: Path) -> None:
    rows = [
        {**asdict(event), "bag": str(project.contents.ids[event.bag]), "class": project.classes[event.label_class]}
        for event in project.events
    ]
    for row in rows:
        del row["label_class"]
    if to.suffix == ".parquet":
        pl.DataFrame(rows, infer_schema_length=None).write_parquet(to)
    elif to.suffix in (".jsonl", ".ndjson"):
        to.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    elif to.suffix == ".csv":
        with to.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]) if rows else ["number"])
            writer.writeheader()
            writer.writerows(rows)
    else:
        raise BagwiseError(f"{to}: answers are written as .csv, .jsonl or .parquet.")


@app.command()
def train(
    folder: Folder,
    to: Annotated[
        Path | None, typer.Option("--to", help="File of the model (default: model.npz in the project).")
    ] = None,
) -> None:
    """Fit a model from scratch to everything known and keep it."""
    target = to if to is not None else folder / "model.npz"
    with Project.open(folder) as project:
        with console.status("Fitting"):
            model = project.trained()
        known = int((~np.isnan(project.labels().values)).sum())
        model.save(target)
    per_label = model.log_likelihood_[-1] / known
    say(f"{escape(str(target))}: fitted to {known} labels, mean log-likelihood {per_label:.3f}.")


@app.command()
def predict(
    folder: Annotated[Path, typer.Argument(help="The folder of the project, or the file of a model.")],
    source: SourceFile,
    to: Annotated[
        Path | None, typer.Option("--to", help="File for the predictions (default: to the terminal).")
    ] = None,
    of_instances: Annotated[
        Path | None, typer.Option("--instances", help="File for predictions of every instance (.parquet or .csv).")
    ] = None,
    bag: BagColumn = None,
    form: Annotated[
        str | None, typer.Option("--format", help="Format of the predictions (default: by suffix).")
    ] = None,
) -> None:
    """Predict the classes of new bags, with the instance that carries each prediction."""
    module = formats.writer(to, "predictions", form) if to is not None else None
    model, classes = _model_of(folder)
    read = _read(source, bag)
    if read.n_features != model.n_features_in_:
        raise FileError(source, f"its instances have {read.n_features} features, the model {model.n_features_in_}.")
    bags = read.with_features(model.feature_names_).to_bags()
    table = projects.predict(model, bags, classes)
    if of_instances is not None:
        _write_instances(of_instances, bags.ids, bags.sizes, classes, model.predict_instance_proba(bags))
    if module is not None and to is not None:
        module.write_predictions(table, to)
        say(f"predictions: {escape(str(to))}")
        return
    shown = Table("bag", "classes, likeliest first (instance that carries it)")
    for b, name in enumerate(table.ids):
        order = [c for c in np.argsort(-table.probability[b]) if table.probability[b, c] > 0.5]
        words = ", ".join(f"{classes[c]} {table.probability[b, c]:.2f} ({table.evidence[b, c]})" for c in order)
        shown.add_row(escape(name), escape(words) or "none")
    console.print(shown)


def _model_of(place: Path) -> tuple[MIMLClassifier, list[str]]:
    if place.is_dir():
        with _open(place) as project:
            return project.trained(), project.classes
    model = MIMLClassifier.load(place)
    return model, model.class_names_ or [str(c) for c in range(1, model.n_classes_ + 1)]


def _write_instances(
    path: Path, ids: np.ndarray, sizes: np.ndarray, classes: list[str], probability: np.ndarray
) -> None:
    within = np.concatenate([np.arange(size) for size in sizes])
    frame = pl.DataFrame({"bag": np.repeat(ids, sizes).tolist(), "instance": within})
    frame = frame.hstack(pl.DataFrame(probability, schema=[f"p:{name}" for name in classes]))
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".csv":
        frame.write_csv(path)
    else:
        raise BagwiseError(f"{path}: predictions of instances are written as .parquet or .csv.")
    say(f"predictions of instances: {escape(str(path))}")


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
    with _open(folder) as project:
        with progress_bar("Replaying", len(project.events), "answers") as progress:
            found = projects.check(project, progress)
        answers = len(project.events)
    for one in found:
        say(f"[red]✗[/] {one.what}: {escape(one.wrong)}" if one.wrong else f"[green]✓[/] {one.what}")
    if any(one.wrong for one in found):
        errors.print("The project is not in order: restore a backup, or send this to somebody who can help.")
        raise typer.Exit(1)
    say(f"All is well: {answers} answers replayed.")


@app.command()
def annotator(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="Who.")],
    adjudicator: Annotated[
        bool | None, typer.Option("--adjudicator/--no-adjudicator", help="Their word decides where others disagree.")
    ] = None,
) -> None:
    """Say, or with an option change, who somebody is in this project."""
    with Project.open(folder) as project:
        if adjudicator is not None:
            project.set_role(name, "adjudicator" if adjudicator else "annotator")
        adjudicator = name in project.contents.adjudicators
    say(f"{escape(name)} is {'an adjudicator' if adjudicator else 'an annotator'}.")


@app.command()
def disagreements(folder: Folder, as_json: AsJson = False) -> None:
    """List the pairs about which people disagree, and what each said."""
    with Project.open(folder) as project:
        found = [
            (
                str(project.contents.ids[pair[0]]),
                project.classes[pair[1]],
                {event.annotator: event.answer for event in project.votes.said_about(pair)},
                _decided(project, pair),
            )
            for pair in project.votes.disagreements()
        ]
    if as_json:
        print(json.dumps([dict(zip(("bag", "class", "said", "decided"), one, strict=True)) for one in found], indent=2))
        return
    table = Table("bag", "class", "said", "counts as")
    for bag, name, said, decided in found:
        words = ", ".join(f"{who}: {what}" for who, what in said.items())
        table.add_row(escape(bag), escape(name), escape(words), decided)
    console.print(table if found else "Nobody disagrees.")


def _decided(project: Project, pair: tuple[int, int]) -> str:
    decision = project.votes.decisions.get(pair)
    if decision is None:
        return "open"
    return "undecided" if decision.present is None else "present" if decision.present else "absent"


@app.command()
def correct(
    folder: Folder,
    number: Annotated[int, typer.Argument(help="The number of the answer, as `export --what answers` has it.")],
    said: Annotated[str, typer.Argument(metavar="ANSWER", help="present, absent, unsure or skipped.")],
    name: Name = None,
) -> None:
    """Correct an answer that was given before; both stay in the record."""
    with Project.open(folder) as project:
        event = project.correct(number, _me(name), said)
        bag, label_class = project.contents.ids[event.bag], project.classes[event.label_class]
    say(f"{escape(label_class)} in {escape(str(bag))}: {said}, saved as number {event.number}.")


@app.command()
def adjudicate(
    folder: Folder,
    bag: Annotated[str, typer.Argument(help="The bag's id.")],
    label_class: Annotated[str, typer.Argument(metavar="CLASS", help="The class.")],
    said: Annotated[str, typer.Argument(metavar="ANSWER", help="present, absent or unsure.")],
    name: Name = None,
) -> None:
    """Decide a pair about which people disagree."""
    with Project.open(folder) as project:
        places = {str(one): position for position, one in enumerate(project.contents.ids)}
        if bag not in places or label_class not in project.classes:
            raise BagwiseError(f"There is no bag {bag} with a class {label_class} in the project.")
        event = project.adjudicate((places[bag], project.classes.index(label_class)), _me(name), said)
    say(f"{escape(label_class)} in {escape(bag)}: {said}, saved as number {event.number}.")
