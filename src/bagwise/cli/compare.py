"""`bagwise compare`: strategies on the same folds, paired by run."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from bagwise import datasets
from bagwise.cli._app import app, console
from bagwise.cli._runs import run
from bagwise.core import extras
from bagwise.core.errors import BagwiseError
from bagwise.core.plugins import choose
from bagwise.learning import criteria
from bagwise.research.experiments import (
    curves,
    efficiency,
    efficiency_report,
    embedded,
    embedded_report,
    measures,
    pointing,
    pointing_report,
    statistics,
    systems,
    tables,
)
from bagwise.research.experiments.simulation import Simulation

DEFAULT_COMPARISON = ("widening_uncertainty", "uncertainty", "expected_gradient_length")
BASELINE = "random"


@app.command()
def compare(
    dataset: Annotated[
        str | None,
        typer.Argument(
            help=f"The folder of a project, a file with labels, or one of {', '.join(datasets.available())}."
        ),
    ] = None,
    strategies: Annotated[
        list[str] | None,
        typer.Argument(
            help="CRITERION, CRITERION:GRANULARITY or CRITERION:GRANULARITY:UPDATE, or miml_al, mimlsvm_al "
            f"(default: {', '.join(DEFAULT_COMPARISON)}); random is always added."
        ),
    ] = None,
    background: Annotated[bool, typer.Option(help="Add a class for instances of none of the classes.")] = True,
    tuned: Annotated[
        bool, typer.Option(help="Choose each system's settings by cross validation in the first labelled bags.")
    ] = False,
    queries: Annotated[int, typer.Option(min=1, help="Pair queries to make.")] = 500,
    initial: Annotated[
        float, typer.Option(min=0, help="Bags labelled at the start: a share below 1, or a number.")
    ] = 0.05,
    every: Annotated[int, typer.Option(min=1, help="Queries between two evaluations.")] = 25,
    folds: Annotated[int, typer.Option(min=2, help="Partitions of the cross validation.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds, first labels, ties and drawn data.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for the results (default: results/compare-DATASET).")] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            help="efficiency: the defaults on all data sets, as in docs/label-efficiency.md; "
            "pointing: what pointing is worth, as in docs/pointing.md; "
            "embedded: data sets with embeddings, as in docs/embeddings.md."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version of the suite.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the differences as JSON.")] = False,
) -> None:
    """Compare strategies run by run: who is better than random, by how much, and how sure that is.

    Of a project or a file, the bags with every label known are used.
    """
    if suite is not None:
        _run_suite(*choose("suite", suite, SUITES), out or Path("results") / suite, quick)
        return
    if dataset is None:
        raise BagwiseError("No data to compare on: give a data set, a file, a project, or `--suite efficiency`.")
    folder = out or Path("results") / f"compare-{Path(dataset).stem}"
    title = dataset
    if (Path(dataset) / "bagwise.toml").exists():
        dataset = str(_arrays_of_project(Path(dataset), folder))
    datasets.load(dataset, seed)
    plan = _plan(
        [_strategy(text) for text in strategies or DEFAULT_COMPARISON],
        folds,
        {"dataset": dataset, "background": background, "tuned": tuned, "seed": seed}
        | {"queries": queries, "initial": initial, "evaluate_every": every},
    )
    rows = run(plan, folder, quiet=as_json)
    found = _differences(rows, Simulation(dataset, **_strategy(BASELINE)).strategy)
    figures = [
        curves.save_figure(curves.figure(rows, name, title), folder / name) for name in measures.measured(rows.columns)
    ]
    if as_json:
        print(json.dumps([asdict(one) for one in found], indent=2))
        return
    console.print(tables.final_table(rows))
    console.print(tables.difference_table(found, title))
    console.print(f"Rows: {folder / 'rows.parquet'}   Figure: {figures[0][1]} (and .svg, .html; one for each metric)")


def _plan(strategies: list[dict[str, Any]], folds: int, alike: dict[str, Any]) -> list[Simulation]:
    """Return every strategy on every fold, the baseline among them."""
    if _strategy(BASELINE) not in strategies:
        strategies = [*strategies, _strategy(BASELINE)]
    return [Simulation(folds=folds, fold=fold, **alike, **strategy) for strategy in strategies for fold in range(folds)]


def _differences(rows: pl.DataFrame, baseline: str) -> list[statistics.Difference]:
    return [one for name in measures.measured(rows.columns) for one in statistics.differences(rows, name, baseline)]


def _run_suite(suite: Any, report: Any, folder: Path, quick: bool) -> None:
    size = suite.QUICK if quick else suite.FULL
    names = suite.available_datasets()
    skipped = [name for name in suite.SETS if name not in names]
    if skipped:
        console.print(f"Skipped, because they are not installed (see `bagwise datasets`): {', '.join(skipped)}.")
    ceilings = run(suite.ceilings(names, size), folder, "ceilings.parquet")
    rows = run(suite.plan(names, size), folder)
    console.print(f"Report: {report.write(rows, ceilings, folder, size)}")


SUITES = {
    "efficiency": (efficiency, efficiency_report),
    "pointing": (pointing, pointing_report),
    "embedded": (embedded, embedded_report),
}


def _arrays_of_project(project: Path, folder: Path) -> Path:
    """Write the bags and known labels of a project to a file; its name has a hash of the content, as a key for runs."""
    extras.require("app", "Projects")
    from bagwise.project import Project

    with Project.open(project) as opened:
        labels, bags = opened.labels(), opened.bags
        if opened.contents.removed:
            bags = bags.select(opened.contents.kept_bags)
        arrays = {"labels": labels.values, "ids": bags.ids, "classes": np.array(labels.classes, str)}
        name = hashlib.sha256(labels.values.tobytes() + opened.contents.digest().encode()).hexdigest()[:12]
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{project.resolve().name}-{name}.npz"
        np.savez(path, instances=bags.instances, offsets=bags.offsets, **arrays)  # type: ignore[arg-type]
    return path


def _strategy(text: str) -> dict[str, Any]:
    """Return the fields of a simulation that an argument of the command line stands for."""
    if text in systems.SYSTEMS and text != "bagwise":
        return {"system": text}
    names = dict(zip(("criterion", "granularity", "update"), text.split(":"), strict=False))
    criteria.get(names["criterion"])
    return names | ({"audit": 0.0} if names["criterion"] == "random" else {})
