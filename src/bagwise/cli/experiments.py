"""`bagwise simulate` and `bagwise reproduce`: read options, call the library, show the results."""

import json
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.table import Table

from bagwise import datasets
from bagwise.cli._app import app, console
from bagwise.cli._cluster import Cluster, join
from bagwise.cli._runs import run
from bagwise.core.plugins import choose
from bagwise.learning import criteria, granularity
from bagwise.model import solvers
from bagwise.research.experiments import curves, tables
from bagwise.research.experiments.measures import measured
from bagwise.research.experiments.simulation import Simulation
from bagwise.research.reproduction import claims, report, timing
from bagwise.research.reproduction import plan as reproduction


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
    pointing: Annotated[
        list[str] | None,
        typer.Option(help="Repeat to compare what a yes says of instances: none, key (the marked one or not), click."),
    ] = None,
    pointing_wrong: Annotated[float, typer.Option(help="Share of the pointing that is at a wrong instance.")] = 0.0,
    pointing_missing: Annotated[float, typer.Option(help="Share of the yeses that do not point.")] = 0.0,
    folds: Annotated[int, typer.Option(min=2, help="Partitions of the cross validation.")] = 10,
    runs: Annotated[int | None, typer.Option(min=1, help="How many of the folds to run (default: all).")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds, first labels, ties and drawn data.")] = 0,
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
            pointing="" if pointed == "none" else pointed, pointing_wrong=pointing_wrong,
            pointing_missing=pointing_missing,
        )
        for one in criterion or ("widening_uncertainty", "random")
        for unit in granularity or ("pair",)
        for pointed in pointing or ("none",)
        for fold in range(folds if runs is None else min(runs, folds))
    ]  # fmt: skip
    folder = out or Path("results") / dataset
    if cluster:
        join(cluster)
    rows = run(simulations, folder, quiet=as_json, one_by_one=bool(cluster))
    figures = [curves.save_figure(curves.figure(rows, name, dataset), folder / name) for name in measured(rows.columns)]
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
    """Run the paper's experiments: figures 3 to 12, tables, and a verdict on each of its claims."""
    experiments = choose("experiment", experiment, reproduction.EXPERIMENTS)
    variants = choose("model", model, reproduction.MODELS)
    chosen = names or reproduction.available_datasets()
    for name in chosen:
        datasets.load(name)
    if not names and "hja" not in chosen:
        console.print("hja.npz does not exist (see `bagwise datasets`): birds is used instead.")
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
