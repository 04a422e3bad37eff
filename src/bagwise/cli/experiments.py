"""`bagwise simulate` and `bagwise reproduce`: read options, call the library, show the results."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from bagwise import datasets
from bagwise.cli._app import app, console
from bagwise.cli._hardware import Cluster, Device, join
from bagwise.cli._runs import run
from bagwise.core.errors import BagwiseError
from bagwise.core.plugins import choose
from bagwise.kernels.arithmetic.blocks import thread_count
from bagwise.learning import criteria, granularity
from bagwise.model import solvers
from bagwise.research.experiments import curves, tables
from bagwise.research.experiments.measures import measured
from bagwise.research.experiments.simulation import Simulation
from bagwise.research.reproduction import claims, report, timing
from bagwise.research.reproduction import plan as reproduction
from bagwise.research.reproduction import rows as compact_rows


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
    device: Device = "cpu",
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
            pointing_missing=pointing_missing, device=device,
        )
        for one in criterion or ("widening_uncertainty", "random")
        for unit in granularity or ("pair",)
        for pointed in pointing or ("none",)
        for fold in range(folds if runs is None else min(runs, folds))
    ]  # fmt: skip
    folder = out or Path("results") / dataset
    if cluster:
        join(cluster)
    rows = run(simulations, folder, quiet=as_json, one_by_one=bool(cluster) or device != "cpu")
    figures = [curves.save_figure(curves.figure(rows, name, dataset), folder / name) for name in measured(rows.columns)]
    if as_json:
        print(json.dumps(tables.final_values(rows).to_dicts(), indent=2))
        return
    console.print(tables.final_table(rows))
    console.print(f"Rows: {folder / 'rows.parquet'}   Figure: {figures[0][1]} (and .svg, .html; one for each metric)")


@app.command()
def reproduce(
    experiment: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Repeat for several: {', '.join(reproduction.GROUPS)}, or {', '.join(reproduction.ANALYSES)} "
            "(default: all)."
        ),
    ] = None,
    names: Annotated[
        list[str] | None, typer.Option("--datasets", help="Repeat for several (default: carroll, frost, hja).")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version of everything, in a few minutes.")] = False,
    finished: Annotated[
        bool,
        typer.Option(
            "--finished", help="Run nothing: collect the rows of what is finished, report on complete analyses."
        ),
    ] = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Run only two cells of each kind, on another seed, and time them.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for runs, figures and report.")] = Path("results/reproduction"),
) -> None:
    """Run the paper's experiments: figures 3 to 12, tables, and a verdict on each of its claims.

    Every run is a cell that is saved when it is done: interrupted, the command goes on where it stopped. Cells whose
    rows are in OUT/rows.parquet are not run again, so that a run can go on from the rows of another machine.
    """
    known = {**{name: (name,) for name in reproduction.ANALYSES}, **reproduction.GROUPS}
    chosen = dict.fromkeys(name for one in experiment or ["all"] for name in choose("experiment", one, known))
    sets = names or reproduction.available_datasets()
    for name in sets:
        datasets.load(name)
    if not names and "hja" not in sets:
        console.print("hja.npz does not exist (see `bagwise datasets`): birds is used instead.")
    size = reproduction.QUICK if quick else reproduction.FULL
    if estimate:
        _estimate(sets, list(chosen), size)
        return
    cells = {name: reproduction.cells(one, sets, size) for name, one in reproduction.ANALYSES.items()}
    out.mkdir(parents=True, exist_ok=True)
    left = compact_rows.unfinished(cells, out)
    for place, name in enumerate(chosen if not finished else (), 1):
        console.print(f"{name} ({place} of {len(chosen)}): {reproduction.ANALYSES[name].title}")
        if left[name]:
            run(left[name], out, f"runs/rows-{name}.parquet")
    file = compact_rows.collect(cells, out)
    left = compact_rows.unfinished(cells, out)
    reported = {name: cells[name] for name in cells if name in chosen and not left[name]}
    if not reported:
        raise BagwiseError(f"No analysis is finished in {out}: run `bagwise reproduce` without `--finished`.")
    console.print("Timing selection and both likelihoods")
    results = reproduction.Results(
        size, compact_rows.read(file, reported), timing.selection_growth(), timing.likelihood_times(sets, (False,))
    )
    page = report.write(results, out)
    table = Table("claim", "setting", "verdict")
    for finding in claims.judge(results.rows, results.growth):
        table.add_row(f"{finding.number}. {claims.TEXTS[finding.number]}", finding.setting, finding.verdict())
    console.print(table)
    console.print(f"Report: {page}   (the same as text: {out / 'README.md'})   Rows: {file}")


def _estimate(sets: list[str], chosen: list[str], size: reproduction.Size) -> None:
    """Print how long the chosen analyses take, from two cells of each on every data set."""
    trial = replace(size, seeds=(reproduction.DEVELOPMENT,), sensitivity_seeds=(reproduction.DEVELOPMENT,), of_folds=1)
    table = Table("analysis", "data set", "cells", "seconds a cell", "hours of one core")
    total = 0.0
    for name in chosen:
        analysis = reproduction.ANALYSES[name]
        for dataset in sets:
            samples = reproduction.cells(analysis, [dataset], trial)
            cost = timing.Cost.measured(
                reproduction.cells(analysis, [dataset], size), [samples[0], samples[-1]] if samples[1:] else samples
            )
            total += cost.hours
            table.add_row(name, dataset, str(cost.cells), f"{cost.seconds:.1f}", f"{cost.hours:.2f}")
            console.print(f"{name}, {dataset}: {cost.cells} cells, {cost.seconds:.1f} s each")
    console.print(table)
    console.print(f"All: {total:.1f} hours of one core, {total / thread_count():.1f} on {thread_count()} cores.")
