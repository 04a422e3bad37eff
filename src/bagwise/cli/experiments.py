"""Commands about data sets and experiments. They are thin: read options, call the library, show what came back."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.markup import escape
from rich.table import Table

from bagwise import criteria, datasets, granularity
from bagwise.cli._app import app, console
from bagwise.cli._cluster import Cluster, join
from bagwise.cli._runs import run
from bagwise.discovery import choose
from bagwise.errors import BagwiseError
from bagwise.experiments import (
    claims,
    curves,
    report,
    reproduction,
    statistics,
    tables,
    timing,
)
from bagwise.experiments.simulation import REPORTED, Simulation
from bagwise.model import solvers

DEMO_FOLDS = 4
DEMO_INITIAL = 3
DEMO_LEVEL = 0.92


@app.command(name="datasets")
def list_datasets(as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False) -> None:
    """List the data sets, their sizes, and what is missing for those that cannot be loaded."""
    described = [_describe(name) for name in datasets.available()]
    if as_json:
        print(json.dumps(described, indent=2))
        return
    table = Table("data set", "what it is", "bags", "instances", "features", "classes", "per bag")
    for one in described:
        if "missing" not in one:
            sizes = [str(one[column]) for column in ("bags", "instances", "features", "classes")]
            table.add_row(one["name"], one["description"], *sizes, f"{one['classes_per_bag']:.2f}")
    console.print(table)
    for one in described:
        if "missing" in one:
            console.print(f"[yellow]{one['name']}[/] ({one['description']}): {escape(one['missing'])}")


def _describe(name: str) -> dict[str, Any]:
    description = {"name": name, "description": datasets.available()[name].DESCRIPTION}
    try:
        data = datasets.load(name)
    except BagwiseError as missing:
        return {**description, "missing": str(missing)}
    return {
        **description,
        "bags": len(data.bags),
        "instances": len(data.bags.instances),
        "features": data.bags.n_features,
        "classes": len(data.classes),
        "classes_per_bag": float(data.labels.value.sum(axis=1).mean()),
    }


@app.command()
def simulate(
    dataset: Annotated[str, typer.Argument(help=f"One of {', '.join(datasets.available())}.")],
    criterion: Annotated[
        list[str] | None, typer.Option(help=f"Repeat to compare: {', '.join(criteria.available())}.")
    ] = None,
    granularity: Annotated[
        list[str] | None, typer.Option(help=f"Repeat to compare: {', '.join(granularity.GRANULARITIES)}.")
    ] = None,
    update: Annotated[str, typer.Option(help=f"One of {', '.join(solvers.available())}.")] = "lbfgs",
    background: Annotated[bool, typer.Option(help="Add a class for instances of none of the classes.")] = True,
    prior: Annotated[float | None, typer.Option(help="Precision of the prior on the weights (default: 1).")] = None,
    penalty: Annotated[float | None, typer.Option(help="The paper's penalty, instead of --prior.")] = None,
    step_size: Annotated[float, typer.Option(help="First step of pair_sgd and bag_sgd.")] = 0.1,
    audit: Annotated[float, typer.Option(help="Share of questions drawn at random.")] = 0.1,
    queries: Annotated[int, typer.Option(min=1, help="Pair queries to make.")] = 500,
    initial: Annotated[
        float, typer.Option(min=0, help="Bags labelled at the start: a share below 1, or a number.")
    ] = 0.05,
    every: Annotated[int, typer.Option(min=1, help="Queries between two evaluations.")] = 25,
    classes_per_query: Annotated[
        int, typer.Option(min=1, help="Classes of a whole bag that a person answers at the price of one query.")
    ] = 1,
    folds: Annotated[int, typer.Option(min=2, help="Parts of the cross validation.")] = 10,
    runs: Annotated[int | None, typer.Option(min=1, help="How many of the folds to run (default: all).")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of folds, first labels, ties and drawn data.")] = 0,
    cluster: Cluster = "",
    out: Annotated[Path | None, typer.Option(help="Folder for rows and figures (default: results/DATASET).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the final figures as JSON.")] = False,
) -> None:
    """Label a data set by itself and draw how fast each strategy learns."""
    datasets.load(dataset, seed)
    simulations = [
        Simulation(
            dataset, one, unit, update, background, prior, penalty, step_size, audit, queries, initial, every,
            classes_per_query=classes_per_query, folds=folds, fold=fold, seed=seed, cluster=cluster,
        )
        for one in criterion or ("widening_uncertainty", "random")
        for unit in granularity or ("pair",)
        for fold in range(folds if runs is None else min(runs, folds))
    ]  # fmt: skip
    folder = out or Path("results") / dataset
    if cluster:
        join(cluster)
    rows = run(simulations, folder, quiet=as_json, one_by_one=bool(cluster))
    figures = [
        curves.save_figure(curves.figure(rows, metric.__name__, dataset), folder / metric.__name__)
        for metric in REPORTED
    ]
    if as_json:
        print(json.dumps(tables.final_values(rows).to_dicts(), indent=2))
        return
    console.print(tables.final_table(rows))
    console.print(f"Rows: {folder / 'rows.parquet'}   Figure: {figures[0][1]} (and .svg, .html; one for each metric)")


@app.command()
def reproduce(
    experiment: Annotated[str, typer.Option(help=f"One of {', '.join(reproduction.EXPERIMENTS)}.")] = "all",
    names: Annotated[
        list[str] | None, typer.Option("--datasets", help="Repeat for several (default: carroll, frost, hja).")
    ] = None,
    model: Annotated[str, typer.Option(help=f"One of {', '.join(reproduction.MODELS)}.")] = "all",
    quick: Annotated[bool, typer.Option("--quick", help="A small version of everything, in a few minutes.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for runs, figures and report.")] = Path("results/reproduction"),
) -> None:
    """Run the paper's experiments anew: figures 3 to 12, tables, and a verdict on each of its claims."""
    experiments = choose("experiment", experiment, reproduction.EXPERIMENTS)
    variants = choose("model", model, reproduction.MODELS)
    chosen = names or reproduction.available_datasets()
    for name in chosen:
        datasets.load(name)
    if not names and "hja" not in chosen:
        console.print("hja.npz is not there (see `bagwise datasets`): birds is run in its place.")
    size = reproduction.QUICK if quick else reproduction.FULL
    rows: dict[reproduction.Variant, dict[str, pl.DataFrame]] = {}
    for variant in variants:
        if any(variant.runs(one) for one in experiments):
            rows[variant] = {}
        for one in filter(variant.runs, experiments):
            console.print(f"{one}, {variant.title}")
            plan = reproduction.plan(one, chosen, size, variant)
            rows[variant][one] = run(plan, out, f"rows-{one.replace(' ', '-')}-{variant.name}.parquet")
    console.print("Timing selection and both likelihoods")
    backgrounds = sorted({variant.background for variant in variants})
    results = reproduction.Results(size, rows, timing.selection_growth(), timing.likelihood_times(chosen, backgrounds))
    page = report.write(results, out)
    for variant, findings in report.judged(results).items():
        table = Table("claim", "verdict", title=variant.title)
        for finding in findings:
            table.add_row(f"{finding.number}. {claims.TEXTS[finding.number]}", finding.verdict)
        console.print(table)
    console.print(f"Report: {page}   (the same as text: {out / 'README.md'})")


@app.command()
def demo(
    simulate: Annotated[
        int | None, typer.Option(min=25, help="Answers that the demo gives to itself, instead of showing the page.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs to average.")] = 4,
    out: Annotated[Path, typer.Option(help="Folder for the project, or for rows and figures.")] = Path("results/demo"),
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the page.")] = 8765,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Label strips of handwritten digits, *is there a 7 in this one?*, on a page; or let it answer by itself."""
    if simulate is None:
        _demo_page(out / "digits", port, browser)
        return
    console.print(
        f"Strips of handwritten digits, {DEMO_INITIAL} of them labelled. "
        f"Each question is one yes/no about one strip and one digit; {simulate} answers, {seeds} runs."
    )
    simulations = [
        Simulation(
            "digits",
            criterion,
            update="replay",
            audit=0.0 if criterion == "random" else 0.1,
            queries=simulate,
            initial=DEMO_INITIAL,
            folds=DEMO_FOLDS,
            seed=seed,
        )
        for criterion in ("widening_uncertainty", "random")
        for seed in range(seeds)
    ]
    rows = run(simulations, out)
    figures = curves.save_figure(curves.figure(rows, title="Strips of digits, held-out bags"), out / "learning-curve")
    console.print(tables.curve_table(rows, max(25, simulate // 10 // 25 * 25)))
    for strategy, asked in statistics.queries_to(rows, "bag_accuracy", DEMO_LEVEL).items():
        when = f"after {asked} answers" if asked is not None else f"not within {simulate} answers"
        console.print(f"{DEMO_LEVEL} bag accuracy with {strategy}: {when}")
    console.print(f"Figure: {figures[1]}   in the browser: {figures[2]}")


def _demo_page(folder: Path, port: int, browser: bool) -> None:
    if not find_spec("fastapi"):
        raise BagwiseError(
            "The page needs a server: install it with `pip install 'bagwise[app]'`, or use --simulate 500."
        )
    from bagwise.cli.labelling import demo_page

    demo_page(folder, port, browser)
