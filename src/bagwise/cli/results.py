"""Commands for the results of a project: labels, predictions, detections, answers, models."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
import typer
from rich.markup import escape
from rich.table import Table

from bagwise import formats
from bagwise import project as projects
from bagwise.cli._app import app, console, say, show_table
from bagwise.cli._folders import read_or_segment, with_weights
from bagwise.cli._projects import (
    BagColumn,
    Embed,
    Folder,
    FromDate,
    HoursOfDay,
    ScoresFile,
    Sites,
    SourceFile,
    ToDate,
    WeightsFile,
    load_model,
)
from bagwise.core.errors import BagwiseError, FileError
from bagwise.core.wording import counted
from bagwise.data import metrics
from bagwise.data.bags import Bags
from bagwise.formats import ScoreTable, Source
from bagwise.model import MIMLClassifier, Trial
from bagwise.project import ModelInfo, Project
from bagwise.project.imports.bag_names import same_as_bags
from bagwise.project.reports.detections import detect
from bagwise.project.reports.exports import EXPORTS, FROM_THE_MODEL, exporter, forms_of
from bagwise.project.storage.bag_filter import BagFilter
from bagwise.project.training.model_file import FILE as MODEL

DECIDABLE = metrics.estimable()
EXPORT_FORMATS = sorted({name for what in EXPORTS for name in forms_of(what)})
PREDICTED = ("predictions", "detections")

Threshold = Annotated[
    float | None,
    typer.Option(
        metavar="P", help="Of detections: above this probability, for all classes (default: thresholds of the model)."
    ),
]


@app.command()
def export(
    folder: Folder,
    to: Annotated[Path, typer.Option("--to", help="File to write; its suffix says the format.")],
    what: Annotated[str, typer.Option(help=f"One of {', '.join(EXPORTS)}.")] = "labels",
    form: Annotated[
        str | None, typer.Option("--format", help=f"One of {', '.join(EXPORT_FORMATS)}, as far as it can hold it.")
    ] = None,
    threshold: Threshold = None,
    site: Sites = None,
    from_date: FromDate = None,
    to_date: ToDate = None,
    hours: HoursOfDay = None,
) -> None:
    """Write labels, predictions, detections with their times, all answers or the model to a file."""
    if threshold is not None and what != "detections":
        raise BagwiseError("--threshold is for --what detections.")
    write = exporter(what, to, form, threshold, BagFilter.parse(site, from_date, to_date, hours))
    with Project.open(folder) as project:
        if what in FROM_THE_MODEL:
            load_model(project)
        write(project)
    say(f"{what}: {escape(str(to))}")


@app.command()
def train(
    folder: Folder,
    to: Annotated[
        Path | None, typer.Option("--to", help=f"File for a copy of the model (beside {MODEL} in the project).")
    ] = None,
    choose: Annotated[
        bool, typer.Option("--choose", help="Choose prior, background and instance map by held-out labels.")
    ] = False,
    decide: Annotated[
        str | None,
        typer.Option(metavar="METRIC", help=f"Learn thresholds for one of {', '.join(DECIDABLE)}."),
    ] = None,
) -> None:
    """Fit a model from scratch to everything known and store it: predictions come from it until more is known."""
    trials: list[Trial] = []
    with Project.open(folder) as project:
        with console.status("Fitting"):
            model = project.train(decide, trials if choose else None, to)
        known = int((~np.isnan(project.labels().values)).sum())
    if choose:
        show_trials(trials)
    if decide is not None:
        _show_thresholds(model.info)
    per_label = model.classifier.log_likelihood_[-1] / known
    written = folder / MODEL if to is None else to
    say(f"{escape(str(written))}: fitted to {counted(known, 'label')}, mean log-likelihood {per_label:.3f}.")
    say(escape(model.info.sentence))


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
    embed: Embed = "",
    scores: ScoresFile = None,
    weights: WeightsFile = None,
    what: Annotated[str, typer.Option(help=f"What to write: {' or '.join(PREDICTED)}.")] = "predictions",
    threshold: Threshold = None,
) -> None:
    """Predict the classes of new bags or raw files, with the instance that carries each prediction."""
    _validate_options(what, to, threshold)
    module = formats.writer(to, what, form) if to is not None else None
    model, classes = _model_of(folder)
    with read_or_segment(source, bag, model, with_weights(embed, weights)) as (read, of_embedder, locations):
        # A model that was fitted without scores, because none matched, predicts without those of the embedder.
        offered = of_embedder if model.has_scores_ else None
        table_of_scores = offered if scores is None else formats.read_scores(scores)
        bags = _with_scores(model, _bags_for(model, read), read, classes, table_of_scores)
        if module is not None and to is not None and what == "detections":
            module.write_detections(detect(model, bags, classes, locations, threshold=threshold), to)
        else:
            table = projects.predict(model, bags, classes, locations=locations)
            if module is not None and to is not None:
                module.write_predictions(table, to)
    if of_instances is not None:
        _write_instances(of_instances, bags.ids, bags.sizes, classes, model.predict_instance_proba(bags))
    if to is not None:
        say(f"{what}: {escape(str(to))}")
        return
    shown = Table("bag", "classes, likeliest first (instance that carries it)")
    for b, name in enumerate(table.ids):
        order = [c for c in np.argsort(-table.probability[b], kind="stable") if table.predicted[b, c]]
        words = ", ".join(f"{classes[c]} {table.probability[b, c]:.2f} ({table.evidence[b, c]})" for c in order)
        shown.add_row(escape(name), escape(words) or "none")
    show_table(shown, "bag")


def _validate_options(what: str, to: Path | None, threshold: float | None) -> None:
    if what not in PREDICTED:
        raise BagwiseError(f"There are no {what} of new bags: choose one of {', '.join(PREDICTED)}.")
    if what == "detections" and to is None:
        raise BagwiseError("Detections are written to a file: say which with --to.")
    if threshold is not None and what != "detections":
        raise BagwiseError("--threshold is for --what detections.")


def _with_scores(
    model: MIMLClassifier, bags: Bags, source: Source, classes: Sequence[str], table: ScoreTable | None
) -> Bags:
    """The bags with the scores of a table, where the model needs them."""
    if table is None:
        if model.has_scores_:
            raise BagwiseError(
                "The model starts from the scores of a classifier: give those of these bags with --scores."
            )
        return bags
    places = {str(name): place for place, name in enumerate(bags.ids)}
    named = {name: places[bag] for name, bag in same_as_bags(table.bags, places).items() if bag in places}
    spans, codes = source.spans, source.codes
    found, _ = table.scores(
        named, bags.offsets, classes, lambda bag: None if spans is None else np.asarray(spans[codes == bag])
    )
    return found.attached_to(bags)


def _bags_for(model: MIMLClassifier, read: Source) -> Bags:
    if read.n_features != model.n_features_in_:
        raise FileError(read.path, f"its instances have {read.n_features} features, the model {model.n_features_in_}.")
    return read.with_features(model.feature_names_).to_bags()


def _show_thresholds(info: ModelInfo) -> None:
    table = Table("class", "predicted above")
    for name, threshold in info.thresholds.items():
        table.add_row(escape(name), f"{threshold:.2f}")
    show_table(table, "class")


def show_trials(trials: Sequence[Trial]) -> None:
    """Print what was tried for each setting, and what was chosen."""
    if not trials:
        say("There are too few labels to choose settings by: they stay as they are.")
        return
    table = Table("setting", "value", "F of held-out labels", "")
    for one in trials:
        table.add_row(one.setting, escape(str(one.value)), f"{one.score:.3f}", "taken" if one.chosen else "")
    show_table(table)


def _model_of(place: Path) -> tuple[MIMLClassifier, list[str]]:
    if place.is_dir():
        with Project.open(place) as project:
            project.validate_known()
            return load_model(project).classifier, project.classes
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
        formats.marked_frame(frame).write_csv(path)
    else:
        raise BagwiseError(f"{path}: predictions of instances are written as .parquet or .csv.")
    say(f"predictions of instances: {escape(str(path))}")
